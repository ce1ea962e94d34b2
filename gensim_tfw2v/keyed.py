"""gensim's KeyedVectors: built from arrays, and without rows that have no key."""

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v import sorted_keys, vector_norms  # noqa: F401  replace gensim's methods
from gensim_tfw2v.files.mapped import take_rows
from gensim_tfw2v.keys.compact import keys_of, set_words

logger = logging.getLogger(__name__)


def keyed(words: Sequence[Any], rows: np.ndarray) -> KeyedVectors:
    """Build KeyedVectors of words from their rows [V, D], without copying the rows."""
    vectors = KeyedVectors(rows.shape[1])
    _set_rows(vectors, words, rows)
    return vectors


def keyed_like(vectors: KeyedVectors, rows: np.ndarray) -> KeyedVectors:
    """Build KeyedVectors of the words of `vectors` from their rows [V, D].

    The new vectors share the words, so changing the words of either changes those of both.
    """
    if len(vectors.key_to_index) != len(vectors.index_to_key):  # integer tags of documents
        return keyed(vectors.index_to_key, rows)
    shared = KeyedVectors(rows.shape[1])
    shared.index_to_key = vectors.index_to_key
    shared.next_index = len(vectors.index_to_key)
    shared.key_to_index = vectors.key_to_index
    shared.vectors = rows
    return shared


def first_of_fasttext(vectors: Any, n_words: int | None = None) -> Any:
    """Return a copy of FastText's vectors with only their first words, by default with all words.

    The copy has the rows of all n-grams, so words that are left out keep their vectors.
    """
    subset = copy.copy(vectors)
    words = vectors.index_to_key if n_words is None else vectors.index_to_key[:n_words]
    _set_rows(subset, words, vectors.vectors[:n_words])
    for name in ("vectors_vocab", "buckets_word"):
        setattr(subset, name, getattr(vectors, name)[:n_words])
    n_rows = len(vectors)
    for name, values in vars(vectors).items():
        if name.endswith("_lockf") and len(values) == n_rows and name != "vectors_ngrams_lockf":
            setattr(subset, name, values[:n_words])
    subset.expandos = {name: values[:n_words] for name, values in vectors.expandos.items()}
    subset.norms = None
    return subset


def with_keys(
    vectors: KeyedVectors, warn: Callable[[str], object] = logger.warning
) -> KeyedVectors:
    """Return vectors without the rows that have no key, or the same key as an earlier row.

    gensim's loader leaves such rows at the end if a file contains a word twice. Vectors without
    such rows are returned unchanged. Otherwise the remaining rows are copied, to a temporary file
    if they are mapped, and `warn` is called with a message that states how many rows were left out.
    """
    words = vectors.index_to_key
    if len(vectors.key_to_index) == len(words) or keys_of(words) is not None:
        return vectors
    first_row_of: dict[Any, int] = {}
    for row, word in enumerate(words):
        if word is not None:
            first_row_of.setdefault(word, row)
    first_rows = np.fromiter(first_row_of.values(), np.int64, len(first_row_of))
    # all rows have different keys; integer tags of documents are not in `key_to_index`
    if len(first_rows) == len(words):
        return vectors
    warn(
        f"left out {len(words) - len(first_rows)} of {len(words)} rows, which have no word of "
        "their own: if a file contains a word twice, only its first vector is used"
    )
    expandos = {
        name: values[first_rows]
        for name, values in vectors.expandos.items()
        if len(values) == len(words)
    }
    if are_invented(expandos, len(words) - first_rows):
        # the counts that gensim would invent for the remaining words
        expandos["count"] = np.arange(len(first_rows), 0, -1)
    vectors = copy.copy(vectors)
    _set_rows(vectors, list(first_row_of), take_rows(vectors.vectors, first_rows))
    vectors.expandos = expandos
    vectors.norms = None
    return vectors


def held_counts(vectors: KeyedVectors) -> np.ndarray | None:
    """Return the word counts that vectors contain, [V].

    Returns None if there are no counts, or only those that gensim invents.
    """
    counts = np.asarray(vectors.expandos.get("count", ()))
    numbering = np.arange(len(vectors), 0, -1)
    if len(counts) != len(vectors) or are_invented(vectors.expandos, numbering):
        return None
    return counts.astype(np.int64, copy=False)


def are_invented(expandos: Mapping[str, np.ndarray], numbering: np.ndarray) -> bool:
    """Return whether gensim has invented the counts, for words of a file without counts.

    gensim's counts are V, V - 1, ..., 1; `numbering` contains those of the rows in `expandos`. A
    vocabulary that was counted may have the same counts. But it also has thresholds for
    subsampling, which gensim doesn't invent.
    """
    return "sample_int" not in expandos and np.array_equal(expandos.get("count", ()), numbering)


def _set_rows(vectors: KeyedVectors, words: Sequence[Any], rows: np.ndarray) -> None:
    set_words(vectors, words)
    vectors.next_index = len(words)
    vectors.vectors = rows
