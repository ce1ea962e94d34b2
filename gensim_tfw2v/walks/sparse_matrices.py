"""Reader of graphs in sparse matrices: SciPy's, or their arrays ``(indptr, indices, weights)``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.walks.array_values import as_array
from gensim_tfw2v.walks.csr_graph import (
    MAX_NODES,
    CsrGraph,
    Nodes,
    Weights,
    find_invalid_weight,
    weight_message,
)

#: Maximum relative difference of two weights that count as equal: rounding errors.
TOLERANCE = 1e-5


def read_matrix(matrix: Any, directed: bool) -> CsrGraph:
    """Read SciPy's sparse matrix or array: element (i, j) is the weight of the arc from i to j.

    Repeated elements are added, as SciPy does. Elements that are 0 are no arcs. If the graph is not
    directed, and only one of the elements (i, j) and (j, i) is there, it is also the other.

    Raises
    ------
    TypeError
        If the elements are not real numbers.
    ValueError
        If the matrix is not square, if it has too many rows, if a weight is not valid, or if
        elements (i, j) and (j, i) of an undirected graph differ.
    """
    from scipy import sparse

    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"the matrix has the shape {matrix.shape}, but the matrix of a graph is square, with a "
            "row and a column for each node"
        )
    if matrix.shape[0] > MAX_NODES:
        raise ValueError(
            f"the matrix has {matrix.shape[0]:,} rows, but a graph has at most {MAX_NODES:,} nodes"
        )
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"the matrix has elements of type {matrix.dtype}, but weights must be real numbers: "
            "convert it, as in: matrix.astype('float32')"
        )
    rows = sparse.csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the elements may be those of the caller's matrix
        rows.sum_duplicates()
    _check_elements(rows)
    if not rows.data.all():
        rows = rows.copy()
        rows.eliminate_zeros()
    graph = CsrGraph(
        range(rows.shape[0]),
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        None if (rows.data == 1).all() else rows.data.astype(np.float32),
    )
    return graph if directed else _with_reverse_arcs(graph)


def read_csr_arrays(arrays: tuple[Any, ...], directed: bool) -> CsrGraph:
    """Read a tuple (indptr, indices) or (indptr, indices, weights) as a matrix; see `read_matrix`.

    The neighbours of node i are ``indices[indptr[i]:indptr[i + 1]]``.

    Raises
    ------
    TypeError
        If an array has a wrong type.
    ValueError
        If the arrays are not those of a graph.
    """
    from scipy import sparse

    if not 2 <= len(arrays) <= 3:
        raise ValueError(
            f"the graph is a tuple of {len(arrays)} elements, but must be (indptr, indices) or "
            "(indptr, indices, weights)"
        )
    indptr = as_array("indptr", arrays[0], 1, "iu")
    indices = as_array("indices", arrays[1], 1, "iu")
    weights = np.ones(len(indices), np.float32)
    if len(arrays) == 3 and arrays[2] is not None:
        weights = as_array("weights", arrays[2], 1, "biuf")
    if len(weights) != len(indices):
        raise ValueError(
            f"the graph has {len(indices):,} indices, but {len(weights):,} weights: each arc has "
            "one of both"
        )
    _check_offsets(indptr, len(indices))
    n_nodes = len(indptr) - 1
    if len(indices) and (indices.min() < 0 or indices.max() >= n_nodes):
        arc = int(np.argmax((indices < 0) | (indices >= n_nodes)))
        raise ValueError(
            f"indices[{arc}] is {indices[arc]}, but the graph has {n_nodes:,} nodes, which are "
            "numbered from 0: indptr must have an element more than there are nodes"
        )
    matrix = sparse.csr_array((weights, indices, indptr), shape=(n_nodes, n_nodes))
    return read_matrix(matrix, directed)


def _check_offsets(indptr: NDArray[Any], n_arcs: int) -> None:
    """Raise a ValueError if `indptr` doesn't ascend from 0 to the number of arcs."""
    if not len(indptr) or indptr[0] != 0 or indptr[-1] != n_arcs:
        bounds = f"from {indptr[0]} to {indptr[-1]}" if len(indptr) else "nothing"
        raise ValueError(
            f"indptr contains {bounds}, but must ascend from 0 to the number of indices, {n_arcs:,}"
        )
    is_descent = indptr[1:] < indptr[:-1]
    if is_descent.any():
        node = int(np.argmax(is_descent))
        raise ValueError(
            f"indptr must ascend, but indptr[{node}] is {indptr[node]}, and indptr[{node + 1}] is "
            f"{indptr[node + 1]}: for a list of edges, pass an array of shape [2, edges]"
        )


def _check_elements(rows: Any) -> None:
    """Raise a ValueError if an element of a matrix is no valid weight."""
    if (index := find_invalid_weight(rows.data)) is not None:
        row = int(np.searchsorted(rows.indptr, index, "right")) - 1
        location = f"element ({row}, {rows.indices[index]}) of the matrix"
        raise ValueError(weight_message(location, rows.data[index]))


def _with_reverse_arcs(graph: CsrGraph) -> CsrGraph:
    """Return a graph with the reverse of each arc, which may be there already.

    Raises
    ------
    ValueError
        If an arc and its reverse have different weights.
    """
    sources = graph.sources()
    targets = graph.neighbours
    reverse = CsrGraph.from_edges(
        graph.names, targets, sources, graph.weights, directed=True, parallel=True
    )
    if np.array_equal(reverse.offsets, graph.offsets) and np.array_equal(
        reverse.neighbours, targets
    ):
        _check_weights(sources, targets, graph.weights, reverse.weights)
        return graph
    weights = graph.weights
    both = CsrGraph.from_edges(
        graph.names,
        np.concatenate([sources, targets]),
        np.concatenate([targets, sources]),
        None if weights is None else np.concatenate([weights, weights]),
        directed=True,
        parallel=True,
    )
    sources = both.sources()
    targets = both.neighbours
    weights = both.weights
    # an arc that is in the matrix precedes the reverse of the one in the opposite direction
    is_repeated = np.zeros(len(sources), bool)
    is_repeated[1:] = (sources[1:] == sources[:-1]) & (targets[1:] == targets[:-1])
    if weights is not None:
        repeated = np.flatnonzero(is_repeated)
        _check_weights(
            sources[repeated], targets[repeated], weights[repeated - 1], weights[repeated]
        )
        weights = weights[~is_repeated]
    return CsrGraph.from_edges(
        graph.names,
        sources[~is_repeated],
        targets[~is_repeated],
        weights,
        directed=True,
        parallel=True,
    )


def _check_weights(
    sources: Nodes, targets: Nodes, weights: Weights, reverse_weights: Weights
) -> None:
    """Raise a ValueError if the weights of some arcs differ from those of their reverse arcs."""
    if weights is None or reverse_weights is None:
        return
    are_equal = np.isclose(weights, reverse_weights, rtol=TOLERANCE, atol=0)
    if not are_equal.all():
        arc = int(np.argmin(are_equal))
        source, target = sources[arc], targets[arc]
        raise ValueError(
            f"the elements ({source}, {target}) and ({target}, {source}) of the matrix are "
            f"{weights[arc]} and {reverse_weights[arc]}, but an undirected graph has one weight "
            "for both: pass directed=True, or make the matrix symmetric, as in: "
            "(matrix + matrix.T) / 2"
        )
