"""Graphs are read from all formats."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, orc, parquet
from scipy import sparse

from gensim_tfw2v.walks import text_blocks
from gensim_tfw2v.walks.graph_readers import read_graph
from tests.walks.reference import (
    Edge,
    edge_lists,
    listed_arcs,
    merged_edges,
    reference_arcs,
)

NAMES = st.text("ab1é.\"'{", min_size=1, max_size=2)
NUMBERS = st.integers(0, 5)
N_NODES = 7  # the last two have no edges

SETTINGS = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def write_lines(path: Path, edges: list[Edge], separator: str) -> Path:
    lines = "".join(f"{separator.join(map(str, edge))}\n" for edge in edges).encode()
    openers: dict[str, Callable[..., Any]] = {
        ".gz": gzip.open,
        ".bz2": bz2.open,
        ".xz": lzma.open,
    }
    with openers.get(path.suffix, open)(path, "wb") as file:
        file.write(lines)
    return path


def frame(edges: list[Edge]) -> pd.DataFrame:
    return pd.DataFrame(edges, columns=["from", "to", "weight"])


def write_table(path: Path, edges: list[Edge]) -> Path:
    table = pa.Table.from_pandas(frame(edges), preserve_index=False)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=3)
    elif path.suffix == ".orc":
        orc.write_table(table, path)
    else:
        feather.write_feather(table, path, chunksize=3)
    return path


@pytest.mark.parametrize(
    ("name", "separator"),
    [
        ("edges.tsv", "\t"),
        ("edges.edg", " "),
        ("edges.edgelist", "   "),
        ("edges.txt.gz", "\t"),
        ("edges.tsv.bz2", "\t"),
        ("edges.edg.xz", " "),
    ],
)
@SETTINGS
@given(edges=edge_lists(NAMES), directed=st.booleans(), block=st.integers(20, 60))
def test_a_text_gives_the_graph(tmp_path, name, separator, edges, directed, block):
    path = write_lines(tmp_path / name, edges, separator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        graph = read_graph(str(path), directed=directed)
    expected = reference_arcs(merged_edges(edges, directed=directed), directed=directed)
    assert listed_arcs(graph) == expected
    names = [name for edge in edges for name in edge[:2]]
    assert graph.names == list(dict.fromkeys(names))


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".orc", ".csv"])
@SETTINGS
@given(edges=edge_lists(NAMES), directed=st.booleans())
def test_a_file_of_a_table_gives_the_graph(tmp_path, suffix, edges, directed):
    path = tmp_path / f"edges{suffix}"
    if suffix == ".csv":
        frame(edges).to_csv(path, index=False)
    else:
        write_table(path, edges)
    graph = read_graph(path, directed=directed)
    expected = reference_arcs(merged_edges(edges, directed=directed), directed=directed)
    assert listed_arcs(graph) == expected


@pytest.mark.parametrize("names", [NAMES, NUMBERS, st.integers(-(2**63), 2**63 - 1)])
@SETTINGS
@given(data=st.data(), directed=st.booleans())
def test_a_table_in_memory_gives_the_graph(names, data, directed):
    edges = data.draw(edge_lists(names))
    pandas_frame = frame(edges)
    polars_frame = pl.DataFrame(edges, schema=["from", "to", "weight"], orient="row")
    table = polars_frame.to_arrow()
    expected = reference_arcs(merged_edges(edges, directed=directed), directed=directed)
    for graph in (pandas_frame, polars_frame, polars_frame.lazy(), table):
        assert listed_arcs(read_graph(graph, directed=directed)) == expected


class FakeTensor:
    """Tensor of PyTorch that needs a gradient, and is on a GPU."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self._is_detached = False
        self._is_on_cpu = False

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert a tensor on a GPU")

    def detach(self):
        self._is_detached = True
        return self

    def cpu(self):
        self._is_on_cpu = True
        return self

    def numpy(self):
        assert self._is_detached and self._is_on_cpu
        return self._array


