"""Models from vectors, and counts for the words of vectors."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors

from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.keyed import held_counts
from gensim_tfw2v.messages import quoted

logger = logging.getLogger(__name__)


def take_vectors(
    model: Word2Vec, vectors: KeyedVectors, counts: Mapping[str, int] | None = None
) -> None:
    """Set the words and vectors of a new model, in the order of `vectors`.

    The model's `vector_size` must match. The counts are those of `word_counts`. A warning is logged
    if `vectors` are FastText's, whose n-grams the model does not have.
    """
    if getattr(vectors, "vectors_ngrams", None) is not None:
        logger.warning("only the vectors of whole words are taken, and none of FastText's n-grams")
    sorted_vocab = model.sorted_vocab
    model.sorted_vocab = 0  # keep the order of `vectors`
    try:
        model.build_vocab_from_freq(
            word_counts(vectors, counts), trim_rule=lambda *_: utils.RULE_KEEP
        )
    finally:
        model.sorted_vocab = sorted_vocab
    # a null word, if any, has a further row, which stays as it is
    model.wv.vectors[: len(vectors)] = vectors.vectors


def word_counts(vectors: KeyedVectors, counts: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the count of each word.

    Counts are from `counts` if it is passed, otherwise from `vectors` if they contain counts.
    Otherwise, as for files in word2vec's format, the order of the words determines the counts, by
    Zipf's law.

    Raises
    ------
    ValueError
        If `counts` lacks a word, or a count is not an integer of at least 1.
    """
    words = vectors.index_to_key
    n_words = len(vectors)
    if counts is not None:
        missing_words = [word for word in words if word not in counts]
        if missing_words:
            raise ValueError(
                f"counts lacks {len(missing_words)} of the {n_words} words, the first "
                f"{quoted(missing_words[0])}: pass a count for each word, or no counts"
            )
        return {word: _count(word, counts[word]) for word in words}
    return dict(zip(words, count_array(vectors).tolist(), strict=True))


def count_array(vectors: KeyedVectors) -> np.ndarray:
    """Return the counts of `word_counts` without the words: [V], int64."""
    counts = held_counts(vectors)
    if counts is None:
        n_words = len(vectors)
        counts = np.ceil(n_words / np.arange(1, n_words + 1)).astype(np.int64)
    for row in np.flatnonzero(counts < 1)[:1]:
        _count(vectors.index_to_key[row], counts[row])  # raises the error
    return counts


def _count(word: Any, value: Any) -> int:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or not 1 <= value < 1 << 63 or value != int(value):
        raise ValueError(f"the count of {word!r} is {value!r}: use whole numbers from 1 up")
    return int(value)
