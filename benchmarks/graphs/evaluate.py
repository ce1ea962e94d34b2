"""Quality of node vectors: labels that a linear classifier predicts for half of the nodes.

The evaluation is that of the node2vec paper: one-vs-rest logistic regression is fitted to half of
the labelled nodes. A remaining node with k labels gets the k most probable ones.
"""

from statistics import fmean
from typing import Any

import numpy as np

#: Number of random halves of the nodes, which are the same for all tools and seeds.
N_SPLITS = 5


def read_labels(path: str) -> tuple[list[str], np.ndarray]:
    """Return the labelled nodes, and a matrix [n, L] that is true where a node has a label."""
    with open(path, encoding="utf-8") as lines:
        pairs = [line.split() for line in lines]
    nodes = {node: row for row, node in enumerate(dict.fromkeys(node for node, _ in pairs))}
    labels = {label: column for column, label in enumerate(sorted({label for _, label in pairs}))}
    matrix = np.zeros((len(nodes), len(labels)), dtype=bool)
    for node, label in pairs:
        matrix[nodes[node], labels[label]] = True
    return list(nodes), matrix


def most_probable(probabilities: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a matrix that is true at the `counts[i]` largest probabilities of each row i."""
    ranks = np.argsort(np.argsort(-probabilities, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(ranks < counts[:, None])


def f1_scores(vectors: np.ndarray, labels: np.ndarray, seed: int) -> dict[str, float]:
    """Return micro-F1 and macro-F1 on the half of the nodes that is not used for training.

    `vectors` [n, D] and `labels` [n, L] are those of the same nodes; `seed` chooses the halves.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier

    order = np.random.default_rng(seed).permutation(len(vectors))
    train, test = np.split(order, [len(vectors) // 2])
    classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    classifier.fit(vectors[train], labels[train])
    true = labels[test]
    predicted = most_probable(classifier.predict_proba(vectors[test]), true.sum(axis=1))
    return {
        f"{average}-F1": float(f1_score(true, predicted, average=average, zero_division=0))
        for average in ("micro", "macro")
    }


def evaluate_file(vectors: str, labels: str) -> dict[str, Any]:
    """Return the F1 scores of a file of vectors in word2vec's text format, means over the splits.

    A labelled node without a vector counts as a node whose vector is 0.
    """
    from gensim.models import KeyedVectors

    node_vectors = KeyedVectors.load_word2vec_format(vectors)
    nodes, matrix = read_labels(labels)
    is_known = np.array([node in node_vectors.key_to_index for node in nodes])
    rows = np.zeros((len(nodes), node_vectors.vector_size), np.float32)
    rows[is_known] = node_vectors[[node for node in nodes if node in node_vectors.key_to_index]]
    splits = [f1_scores(rows, matrix, seed) for seed in range(N_SPLITS)]
    quality = {name: fmean(scores[name] for scores in splits) for name in splits[0]}
    return {"vectors": int(is_known.sum()), "quality": quality}
