"""Walks along metapaths: their types, readers of types, training, and errors."""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.walks import text_blocks
from gensim_tfw2v.walks.random_walks import RandomWalks
from tests.walks.test_graph_readers import FakeSequence, FakeTensor

#: Authors a0 and a1 of field x, a2 and a3 of field y; each pair wrote two papers at one venue.
EDGES = pd.DataFrame(
    [
        *[(author, paper) for author in ("a0", "a1") for paper in ("p0", "p1")],
        *[(author, paper) for author in ("a2", "a3") for paper in ("p2", "p3")],
        *[("p0", "v0"), ("p1", "v0"), ("p2", "v1"), ("p3", "v1"), ("p0", "p2")],
    ],
    columns=["source", "target"],
)
NODES = sorted({*EDGES.source, *EDGES.target})
KINDS = {"a": "author", "p": "paper", "v": "venue"}
TYPE_OF = {node: KINDS[node[0]] for node in NODES}
METAPATH = ["author", "paper", "venue", "paper", "author"]


def walk(graph: Any = EDGES, node_types: Any = TYPE_OF, metapath: Any = METAPATH, **options: Any):
    return RandomWalks(graph, 5, 13, node_types=node_types, metapath=metapath, **options)


def test_walks_follow_the_metapath_along_edges():
    edges = {*map(tuple, EDGES.to_numpy()), *map(tuple, EDGES[["target", "source"]].to_numpy())}
    walks = list(walk())
    assert len(walks) == 5 * 4
    for names in walks:
        assert [TYPE_OF[name] for name in names] == [*METAPATH[:-1] * 3, "author"]
        assert set(zip(names, names[1:], strict=False)) <= edges


def test_walks_end_where_there_is_no_node_of_the_next_type():
    edges = pd.concat([EDGES, pd.DataFrame([("a0", "p9")], columns=EDGES.columns)])
    types = TYPE_OF | {"p9": "paper"}
    walks = list(walk(edges, types, start_nodes=["a0"]))
    ends = [names for names in walks if names[-1] == "p9"]
    assert ends and all(names[-2] == "a0" for names in ends)
    assert all(len(names) == 13 for names in walks if "p9" not in names)
    assert all("p9" not in names[:-1] for names in walks)


def test_walks_of_a_directed_graph_end_against_its_direction():
    walks = list(walk(directed=True, metapath=["author", "paper", "author"], graph=pd.concat(
        [EDGES, pd.DataFrame([("p0", "a3")], columns=EDGES.columns)]
    )))  # fmt: skip
    assert {len(names) for names in walks} == {2, 4}
    assert all(names[1:3] == ["p0", "a3"] for names in walks if len(names) == 4)


def text_of(separator: str = "\t") -> str:
    return "# types\n" + "".join(f"{node}{separator}{kind}\n" for node, kind in TYPE_OF.items())


@pytest.mark.parametrize(
    "types",
    [pd.Series(TYPE_OF), TYPE_OF | {"unknown": "paper"}, "\t", "  ", ".gz", 3],
    ids=["Series", "more nodes", "tabs", "blanks", "compressed", "blocks"],
)
def test_types_of_nodes_are_read_from_all_formats(types, tmp_path, monkeypatch):
    if isinstance(types, int):
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 25)
    if isinstance(types, int | str):
        path = tmp_path / f"types.tsv{types if types == '.gz' else ''}"
        text = text_of("  " if types == "  " else "\t").encode()
        path.write_bytes(gzip.compress(text) if types == ".gz" else text)
        types = path
    np.testing.assert_array_equal(walk(node_types=types).sample(), walk().sample())


def numbered(edges: pd.DataFrame = EDGES) -> np.ndarray:
    numbers = {node: number for number, node in enumerate(NODES)}
    return np.array([edges.source.map(numbers), edges.target.map(numbers)])


def test_types_of_numbered_nodes_may_be_an_array_or_a_text(tmp_path):
    types = [TYPE_OF[node] for node in NODES]
    path = tmp_path / "types.txt"
    path.write_text("".join(f"{number} {kind}\n" for number, kind in enumerate(types)))
    expected = walk(numbered(), dict(enumerate(types))).sample()
    for node_types in (types, np.array(types), path, str(path)):
        np.testing.assert_array_equal(walk(numbered(), node_types).sample(), expected)
    kinds = list(KINDS.values())
    numbers = np.array([kinds.index(kind) for kind in types])
    metapath = [kinds.index(kind) for kind in METAPATH]
    for node_types in (numbers, FakeTensor(numbers)):
        np.testing.assert_array_equal(walk(numbered(), node_types, metapath).sample(), expected)


@pytest.mark.parametrize("package", ["networkx", "igraph"])
def test_types_of_nodes_may_be_an_attribute(package):
    library = pytest.importorskip(package)
    if package == "networkx":
        graph = library.from_pandas_edgelist(EDGES)
        library.set_node_attributes(graph, TYPE_OF, "kind")
    else:
        graph = library.Graph.DataFrame(EDGES, directed=False, use_vids=False)
        graph.vs["kind"] = [TYPE_OF[name] for name in graph.vs["name"]]
    walks = list(walk(graph, "kind"))
    assert len(walks) == 20
    for names in walks:
        assert [TYPE_OF[name] for name in names] == [*METAPATH[:-1] * 3, "author"]


