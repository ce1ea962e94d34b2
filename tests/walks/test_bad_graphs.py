"""Tables, matrices, arrays and objects that are no graphs are refused, with advice."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from gensim_tfw2v.walks import edge_arrays, sparse_matrices
from gensim_tfw2v.walks.graph_readers import read_graph
from tests.walks.test_graph_readers import FakeNetworkx, fake_igraph

EDGES = np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("columns", "weight", "message"),
    [
        ({"a": ["x", None], "b": ["y", "z"]}, None, "'a', row 2, lacks the name of a node"),
        ({"a": ["x", "y"], "b": ["y", ""]}, None, "'b', row 2, lacks the name of a node"),
        ({"a": [1, None], "b": [2, 3]}, None, "'a', (row 2, lacks the name|is of type double)"),
        ({"a": [0.5, 1], "b": [2, 3]}, None, "'a', is of type double, but names of nodes are str"),
        ({"a": ["x"], "b": [1]}, None, "has integers in one of the columns 'a' and 'b', and str"),
        ({"a": ["x"]}, None, r"has the columns \['a'\]; a table of edges needs two columns"),
        ({"a": ["x"], "b": ["y"]}, "b", r"has the columns \['a', 'b'\]; a table of edges needs"),
        ({"a": ["x"], "b": ["y"]}, "w", r"has no column 'w'; its columns are: \['a', 'b'\]"),
        ({"a": ["x"], "b": ["y"], "w": ["1"]}, "c", "has no column 'c'"),
        ({"a": ["x"], "b": ["y"], "w": ["z"]}, "w", "'w', row 1, has the weight 'z', which is not"),
        ({"a": [1, 2], "b": [2, 3], "w": [1, -2]}, "w", "row 2, has the weight -2.0; weights must"),
        (
            {"a": [1, 2], "b": [2, 3], "w": [1.0, 1e60]},
            "w",
            r"row 2, has the weight 1e\+60; weights",
        ),
        ({"a": [1, 2], "b": [2, 3], "w": [1, None]}, "w", "row 2, (lacks a weight|has the weight)"),
        ({"a": [], "b": []}, None, "has no edges|is of type (double|null)"),
        ({"a": ["x\0"], "b": ["y"]}, None, "a name contains a null character: remove it"),
    ],
)
@pytest.mark.parametrize("package", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_that_is_no_list_of_edges_is_refused(package, columns, weight, message):
    with pytest.raises(ValueError, match=message):
        read_graph(package(columns), weight=weight)


def test_a_table_with_columns_of_mixed_types_is_refused():
    with pytest.raises(ValueError, match="can't be converted to pyarrow's: .* each of one type"):
        read_graph(pd.DataFrame({"a": ["x", 1], "b": ["y", "z"]}))


def test_integers_beyond_int64_are_refused():
    table = pa.table({"a": pa.array([2**63], pa.uint64()), "b": pa.array([1], pa.uint64())})
    with pytest.raises(ValueError, match="'a', has integers that int64 lacks: convert them to str"):
        read_graph(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1\n", r"row 2 \(line 2\): 1 cell, but .*: read the file with pandas.read_csv"),
        ('a,b\n"x\ny",z\n', "a quoted cell contains a newline.* pass the table"),
        ("a,b,1\nb,c,x\n", "column '2', row 2, has the weight 'x', which is not a number"),
        ("a,b\n,c\n", "column '0', row 2, lacks the name of a node"),
        ("a b\nb c\n", r"has 1 column in its first row, \['a b'\]"),
        ("", "has no edges: each row must have two names"),
    ],
)
def test_a_csv_file_that_is_no_list_of_edges_is_refused(tmp_path, text, message):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


def test_a_json_file_is_refused_with_the_call_that_reads_it(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_text(json.dumps({"source": "a", "target": "b"}))
    with pytest.raises(
        ValueError, match=r"pass a table, as in: pandas.read_json\(.*, lines=True\)"
    ):
        read_graph(path)


@pytest.mark.parametrize(
    ("weight", "kind"), [([b"x"], "binary"), ([[1.0]], "list<item: double>")], ids=str
)
def test_weights_of_a_type_without_numbers_are_refused(weight, kind):
    with pytest.raises(ValueError, match=f"'w', is of type {kind}, but weights are numbers: conve"):
        read_graph(pa.table({"a": ["x"], "b": ["y"], "w": weight}), weight="w")


def test_a_csv_file_in_utf16_is_refused_with_a_cure_that_needs_no_option(tmp_path):
    (tmp_path / "edges.csv").write_text("a,b\nc,d\n", "utf-16")
    cure = "looks like UTF-16: .*. Edges are read without options: read the file with pandas.read_c"
    with pytest.raises(ValueError, match=rf"edges\.csv: {cure}"):
        read_graph(tmp_path / "edges.csv")


@pytest.mark.parametrize("name", ["edges.csv", "edges.parquet"])
def test_columns_of_the_same_name_are_refused(tmp_path, name):
    path = tmp_path / name
    if name == "edges.csv":
        path.write_text("protein,protein,score\n1,2,3\n2,3,1\n")
    else:
        columns = [pa.array([1, 2]), pa.array([2, 3]), pa.array([3, 1])]
        parquet.write_table(pa.table(columns, ["protein", "protein", "score"]), path)
    with pytest.raises(ValueError, match=rf"{name}: has 2 columns 'protein', .*: rename them; its"):
        read_graph(path)


def test_columns_of_the_same_name_that_are_not_read_are_ignored(tmp_path):
    (tmp_path / "edges.csv").write_text("score,score,source,target\n5,6,a,b\n")
    assert read_graph(tmp_path / "edges.csv").names == ["a", "b"]


@pytest.mark.parametrize("column", ["source", "target", "kind"])
@pytest.mark.parametrize("numbers", ["1.parquet", "2.parquet"])
def test_files_of_a_folder_with_strings_and_with_integers_are_refused(tmp_path, column, numbers):
    for name in ("1.parquet", "2.parquet"):
        frame = pd.DataFrame({"source": ["a"], "target": ["b"], "kind": ["k"]})
        if name == numbers:
            frame[column] = [1]
        parquet.write_table(pa.Table.from_pandas(frame), tmp_path / name)
    types = ["int64", "(large_)?string"]
    first, second = types if numbers == "1.parquet" else types[::-1]
    message = rf"2\.parquet: column '{column}' is of type {second}, but of type {first} in .*1\.par"
    with pytest.raises(ValueError, match=message):
        read_graph(tmp_path, relation="kind")


def test_a_folder_of_lists_of_edges_is_refused_with_advice_for_graphs(tmp_path):
    folder = tmp_path / "edges"
    (folder / "more").mkdir(parents=True)
    (folder / "more/1.parquet").touch()
    with pytest.raises(ValueError, match=r"1 subfolder \(more\): pass one of them, or move the ta"):
        read_graph(folder)
    (folder / "1.txt").write_text("a b\n")
    with pytest.raises(ValueError, match=r"1\.txt: is not a table, .*: join lists of edges to one"):
        read_graph(folder)


def test_files_of_a_folder_with_different_columns_are_refused(tmp_path):
    pd.DataFrame({"a": ["x"], "b": ["y"]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": ["x"], "c": ["y"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2.parquet: has no column 'b', unlike .*1.parquet"):
        read_graph(tmp_path)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (sparse.csr_array((2, 3)), r"has the shape \(2, 3\), but the matrix of a graph is square"),
        (sparse.csr_array((0, 0)), "the graph has no nodes"),
        (sparse.csr_array((3, 3)), "the graph has 3 nodes, but no edges"),
        (sparse.csr_array([[0, -1], [0, 0]]), r"element \(0, 1\) of the matrix has the weight -1"),
        (sparse.csr_array([[0, 0], [np.nan, 0]]), r"element \(1, 0\) .* has the weight nan"),
        (
            sparse.csr_array([[0, 1], [2, 0]]),
            r"\(0, 1\) and \(1, 0\) .* are 1.0 and 2.0, but an un",
        ),
        (sparse.csr_array([[0, 1, 2], [2, 0, 0], [0, 0, 0]]), r"\(0, 1\) and \(1, 0\) of the matr"),
        (([0, 1, 2],), "is a tuple of 1 elements, but must be"),
        (([0, 1, 3], [1, 0]), "indptr contains from 0 to 3, but must ascend from 0 to .* 2"),
        (([], []), "indptr contains nothing"),
        (([0, 2, 1, 3], [1, 0, 1]), r"indptr\[1\] is 2, and indptr\[2\] is 1: for a list of edges"),
        (([0, 1, 2], [1, 2]), r"indices\[1\] is 2, but the graph has 2 nodes"),
        (([0, 1, 2], [-1, 0]), r"indices\[0\] is -1, but the graph has 2 nodes"),
        (([0, 1, 2], [1, 0], [1]), "has 2 indices, but 1 weights"),
        (([0, 1, 2], [1, 0], [1, -1]), r"element \(1, 0\) of the matrix has the weight -1"),
        ((np.zeros((2, 2)), [1, 0]), "indptr must be an array of integers"),
        (EDGES.T.repeat(2, 0), r"must have the shape \[2, edges\].*; pass the transposed array"),
        (EDGES - 1, r"edge_index\[:, 0\] is \[-1, 0\], but nodes are numbered from 0"),
        (EDGES * 0.5, "edge_index must be an array of integers, got .* of type float64"),
        (EDGES[0], r"edge_index must have 2 dimensions, but has the shape \(2,\)"),
        (EDGES[:, :0], "the graph has no edges: edge_index is empty"),
        (SimpleNamespace(edge_index=EDGES, num_nodes=2), "edge 1 has an end at node 2"),
        (fake_igraph(names=["a", "", "b"]), "node 1 has no name: set it, or delete"),
        (fake_igraph(names=["a", "b", "a"]), "nodes 0 and 2 have the same name, 'a'"),
        ([("a", "b")], r"graph must be .*; for a list of pairs of names, pass pandas.DataFrame"),
        (None, "graph must be a path of a list or table of edges.*got None"),
    ],
)
def test_a_graph_that_is_not_valid_is_refused(graph, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_graph(graph)


@pytest.mark.parametrize(
    ("graph", "weight", "message"),
    [
        (EDGES, [1], "weight has 1 elements, but edge_index has 2 edges"),
        (EDGES, [1, -1], "edge 1 has the weight -1; weights must not be negative"),
        (EDGES, "w", "weight must be an array for an edge_index, got 'w'"),
        (EDGES, ["1", "2"], "weight must be an array of real numbers"),
        (sparse.csr_array([[1]]), "w", "weight has no effect on a matrix"),
        (([0, 1], [0]), "w", "weight must be an array for a tuple"),
        (([0, 1], [0], [1]), [1], "weight must be an array for a tuple"),
        ("edges.tsv", 3, "weight must be the name of a column or an attribute"),
        (SimpleNamespace(edge_index=EDGES), "w", "the data have no attribute 'w'"),
        (fake_igraph(), "w", r"have no attribute 'w'; their attributes are: \[\]"),
        (FakeNetworkx(None, None), "w", "no edge of the graph has the attribute 'w'"),
    ],
)
def test_a_wrong_weight_is_refused(graph, weight, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_graph(graph, weight=weight)


def test_directed_must_be_a_boolean():
    with pytest.raises(TypeError, match="directed must be True or False, got 'no'"):
        read_graph(EDGES, directed="no")


def test_more_nodes_than_int32_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(sparse_matrices, "MAX_NODES", 2)
    monkeypatch.setattr(edge_arrays, "MAX_NODES", 2)
    with pytest.raises(ValueError, match="has 3 rows, but a graph has at most 2 nodes"):
        read_graph(sparse.eye(3))
    with pytest.raises(ValueError, match="is 2, but a graph has at most 2 nodes: number the nodes"):
        read_graph(EDGES)
