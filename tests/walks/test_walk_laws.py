"""Frequencies of the steps of walks, against matrices of probabilities that are computed slowly."""

import itertools

import numpy as np
import pytest
from scipy import stats

from gensim_tfw2v.walks.csr_graph import CsrGraph
from gensim_tfw2v.walks.random_walks import RandomWalks

N_NODES = 20
WALK_LENGTH = 40

#: Smallest p-value of a chi-squared test that is accepted. Walks don't change from run to run.
MIN_P_VALUE = 1e-3


def random_edges(seed, weighted=False, loops=False, parallel=False):
    """Return sources, targets and weights of edges of a connected graph."""
    draws = np.random.default_rng(seed)
    edges = [(node, draws.integers(node)) for node in range(1, N_NODES)]
    edges += [tuple(draws.integers(N_NODES, size=2)) for _ in range(25)]
    edges = {tuple(sorted(map(int, edge))) for edge in edges}
    edges = sorted(edge for edge in edges if loops or edge[0] != edge[1])
    if loops:
        edges.append((3, 3))
    if parallel:
        edges += edges[::3]
    sources, targets = np.array(edges).T
    weights = draws.choice([0.2, 1.0, 2.0, 7.5], len(edges)) if weighted else None
    return sources, targets, weights


def build(seed, directed=False, dead_ends=False, parallel=False, **options):
    """Return a graph of each kind."""
    sources, targets, weights = random_edges(seed, parallel=parallel, **options)
    if dead_ends:
        kept = ~np.isin(sources, [5, 11, 17])
        sources, targets = sources[kept], targets[kept]
        weights = None if weights is None else weights[kept]
    return CsrGraph.from_edges(
        range(N_NODES), sources, targets, weights, directed=directed, parallel=parallel
    )


GRAPHS = {
    "plain": {},
    "weighted": {"weighted": True},
    "directed": {"directed": True},
    "weighted and directed": {"weighted": True, "directed": True},
    "self-loops": {"loops": True},
    "weighted self-loops": {"loops": True, "weighted": True},
    "dead ends": {"directed": True, "dead_ends": True},
    "parallel edges": {"parallel": True},
    "weighted parallel edges": {"parallel": True, "weighted": True},
}

PARAMETERS = [
    *[(1, 1), (0.25, 0.25), (0.5, 2), (2, 0.5), (0.1, 1), (1, 0.1)],
    *[(10, 1), (1, 10), (0.1, 10), (10, 0.1), (0.1, 0.1), (10, 10)],
]


def dense(graph):
    """Return the summed weights of the arcs between each two nodes."""
    matrix = np.zeros((N_NODES, N_NODES))
    for node in range(N_NODES):
        for arc in range(graph.offsets[node], graph.offsets[node + 1]):
            weight = 1.0 if graph.weights is None else graph.weights[arc]
            matrix[node, graph.neighbours[arc]] += weight
    return matrix


def node2vec_factor(matrix, previous, current, node, p, q):
    """Return the factor of the arc from `current` to `node`."""
    if node == previous:
        return 1 / p
    return 1.0 if matrix[previous, node] else 1 / q


def extended_factor(matrix, previous, current, node, p, q):
    """Return the factor in node2vec+; light arcs are those below the mean of their node."""
    if node == previous:
        return 1 / p
    mean = [row[row > 0].mean() if row.any() else 0.0 for row in matrix]
    weight = matrix[previous, node]
    if weight and weight >= mean[node]:
        return 1.0
    if matrix[current, node] < mean[current]:
        return min(1.0, 1 / q)
    share = weight / mean[node] if weight else 0.0
    return 1 / q + (1 - 1 / q) * share


def expected_steps(matrix, previous, current, p, q, factor):
    """Return the probability of each next node; `previous` is None for the first step."""
    weights = matrix[current].copy()
    if previous is not None:
        for node in np.flatnonzero(weights):
            weights[node] *= factor(matrix, previous, current, node, p, q)
    return weights / weights.sum()


def p_value(walks, matrix, p, q, factor=node2vec_factor):
    """Return the p-value of a chi-squared test of all steps, given the two nodes before each."""
    statistic, freedom = 0.0, 0
    states = [(None, node) for node in range(N_NODES)]
    states += itertools.product(range(N_NODES), range(N_NODES))
    for previous, current in states:
        if previous is None:
            following = walks[walks[:, 0] == current, 1]
        else:
            is_here = (walks[:, :-2] == previous) & (walks[:, 1:-1] == current)
            following = walks[:, 2:][is_here]
        counts = np.bincount(following[following >= 0], minlength=N_NODES)
        if not counts.sum():
            continue
        expected = counts.sum() * expected_steps(matrix, previous, current, p, q, factor)
        assert not counts[expected == 0].any(), "a step along no arc"
        # nodes with few expected steps are tested together, as usual
        is_rare = (expected > 0) & (expected < 5)
        observed = [*counts[expected >= 5], counts[is_rare].sum()]
        expected = [*expected[expected >= 5], expected[is_rare].sum()]
        if expected[-1] < 5:
            observed, expected = observed[:-1], expected[:-1]
        if len(expected) > 1:
            scale = sum(observed) / sum(expected)
            statistic += sum(
                (o - e * scale) ** 2 / (e * scale) for o, e in zip(observed, expected, strict=True)
            )
            freedom += len(expected) - 1
    assert freedom > 20
    return stats.chi2.sf(statistic, freedom)


def draw(graph, p, q, num_walks=250, seed=1, **options):
    return RandomWalks(
        (graph.offsets, graph.neighbours, graph.weights)
        if graph.weights is not None
        else (graph.offsets, graph.neighbours),
        num_walks,
        WALK_LENGTH,
        p=p,
        q=q,
        directed=True,
        seed=seed,
        **options,
    ).sample()


