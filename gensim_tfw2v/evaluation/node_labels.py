"""Classification of nodes by their vectors: micro and macro F1, by share of training nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray

from gensim_tfw2v.evaluation import logistic_regression
from gensim_tfw2v.evaluation.node_pairs import find_rows, name_source, read_labels
from gensim_tfw2v.evaluation.sets import Path
from gensim_tfw2v.keyed import with_keys
from gensim_tfw2v.messages import quoted

#: Default shares of the nodes that classifiers are trained on.
TRAIN_SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class F1Score:
    """F1 scores of classifiers that are trained on a share of the nodes.

    Attributes
    ----------
    train_share : float
        Share of the nodes that the classifiers are trained on, in (0, 1).
    micro, macro : float
        Micro F1 and macro F1 of the remaining nodes, in [0, 1], mean over the splits.
    micro_std, macro_std : float
        Their standard deviations over the splits.
    """

    train_share: float
    micro: float
    macro: float
    micro_std: float
    macro_std: float


@dataclass(frozen=True)
class LabelScore:
    """Agreement of predicted labels of nodes with their labels.

    Attributes
    ----------
    f1 : tuple of F1Score
        Scores for each share of training nodes.
    labels : int
        Number of different labels of the nodes used.
    nodes : int
        Number of nodes with a label.
    used : int
        Number of nodes with a label and a vector.
    unlabelled : int
        Number of vectors whose node has no label.
    """

    f1: tuple[F1Score, ...]
    labels: int
    nodes: int
    used: int
    unlabelled: int

    def to_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return asdict(self) | {"f1": [asdict(score) for score in self.f1]}


def evaluate_labels(
    vectors: KeyedVectors,
    labels: Path | Iterable[Sequence[Any]],
    *,
    train_shares: Sequence[float] = TRAIN_SHARES,
    n_splits: int = 10,
    seed: int = 0,
) -> LabelScore:
    """Predict the labels of nodes from their vectors, by logistic regression.

    The protocol is that of DeepWalk and node2vec (Perozzi, Al-Rfou and Skiena 2014, "DeepWalk:
    Online Learning of Social Representations", KDD, section 6; Grover and Leskovec 2016,
    "node2vec: Scalable Feature Learning for Networks", KDD, section 4.3). One classifier per label
    (one-vs-rest logistic regression with an L2 penalty, C = 1) is trained on a random share of the
    nodes. Each of the remaining nodes gets its k most probable labels, where k is its number of
    labels, which is taken as known. So F1 is higher than if k were predicted, too. Vectors are not
    normalized.

    Parameters
    ----------
    vectors : KeyedVectors
        Vectors of the nodes.
    labels : path or iterable of (node, label)
        A file in UTF-8, which may be compressed, or pairs such as those of a data frame's
        ``itertuples(index=False)``. A node with several labels has several lines. They contain a
        node and a label, separated by tabs if the first line contains one, by commas or semicolons
        in .csv files, and otherwise by blanks. Lines that start with # or % are comments. A line
        with names of columns counts as a node without a vector.
    train_shares : sequence of float
        Shares of the nodes that classifiers are trained on, each in (0, 1).
    n_splits : int
        Number of random splits into training nodes and test nodes, for each share.
    seed : int
        Seed of the splits. The same seed gives the same splits for all vectors that have the same
        nodes.

    Returns
    -------
    LabelScore
        F1 for each share, and counts of nodes. Macro F1 is the mean over all labels; a label that
        no test node has or is predicted to have counts as 0, as in scikit-learn.

    Raises
    ------
    ValueError
        If no node has a vector, if the nodes have only one label, or if a share leaves no node for
        training or for testing.
    EvaluationFileError
        If the file is empty or damaged, or a line does not consist of a node and a label.
    OSError
        If the file cannot be read.
    """
    if not all(0 < train_share < 1 for train_share in train_shares):
        raise ValueError(f"train_shares must be between 0 and 1, got {quoted(train_shares)}")
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}")
    vectors = with_keys(vectors)
    labels_by_node: dict[Any, set[Any]] = {}
    for node, label in read_labels(labels):
        labels_by_node.setdefault(node, set()).add(label)
    rows = find_rows(vectors, list(labels_by_node), labels)
    label_sets = [
        label_set for row, label_set in zip(rows, labels_by_node.values(), strict=True) if row >= 0
    ]
    features = vectors.vectors[rows[rows >= 0]]
    targets = _label_matrix(label_sets)
    n_nodes, n_labels = targets.shape
    if n_labels < 2:
        label = next(iter(label_sets[0]))
        raise ValueError(
            f"{name_source(labels)}all nodes have the same label, {quoted(label)}; give at least "
            "two labels"
        )
    scores = []
    for train_share in train_shares:
        n_training = round(train_share * n_nodes)
        if not 0 < n_training < n_nodes:
            raise ValueError(
                f"{name_source(labels)}{n_nodes:,} nodes have a label and a vector, too few for "
                f"training on {train_share:.0%} of them and testing on the rest; label more nodes"
            )
        f1 = []
        for split in range(n_splits):
            order = np.random.default_rng([seed, split]).permutation(n_nodes)
            f1.append(_split_f1(features, targets, order[:n_training], order[n_training:]))
        micro, macro = np.mean(f1, axis=0).tolist()
        micro_std, macro_std = np.std(f1, axis=0).tolist()
        scores.append(F1Score(train_share, micro, macro, micro_std, macro_std))
    return LabelScore(
        f1=tuple(scores),
        labels=n_labels,
        nodes=len(labels_by_node),
        used=n_nodes,
        unlabelled=len(vectors) - len(np.unique(rows[rows >= 0])),
    )


def predict_labels(
    log_odds: NDArray[np.float64], label_counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the most probable labels of each node, [n, L].

    Parameters
    ----------
    log_odds : ndarray [n, L]
        Log odds of each label.
    label_counts : ndarray of int [n]
        Number of labels to predict for each node.
    """
    descending = np.argsort(-log_odds, axis=1, kind="stable")
    is_among_first = np.arange(log_odds.shape[1]) < label_counts[:, None]
    predicted = np.empty(log_odds.shape, dtype=bool)
    np.put_along_axis(predicted, descending, is_among_first, axis=1)
    return predicted


