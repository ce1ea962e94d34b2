"""Slow reference of graphs: dictionaries of lists, and small graphs that hypothesis draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from gensim_tfw2v.walks.csr_graph import CsrGraph

#: Arcs of a graph by the name of their source: sorted pairs of target and weight.
Arcs = dict[Any, list[tuple[Any, float]]]


class Edge(NamedTuple):
    """Edge between nodes with names, or with numbers."""

    source: Any
    target: Any
    weight: float = 1.0


def merged_edges(edges: list[Edge], *, directed: bool) -> list[Edge]:
    """Edges without repetitions, each with its last weight, and without those of weight 0."""
    weights = {}
    for source, target, weight in edges:
        key = (source, target) if directed else frozenset([source, target])
        weights[key] = Edge(source, target, weight)
    return [edge for edge in weights.values() if edge.weight]


def reference_arcs(edges: list[Edge], *, directed: bool) -> Arcs:
    """Arcs of parallel edges, of nodes that have some."""
    arcs: Arcs = {}
    for source, target, weight in edges:
        if weight:
            arcs.setdefault(source, []).append((target, weight))
            if not directed and source != target:
                arcs.setdefault(target, []).append((source, weight))
    return {source: sorted(pairs, key=repr) for source, pairs in arcs.items()}


def listed_arcs(graph: CsrGraph) -> Arcs:
    """Arcs of a graph, whose arrays must be valid."""
    n_nodes = len(graph.names)
    assert graph.n_nodes == n_nodes
    assert graph.offsets.dtype == np.int64 and graph.neighbours.dtype == np.int32
    assert graph.offsets[0] == 0 and graph.offsets[-1] == len(graph.neighbours) == graph.n_arcs
    assert len({*graph.names}) == n_nodes
    weights = graph.weights
    if weights is not None:
        assert weights.dtype == np.float32 and len(weights) == graph.n_arcs
        assert (weights > 0).all() and (weights != 1).any()
    arcs: Arcs = {}
    for node, name in enumerate(graph.names):
        first, last = graph.offsets[node], graph.offsets[node + 1]
        neighbours = graph.neighbours[first:last].tolist()
        assert neighbours == sorted(neighbours)
        values = [1.0] * len(neighbours) if weights is None else weights[first:last].tolist()
        pairs = [
            (graph.names[node], weight) for node, weight in zip(neighbours, values, strict=True)
        ]
        if pairs:
            arcs[name] = sorted(pairs, key=repr)
    return arcs


#: Weights that float32 represents exactly.
WEIGHTS = st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.5])


def edge_lists(names: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Edge]]:
    """Lists of edges, one or more, some repeated; at least one has a weight above 0."""
    edges = st.lists(st.builds(Edge, names, names, WEIGHTS), min_size=1, max_size=12)
    return edges.map(lambda edges: [*edges, Edge(edges[0].source, edges[0].target, 2.0)])
