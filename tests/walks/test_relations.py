"""Walks that contain relations: their order, their names, their counts, readers, and errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gensim.models import Word2Vec
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from gensim_tfw2v.corpus.shard_files import END
from gensim_tfw2v.walks import text_blocks
from gensim_tfw2v.walks.csr_graph import CsrGraph, Relations
from gensim_tfw2v.walks.graph_readers import read_graph
from gensim_tfw2v.walks.random_walks import RandomWalks
from tests.walks.test_graph_readers import FakeSequence, FakeTensor

#: Triples with parallel arcs and a dead end. The last one is repeated.
TRIPLES = pd.DataFrame(
    [
        ("Ada", "born in", "London"),
        ("Ada", "lives in", "London"),
        ("Bob", "lives in", "Rome"),
        ("Bob", "knows", "Ada"),
        ("Ada", "knows", "Bob"),
        ("Eve", "knows", "Bob"),
        ("Eve", "knows", "Bob"),
    ],
    columns=["source", "predicate", "target"],
)
ARCS = sorted(map(tuple, TRIPLES.drop_duplicates().to_numpy()))


def walk(graph: Any = TRIPLES, num_walks: int = 30, walk_length: int = 6, **options: Any):
    options = {"relation": "predicate", "directed": True} | options
    return RandomWalks(graph, num_walks, walk_length, **options)


def arcs_of(graph: CsrGraph) -> list[tuple[Any, Any, Any]]:
    """Arcs of a graph in order: source, relation and target."""
    relations = graph.relations
    assert relations is not None and relations.numbers.dtype == np.int32
    columns = (graph.sources(), relations.numbers, graph.neighbours)
    return [
        (graph.names[source], relations.names[relation], graph.names[target])
        for source, relation, target in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]


def test_a_relation_is_between_its_two_nodes():
    walks = list(walk())
    triples = {
        triple for names in walks for triple in zip(*(names[i::2] for i in range(3)), strict=False)
    }
    assert triples == set(ARCS)
    assert len(walks) == 30 * 5
    for names in walks:  # only cities have no arcs
        assert len(names) == 11 or (len(names) % 2 and names[-1] in ("London", "Rome"))


def test_relations_of_an_undirected_graph_hold_in_both_directions():
    walks = list(walk(directed=False))
    triples = {
        triple for names in walks for triple in zip(*(names[i::2] for i in range(3)), strict=False)
    }
    assert triples == {*ARCS, *(arc[::-1] for arc in ARCS)}
    assert all(len(names) == 11 for names in walks)


def test_names_of_relations_follow_those_of_nodes():
    walks = walk()
    assert walks.names[:5] == ["Ada", "Bob", "Eve", "London", "Rome"]
    assert walks.names[5:] == ["born in", "lives in", "knows"]
    rows = walks.sample()
    assert rows.shape == (150, 11)
    assert [[walks.names[word] for word in row if word >= 0] for row in rows] == list(walks)
    assert ((rows[:, ::2] < 5) & (rows[:, 1::2].max() < 8)).all()
    assert not ((rows[:, 1::2] >= 0) & (rows[:, 1::2] < 5)).any()


def test_walks_of_one_node_have_no_relation():
    assert {len(names) for names in walk(walk_length=1)} == {1}


def test_nodes_and_relations_are_counted(tmp_path):
    walks = walk()
    scan = scan_corpus(walks.open_corpus(False), tmp_path)
    words = [word for names in walks for word in names]
    assert scan.raw_vocab == {name: words.count(name) for name in walks.names}
    assert scan.total_words == len(words) and scan.corpus_count == len(walks)


def test_entries_are_the_walks_whatever_the_units(tmp_path):
    walks = walk()
    ids = {name: number for number, name in enumerate(reversed(walks.names)) if name != "knows"}
    expected = [[*(ids[name] for name in names if name in ids), END] for names in walks]
    with encode_corpus(walks.open_corpus(False), ids, tmp_path) as corpus:
        for size in (1, 30, 10**6):
            units = corpus.units(size)
            entries = np.concatenate([unit.read(0) for unit in units])
            np.testing.assert_array_equal(entries, np.concatenate(expected))
            assert all(len(unit.read()) <= max(size, 12) for unit in units)
        assert corpus.total_tokens == sum(len(entries) - 1 for entries in expected)


def test_relations_get_vectors(tmp_path):
    model = TFWord2Vec(walk(), vector_size=8, min_count=1, epochs=1, workers=1)
    assert set(model.wv.index_to_key) == {*walk().names}
    model.save(str(tmp_path / "model"))
    loaded = TFWord2Vec.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.wv["knows"], model.wv["knows"])
    gensim = Word2Vec(walk(), vector_size=8, min_count=1, epochs=1, workers=1)
    assert set(gensim.wv.index_to_key) == set(model.wv.index_to_key)


def test_deterministic_training_has_the_same_bits_with_any_workers():
    models = [
        TFWord2Vec(
            walk(num_walks=200), vector_size=8, workers=workers, epochs=2, deterministic=True
        )
        for workers in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].wv.vectors, models[1].wv.vectors)


def test_metapaths_of_relations_consist_of_nodes():
    walks = walk(metapath=["knows", "lives in"])
    assert walks.names == ["Ada", "Bob", "Eve", "London", "Rome"]
    assert {tuple(names) for names in walks} == {
        ("Ada", "Bob", "Rome"),
        ("Bob", "Ada", "London"),
        ("Eve", "Bob", "Rome"),
    }
    assert len(walks) == 30 * 3
    with pytest.raises(ValueError, match="start_nodes has 'Rome', at which the metapath can't"):
        walk(metapath=["knows", "lives in"], start_nodes=["Eve", "Rome"])
    assert len(walk(metapath=["knows", "lives in"], start_nodes=["Eve"])) == 30


@pytest.mark.parametrize("directed", [False, True])
@given(data=st.data())
def test_edges_of_different_relations_are_different_edges(directed, data):
    nodes, relations = st.integers(0, 4), st.integers(0, 2)
    edges = data.draw(st.lists(st.tuples(nodes, relations, nodes), min_size=1, max_size=20))
    weights = np.array(data.draw(st.lists(st.sampled_from([0, 1, 2.5]), min_size=len(edges))))
    sources, numbers, targets = np.array(edges).T
    graph = CsrGraph.from_edges(
        range(5),
        sources,
        targets,
        weights[: len(edges)],
        Relations(numbers.astype(np.int32), "xyz"),
        directed=directed,
    )
    weight_of = {}
    for (source, relation, target), weight in zip(edges, weights, strict=False):
        for ends in [(source, target)] if directed else [(source, target), (target, source)]:
            weight_of[ends[0], ends[1], "xyz"[relation]] = weight
    expected = {arc: weight for arc, weight in sorted(weight_of.items()) if weight}
    assert [(s, t, r) for s, r, t in arcs_of(graph)] == list(expected)
    weights = graph.weights if graph.weights is not None else np.ones(graph.n_arcs)
    assert weights.tolist() == list(expected.values())


@pytest.mark.parametrize(
    "table",
    [
        TRIPLES,
        TRIPLES[["predicate", "source", "target"]].rename(columns={"source": "a", "target": "b"}),
        TRIPLES.astype("category"),
        pl.DataFrame(TRIPLES.to_dict("list")),
        pl.DataFrame(TRIPLES.to_dict("list")).lazy(),
        pl.DataFrame(TRIPLES.to_dict("list")).to_arrow(),
    ],
)
def test_relations_are_a_column_of_a_table(table):
    assert sorted(arcs_of(read_graph(table, directed=True, relation="predicate"))) == ARCS


def test_integers_may_be_relations():
    table = TRIPLES.assign(predicate=[7, 5, 5, 3, 3, 3, 3])
    graph = read_graph(table, directed=True, relation="predicate")
    assert graph.relations.names == [3, 5, 7]
    assert graph.n_arcs == 6


@pytest.mark.parametrize("suffix", [".tsv", ".txt", ".csv", ".parquet"])
def test_relations_are_a_column_of_a_file(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 100)
    path = tmp_path / f"triples{suffix}"
    if suffix == ".parquet":
        TRIPLES.to_parquet(path)
    else:
        TRIPLES.to_csv(path, sep="," if suffix == ".csv" else "\t", index=False)
    assert sorted(arcs_of(read_graph(path, directed=True, relation="predicate"))) == ARCS
    weighted = TRIPLES.assign(weight=range(7))
    weighted.to_csv(path.with_suffix(".csv"), index=False)
    graph = read_graph(path.with_suffix(".csv"), directed=True, relation="predicate")
    assert graph.weights.sum() == 1 + 2 + 3 + 4 + 6  # those of weight 0 and 5 are left out
    assert sorted(arcs_of(graph)) == ARCS[1:]


def test_relations_are_an_array_for_arrays_of_edges():
    edge_index = np.array([[0, 1, 1, 0], [1, 0, 2, 1]])
    names = ["x", "y", "x", "z"]
    expected = [(0, "x", 1), (0, "z", 1), (1, "y", 0), (1, "x", 2)]
    for relation in (names, np.array(names), np.array(names, object)):
        assert arcs_of(read_graph(edge_index, directed=True, relation=relation)) == expected
    data = SimpleNamespace(
        edge_index=FakeTensor(edge_index), kind=FakeTensor(np.array([9, 4, 9, 8]))
    )
    assert arcs_of(read_graph(data, directed=True, relation="kind")) == [
        (0, 8, 1),
        (0, 9, 1),
        (1, 4, 0),
        (1, 9, 2),
    ]


class FakeNetworkx:
    """Graph with the methods of networkx's that are used: a - b twice, b - c."""

    def __init__(self, *relations: Any) -> None:
        self._relations = relations

    def __iter__(self):
        return iter("abc")

    def is_directed(self):
        return True

    def is_multigraph(self):
        return True

    def edges(self, data, default):
        relations = self._relations if data == "kind" else [default] * 3
        return zip("aab", "bbc", relations, strict=True)


