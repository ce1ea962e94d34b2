"""Nodes in groups, with vectors near the centre of their group."""

import numpy as np
from gensim.models import KeyedVectors


def planted_groups(n_groups=4, n_nodes=50, noise=0.5, dimensions=8, seed=0):
    """Return vectors of the nodes "0", "1", ..., and the group of each node, an array.

    With infinite noise, vectors do not depend on the groups.
    """
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_groups), n_nodes))
    rows = rng.normal(size=(len(groups), dimensions))
    if np.isfinite(noise):
        rows = rng.normal(size=(n_groups, dimensions))[groups] + noise * rows
    vectors = KeyedVectors(dimensions)
    vectors.add_vectors([str(node) for node in range(len(groups))], rows.astype(np.float32))
    return vectors, groups


def planted_edges(groups, n_edges, share_within=0.9, seed=0):
    """Return distinct edges, most of them between nodes of the same group, as pairs of names."""
    rng = np.random.default_rng(seed)
    edges = {}
    while len(edges) < n_edges:
        first, second = sorted(rng.integers(len(groups), size=2).tolist())
        is_within = groups[first] == groups[second]
        if first != second and is_within == (rng.random() < share_within):
            edges[str(first), str(second)] = None
    return list(edges)


def write_pairs(path, pairs):
    path.write_text("".join("\t".join(map(str, pair)) + "\n" for pair in pairs))
    return path
