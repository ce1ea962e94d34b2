import itertools

import numpy as np
import pytest

from gensim_tfw2v.evaluation import split_edges
from tests.evaluation.nodes import planted_edges, planted_groups


def components(edges):
    """Return the sets of nodes that edges connect."""
    component_of = {}
    for first, second, *_ in edges:
        joined = component_of.get(first, {first}) | component_of.get(second, {second})
        component_of |= dict.fromkeys(joined, joined)
    return {frozenset(component) for component in component_of.values()}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_rest_connects_the_same_nodes(seed, share):
    edges = planted_edges(planted_groups()[1], 1500, seed=seed)
    edges += [(f"x{a}", f"x{b}") for a, b in itertools.combinations(range(10), 2)]
    training_edges, held_out_edges = split_edges(edges, share, seed=seed)
    assert len(held_out_edges) == round(share * len(edges))
    assert sorted(training_edges + held_out_edges) == sorted(edges)
    assert components(training_edges) == components(edges)


def test_edges_of_a_cycle_are_held_out_alike():
    cycle = [(n, (n + 1) % 6) for n in range(6)]
    counts = dict.fromkeys(cycle, 0)
    for seed in range(600):
        ((edge),) = split_edges(cycle, 1 / 6, seed=seed)[1]
        counts[edge] += 1
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 21  # p < 0.001


def test_edges_between_the_same_nodes_stay_together():
    pairs = list(itertools.combinations("abcdefgh", 2))
    edges = [*pairs, *(pair[::-1] for pair in pairs), ("a", "a")]
    training_edges, held_out_edges = split_edges(edges, 0.5)
    assert len(held_out_edges) == 28
    assert {edge[::-1] for edge in held_out_edges} == set(held_out_edges)
    assert ("a", "a") in training_edges


def test_further_items_and_order_are_kept():
    rng = np.random.default_rng(2)
    edges = [[a, b, rng.random()] for a, b in itertools.permutations(range(6), 2)]
    for part in split_edges(iter(edges), 0.4, seed=2):
        assert part == [edge for edge in edges if edge in part] and part


def test_seed_determines_the_split():
    edges = planted_edges(planted_groups()[1], 400)
    splits = [split_edges(edges, 0.3, seed=seed) for seed in (1, 1, 2)]
    assert splits[0] == splits[1] != splits[2]


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan")])
def test_share_outside_of_0_to_1_is_rejected(share):
    with pytest.raises(ValueError, match=f"share must be between 0 and 1, got {share}"):
        split_edges([("a", "b")], share)


def test_share_that_disconnects_nodes_is_rejected():
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    assert len(split_edges(edges, 0.25)[1]) == 1
    with pytest.raises(ValueError, match="2 edges, but without more than 1 edges the graph falls"):
        split_edges(edges, 0.5)