class FakeNetworkx:
    """Graph with the methods of networkx's that are used: a - b, whose types are an attribute."""

    def __init__(self, *types: Any) -> None:
        self._types = types

    def __iter__(self):
        return iter("ab")

    def is_directed(self):
        return False

    def is_multigraph(self):
        return False

    def edges(self, data, default):
        return [("a", "b", default)]

    def nodes(self, data, default):
        types = self._types if data == "kind" else [default] * 2
        return zip("ab", types, strict=True)


FAKE_IGRAPH = SimpleNamespace(
    vcount=lambda: 2,
    vs=FakeSequence(name=["a", "b"], kind=["x", "y"]),
    es=FakeSequence(),
    get_edgelist=lambda: [(0, 1)],
    is_directed=lambda: False,
)


@pytest.mark.parametrize("graph", [FakeNetworkx("x", "y"), FAKE_IGRAPH])
def test_attributes_of_graph_objects_are_types(graph):
    walks = RandomWalks(graph, 1, 4, node_types="kind", metapath=["x", "y", "x"])
    assert list(walks) == [["a", "b", "a", "b"]]
    with pytest.raises(ValueError, match="no node of the graph has the attribute 'type': add it"):
        RandomWalks(graph, node_types="type", metapath=["x", "y", "x"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_types": None}, "metapath needs the types of the nodes or of the edges: set node_t"),
        ({"metapath": None}, "node_types has no effect without metapath, the types of successive"),
        ({"relation": "kind"}, "node_types and relation can't be combined"),
        ({"p": 2}, "p, q and extend can't be combined with metapath"),
        ({"q": 0.5}, "p, q and extend can't be combined with metapath"),
        ({"extend": True}, "p, q and extend can't be combined with metapath"),
        ({"metapath": "author"}, "metapath must be several types, such as a list, got 'author'"),
        ({"metapath": []}, "metapath is empty: list the types that walks follow"),
        ({"metapath": ["author"]}, r"metapath must end with .* starts, .*, got \['author'\]: add"),
        ({"metapath": ["author", "paper"]}, "metapath must end with the type with which it starts"),
        (
            {"metapath": ["author", "book", "author"]},
            "metapath has 'book', but the types of the nodes are 'author', 'paper', 'venue'",
        ),
        (
            {"metapath": ["author", "venue", "author"]},
            "no edge leads from a node of type 'author' to one of type 'venue', as the metapath re",
        ),
        (
            {"metapath": ["author", "paper", "author"], "directed": True},
            "no edge leads from a node of type 'paper' to one of type 'author'.* leave out dir",
        ),
        ({"start_nodes": ["p0"]}, "start_nodes has 'p0', at which the metapath can't start: pass"),
        (
            {"node_types": {node: KINDS[node[0]] for node in NODES[2:]}},
            "node_types has no type for 2 of 10 nodes, such as 'a0', 'a1': add their types",
        ),
        (
            {"node_types": list(TYPE_OF.values())},
            "must be a mapping .* because the nodes have names",
        ),
        ({"node_types": 3}, "node_types must be a mapping from the name of each node .*, got 3"),
        (
            {"node_types": ["author"], "graph": numbered()},
            "node_types has 1 elements, but the graph has 10 nodes",
        ),
    ],
)
def test_invalid_metapaths_are_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        walk(**options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a0\tauthor\np0\n",
            "line 2, has 1 column, .*, separated by a tab: the name of a node, and",
        ),
        ("a0 big author\n", "line 1, has 3 columns, .*, but must have two, separated by blanks"),
        ("", "node_types has no type for 10 of 10 nodes"),
    ],
)
def test_a_text_that_has_no_types_is_refused(tmp_path, text, message):
    path = tmp_path / "types.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        walk(node_types=path)
    with pytest.raises(FileNotFoundError):
        walk(node_types=tmp_path / "missing.txt")


def test_nodes_that_no_walk_visits_are_not_in_the_vocabulary():
    walks = walk(metapath=["author", "paper", "author"])
    model = TFWord2Vec(walks, vector_size=4, min_count=0, epochs=1, workers=1)
    assert set(model.wv.index_to_key) == {*NODES} - {"v0", "v1"}


def bibliography() -> tuple[pd.DataFrame, dict[str, str]]:
    """Edges and types of authors, papers and venues of four fields."""
    draws = np.random.default_rng(1)
    edges = []
    for paper in range(320):
        field = paper % 4
        edges.append((f"p{paper}", f"v{4 * draws.integers(3) + field}"))
        edges += [(f"p{paper}", f"a{4 * author + field}") for author in draws.integers(10, size=3)]
    frame = pd.DataFrame(edges, columns=["source", "target"])
    return frame, {name: KINDS[name[0]] for name in [*frame.source, *frame.target]}


def test_venues_of_a_field_have_similar_vectors():
    edges, types = bibliography()
    walks = RandomWalks(edges, 50, 40, node_types=types, metapath=METAPATH)
    model = TFWord2Vec(walks, vector_size=16, sg=1, epochs=3, workers=1, seed=1, min_count=1)
    for venue in range(12):
        others = [f"v{other}" for other in range(12) if other != venue]
        nearest = sorted(others, key=lambda name: -model.wv.similarity(f"v{venue}", name))[:2]
        assert {int(name[1:]) % 4 for name in nearest} == {venue % 4}


def test_deterministic_training_has_the_same_bits_with_any_workers():
    models = [
        TFWord2Vec(
            walk(), vector_size=8, workers=workers, min_count=1, epochs=2, deterministic=True
        )
        for workers in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].wv.vectors, models[1].wv.vectors)
    assert set(models[0].wv.index_to_key) == set(NODES)
