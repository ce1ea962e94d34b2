"""Link prediction: held-out edges against pairs of nodes without an edge."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from scipy.stats import rankdata

from gensim_tfw2v.evaluation import logistic_regression
from gensim_tfw2v.evaluation.node_pairs import find_rows, name_source, read_edges
from gensim_tfw2v.evaluation.sets import Path
from gensim_tfw2v.keyed import with_keys

#: Operators of node2vec, which make the features of a pair of the vectors of its nodes, by name.
OPERATORS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "average": lambda first, second: (first + second) / 2,
    "hadamard": lambda first, second: first * second,
    "weighted_l1": lambda first, second: np.abs(first - second),
    "weighted_l2": lambda first, second: (first - second) ** 2,
}

#: Number of folds of the cross-validation.
N_FOLDS = 5


@dataclass(frozen=True)
class LinkScore:
    """Separation of held-out edges from pairs of nodes without an edge.

    Attributes
    ----------
    auc : dict
        Area under the ROC curve, in [0, 1], by ``"cosine"``, ``"dot_product"`` and the names of the
        operators: the probability that an edge has a higher score than a pair without an edge. It
        is 0.5 for random vectors.
    edges : int
        Number of different edges, without self-loops.
    used : int
        Number of these edges that are compared with as many pairs without an edge.
    without_vector : int
        Number of these edges with a node that has no vector.
    self_loops : int
        Number of nodes with an edge to themselves. These edges are left out.
    """

    auc: dict[str, float]
    edges: int
    used: int
    without_vector: int
    self_loops: int

    def to_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return asdict(self)


def evaluate_edges(
    vectors: KeyedVectors,
    edges: Path | Iterable[Sequence[Any]],
    *,
    known_edges: Path | Iterable[Sequence[Any]] | None = None,
    max_edges: int = 100_000,
    seed: int = 0,
) -> LinkScore:
    """Predict edges that the vectors were not trained on.

    The held-out edges are compared with as many random pairs of different nodes that have no edge.
    Cosine and dot product score a pair without a classifier. For each operator of node2vec (Grover
    and Leskovec 2016, "node2vec: Scalable Feature Learning for Networks", KDD, table 1), a
    logistic regression (L2 penalty, C = 1) scores it; its AUC is the mean over the
    folds of a five-fold cross-validation. Edges count as undirected. Use `split_edges` to hold out
    edges of a graph.

    Parameters
    ----------
    vectors : KeyedVectors
        Vectors of the nodes, trained without the held-out edges.
    edges : path or iterable of (node, node)
        The held-out edges: a list of edges as text or a .csv file, as for `RandomWalks`, or pairs,
        such as the rows of an array. In a file, the columns source and target, src and dst, or from
        and to contain the nodes, or otherwise the first two columns. Weights are ignored.
    known_edges : path or iterable of (node, node), optional
        Edges that the vectors were trained on, or all edges of the graph. They are not drawn as
        pairs without an edge.
    max_edges : int
        Maximum number of edges to compare; of more edges, random ones are used.
    seed : int
        Seed of all random choices.

    Returns
    -------
    LinkScore
        AUC by score, and counts of edges.

    Raises
    ------
    ValueError
        If no node has a vector, if there are less than five edges whose nodes have vectors, or if
        there are too few pairs without an edge.
    EvaluationFileError
        If a file is empty or damaged, or has no columns of nodes, or if a line has other columns
        than the first one.
    OSError
        If a file cannot be read.
    """
    vectors = with_keys(vectors)
    edge_rows, n_edges, n_self_loops = _read_row_pairs(vectors, edges)
    n_with_vectors = len(edge_rows)
    if n_with_vectors < N_FOLDS:
        raise ValueError(
            f"{name_source(edges)}{n_with_vectors} of {n_edges} edges have vectors of both nodes; "
            f"give at least {N_FOLDS} such edges"
        )
    if max_edges < N_FOLDS:
        raise ValueError(f"max_edges must be at least {N_FOLDS}, got {max_edges}")
    graph_rows = edge_rows
    if known_edges is not None:
        graph_rows = np.concatenate([edge_rows, _read_row_pairs(vectors, known_edges)[0]])
    rng = np.random.default_rng(seed)
    if n_with_vectors > max_edges:
        edge_rows = rng.choice(edge_rows, max_edges, replace=False)
    n_used = len(edge_rows)
    non_edge_rows = _draw_non_edges(rng, graph_rows, len(vectors), n_used)
    first, second = np.concatenate([edge_rows, non_edge_rows]).T
    is_edge = np.arange(2 * n_used) < n_used
    # the edges of a fold, and as many pairs without an edge
    folds = np.concatenate([rng.permutation(n_used), rng.permutation(n_used)]) % N_FOLDS

    products = np.einsum("nd,nd->n", vectors.vectors[first], vectors.vectors[second])
    first_norms, second_norms = (
        np.maximum(np.linalg.norm(vectors.vectors[rows], axis=1), np.finfo(np.float32).tiny)
        for rows in (first, second)
    )
    cosines = products / first_norms / second_norms
    auc = {"cosine": area_under_curve(cosines, is_edge)}
    auc["dot_product"] = area_under_curve(products, is_edge)
    for name, operator in OPERATORS.items():
        features = operator(vectors.vectors[first], vectors.vectors[second])
        auc[name] = _cross_validated_auc(features, is_edge, folds)
    return LinkScore(
        auc=auc,
        edges=n_edges,
        used=n_used,
        without_vector=n_edges - n_with_vectors,
        self_loops=n_self_loops,
    )


def area_under_curve(scores: NDArray[np.floating], is_edge: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve.

    It is the fraction of all combinations of an edge and a pair without an edge in which the edge
    has the higher score. Equal scores count as one half.
    """
    ranks = rankdata(scores)[is_edge]
    n_edges = len(ranks)
    n_others = len(scores) - n_edges
    return float((ranks.sum() - n_edges * (n_edges + 1) / 2) / (n_edges * n_others))


