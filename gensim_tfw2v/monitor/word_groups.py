"""Groups of words, by frequency or by similarity, for histograms and the projector's colours."""

import warnings
from collections.abc import Iterator

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.keyed import held_counts
from gensim_tfw2v.monitor.tsne import unit_rows

#: Last frequency rank of each band of words. All words after the last rank form one more band.
BAND_ENDS = (100, 1_000, 10_000, 100_000)

#: Maximum number of a band's vectors from which a histogram of lengths is computed.
MAX_HISTOGRAM_ROWS = 10_000

#: Maximum number of clusters, which is the number of colours of the projector's page.
MAX_CLUSTERS = 10

#: Minimum mean number of words per cluster.
WORDS_PER_CLUSTER = 10

#: Maximum number of words from which clusters are computed: the first ones. Later words are
#: assigned to these clusters.
N_CLUSTERED = 10_000

#: Number of iterations of k-means.
N_ITERATIONS = 10


def order_by_frequency(vectors: KeyedVectors) -> np.ndarray:
    """Return the indices [V] of the rows, from that of the most frequent word to the rarest.

    Words with equal counts, and all words if there are no counts, keep their order.
    """
    counts = held_counts(vectors)
    if counts is None or (counts[1:] <= counts[:-1]).all():
        return np.arange(len(vectors))
    return np.argsort(-counts, kind="stable")


def bands(n_words: int) -> Iterator[tuple[str, slice]]:
    """Yield the bands of `n_words` words: name, such as ``"101-1000"``, and slice of ranks."""
    start = 0
    for end in BAND_ENDS:
        if start < n_words:
            yield f"{start + 1}-{end}", slice(start, min(n_words, end))
        start = end
    if start < n_words:
        yield f"from {start + 1}", slice(start, n_words)


def norms(vectors: KeyedVectors) -> dict[str, np.ndarray]:
    """Return the lengths of vectors by the name of their band.

    A band with more than `MAX_HISTOGRAM_ROWS` words is represented by evenly spaced words.
    """
    order = order_by_frequency(vectors)
    lengths = {}
    for name, band in bands(len(order)):
        rows = order[band]
        spacing = -(-len(rows) // MAX_HISTOGRAM_ROWS)
        band_lengths = np.linalg.norm(vectors.vectors[rows[::spacing]], axis=1)
        lengths[name] = band_lengths[np.isfinite(band_lengths)]
    return lengths


def cluster(values: np.ndarray) -> np.ndarray:
    """Assign V vectors [V, D] to clusters; return the index of the central vector of each: [V].

    Clusters are computed by k-means on the directions of the vectors. The initial centres are
    evenly spaced vectors. The central vector of a cluster is the one nearest to its centre.
    """
    from scipy.cluster.vq import kmeans2, vq

    rows = unit_rows(values)
    first_rows = rows[:N_CLUSTERED]
    n_clusters = max(1, min(MAX_CLUSTERS, len(rows) // WORDS_PER_CLUSTER))
    initial_centres = first_rows[np.linspace(0, len(first_rows) - 1, n_clusters).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of clusters that have become empty
        centres, _ = kmeans2(first_rows, initial_centres, N_ITERATIONS, minit="matrix")
    clusters, distances = vq(rows, centres)
    descending = np.argsort(distances, kind="stable")[::-1]
    central_rows = np.empty(n_clusters, int)
    # The assignment runs from the farthest to the nearest row, so the last assignment for a cluster
    # is its nearest row.
    central_rows[clusters[descending]] = descending
    return central_rows[clusters]
