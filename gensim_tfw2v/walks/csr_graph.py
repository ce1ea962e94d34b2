"""A graph in memory: the neighbours of all nodes in one array, one node after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Maximum number of nodes: their numbers are int32.
MAX_NODES = 2**31 - 1

#: Numbers of nodes, one per edge or per arc.
Nodes = NDArray[np.int32]

#: Weights, one per edge or per arc; None if all are 1.
Weights = NDArray[np.float32] | None


@dataclass(frozen=True, eq=False)
class CsrGraph:
    """Graph in compressed sparse rows (CSR). An undirected edge is two arcs, a self-loop is one.

    Attributes
    ----------
    names : sequence
        Name of each node. Nodes that are the integers 0 ... n - 1 have the names ``range(n)``.
    offsets : ndarray of int64 [n + 1]
        Index in `neighbours` of each node's first arc, and, as the last, the number of arcs.
    neighbours : ndarray of int32
        Node at the end of each arc, ascending for each node. Parallel arcs repeat it.
    weights : ndarray of float32 or None
        Weight of each arc, positive and finite; None if all are 1.
    """

    names: Sequence[Any]
    offsets: NDArray[np.int64]
    neighbours: Nodes
    weights: Weights

    @classmethod
    def from_edges(
        cls,
        names: Sequence[Any],
        sources: NDArray[Any],
        targets: NDArray[Any],
        weights: NDArray[Any] | None = None,
        *,
        directed: bool = False,
        parallel: bool = False,
    ) -> "CsrGraph":
        """Build a graph from its edges.

        Edges of weight 0 are left out.

        Parameters
        ----------
        names : sequence
            Name of each node. A node may have no edge.
        sources, targets : ndarray of integers
            Numbers of the nodes at both ends of each edge: indices in `names`.
        weights : ndarray, optional
            Weight of each edge; by default 1.
        directed : bool
            Whether an edge is the arc from its source to its target alone.
        parallel : bool
            Whether an edge that is listed repeatedly is several edges. By default it is one, with
            the weight that is listed last. If the graph is undirected, a - b and b - a are the
            same edge.

        Raises
        ------
        ValueError
            If there are too many nodes, if a number is not that of a node, or if a weight is
            negative or not finite. Messages count edges from 0.
        """
        if len(names) > MAX_NODES:
            raise ValueError(
                f"the graph has {len(names):,} nodes, and at most {MAX_NODES:,} are supported: "
                "leave out nodes without edges, or number the nodes without gaps"
            )
        n_nodes = len(names)
        sources = check_nodes(sources, n_nodes)
        targets = check_nodes(targets, n_nodes)
        weights = check_weights(weights)
        if not parallel:
            if not directed:
                sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
            sources, targets, weights = _merge_edges(n_nodes, sources, targets, weights)
        if weights is not None and not weights.all():
            sources, targets, weights = _select(weights != 0, sources, targets, weights)
        if not directed:
            sources, targets, weights = _with_reverse_arcs(sources, targets, weights)
        return cls(names, *_sort_arcs(n_nodes, sources, targets, _none_if_ones(weights)))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.offsets) - 1

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return len(self.neighbours)


def check_nodes(nodes: NDArray[Any], n_nodes: int) -> Nodes:
    """Return the numbers of the nodes at one end of all edges, as int32.

    Raises
    ------
    ValueError
        If one is not between 0 and `n_nodes` - 1.
    """
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= n_nodes):
        edge = int(np.argmax((nodes < 0) | (nodes >= n_nodes)))
        raise ValueError(
            f"edge {edge:,} has an end at node {nodes[edge]}, but the graph has {n_nodes:,} nodes, "
            "which are numbered from 0: number the nodes without gaps"
        )
    return nodes.astype(np.int32, copy=False)


def check_weights(weights: NDArray[Any] | None) -> Weights:
    """Return the weights of all edges, as float32.

    Raises
    ------
    ValueError
        If one is not valid, see `find_invalid_weight`.
    """
    if weights is None:
        return None
    if (edge := find_invalid_weight(weights)) is not None:
        raise ValueError(weight_message(f"edge {edge:,}", weights[edge]))
    return weights.astype(np.float32, copy=False)


def find_invalid_weight(weights: NDArray[Any]) -> int | None:
    """Return the index of the first weight that is not valid; None if all are.

    A weight is not valid if it is negative or not finite, or if it is so large or so small that its
    single precision is infinite or 0.
    """
    with np.errstate(over="ignore"):
        single = weights.astype(np.float32, copy=False)
    are_valid = np.isfinite(single) & (single >= 0) & ((single != 0) == (weights != 0))
    return None if are_valid.all() else int(np.argmin(are_valid))


def weight_message(location: str, weight: Any) -> str:
    """Return the message for an edge, at a location, whose weight is not valid."""
    return (
        f"{location} has the weight {weight}; weights must not be negative, and must be finite "
        "numbers in single precision: leave out the edge, or change its weight"
    )


def _merge_edges(
    n_nodes: int, sources: Nodes, targets: Nodes, weights: Weights
) -> tuple[Nodes, Nodes, Weights]:
    """Merge repeated edges; return the edges in ascending order, each with its last weight."""
    offsets, targets, weights = _sort_arcs(n_nodes, sources, targets, weights)
    sources = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(offsets))
    is_last = np.ones(len(sources), bool)
    is_last[:-1] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    if is_last.all():
        return sources, targets, weights
    return _select(is_last, sources, targets, weights)


def _select(
    is_selected: NDArray[np.bool_], sources: Nodes, targets: Nodes, weights: Weights
) -> tuple[Nodes, Nodes, Weights]:
    """Return the selected edges."""
    selected_weights = None if weights is None else weights[is_selected]
    return sources[is_selected], targets[is_selected], selected_weights


def _with_reverse_arcs(
    sources: Nodes, targets: Nodes, weights: Weights
) -> tuple[Nodes, Nodes, Weights]:
    """Return the arcs of undirected edges: both directions, but a self-loop once."""
    reverse = _select(sources != targets, targets, sources, weights)
    return (
        np.concatenate([sources, reverse[0]]),
        np.concatenate([targets, reverse[1]]),
        None if weights is None else np.concatenate([weights, reverse[2]]),
    )


def _none_if_ones(weights: Weights) -> Weights:
    return None if weights is None or (weights == 1).all() else weights


def _sort_arcs(
    n_nodes: int, sources: Nodes, targets: Nodes, weights: Weights
) -> tuple[NDArray[np.int64], Nodes, Weights]:
    """Sort arcs by source and target; return the offsets, the neighbours and their weights.

    SciPy's conversions are counting sorts: they take linear time, and keep the order of equal arcs.
    """
    from scipy import sparse  # it takes some time to import, and not all commands need it

    values = np.ones(len(sources), np.int8) if weights is None else weights
    by_target = sparse.coo_array((values, (targets, sources)), shape=(n_nodes, n_nodes))
    by_target.has_canonical_format = True  # otherwise SciPy would merge parallel arcs
    by_source = by_target.tocsr().tocsc()
    return (
        by_source.indptr.astype(np.int64),
        by_source.indices.astype(np.int32, copy=False),
        None if weights is None else by_source.data,
    )
