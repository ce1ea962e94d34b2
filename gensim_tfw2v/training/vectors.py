"""Models that go on from vectors alone."""

from collections.abc import Mapping

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors, Word2Vec

from gensim_tfw2v.monitor.words import held_counts


def take_vectors(
    model: Word2Vec, vectors: KeyedVectors, counts: Mapping[str, int] | None = None
) -> None:
    """Give a new model the words and the vectors of others, in their order.

    Parameters
    ----------
    model : Word2Vec
        Without a vocabulary, of the vectors' size.
    vectors : KeyedVectors
    counts : mapping from words to counts, optional
        See `word_counts`.
    """
    in_order, model.sorted_vocab = model.sorted_vocab, 0
    try:
        model.build_vocab_from_freq(word_counts(vectors, counts), trim_rule=_keep)
    finally:
        model.sorted_vocab = in_order
    model.wv.vectors[:] = vectors.vectors
    model.wv.norms = None


def word_counts(vectors: KeyedVectors, counts: Mapping[str, int] | None = None) -> dict[str, int]:
    """How often each word is taken to have been seen.

    What is given; else what the vectors hold; else, as for files in word2vec's form, by Zipf's law
    from the order of the words.

    Raises
    ------
    ValueError
        If `counts` lacks a word.
    """
    words, number = vectors.index_to_key, len(vectors)
    if counts is not None:
        missing = [word for word in words if word not in counts]
        if missing:
            raise ValueError(
                f"counts lacks {len(missing)} of the {number} words, the first {missing[0]!r}: "
                "give a count for each word, or no counts"
            )
        return {word: int(counts[word]) for word in words}
    held = held_counts(vectors)
    if held is None:
        held = np.ceil(number / np.arange(1, number + 1))
    return {word: int(count) for word, count in zip(words, held, strict=True)}


def _keep(word: str, count: int, min_count: int) -> int:
    return utils.RULE_KEEP