def fake_igraph(*relations: Any) -> Any:
    return SimpleNamespace(
        vcount=lambda: 3,
        vs=FakeSequence(name=["a", "b", "c"]),
        es=FakeSequence(kind=list(relations)),
        get_edgelist=lambda: [(0, 1), (0, 1), (1, 2)],
        is_directed=lambda: True,
    )


@pytest.mark.parametrize("make", [FakeNetworkx, fake_igraph])
def test_relations_are_an_attribute_of_graph_objects(make):
    graph = read_graph(make("y", "x", "y"), relation="kind")
    assert sorted(arcs_of(graph)) == [("a", "x", "b"), ("a", "y", "b"), ("b", "y", "c")]
    parallel = read_graph(make("x", "x", ("a", 1)), relation="kind")
    assert arcs_of(parallel) == [("a", "x", "b"), ("a", "x", "b"), ("b", ("a", 1), "c")]
    message = r"edge \('a', 'b'\) lacks the attribute 'kind', the name of its relation: add it"
    with pytest.raises(ValueError, match=message):
        read_graph(make("x", None, "y"), relation="kind")
    with pytest.raises(ValueError, match="attribute 'type'"):
        read_graph(make("x", "x", "y"), relation="type")


def test_relations_of_networkx_and_igraph_are_read():
    networkx = pytest.importorskip("networkx")
    igraph = pytest.importorskip("igraph")
    graphs = [
        networkx.from_pandas_edgelist(
            TRIPLES.drop_duplicates(), edge_attr="predicate", create_using=networkx.MultiDiGraph
        ),
        igraph.Graph.DataFrame(
            TRIPLES.drop_duplicates()[["source", "target", "predicate"]], use_vids=False
        ),
    ]
    for graph in graphs:
        assert sorted(arcs_of(read_graph(graph, relation="predicate"))) == ARCS


