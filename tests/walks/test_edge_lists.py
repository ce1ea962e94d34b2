"""Lists of edges as text: separators, headers, comments, and errors with the number of the line."""

from __future__ import annotations

import codecs
import gzip
import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v.corpus import CorpusDecodeError
from gensim_tfw2v.walks import node_names, text_blocks
from gensim_tfw2v.walks.graph_readers import read_graph
from tests.walks.reference import listed_arcs

#: Arcs of the graph a - b of weight 2, b - c of weight .5.
PATH_GRAPH = {"a": [("b", 2)], "b": [("a", 2), ("c", 0.5)], "c": [("b", 0.5)]}


def write(folder: Path, text: str | bytes, name: str = "edges.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "a b 2\nb c .5\n",
        "a\tb\t2\nb\tc\t.5",
        "  a b   2 \r\n\r\n\tb  c\t.5\r\n",
        "a\tb\t2\r\n\r\nb\tc\t 5e-1\r\n",
        "\ufeff# comment\n% a b 3\na b 2\n# c\nb c .5\n",
        "a b 1\nb c .5\nb a 2\n",
        "source target weight\na b 2\nb c .5\n",
        "a\tb\t2\nb\tc\t.5\na\td\t0\n",
        "Weight To From kind\n2 b a x\n.5 c b y\n",
        "user item weight\na b 2\nb c .5\n",
    ],
)
def test_lines_with_weights_give_the_graph(tmp_path, text):
    assert listed_arcs(read_graph(write(tmp_path, text))) == PATH_GRAPH


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 3\n",
        "user item\n1 2\n2 3\n",
        "user item year\n1 2 1999\n2 3 2000\n",
        "dst src\n2 1\n3 2\n",
        "1 2 {}\n2 3 {}\n",
        "1\t2\t1\n2\t3\t1\n",
        "source,target,year\n1,2,1999\n2,3,2000\n",
    ],
)
@pytest.mark.parametrize("compress", [False, True])
def test_lines_without_weights_give_the_graph(tmp_path, text, compress):
    name = "edges.csv" if "," in text else "edges.edg"
    path = write(tmp_path, text, name)
    if compress:
        path = write(tmp_path, gzip.compress(text.encode()), f"{name}.gz")
    graph = read_graph(path)
    assert graph.weights is None
    assert listed_arcs(graph) == {"1": [("2", 1)], "2": [("1", 1), ("3", 1)], "3": [("2", 1)]}


def test_names_in_columns_that_are_separated_by_tabs_may_contain_blanks(tmp_path):
    graph = read_graph(write(tmp_path, 'New York\tSão Paulo\nSão Paulo\t"Rome\n'))
    assert graph.names == ["New York", "São Paulo", '"Rome']


def test_a_first_row_of_names_is_an_edge_if_only_some_other_rows_have_integers(tmp_path):
    assert read_graph(write(tmp_path, "a b\n1 2\na 1\n")).names == ["a", "b", "1", "2"]


def test_a_weight_with_a_name_is_read_from_its_column(tmp_path):
    path = write(tmp_path, "s t w n\na b 2 7\nb c .5 7\n")
    assert listed_arcs(read_graph(path, weight="w")) == PATH_GRAPH


def test_directed_edges_are_single_arcs(tmp_path):
    graph = read_graph(write(tmp_path, "a b 2\nb a 3\nb b 1\na b 4\n"), directed=True)
    assert listed_arcs(graph) == {"a": [("b", 4)], "b": [("a", 3), ("b", 1)]}


def test_a_pipe_gives_the_graph(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=["a b 2\nb c .5\n"])
    writer.start()
    graph = read_graph(path)
    writer.join(10)
    assert not writer.is_alive()
    assert listed_arcs(graph) == PATH_GRAPH


def test_without_the_compiled_library_the_graph_is_the_same(tmp_path, monkeypatch):
    path = write(tmp_path, "é b 2\nb c .5\n")
    compiled = read_graph(path)
    monkeypatch.setattr(node_names, "library", lambda: None)
    graph = read_graph(path)
    assert graph.names == compiled.names == ["é", "b", "c"]
    assert listed_arcs(graph) == listed_arcs(compiled)