@pytest.mark.parametrize("kind", GRAPHS)
def test_steps_have_the_frequencies_of_node2vec(kind):
    graph = build(4, **GRAPHS[kind])
    matrix = dense(graph)
    p_values = [
        p_value(draw(graph, p, q, seed=seed), matrix, p, q)
        for seed, (p, q) in enumerate(PARAMETERS)
    ]
    assert min(p_values) > MIN_P_VALUE, dict(zip(PARAMETERS, p_values, strict=True))


@pytest.mark.parametrize("kind", ["weighted", "weighted and directed", "weighted self-loops"])
def test_steps_have_the_frequencies_of_node2vec_plus(kind):
    graph = build(5, **GRAPHS[kind])
    matrix = dense(graph)
    p_values = [
        p_value(draw(graph, p, q, seed=seed, extend=True), matrix, p, q, extended_factor)
        for seed, (p, q) in enumerate(PARAMETERS)
    ]
    assert min(p_values) > MIN_P_VALUE, dict(zip(PARAMETERS, p_values, strict=True))


def test_test_detects_wrong_frequencies():
    graph = build(4)
    matrix = dense(graph)
    assert p_value(draw(graph, 0.5, 2), matrix, 0.55, 2) < MIN_P_VALUE
    assert p_value(draw(graph, 0.5, 2), matrix, 0.5, 2.2) < MIN_P_VALUE
    weighted = build(4, weighted=True)
    extended = draw(weighted, 0.5, 2, extend=True)
    assert p_value(extended, dense(weighted), 0.5, 2) < MIN_P_VALUE


def test_walks_end_only_at_nodes_without_arcs():
    graph = build(4, directed=True, dead_ends=True)
    walks = draw(graph, 0.5, 2)
    lengths = np.count_nonzero(walks >= 0, axis=1)
    last_nodes = walks[np.arange(len(walks)), lengths - 1]
    ends = np.flatnonzero(np.diff(graph.offsets) == 0)
    assert set(last_nodes[lengths < WALK_LENGTH]) <= set(ends)
    assert not np.isin(walks[:, :-1][walks[:, 1:] >= 0], ends).any()
    is_behind_end = np.arange(WALK_LENGTH) >= lengths[:, None]
    assert (walks[is_behind_end] == -1).all()


def test_each_node_starts_as_many_walks_in_random_order():
    graph = build(4)
    walks = draw(graph, 1, 1, num_walks=50)
    repetitions = walks[:, 0].reshape(50, N_NODES)
    assert (np.sort(repetitions) == np.arange(N_NODES)).all()
    assert len(np.unique(repetitions, axis=0)) == 50
    # each node is at each place of a repetition about equally often
    places = np.argsort(draw(graph, 1, 1, num_walks=4000)[:, 0].reshape(-1, N_NODES), axis=1)
    for node in range(N_NODES):
        counts = np.bincount(places[:, node], minlength=N_NODES)
        assert stats.chisquare(counts).pvalue > 1e-5


def test_restarts_return_to_the_start_with_their_probability():
    targets = (np.arange(100) + 1) % 100  # a directed ring, so that any other step is a restart
    walks = RandomWalks(
        (np.arange(101), targets), 50, 80, restart=0.2, directed=True, seed=3
    ).sample()
    is_restart = walks[:, 1:] != (walks[:, :-1] + 1) % 100
    assert (walks[:, 1:] == walks[:, :1])[is_restart].all()
    n_steps = is_restart.size
    assert abs(is_restart.sum() - 0.2 * n_steps) < 4 * np.sqrt(0.2 * 0.8 * n_steps)


def test_restarts_keep_their_probability_if_steps_are_rejected():
    """Walks lead forward only, so each step back is a restart; most proposed steps are rejected."""
    n_nodes = 1000
    offsets = 3 * np.arange(n_nodes + 1)
    nodes = np.arange(n_nodes)[:, None]
    neighbours = np.sort((nodes + [1, 2, 3]) % n_nodes, axis=1).ravel()
    walks = RandomWalks(
        (offsets, neighbours), 20, 80, p=0.1, q=10, restart=0.1, directed=True, seed=3
    ).sample()
    forward = (walks[:, 1:] - walks[:, :-1]) % n_nodes
    is_restart = (forward == 0) | (forward > 3)
    assert (walks[:, 1:] == walks[:, :1])[is_restart].all()
    n_steps = is_restart.size
    assert abs(is_restart.sum() - 0.1 * n_steps) < 4 * np.sqrt(0.1 * 0.9 * n_steps)


def test_hubs_and_tiny_weights_are_drawn_in_proportion():
    """A node with 3,000 arcs, whose weights differ by a factor of a million."""
    n_leaves = 3000
    weights = np.random.default_rng(0).choice([1e-4, 1.0, 100.0], n_leaves, p=[0.5, 0.45, 0.05])
    graph = CsrGraph.from_edges(
        range(n_leaves + 1), np.zeros(n_leaves, int), np.arange(1, n_leaves + 1), weights
    )
    walks = RandomWalks(
        (graph.offsets, graph.neighbours, graph.weights), 2000, 80, directed=True, start_nodes=[0]
    ).sample()
    counts = np.bincount(walks[walks > 0], minlength=n_leaves + 1)[1:]
    for weight in np.unique(weights):
        share = weights[weights == weight].sum() / weights.sum()
        observed, total = counts[weights == weight].sum(), counts.sum()
        assert abs(observed - share * total) < 5 * np.sqrt(share * total) + 1
    heavy = counts[weights == 100]
    assert stats.chisquare(heavy).pvalue > 1e-4
