"""Frequencies of steps along metapaths and of relations, against slow references."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gensim_tfw2v.walks.random_walks import RandomWalks
from tests.walks.test_walk_laws import MIN_P_VALUE, N_NODES, node2vec_factor, p_value

#: Types of the nodes of the test graphs, in turn.
TYPES = ("author", "paper", "venue")
RELATIONS = ("wrote", "cites", "likes")


def typed_edges(
    seed: int, *, n_edges: int = 300, weighted: bool = False, repeated: bool = False
) -> pd.DataFrame:
    """Edges of 20 nodes, with relations; several relations join some nodes."""
    draws = np.random.default_rng(seed)
    edges = pd.DataFrame(draws.integers(N_NODES, size=(n_edges, 2)), columns=["source", "target"])
    edges["relation"] = draws.choice(RELATIONS, n_edges, p=[0.5, 0.3, 0.2])
    edges = edges.drop_duplicates()
    if weighted:
        edges["weight"] = draws.choice([0.2, 1.0, 7.5], len(edges))
    if repeated:  # the first of two equal edges has no effect
        first = edges.sample(20, random_state=seed).assign(weight=3.0)
        edges = pd.concat([first if weighted else first.drop(columns="weight"), edges])
    return edges


def list_arcs(edges: pd.DataFrame, directed: bool) -> dict[tuple[int, int, str], float]:
    """Weight of each arc, by its two nodes and its relation."""
    arcs = {}
    for edge in edges.to_dict("records"):
        ends = edge["source"], edge["target"]
        for source, target in [ends] if directed else [ends, ends[::-1]]:
            arcs[source, target, edge["relation"]] = edge.get("weight", 1.0)
    return arcs


def pooled_p_value(
    counts: dict[Any, Counter[Any]], probabilities: dict[Any, dict[Any, float]]
) -> float:
    """P-value of a chi-squared test of the outcomes, given each state."""
    statistic, freedom = 0.0, 0
    for state, outcomes in counts.items():
        expected = probabilities[state]
        assert set(outcomes) <= set(expected), (state, outcomes)
        total = sum(expected.values())
        n = sum(outcomes.values())
        frequent = {o: n * e / total for o, e in expected.items() if n * e / total >= 5}
        n_frequent = sum(outcomes[outcome] for outcome in frequent)
        if len(frequent) > 1:
            scale = n_frequent / sum(frequent.values())
            for outcome, mean in frequent.items():
                statistic += (outcomes[outcome] - mean * scale) ** 2 / (mean * scale)
            freedom += len(frequent) - 1
    assert freedom > 10
    return float(stats.chi2.sf(statistic, freedom))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    "metapath",
    [
        ["author", "paper", "venue", "paper", "author"],
        ["paper", "paper", "author", "paper"],
        ["venue", "venue"],
    ],
)
def test_nodes_of_the_next_type_are_drawn_in_proportion_to_weights(metapath, directed, weighted):
    edges = typed_edges(1, weighted=weighted)
    node_types = [TYPES[node % 3] for node in range(N_NODES)]
    walks = RandomWalks(
        edges, 400, 21, directed=directed, node_types=node_types, metapath=metapath, seed=5
    )
    probabilities: dict[Any, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
    merged = {}  # without relations, the last edge counts
    for (source, target, _), weight in list_arcs(edges, directed=True).items():
        merged[(source, target) if directed else frozenset([source, target])] = weight
    for ends, weight in merged.items():
        source, target = ends if directed else (min(ends), max(ends))
        both = {(source, target)} if directed else {(source, target), (target, source)}
        for start, end in both:
            for step in range(len(metapath) - 1):
                if (node_types[start], node_types[end]) == (metapath[step], metapath[step + 1]):
                    probabilities[step, start][end] += weight
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    rows = walks.sample()
    assert {node_types[node] for node in rows[:, 0]} == {metapath[0]}
    for row in rows.tolist():
        nodes = [node for node in row if node >= 0]
        for step, (node, following) in enumerate(zip(nodes, nodes[1:], strict=False)):
            counts[step % (len(metapath) - 1), node][following] += 1
        if len(nodes) < 21:  # no node of the next type
            assert not probabilities[(len(nodes) - 1) % (len(metapath) - 1), nodes[-1]]
    assert pooled_p_value(counts, probabilities) > MIN_P_VALUE


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metapath", [["wrote", "cites"], ["likes"], ["wrote", "wrote", "likes"]])
def test_edges_of_the_next_relation_are_drawn_in_proportion_to_weights(metapath, weighted):
    edges = typed_edges(2, weighted=weighted)
    walks = RandomWalks(
        edges, 1000, 12, directed=True, relation="relation", metapath=metapath, seed=4
    )
    probabilities: dict[Any, dict[Any, float]] = defaultdict(dict)
    for (source, target, relation), weight in list_arcs(edges, directed=True).items():
        for step, step_relation in enumerate(metapath):
            if relation == step_relation:
                probabilities[step, source][target] = weight
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    rows = walks.sample()
    assert rows.shape[1] == 12 and list(walks.names) == list(range(N_NODES))
    assert set(rows[:, 0]) == {node for step, node in probabilities if step == 0}
    for row in rows.tolist():
        nodes = [node for node in row if node >= 0]
        for step, (node, following) in enumerate(zip(nodes, nodes[1:], strict=False)):
            counts[step % len(metapath), node][following] += 1
        if len(nodes) < 12:
            assert not probabilities[(len(nodes) - 1) % len(metapath), nodes[-1]]
    assert pooled_p_value(counts, probabilities) > MIN_P_VALUE


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 1), (0.1, 10), (4, 0.5)])
def test_relations_and_nodes_have_the_frequencies_of_node2vec(weighted, directed, p, q):
    edges = typed_edges(3, weighted=weighted, repeated=True)
    walks = RandomWalks(edges, 400, 40, p, q, directed=directed, relation="relation", seed=6)
    assert list(walks.names) == [*range(N_NODES), *walks.names[N_NODES:]]
    assert set(walks.names[N_NODES:]) == set(RELATIONS)
    arcs = list_arcs(edges, directed)
    matrix = np.zeros((N_NODES, N_NODES))
    probabilities: dict[Any, dict[Any, float]] = defaultdict(dict)
    for (source, target, relation), weight in arcs.items():
        matrix[source, target] += weight
        probabilities[source, target][relation] = weight
    rows = walks.sample()
    assert rows.shape == (400 * N_NODES, 79)
    assert p_value(rows[:, ::2], matrix, p, q, node2vec_factor) > MIN_P_VALUE
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    for row in rows.tolist():
        words = [walks.names[word] for word in row if word >= 0]
        for source, relation, target in zip(words[::2], words[1::2], words[2::2], strict=False):
            counts[source, target][relation] += 1
    assert pooled_p_value(counts, probabilities) > MIN_P_VALUE


def test_test_detects_wrong_frequencies():
    edges = typed_edges(1, weighted=True)
    walks = RandomWalks(edges, 400, 40, directed=True, relation="relation", metapath=["wrote"])
    probabilities: dict[Any, dict[Any, float]] = defaultdict(dict)
    for (source, target, relation), weight in list_arcs(edges, directed=True).items():
        if relation == "wrote":
            probabilities[source][target] = weight**0.9
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    for row in walks.sample().tolist():
        nodes = [node for node in row if node >= 0]
        for node, following in zip(nodes, nodes[1:], strict=False):
            counts[node][following] += 1
    assert pooled_p_value(counts, probabilities) < MIN_P_VALUE


@pytest.mark.parametrize("weighted", [False, True])
def test_restarts_begin_the_metapath_again(weighted):
    edges = typed_edges(1, weighted=weighted)
    node_types = [TYPES[node % 3] for node in range(N_NODES)]
    metapath = ["author", "paper", "venue", "paper", "author"]
    walks = RandomWalks(
        edges, 200, 30, restart=0.3, node_types=node_types, metapath=metapath
    ).sample()
    n_steps, n_restarts = 0, 0
    for row in walks.tolist():
        step = 0
        for node in row[1:]:
            if node < 0:
                break
            n_steps += 1
            if node == row[0] and metapath[(step + 1) % 4] != "author":
                n_restarts += 1
                step = 0
            else:  # a step to the start where an author comes next has the same effect
                step += 1
                assert node_types[node] == metapath[step % 4]
    assert 0.15 < n_restarts / n_steps < 0.35


def test_restarts_have_no_relation():
    ring = pd.DataFrame({"a": range(50), "relation": "next", "b": [*range(1, 50), 0]})
    walks = RandomWalks(ring, 50, 80, restart=0.2, directed=True, relation="relation").sample()
    relation = 50
    is_restart = (walks[:, 1:] < relation) & (walks[:, :-1] < relation) & (walks[:, 1:] >= 0)
    starts = np.broadcast_to(walks[:, :1], is_restart.shape)
    assert (walks[:, 1:][is_restart] == starts[is_restart]).all()
    assert ((walks >= 0) & (walks < relation)).sum() == 80 * len(walks)
    n_steps = 79 * len(walks)
    assert abs(is_restart.sum() - 0.2 * n_steps) < 4 * np.sqrt(0.2 * 0.8 * n_steps)