def test_many_lines_in_several_blocks_give_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 1 << 16)
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 3000, (40_000, 2))
    np.savetxt(path := tmp_path / "edges.tsv", edges, "%d", "\t")
    graph = read_graph(path, directed=True)
    nodes = np.array(graph.names).astype(int)
    sources = np.repeat(nodes, np.diff(graph.offsets))
    arcs = np.unique(np.stack([sources, nodes[graph.neighbours]], 1), axis=0)
    assert np.array_equal(arcs, np.unique(edges, axis=0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no edges: each line must have two names"),
        ("# a b\n\n", "has no edges"),
        ("source target\n", "has no edges"),
        ("a\n", r"has 1 column in its first row, \['a'\]; a list of edges has two names"),
        ("a b 1 2\n", "has 4 columns in its first row"),
        ("a b c\n", "'c' as the third column of its first row, which must be a number"),
        ("a b {}\nb c\n", r"line 2, has 2 columns, \['b', 'c'\], but the first line has 3"),
        ("#\na b\n\nb c d\n", r"line 4, has 3 columns, \['b', 'c', 'd'\].* 2, separated by blanks"),
        ("a b 1\nb c x\n", "line 2, has the weight 'x', which is not a finite number"),
        ("a\tb\t1\nb\tc\t\n", "line 2, has the weight '', which is not a finite number"),
        ("a\tb\t1\nb\tc\t1 2\nc\td\t\n", "line 2, has the weight '1 2', which is not"),
        ("a b 1\nb c 1_0\n", "line 2, has the weight '1_0', which is not a finite number"),
        ("a b 1\n\nb c -.5\n", "line 3, has the weight -0.5; weights must not be negative"),
        ("a b 1\nb c nan\n", "line 2, has the weight nan"),
        ("a b inf\nb c 1\n", "line 1, has the weight inf"),
        ("a b 0\nb c 0\n", "has 3 nodes, but no edges of a weight above 0"),
        ("a\tb\n\tc\n", "line 2, lacks the name of a node: leave out the line, or add it"),
        ("a\tb\nc\t\r\n", "line 2, lacks the name of a node"),
        ("a b\nbc\0c d\n", "line 2, contains a null character: remove it"),
        ("source target w w\na b 1 2\n", None),
        ("%%MatrixMarket matrix\n1 1 1\n", r"Matrix Market format: pass scipy.io.mmread\('"),
        (b"%PDF-1.4\n1 0 obj\n", "is a PDF document, not a list of edges"),
        ("a\tb\nc\td\n".encode("utf-16"), "not UTF-8 text. It looks like UTF-16: convert it"),
        ("x" * 1000, "has a line of more than 0 MiB"),
    ],
)
def test_a_text_that_is_no_list_of_edges_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 400)
    path = write(tmp_path, text)
    if message is None:
        assert read_graph(path).names == ["a", "b"]
        return
    with pytest.raises(ValueError, match=message) as error:
        read_graph(path)
    assert str(path) in str(error.value) or "but no edges of a weight" in message


def test_a_weight_at_which_numpy_stops_with_a_warning_is_refused(tmp_path, monkeypatch):
    def fromstring(*_, **__):
        """Read the numbers of the text below as NumPy 1.26 does."""
        warnings.warn("text could not be read to its end", DeprecationWarning, stacklevel=2)
        return np.array([1.0, 3.0])

    monkeypatch.setattr(np, "fromstring", fromstring)
    with pytest.raises(ValueError, match="line 2, has the weight '3x', which is not a finite num"):
        read_graph(write(tmp_path, "a b 1\nb c 3x\n"))


@pytest.mark.parametrize("weight", ["w", "weight"])
def test_a_missing_column_of_weights_is_refused_with_the_names_of_columns(tmp_path, weight):
    path = write(tmp_path, "a b 2\nb c 3\n")
    message = rf"has no column '{weight}'; its columns are: \['a', 'b', '2'\]. Without a header"
    with pytest.raises(ValueError, match=message):
        read_graph(path, weight=weight)


def test_text_that_is_not_utf8_is_refused_with_its_offset(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 10)
    for mark, offset in (b"", 42), (codecs.BOM_UTF8, 45):
        path = write(tmp_path, mark + b"a b\n" * 10 + b"c \xff\n")
        message = f"is not UTF-8 text: invalid start byte at byte {offset}"
        with pytest.raises(CorpusDecodeError, match=message):
            read_graph(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = write(tmp_path, gzip.compress(b"a b\n" * 1000)[:20], "edges.txt.gz")
    with pytest.raises(EOFError, match="is damaged, cut short, or not what its name says"):
        read_graph(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_graph(tmp_path / "edges.tsv")