def f1_scores(targets: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> tuple[float, float]:
    """Return micro and macro F1 of predicted labels, both [n, L]."""
    n_correct = (targets & predicted).sum(axis=0)
    n_both = targets.sum(axis=0) + predicted.sum(axis=0)
    micro = 2 * n_correct.sum() / n_both.sum()
    macro = np.mean(2 * n_correct / np.maximum(n_both, 1))
    return float(micro), float(macro)


def _label_matrix(label_sets: Sequence[set[Any]]) -> NDArray[np.bool_]:
    """Return which node has which label, [n, L]."""
    column_of = {
        label: column
        for column, label in enumerate(dict.fromkeys(x for labels in label_sets for x in labels))
    }
    matrix = np.zeros((len(label_sets), len(column_of)), dtype=bool)
    for row, label_set in enumerate(label_sets):
        matrix[row, [column_of[label] for label in label_set]] = True
    return matrix


def _split_f1(
    features: NDArray[np.float32],
    targets: NDArray[np.bool_],
    training_rows: NDArray[np.int64],
    test_rows: NDArray[np.int64],
) -> tuple[float, float]:
    """Return micro and macro F1 of the test nodes, by classifiers of the training nodes."""
    training_targets = targets[training_rows]
    # A label of all training nodes is predicted first, a label of none of them last.
    frequencies = training_targets.mean(axis=0)
    log_odds = np.tile(np.where(frequencies == 1, np.inf, -np.inf), (len(test_rows), 1))
    columns = np.flatnonzero((frequencies > 0) & (frequencies < 1))
    if len(columns):
        weights, intercepts = logistic_regression.fit(
            features[training_rows], training_targets[:, columns]
        )
        log_odds[:, columns] = features[test_rows] @ weights + intercepts
    test_targets = targets[test_rows]
    return f1_scores(test_targets, predict_labels(log_odds, test_targets.sum(axis=1)))
