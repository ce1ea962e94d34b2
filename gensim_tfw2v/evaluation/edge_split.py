"""Splitting the edges of a graph into training edges and held-out edges."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

Edge = TypeVar("Edge", bound=Sequence[Any])


def split_edges(
    edges: Iterable[Edge], share: float = 0.5, *, seed: int = 0
) -> tuple[list[Edge], list[Edge]]:
    """Hold out a random share of a graph's edges, so that the rest connects the same nodes.

    Grover and Leskovec 2016, "node2vec: Scalable Feature Learning for Networks", KDD, hold out half
    of the edges in this way. A random spanning tree of each connected component stays among the
    training edges, as do self-loops. Edges between the same two nodes, in either direction, stay
    together.

    Parameters
    ----------
    edges : iterable of (node, node, ...)
        Tuples or lists whose first two items are the nodes of an edge; others may follow, such as a
        weight.
    share : float
        Share of the edges to hold out, in (0, 1); edges between the same two nodes count as one.
    seed : int
        Seed of the choice.

    Returns
    -------
    training_edges, held_out_edges : list
        The same tuples or lists, in their order.

    Raises
    ------
    ValueError
        If the share is not in (0, 1), or so large that the rest cannot connect the nodes.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share!r}")
    edges = list(edges)
    number_of: dict[Any, int] = {}
    numbers = [number_of.setdefault(node, len(number_of)) for edge in edges for node in edge[:2]]
    n_nodes = len(number_of)
    ends = np.sort(np.array(numbers, dtype=np.int64).reshape(-1, 2), axis=1)
    codes, code_of_edge = np.unique(ends[:, 0] * n_nodes + ends[:, 1], return_inverse=True)
    first, second = np.divmod(codes, n_nodes)

    order = np.random.default_rng(seed).permutation(len(codes)) + 1
    is_removable = first != second
    graph = csr_array((order, (first, second)), shape=(n_nodes, n_nodes))
    # the tree of minimal total order is a random one, and contains the orders of its edges
    is_removable[np.isin(order, minimum_spanning_tree(graph).data)] = False
    n_held_out = round(share * int((first != second).sum()))
    removable = np.flatnonzero(is_removable)
    if n_held_out > len(removable):
        raise ValueError(
            f"share is {share!r}, {n_held_out:,} edges, but without more than {len(removable):,} "
            "edges the graph falls into more parts; give a smaller share"
        )
    is_held_out = np.zeros(len(codes), dtype=bool)
    is_held_out[removable[np.argsort(order[removable])[:n_held_out]]] = True
    sides = is_held_out[code_of_edge]
    training_edges = [edge for edge, is_out in zip(edges, sides, strict=True) if not is_out]
    held_out_edges = [edge for edge, is_out in zip(edges, sides, strict=True) if is_out]
    return training_edges, held_out_edges