@SETTINGS
@given(edges=edge_lists(NUMBERS), directed=st.booleans())
def test_an_edge_index_gives_the_graph(edges, directed):
    columns = np.array([edge[:2] for edge in edges]).T
    weights = np.array([edge.weight for edge in edges])
    tensors = FakeTensor(columns), FakeTensor(weights)
    data = SimpleNamespace(edge_index=tensors[0], edge_weight=tensors[1], num_nodes=N_NODES)
    expected = reference_arcs(merged_edges(edges, directed=directed), directed=directed)
    for graph, values in ((columns, weights), (columns.astype(np.int32), list(weights)), tensors):
        from_array = read_graph(graph, weight=values, directed=directed)
        assert listed_arcs(from_array) == expected
        assert from_array.names == range(columns.max() + 1)
    from_data = read_graph(data, directed=directed)
    assert listed_arcs(from_data) == expected
    assert from_data.names == range(N_NODES)
    unweighted = reference_arcs(
        merged_edges([Edge(*edge[:2]) for edge in edges], directed=directed), directed=directed
    )
    assert listed_arcs(read_graph(columns, directed=directed)) == unweighted


def matrix_of(edges: list[Edge]) -> sparse.coo_array:
    """Matrix of edges; an undirected edge is one element of it."""
    sources, targets, weights = zip(*edges, strict=True)
    return sparse.coo_array((weights, (sources, targets)), shape=(N_NODES, N_NODES))


@SETTINGS
@given(edges=edge_lists(NUMBERS), directed=st.booleans(), is_symmetric=st.booleans())
def test_a_matrix_gives_the_graph(edges, directed, is_symmetric):
    merged = merged_edges(edges, directed=directed)
    expected = reference_arcs(merged, directed=directed)
    if not directed and is_symmetric:
        merged += [
            Edge(edge.target, edge.source, edge.weight) for edge in merged if edge[0] != edge[1]
        ]
    matrix = matrix_of(merged)
    rows = sparse.csr_matrix(matrix)
    kept = rows.copy()
    arrays = (rows.indptr, rows.indices, rows.data)
    for graph in (matrix, rows, matrix.tocsc(), matrix.tolil(), matrix.todok(), arrays):
        from_matrix = read_graph(graph, directed=directed)
        assert listed_arcs(from_matrix) == expected
        assert from_matrix.names == range(N_NODES)
    assert (rows != kept).nnz == 0
    pattern = [Edge(*edge[:2]) for edge in merged_edges(edges, directed=directed)]
    assert listed_arcs(read_graph(arrays[:2], directed=directed)) == reference_arcs(
        pattern, directed=directed
    )


