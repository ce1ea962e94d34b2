"""gensim's KeyedVectors: made of arrays, and rid of rows that no key names."""

import copy
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors

logger = logging.getLogger(__name__)

#: Rows that are written at a time.
ROWS = 1000


def keyed(words: Sequence[Any], rows: np.ndarray) -> KeyedVectors:
    """Vectors [V, D] of words, without copying them."""
    vectors = KeyedVectors(rows.shape[1])
    _set_rows(vectors, list(words), rows)
    return vectors


def with_keys(
    vectors: KeyedVectors, warn: Callable[[str], object] = logger.warning
) -> KeyedVectors:
    """Vectors without the rows that have no key, or one that an earlier row has.

    gensim's loader leaves such rows at the end if a file names a word twice. Vectors without any
    are returned as they are; others are copied, after a warning that gives the number of rows.
    """
    words = vectors.index_to_key
    if len(vectors.key_to_index) == len(words):
        return vectors
    first: dict[Any, int] = {}
    for row, word in enumerate(words):
        if word is not None:
            first.setdefault(word, row)
    kept = np.fromiter(first.values(), np.int64, len(first))
    if len(kept) == len(words):  # numbers as keys have no index
        return vectors
    warn(
        f"left out {len(words) - len(kept)} of {len(words)} rows, which have no word of their own: "
        "where a file names a word twice, its first vector counts"
    )
    whole = {n: of for n, of in vectors.expandos.items() if len(of) == len(words)}
    expandos = {name: values[kept] for name, values in whole.items()}
    if np.array_equal(expandos.get("count", ()), len(words) - kept):
        expandos["count"] = np.arange(len(kept), 0, -1)  # gensim's numbers for words without counts
    vectors = copy.copy(vectors)
    _set_rows(vectors, list(first), vectors.vectors[kept])
    vectors.expandos, vectors.norms = expandos, None
    return vectors


def held_counts(vectors: KeyedVectors) -> np.ndarray | None:
    """The counts that vectors hold, [V]; None if there are none."""
    held = np.asarray(vectors.expandos.get("count", ()))
    # gensim numbers the words of a file without counts downwards
    is_numbering = np.array_equal(held, np.arange(len(vectors), 0, -1))
    return None if len(held) != len(vectors) or is_numbering else held.astype(np.int64)


def save_text(vectors: KeyedVectors, file: Any) -> None:
    """Save what `KeyedVectors.save_word2vec_format` does, in a third of its time.

    Numbers have nine digits, of which any program reads the same float32.
    """
    words, size = vectors.index_to_key, vectors.vector_size
    counts = vectors.expandos.get("count", np.zeros(len(words)))
    order, line = np.argsort(-counts, kind="stable"), "%s" + " %.9g" * size + "\n"
    with utils.open(file, "wb") as out:
        out.write(f"{len(words)} {size}\n".encode())
        for part in np.array_split(order, len(words) // ROWS + 1):
            rows = zip(part.tolist(), vectors.vectors[part].tolist(), strict=True)
            out.write("".join([line % (words[row], *numbers) for row, numbers in rows]).encode())


def _set_rows(vectors: KeyedVectors, words: list[Any], rows: np.ndarray) -> None:
    vectors.index_to_key, vectors.next_index = words, len(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.vectors = rows
