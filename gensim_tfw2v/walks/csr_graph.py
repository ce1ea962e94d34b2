"""A graph in memory: the neighbours of all nodes in one array, one node after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Maximum number of nodes: their numbers are int32.
MAX_NODES = 2**31 - 1

#: Numbers of nodes, one per edge or per arc.
Nodes = NDArray[np.int32]

#: Weights, one per edge or per arc; None if all are 1.
Weights = NDArray[np.float32] | None


class Relations(NamedTuple):
    """Relations for which edges or arcs stand, such as "works at" in a knowledge graph.

    Attributes
    ----------
    numbers : ndarray of int32
        Number of the relation of each edge or arc: index in `names`.
    names : sequence
        Name of each relation.
    """

    numbers: NDArray[np.int32]
    names: Sequence[Any]


@dataclass(frozen=True, eq=False)
class CsrGraph:
    """Graph in compressed sparse rows (CSR). An undirected edge is two arcs, a self-loop is one.

    Attributes
    ----------
    names : sequence
        Name of each node. Nodes that are the integers 0 ... n - 1 have the names ``range(n)``.
    offsets : ndarray of int64 [n + 1]
        Index in `neighbours` of the first arc of each row, and, as the last, the number of arcs. A
        row contains the arcs of a node, or those of a type: see `MetapathGraph`.
    neighbours : ndarray of int32
        Node at the end of each arc, ascending in each row. Parallel arcs repeat it.
    weights : ndarray of float32 or None
        Weight of each arc, positive and finite; None if all are 1.
    relations : Relations or None
        Relation of each arc, ascending for parallel arcs. None if arcs have no relations.
    """

    names: Sequence[Any]
    offsets: NDArray[np.int64]
    neighbours: Nodes
    weights: Weights
    relations: Relations | None = None

    @classmethod
    def from_edges(
        cls,
        names: Sequence[Any],
        sources: NDArray[Any],
        targets: NDArray[Any],
        weights: NDArray[Any] | None = None,
        relations: Relations | None = None,
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
        relations : Relations, optional
            Relation of each edge.
        directed : bool
            Whether an edge is the arc from its source to its target alone.
        parallel : bool
            Whether an edge that is listed repeatedly is several edges. By default it is one, with
            the weight that is listed last. If the graph is undirected, a - b and b - a are the
            same edge. Edges of different relations are different edges.

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
        edges = _Edges(
            check_nodes(sources, n_nodes),
            check_nodes(targets, n_nodes),
            check_weights(weights),
            None if relations is None else relations.numbers,
        )
        if not parallel:
            edges = _merge_edges(n_nodes, edges if directed else _with_ascending_ends(edges))
        if edges.weights is not None and not edges.weights.all():
            edges = edges.select(edges.weights != 0)
        if not directed:
            edges = _with_reverse_arcs(edges)
        offsets, arcs = _sort_arcs(n_nodes, edges)
        if relations is not None and arcs.relations is not None:
            relations = relations._replace(numbers=arcs.relations)
        return cls(names, offsets, arcs.targets, _none_if_ones(arcs.weights), relations)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows of arcs."""
        return len(self.offsets) - 1

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return len(self.neighbours)

    def sources(self) -> Nodes:
        """Return the node at the start of each arc."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.offsets))


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


class _Edges(NamedTuple):
    """Edges or arcs, with the number of each relation; None if edges have no relations."""

    sources: Nodes
    targets: Nodes
    weights: Weights
    relations: NDArray[np.int32] | None

    def select(self, index: NDArray[Any]) -> "_Edges":
        """Return the edges of an index, or of a mask."""
        return _Edges(
            self.sources[index],
            self.targets[index],
            None if self.weights is None else self.weights[index],
            None if self.relations is None else self.relations[index],
        )


def _with_ascending_ends(edges: _Edges) -> _Edges:
    """Swap the ends of edges whose source has a greater number than the target."""
    return edges._replace(
        sources=np.minimum(edges.sources, edges.targets),
        targets=np.maximum(edges.sources, edges.targets),
    )


def _merge_edges(n_nodes: int, edges: _Edges) -> _Edges:
    """Merge repeated edges; return the edges in ascending order, each with its last weight."""
    offsets, edges = _sort_arcs(n_nodes, edges)
    is_last = np.ones(len(edges.sources), bool)
    is_last[:-1] = (edges.sources[1:] != edges.sources[:-1]) | (
        edges.targets[1:] != edges.targets[:-1]
    )
    if edges.relations is not None:
        is_last[:-1] |= edges.relations[1:] != edges.relations[:-1]
    return edges if is_last.all() else edges.select(is_last)


def _with_reverse_arcs(edges: _Edges) -> _Edges:
    """Return the arcs of undirected edges: both directions, but a self-loop once."""
    reverse = edges._replace(sources=edges.targets, targets=edges.sources)
    reverse = reverse.select(edges.sources != edges.targets)
    weights = edges.weights
    relations = edges.relations
    return _Edges(
        np.concatenate([edges.sources, reverse.sources]),
        np.concatenate([edges.targets, reverse.targets]),
        None if weights is None else np.concatenate([weights, reverse.weights]),
        None if relations is None else np.concatenate([relations, reverse.relations]),
    )


def _none_if_ones(weights: Weights) -> Weights:
    return None if weights is None or (weights == 1).all() else weights


def _sort_arcs(n_nodes: int, arcs: _Edges) -> tuple[NDArray[np.int64], _Edges]:
    """Sort arcs by source, target and relation; return the offsets, and the sorted arcs.

    SciPy's conversions are counting sorts: they take linear time, and keep the order of equal arcs.
    """
    from scipy import sparse  # it takes some time to import, and not all commands need it

    if arcs.relations is not None:
        arcs = arcs.select(np.argsort(arcs.relations, kind="stable"))
        values: NDArray[Any] = np.arange(len(arcs.sources))  # indices of the arcs
    elif arcs.weights is not None:
        values = arcs.weights
    else:
        values = np.ones(len(arcs.sources), np.int8)
    by_target = sparse.coo_array((values, (arcs.targets, arcs.sources)), shape=(n_nodes, n_nodes))
    by_target.has_canonical_format = True  # otherwise SciPy would merge parallel arcs
    by_source = by_target.tocsr().tocsc()
    offsets = by_source.indptr.astype(np.int64)
    sources = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(offsets))
    targets = by_source.indices.astype(np.int32, copy=False)
    if arcs.relations is not None:
        arcs = arcs.select(by_source.data)
    elif arcs.weights is not None:
        arcs = arcs._replace(weights=by_source.data)
    return offsets, arcs._replace(sources=sources, targets=targets)
