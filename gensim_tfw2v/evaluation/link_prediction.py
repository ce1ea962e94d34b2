"""Link prediction: held-out edges against pairs of nodes without an edge."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from scipy.stats import rankdata

from gensim_tfw2v.evaluation import logistic_regression
from gensim_tfw2v.evaluation.node_pairs import find_keys, read_edges
from gensim_tfw2v.evaluation.sets import Path
from gensim_tfw2v.keyed import with_keys

#: Operators that make one vector of the vectors of two nodes, by name.
OPERATORS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "average": lambda first, second: (first + second) / 2,
    "Hadamard": lambda first, second: first * second,
    "weighted-L1": lambda first, second: np.abs(first - second),
    "weighted-L2": lambda first, second: (first - second) ** 2,
}

#: Number of folds of the cross-validation.
N_FOLDS = 5


@dataclass(frozen=True)
class LinkScore:
    """Separation of held-out edges from pairs of nodes without an edge.

    Attributes
    ----------
    auc : dict
        Area under the ROC curve, in [0, 1], by ``"cosine"``, ``"dot product"`` and the names of the
        operators: the probability that an edge has a higher score than a pair without an edge. It
        is 0.5 for random vectors.
    edges : int
        Number of different edges, without self-loops.
    used : int
        Number of edges whose two nodes have vectors; as many pairs without an edge are drawn.
    self_loops : int
        Number of nodes with an edge to themselves, which is left out.
    """

    auc: dict[str, float]
    edges: int
    used: int
    self_loops: int

    def to_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return asdict(self)


def evaluate_edges(
    vectors: KeyedVectors,
    edges: Path | Iterable[Sequence[Any]],
    *,
    known_edges: Path | Iterable[Sequence[Any]] = (),
    seed: int = 0,
) -> LinkScore:
    """Predict edges that the vectors were not trained on.

    The held-out edges are compared with as many random pairs of different nodes that have no edge.
    Cosine and dot product score a pair without a classifier. For each operator of node2vec (Grover
    and Leskovec 2016, "node2vec: Scalable Feature Learning for Networks", KDD, section 4.4 and
    table 1), a logistic regression (L2 penalty, C = 1) scores it; its AUC is the mean over the
    folds of a five-fold cross-validation. Edges count as undirected. Use `split_edges` to hold out
    edges of a graph.

    Parameters
    ----------
    vectors : KeyedVectors
        Vectors of the nodes, trained without the held-out edges.
    edges : path or iterable of (node, node)
        The held-out edges. The file, in UTF-8, contains two nodes per line, separated by a tab,
        semicolon, comma or blank. Further columns, such as weights, are ignored, and blank lines
        and lines that start with ``#`` are skipped. Compressed files are recognized by their
        suffix.
    known_edges : path or iterable of (node, node)
        Edges that the vectors were trained on, or all edges of the graph. They are not drawn as
        pairs without an edge.
    seed : int
        Seed of the pairs without an edge, and of the folds.

    Returns
    -------
    LinkScore
        AUC by score, and counts of edges.

    Raises
    ------
    ValueError
        If no node has a vector, or there are too few edges, or too few pairs without an edge.
    EvaluationFileError
        If a file is empty or damaged, or a line is not two nodes.
    OSError
        If a file cannot be read.
    """
    vectors = with_keys(vectors)
    row_of = {key: row for row, key in enumerate(vectors.index_to_key)}
    pairs = read_edges(edges)
    nodes = list(dict.fromkeys(node for pair in pairs for node in pair))
    number_of = {node: number for number, node in enumerate(nodes)}
    distinct = {frozenset((number_of[first], number_of[second])) for first, second in pairs}
    
