"""Words that are alike, for the colours of TensorBoard's projector."""

import warnings

import numpy as np
from scipy.cluster.vq import kmeans2, vq

#: Clusters, at most: the page has ten colours.
MOST = 10

#: Words for each cluster, at least.
WORDS_EACH = 10

#: Clusters are sought among so many of the first words, and the others put into them.
SOUGHT_AMONG = 10_000

ROUNDS = 10


def cluster(values: np.ndarray) -> np.ndarray:
    """Cluster vectors by their directions, with k-means that begins at evenly spread words.

    Parameters
    ----------
    values : ndarray [V, D]

    Returns
    -------
    ndarray [V], int
        For each row the row that is in the middle of its cluster.
    """
    # in two steps: of very large and very small numbers there are no squares
    tiny = np.finfo(np.float32).tiny
    rows = values / np.maximum(np.abs(values).max(axis=1, keepdims=True), tiny)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), tiny)
    first = rows[:SOUGHT_AMONG]
    number = max(1, min(MOST, len(rows) // WORDS_EACH))
    begin = first[np.linspace(0, len(first) - 1, number).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a cluster that lost its last word
        middles, _ = kmeans2(first, begin, ROUNDS, minit="matrix")
    found, distances = vq(rows, middles)
    in_order = np.lexsort((distances, found))
    nearest = in_order[np.unique(found[in_order], return_index=True)[1]]
    _, own = np.unique(found, return_inverse=True)
    return nearest[own]