def _cross_validated_auc(
    features: NDArray[np.float32], is_edge: NDArray[np.bool_], folds: NDArray[np.int64]
) -> float:
    """Return the mean AUC over folds, each scored by a classifier of the remaining folds."""
    areas = []
    for fold in range(N_FOLDS):
        is_tested = folds == fold
        weights, _ = logistic_regression.fit(features[~is_tested], is_edge[~is_tested, None])
        areas.append(area_under_curve(features[is_tested] @ weights[:, 0], is_edge[is_tested]))
    return float(np.mean(areas))


def _read_row_pairs(
    vectors: KeyedVectors, edges: Path | Iterable[Sequence[Any]]
) -> tuple[NDArray[np.int64], int, int]:
    """Return the rows of both nodes of each edge, [n, 2], and counts of edges and of self-loops.

    The smaller row comes first. Repeated edges, self-loops and edges with a node without a vector
    are left out of the rows. The counts are of different edges and self-loops, with or without
    vectors.
    """
    pairs = read_edges(edges)
    number_of: dict[Any, int] = {}
    numbers = [number_of.setdefault(node, len(number_of)) for pair in pairs for node in pair]
    n_nodes = len(number_of)
    distinct_pairs = unique_pairs(np.array(numbers, dtype=np.int64).reshape(-1, 2), n_nodes)
    is_loop = distinct_pairs[:, 0] == distinct_pairs[:, 1]
    rows = find_rows(vectors, list(number_of), edges)[distinct_pairs[~is_loop]]
    known_rows = rows[(rows >= 0).all(axis=1)]
    return unique_pairs(known_rows, len(vectors)), len(rows), int(is_loop.sum())


def unique_pairs(pairs: NDArray[np.int64], n_nodes: int) -> NDArray[np.int64]:
    """Return the different unordered pairs of numbers below `n_nodes`, the smaller number first."""
    codes = np.unique(pairs.min(axis=1) * n_nodes + pairs.max(axis=1))
    return np.stack(np.divmod(codes, n_nodes), axis=1)


def _draw_non_edges(
    rng: np.random.Generator, edges: NDArray[np.int64], n_nodes: int, n_pairs: int
) -> NDArray[np.int64]:
    """Draw different pairs of nodes that have no edge, uniformly, [n_pairs, 2].

    Raises
    ------
    ValueError
        If there are fewer than `n_pairs` such pairs.
    """
    edge_codes = np.unique(edges[:, 0] * n_nodes + edges[:, 1])
    n_non_edges = n_nodes * (n_nodes - 1) // 2 - len(edge_codes)
    if n_non_edges < n_pairs:
        raise ValueError(
            f"{n_pairs:,} edges need as many pairs of nodes without an edge, and the graph has "
            f"only {n_non_edges:,}; hold out fewer edges"
        )
    if len(edge_codes) > 9 * n_non_edges:  # few draws would be pairs without an edge
        codes = rng.choice(_non_edge_codes(edge_codes, n_nodes), n_pairs, replace=False)
        return np.stack(np.divmod(codes, n_nodes), axis=1)
    codes = np.empty(0, dtype=np.int64)
    while len(codes) < n_pairs:
        pairs = rng.integers(n_nodes, size=(2 * n_pairs, 2))
        pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
        new_codes = pairs[:, 0] * n_nodes + pairs[:, 1]
        new_codes = new_codes[~np.isin(new_codes, edge_codes)]
        codes = np.concatenate([codes, new_codes])
        # np.unique sorts, but the order of the draws keeps the first n_pairs codes uniform
        first_draws = np.unique(codes, return_index=True)[1]
        codes = codes[np.sort(first_draws)]
    return np.stack(np.divmod(codes[:n_pairs], n_nodes), axis=1)


def _non_edge_codes(edge_codes: NDArray[np.int64], n_nodes: int) -> NDArray[np.int64]:
    """Return ``n_nodes * first + second`` of all pairs of nodes that have no edge."""
    row_codes = []
    for first in range(n_nodes):
        row = np.arange(first * n_nodes + first + 1, (first + 1) * n_nodes)
        begin, end = np.searchsorted(edge_codes, [first * n_nodes, (first + 1) * n_nodes])
        row_codes.append(np.delete(row, edge_codes[begin:end] - first * n_nodes - first - 1))
    return np.concatenate(row_codes)
