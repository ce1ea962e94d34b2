"""gensim's KeyedVectors: built from arrays, and without rows that have no key."""

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

logger = logging.getLogger(__name__)


def keyed(words: Sequence[Any], rows: np.ndarray) -> KeyedVectors:
    """Build KeyedVectors of words from their rows [V, D], without copying the rows."""
    vectors = KeyedVectors(rows.shape[1])
    _set_rows(vectors, list(words), rows)
    return vectors


def first_of_fasttext(vectors: Any, n_words: int | None = None) -> Any:
    """Return FastText's vectors with only their first words; by default with all.

    They have all n-grams, so unknown words keep their vectors.
    """
    first = copy.copy(vectors)
    first.index_to_key = vectors.index_to_key[:n_words]
    first.next_index = len(first.index_to_key)
    first.key_to_index = {word: row for row, word in enumerate(first.index_to_key)}
    for name in ("vectors", "vectors_vocab", "buckets_word"):
        setattr(first, name, getattr(vectors, name)[:n_words])
    n_rows = len(vectors)
    for name, values in vars(vectors).items():
        if name.endswith("_lockf") and len(values) == n_rows and name != "vectors_ngrams_lockf":
            setattr(first, name, values[:n_words])
    first.expandos = {name: values[:n_words] for name, values in vectors.expandos.items()}
    first.norms = None
    return first


def with_keys(
    vectors: KeyedVectors, warn: Callable[[str], object] = logger.warning
) -> KeyedVectors:
    """Return vectors without the rows that have no key, or the same key as an earlier row.

    gensim's loader leaves such rows at the end if a file contains a word twice. Vectors without
    such rows are returned unchanged. Otherwise a warning states their number, and the remaining
    rows are copied.
    """
    words = vectors.index_to_key
    if len(vectors.key_to_index) == len(words):
        return vectors
    first: dict[Any, int] = {}
    for row, word in enumerate(words):
        if word is not None:
            first.setdefault(word, row)
    first_rows = np.fromiter(first.values(), np.int64, len(first))
    if len(first_rows) == len(words):  # all rows have keys; integer keys are not in `key_to_index`
        return vectors
    warn(
        f"left out {len(words) - len(first_rows)} of {len(words)} rows, which have no word of "
        "their own: if a file contains a word twice, only its first vector is used"
    )
    whole = {n: values for n, values in vectors.expandos.items() if len(values) == len(words)}
    expandos = {name: values[first_rows] for name, values in whole.items()}
    if are_invented(expandos, len(words) - first_rows):
        # gensim numbers words without counts like this
        expandos["count"] = np.arange(len(first_rows), 0, -1)
    vectors = copy.copy(vectors)
    _set_rows(vectors, list(first), vectors.vectors[first_rows])
    vectors.expandos = expandos
    vectors.norms = None
    return vectors


def held_counts(vectors: KeyedVectors) -> np.ndarray | None:
    """Return the word counts that vectors contain, [V]; None if they contain none."""
    counts = np.asarray(vectors.expandos.get("count", ()))
    numbering = np.arange(len(vectors), 0, -1)
    if len(counts) != len(vectors) or are_invented(vectors.expandos, numbering):
        return None
    return counts.astype(np.int64)


def are_invented(expandos: Mapping[str, np.ndarray], numbering: np.ndarray) -> bool:
    """Return whether counts are those that gensim invents for words of a file without counts.

    They are the numbering V, V - 1, ..., 1. A vocabulary that was counted may have these counts,
    but it has thresholds for subsampling, too.
    """
    return "sample_int" not in expandos and np.array_equal(expandos.get("count", ()), numbering)


def _set_rows(vectors: KeyedVectors, words: list[Any], rows: np.ndarray) -> None:
    vectors.index_to_key = words
    vectors.next_index = len(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.vectors = rows
