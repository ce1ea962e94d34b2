"""Words in groups: by their frequency, and by their likeness."""

import warnings
from collections.abc import Iterator

import numpy as np
from gensim.models import KeyedVectors

#: The last rank of each band; the words after them are the last band.
EDGES = (100, 1_000, 10_000, 100_000)

#: Rows of a band, at most, that are looked at for a histogram.
MOST_ROWS = 10_000

#: Clusters, at most: the projector's page has ten colours.
MOST_CLUSTERS = 10

#: Words for each cluster, at least.
WORDS_EACH = 10

#: Clusters are sought among so many of the first words, and the others put into them.
SOUGHT_AMONG = 10_000

ROUNDS = 10


def held_counts(vectors: KeyedVectors) -> np.ndarray | None:
    """The counts that vectors hold, [V]; None if there are none."""
    held = np.asarray(vectors.expandos.get("count", ()))
    # gensim numbers the words of a file without counts downwards
    is_numbering = np.array_equal(held, np.arange(len(vectors), 0, -1))
    return None if len(held) != len(vectors) or is_numbering else held.astype(np.int64)


def by_frequency(vectors: KeyedVectors) -> np.ndarray:
    """Row numbers [V] from the most frequent word to the rarest.

    Words that are as frequent, and all words without counts, stay in their order.
    """
    counts = held_counts(vectors)
    return np.arange(len(vectors)) if counts is None else np.argsort(-counts, kind="stable")


def bands(words: int) -> Iterator[tuple[str, slice]]:
    """Names of the bands, such as ``"101-1000"``, and which of so many words are in each."""
    first = 0
    for last in (*EDGES, None):
        if first < words:
            name = f"{first + 1}-{last}" if last else f"from {first + 1}"
            yield name, slice(first, min(words, last or words))
        first = last or words


def norms(vectors: KeyedVectors) -> dict[str, np.ndarray]:
    """Lengths of the vectors of each band, of at most `MOST_ROWS` evenly spread words."""
    order, found = by_frequency(vectors), {}
    for name, band in bands(len(order)):
        rows = order[band]
        rows = rows[:: -(-len(rows) // MOST_ROWS)]
        lengths = np.linalg.norm(vectors.vectors[rows], axis=1)
        found[name] = lengths[np.isfinite(lengths)]
    return found


def cluster(values: np.ndarray) -> np.ndarray:
    """For each of V vectors [V, D] the row that is in the middle of its cluster, [V].

    k-means by the directions of the vectors; it begins at evenly spread words.
    """
    from scipy.cluster.vq import kmeans2, vq

    # in two steps: of very large and very small numbers there are no squares
    tiny = np.finfo(np.float32).tiny
    rows = values / np.maximum(np.abs(values).max(axis=1, keepdims=True), tiny)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), tiny)
    first = rows[:SOUGHT_AMONG]
    number = max(1, min(MOST_CLUSTERS, len(rows) // WORDS_EACH))
    begin = first[np.linspace(0, len(first) - 1, number).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a cluster that lost its last word
        middles, _ = kmeans2(first, begin, ROUNDS, minit="matrix")
    found, distances = vq(rows, middles)
    in_order = np.lexsort((distances, found))
    nearest = in_order[np.unique(found[in_order], return_index=True)[1]]
    _, own = np.unique(found, return_inverse=True)
    return nearest[own]