EDGE_INDEX = np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (TRIPLES, {"relation": "kind"}, "the table has no column 'kind'; its columns are"),
        (TRIPLES, {"relation": ["x"] * 7}, "relation must be the name of a column or an attribute"),
        (
            TRIPLES.replace("knows", "Bob"),
            {},
            "'Bob' is the name of a node and of a relation, .* as",
        ),
        (
            TRIPLES.replace("knows", None),
            {},
            "row 4, lacks the name of a relation: leave out the row",
        ),
        (
            TRIPLES.assign(predicate=0.5),
            {},
            "is of type double, but names of relations are strings or integers",
        ),
        (
            EDGE_INDEX,
            {"relation": [0, 7]},
            "0 is the name of a node and of a relation.*'relation 0'",
        ),
        (EDGE_INDEX, {"relation": ["x"]}, "relation has 1 elements, but edge_index has 2 edges"),
        (EDGE_INDEX, {"relation": [0.5, 1]}, "relation must be an array of integers or strings"),
        (
            EDGE_INDEX,
            {"relation": "kind"},
            "relation must be an array for an edge_index, got 'kind'",
        ),
        (([0, 1], [0]), {"relation": ["x"]}, "relation has no effect on a matrix, which has one"),
        (SimpleNamespace(edge_index=EDGE_INDEX), {}, "the data have no attribute 'predicate'"),
        (
            TRIPLES,
            {"metapath": ["hates"]},
            "metapath has 'hates', but no relation is of this type. T",
        ),
        (TRIPLES, {"metapath": []}, "metapath is empty"),
        (TRIPLES, {"metapath": "knows"}, "metapath must be several types"),
        (
            TRIPLES,
            {"metapath": ["knows"], "p": 0.5},
            "p, q and extend can't be combined with metap",
        ),
    ],
)
def test_invalid_relations_are_refused(graph, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        walk(graph, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ada\tknows\tBob\n", "has no column 'predicate'.* The first line must name the columns"),
        ("source\tpredicate\ttarget\na\t\tb\n", "line 2, lacks the name of a relation: leave out"),
        ("predicate\tb\n", r"has the columns \['predicate', 'b'\]; a table of edges needs two col"),
    ],
)
def test_a_text_without_relations_is_refused(tmp_path, text, message):
    path = tmp_path / "triples.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        walk(path)