def test_repeated_elements_of_a_matrix_are_added():
    matrix = sparse.coo_array(([1.0, 1.0, 1.5], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    graph = read_graph(matrix, directed=True)
    assert graph.weights.tolist() == [2, 1.5]
    arcs = read_graph(([0, 2, 4], [1, 1, 0, 0]))
    assert arcs.weights.tolist() == [2, 2]
    assert matrix.nnz == 3


def test_elements_of_a_matrix_that_differ_by_rounding_are_one_edge():
    matrix = sparse.csr_array([[0, 1 / 3], [1 / 3 + 1e-9, 0]])
    assert read_graph(matrix).n_arcs == 2


def test_a_matrix_is_copied():
    matrix = sparse.csr_array(np.array([[0, 2], [2, 0]], np.float32))
    graph = read_graph(matrix)
    matrix.data[:] = 7
    matrix.indices[:] = 0
    assert listed_arcs(graph) == {0: [(1, 2)], 1: [(0, 2)]}


@SETTINGS
@given(
    edges=edge_lists(st.one_of(NAMES, NUMBERS, st.tuples(NUMBERS, NAMES))),
    kind=st.sampled_from(["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"]),
)
def test_a_graph_of_networkx_gives_the_graph(edges, kind):
    networkx = pytest.importorskip("networkx")
    graph = getattr(networkx, kind)()
    graph.add_node("alone")
    graph.add_weighted_edges_from(edges, weight="w")
    if not graph.is_multigraph():
        edges = merged_edges(edges, directed=graph.is_directed())
    expected = reference_arcs(edges, directed=graph.is_directed())
    from_graph = read_graph(graph, weight="w")
    assert listed_arcs(from_graph) == expected
    assert from_graph.names == list(graph)


@SETTINGS
@given(edges=edge_lists(NUMBERS), directed=st.booleans(), has_names=st.booleans())
def test_a_graph_of_igraph_gives_the_graph(edges, directed, has_names):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(N_NODES, [edge[:2] for edge in edges], directed=directed)
    graph.es["w"] = [edge.weight for edge in edges]
    if has_names:
        graph.vs["name"] = list("abcdefg")
        edges = [Edge("abcdefg"[s], "abcdefg"[t], weight) for s, t, weight in edges]
    from_graph = read_graph(graph, weight="w", directed=not directed)
    assert listed_arcs(from_graph) == reference_arcs(edges, directed=directed)
    assert from_graph.names == (list("abcdefg") if has_names else range(N_NODES))


def test_a_tensor_of_pytorch_gives_the_graph():
    torch = pytest.importorskip("torch")
    graph = read_graph(torch.tensor([[0, 1], [1, 2]]), torch.tensor([2.0, 3.0], requires_grad=True))
    assert listed_arcs(graph) == {0: [(1, 2)], 1: [(0, 2), (2, 3)], 2: [(1, 3)]}


class FakeSequence(dict):
    """Attributes of the vertices or edges of a fake graph."""

    def attributes(self):
        return list(self)


def fake_igraph(directed: bool = False, **attributes: Any) -> Any:
    """Graph with the methods of igraph's: a - b twice, b - b, and c."""
    names = attributes.pop("names", ["a", "b", "c"])
    return SimpleNamespace(
        vcount=lambda: 3,
        vs=FakeSequence(name=names) if names else FakeSequence(),
        es=FakeSequence(attributes),
        get_edgelist=lambda: [(0, 1), (0, 1), (1, 1)],
        is_directed=lambda: directed,
    )


def test_parallel_edges_and_names_of_igraph_remain():
    graph = read_graph(fake_igraph(weight=[1, 2, 3]))
    assert listed_arcs(graph) == {"a": [("b", 1), ("b", 2)], "b": [("a", 1), ("a", 2), ("b", 3)]}
    assert graph.names == ["a", "b", "c"]
    directed = read_graph(fake_igraph(directed=True, names=None))
    assert listed_arcs(directed) == {0: [(1, 1), (1, 1)], 1: [(1, 1)]}


class FakeNetworkx:
    """Graph with the methods of networkx's that are used: a - b, b - b and c."""

    def __init__(self, *weights: Any) -> None:
        self._weights = weights

    def __iter__(self):
        return iter("abc")

    def is_directed(self):
        return False

    def is_multigraph(self):
        return False

    def edges(self, data, default):
        weights = self._weights if data == "weight" else [default] * 2
        return zip("ab", "bb", weights, strict=True)


def test_edges_of_networkx_without_a_weight_have_weight_1():
    graph = read_graph(FakeNetworkx(None, 2))
    assert listed_arcs(graph) == {"a": [("b", 1)], "b": [("a", 1), ("b", 2)]}
    assert read_graph(FakeNetworkx(None, None)).weights is None


@pytest.mark.parametrize("value", ["2", None, [1], -1, float("nan")])
def test_a_wrong_weight_of_networkx_or_igraph_names_the_edge(value):
    if value is not None:
        with pytest.raises((TypeError, ValueError), match=r"edge \('b', 'b'\) has the weight"):
            read_graph(FakeNetworkx(1, value))
    with pytest.raises((TypeError, ValueError), match=r"edge \('b', 'b'\) has the weight"):
        read_graph(fake_igraph(weight=[1, 1, value]))


@pytest.mark.parametrize("index", ["", " ", "Unnamed: 0"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_a_column_without_a_name_is_no_end_of_edges(tmp_path, index, suffix):
    path = tmp_path / f"edges{suffix}"
    edges = pd.DataFrame({index: [7, 8], "u": [1, 2], "v": [2, 3]})
    if suffix == ".parquet":
        edges.to_parquet(path)
    else:
        edges.to_csv(path, sep="," if suffix == ".csv" else "\t", index=False)
    named = int if suffix == ".parquet" else str
    assert sorted(read_graph(path).names) == [named(1), named(2), named(3)]
    assert sorted(read_graph(edges).names) == [1, 2, 3]


def test_a_column_without_a_name_is_an_end_if_only_one_other_remains(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(",neighbour\n1,2\n2,3\n")
    assert listed_arcs(read_graph(path)) == {
        "1": [("2", 1)],
        "2": [("1", 1), ("3", 1)],
        "3": [("2", 1)],
    }


@pytest.mark.parametrize(
    "weights", [" 0.5,2", "+0.5, 2.0", "5e-1 , +2"], ids=["blank", "plus", "exponent"]
)
def test_weights_of_a_csv_file_may_have_blanks_and_signs(tmp_path, weights):
    path = tmp_path / "edges.csv"
    first, second = weights.split(",")
    path.write_text(f"ann,bob,{first}\nbob,cid,{second}\n")
    assert listed_arcs(read_graph(path)) == {
        "ann": [("bob", 0.5)],
        "bob": [("ann", 0.5), ("cid", 2)],
        "cid": [("bob", 2)],
    }


def test_weights_may_be_integers_that_floats_round():
    graph = read_graph(pa.table({"a": [1], "b": [2], "w": [2**53 + 1]}), weight="w")
    assert graph.weights.tolist() == [2.0**53] * 2


def test_a_folder_of_tables_is_one_graph(tmp_path):
    write_table(tmp_path / "1.parquet", [Edge("a", "b", 2.0)])
    write_table(tmp_path / "2.parquet", [Edge("b", "c", 3.0)])
    expected = {"a": [("b", 2)], "b": [("a", 2), ("c", 3)], "c": [("b", 3)]}
    assert listed_arcs(read_graph(tmp_path)) == expected


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]}, index=["i", "j"]).astype("category"),
        pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]}, dtype=object),
        pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"]}).cast(pl.Categorical),
        pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"]}).cast(pl.Enum(["z", "y", "x"])),
        pa.table({"a": ["w", "x", "y"], "b": ["x", "y", "z"]}).slice(1),
        pa.RecordBatch.from_pydict({"a": ["x", "y"], "b": ["y", "z"]}),
    ],
)
def test_a_table_with_any_type_of_strings_gives_the_graph(table):
    assert listed_arcs(read_graph(table, directed=True)) == {"x": [("y", 1)], "y": [("z", 1)]}


def test_the_index_of_a_pandas_table_is_not_a_column():
    frame = pd.DataFrame({"a": ["x"], "b": ["y"]}, index=pd.Index([3], name="weight"))
    assert read_graph(frame).weights is None
    with pytest.raises(ValueError, match=r"has the columns \['b'\]; a table of edges needs two"):
        read_graph(frame.set_index("a"))


def test_integers_without_gaps_are_a_range_of_names():
    assert read_graph(pd.DataFrame({"a": [3, 1], "b": [0, 2]})).names == range(4)
    assert read_graph(pd.DataFrame({"a": [3, 1], "b": [0, 5]})).names == [0, 1, 3, 5]
    assert read_graph(pd.DataFrame({"a": [10**12, 1], "b": [0, -5]})).names == [-5, 0, 1, 10**12]
