"""Groups of words for curves and colours: by frequency, and by similarity."""

import warnings
from collections.abc import Iterator

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.keyed import held_counts
from gensim_tfw2v.monitor.tsne import unit_rows

#: Last frequency rank of each band of words; the remaining words form one more band.
EDGES = (100, 1_000, 10_000, 100_000)

#: Maximum number of rows of a band that a histogram is computed from.
MAX_ROWS = 10_000

#: Maximum number of clusters: the projector's page has ten colours.
MAX_CLUSTERS = 10

#: Minimum number of words per cluster, on average.
WORDS_PER_CLUSTER = 10

#: Number of first words from which clusters are computed. Later words are assigned to them.
CLUSTERED_FROM = 10_000

#: Number of iterations of k-means.
ITERATIONS = 10


def order_by_frequency(vectors: KeyedVectors) -> np.ndarray:
    """Return the rows [V] from the most frequent word to the rarest.

    Words with equal counts, and all words if there are no counts, keep their order.
    """
    counts = held_counts(vectors)
    return np.arange(len(vectors)) if counts is None else np.argsort(-counts, kind="stable")


def bands(n_words: int) -> Iterator[tuple[str, slice]]:
    """Yield the name, such as ``"101-1000"``, and the slice of each band of `n_words` words."""
    start = 0
    for end in EDGES:
        if start < n_words:
            yield f"{start + 1}-{end}", slice(start, min(n_words, end))
        start = end
    if start < n_words:
        yield f"from {start + 1}", slice(start, n_words)


def norms(vectors: KeyedVectors) -> dict[str, np.ndarray]:
    """Return the lengths of each band's vectors, for at most `MAX_ROWS` evenly spaced words."""
    order = order_by_frequency(vectors)
    lengths = {}
    for name, band in bands(len(order)):
        rows = order[band]
        spacing = -(-len(rows) // MAX_ROWS)
        band_lengths = np.linalg.norm(vectors.vectors[rows[::spacing]], axis=1)
        lengths[name] = band_lengths[np.isfinite(band_lengths)]
    return lengths


def cluster(values: np.ndarray) -> np.ndarray:
    """Return for each of V vectors [V, D] the central row of its cluster: [V].

    Clusters are computed by k-means on the directions of the vectors. The initial centres are
    evenly spaced words.
    """
    from scipy.cluster.vq import kmeans2, vq

    rows = unit_rows(values)
    first_rows = rows[:CLUSTERED_FROM]
    n_clusters = max(1, min(MAX_CLUSTERS, len(rows) // WORDS_PER_CLUSTER))
    initial_centres = first_rows[np.linspace(0, len(first_rows) - 1, n_clusters).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of clusters that have become empty
        centres, _ = kmeans2(first_rows, initial_centres, ITERATIONS, minit="matrix")
    clusters, distances = vq(rows, centres)
    descending = np.argsort(distances, kind="stable")[::-1]
    central_rows = np.empty(n_clusters, int)
    # rows are assigned in this order, so the last one of a cluster, which is the nearest, remains
    central_rows[clusters[descending]] = descending
    return central_rows[clusters]
