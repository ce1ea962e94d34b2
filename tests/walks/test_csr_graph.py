"""Graphs that are built from arrays of edges."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v.walks import csr_graph
from gensim_tfw2v.walks.csr_graph import CsrGraph
from tests.walks.reference import Edge, edge_lists, listed_arcs, merged_edges, reference_arcs


def build(edges: list[Edge], **options: bool) -> CsrGraph:
    sources, targets, weights = (np.array(values) for values in zip(*edges, strict=True))
    return CsrGraph.from_edges(range(6), sources, targets, weights, **options)


@given(edge_lists(st.integers(0, 5)), st.booleans())
def test_repeated_edges_are_merged_with_the_last_weight(edges, directed):
    graph = build(edges, directed=directed)
    merged = merged_edges(edges, directed=directed)
    assert listed_arcs(graph) == reference_arcs(merged, directed=directed)


@given(edge_lists(st.integers(0, 5)), st.booleans())
def test_parallel_edges_remain(edges, directed):
    graph = build(edges, directed=directed, parallel=True)
    assert listed_arcs(graph) == reference_arcs(edges, directed=directed)


def test_parallel_arcs_keep_the_order_of_their_weights():
    graph = build([Edge(0, 1, 3), Edge(0, 1, 2), Edge(0, 1, 5)], parallel=True)
    assert graph.weights.tolist() == [3, 2, 5, 3, 2, 5]


def test_weights_that_are_all_1_are_left_out():
    assert build([Edge(0, 1, 1), Edge(1, 2, 1), Edge(2, 3, 0)]).weights is None


def test_nodes_without_edges_remain():
    graph = build([Edge(1, 3)])
    assert graph.names == range(6)
    assert graph.offsets.tolist() == [0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, 1e39, 1e-50])
def test_an_invalid_weight_is_refused(weight):
    message = re.escape(f"edge 1 has the weight {weight}; weights must not be negative")
    with pytest.raises(ValueError, match=message):
        build([Edge(0, 1, 1), Edge(1, 2, weight)])


@pytest.mark.parametrize("node", [-1, 6])
def test_a_number_of_no_node_is_refused(node):
    with pytest.raises(ValueError, match=f"edge 1 has an end at node {node}, but the graph has 6"):
        build([Edge(0, 1), Edge(1, node)])


def test_more_nodes_than_int32_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(csr_graph, "MAX_NODES", 5)
    with pytest.raises(ValueError, match="has 6 nodes, and at most 5 are supported: leave out"):
        build([Edge(0, 1)])
