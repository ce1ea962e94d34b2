"""Models whose arrays or vocabulary training cannot start from, found before anything changes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from gensim.models import KeyedVectors, Word2Vec

from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.files.mapped import all_finite
from gensim_tfw2v.regimes.options import RegimeOptions

#: What makes what is missing or does not fit.
_ANEW = "build the vocabulary again, or set what is part of it together"


def check_state(model: Word2Vec, config: TrainingConfig) -> None:
    """Find arrays and a vocabulary that training cannot start from.

    Raises
    ------
    TypeError
        If something is no array, or holds no numbers.
    ValueError
        If ``wv.vectors``, ``syn1neg``, ``syn1``, ``cum_table`` or a count of each word is missing
        or has another shape than the vocabulary asks for; if a row is not finite; if
        ``wv.key_to_index`` has an index outside the vocabulary; if ``wv.vectors_lockf`` has
        another number of factors than 1 or V, or one that the regime cannot use.
    """
    if not model.wv.key_to_index or not len(model.wv.vectors):
        return  # gensim says what is missing
    _check_indices(model.wv.key_to_index, len(model.wv))
    tables = list(_tables(model))
    for name, rows in tables:
        _check_rows(name, rows, len(model.wv), model.vector_size)
    if model.negative:
        _check_cum_table(model.cum_table, len(model.wv))
    for name in _counts(model):
        _check_counts(name, model.wv.expandos.get(name), len(model.wv))
    config.regime_of_workers.check_lock(_checked_lock(model.wv))
    for name, rows in tables:
        _check_finite(name, rows, model.wv.index_to_key)


def _tables(model: Any) -> Iterator[tuple[str, Any]]:
    """The arrays that training reads, by their names."""
    yield "wv.vectors", model.wv.vectors
    if model.negative:
        if not hasattr(model, "syn1neg"):
            raise ValueError(
                f"negative={model.negative} needs syn1neg, and this model was built without: set "
                "negative in the constructor, or before build_vocab"
            )
        yield "syn1neg", model.syn1neg
    if model.hs:
        if not hasattr(model, "syn1") or "point" not in model.wv.expandos:
            raise ValueError(
                "hs=1 needs a Huffman tree, and this vocabulary was built without: set hs in the "
                "constructor, or before build_vocab"
            )
        yield "syn1", model.syn1


def _counts(model: Any) -> Iterator[str]:
    """Names of what training needs of each word."""
    yield "count"
    if model.sample and "sample_int" in model.wv.expandos:  # else nothing is subsampled
        yield "sample_int"
    if model.hs:
        yield from ("point", "code")


def _check_indices(key_to_index: dict[Any, Any], words: int) -> None:
    indices = np.asarray(list(key_to_index.values()))
    if indices.dtype.kind not in "iu":
        raise TypeError("wv.key_to_index holds indices that are no whole numbers: " + _ANEW)
    for key, index in key_to_index.items() if _outside(indices, words) else ():
        if not 0 <= index < words:
            raise ValueError(
                f"wv.key_to_index has index {index} for {key!r}, and wv.index_to_key {words} words "
                f"(0 to {words - 1}): {_ANEW}"
            )


def _outside(indices: np.ndarray, words: int) -> bool:
    return bool(indices.min(initial=0) < 0 or indices.max(initial=0) >= words)


def _check_rows(name: str, rows: Any, words: int, size: int) -> None:
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        of = f" of {rows.dtype}" if isinstance(rows, np.ndarray) else ""
        raise TypeError(
            f"{name} must be a NumPy array of float32, got {type(rows).__name__}{of}: convert it"
        )
    if rows.shape != (words, size):
        raise ValueError(
            f"{name} has the shape {rows.shape}, and {words} words of vector_size={size} ask for "
            f"({words}, {size}): {_ANEW}"
        )


def _check_cum_table(table: Any, words: int) -> None:
    if table is None or np.shape(table) != (words,):
        raise ValueError(
            f"cum_table has the shape {np.shape(table)}, and negative sampling among {words} words "
            f"asks for ({words},): make it again with make_cum_table()"
        )
    table = np.asarray(table)
    if table.dtype.kind not in "iu" or (table[1:] < table[:-1]).any() or table[-1] <= 0:
        raise ValueError(
            "cum_table must be whole numbers that never fall, the last above 0: make it again with "
            "make_cum_table()"
        )


def _check_counts(name: str, counts: Any, words: int) -> None:
    if counts is None:
        raise ValueError(
            f"wv.expandos[{name!r}] is missing, which training needs of each word: set it with "
            "wv.set_vecattr, or build the vocabulary again"
        )
    if len(counts) != words:
        raise ValueError(
            f"wv.expandos[{name!r}] has {len(counts)} entries for {words} words: {_ANEW}"
        )
    if name == "count" and (np.asarray(counts).dtype.kind not in "fiu" or np.min(counts) < 0):
        raise ValueError("wv.expandos['count'] must hold numbers from 0 up: " + _ANEW)


def _checked_lock(vectors: KeyedVectors) -> np.ndarray:
    lock = np.asarray(getattr(vectors, "vectors_lockf", 1.0))
    if lock.dtype.kind not in "fiub":
        raise TypeError(f"wv.vectors_lockf must hold numbers, got {lock.dtype}")
    if lock.size not in (1, len(vectors)):
        raise ValueError(
            f"wv.vectors_lockf has {lock.size} factors: give one for all words, or one for each "
            f"of the {len(vectors)}"
        )
    if not np.isfinite(lock).all():
        raise ValueError(
            "wv.vectors_lockf holds factors that are not finite: give 0 for rows that stay as they "
            "are, and 1 for the others"
        )
    return lock


def _check_finite(name: str, rows: np.ndarray, words: list[Any]) -> None:
    if all_finite(rows):
        return
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    raise ValueError(
        f"{name} holds {len(bad)} rows that are not finite, the first for {words[bad[0]]!r}: "
        "replace them before training on (model.init_weights() starts anew)"
    )


def check_corpus(corpus: EncodedCorpus, words: int, regime: RegimeOptions) -> None:
    """Find a corpus that is of another vocabulary, or too small for the regime.

    Parameters
    ----------
    corpus : EncodedCorpus
    words : int
        V, of the vocabulary.
    regime : RegimeOptions

    Raises
    ------
    RuntimeError
        If it has words, and none is in the vocabulary; as gensim where no vocabulary was built.
    ValueError
        If sub-models would have no sentence.
    """
    if corpus.total_raw_words and not corpus.total_tokens:
        raise RuntimeError(
            f"none of the corpus's {corpus.total_raw_words:,} words is among the {words:,} of the "
            "vocabulary: prepare the text as that of the vocabulary was, or add its words first "
            "with build_vocab(corpus, update=True)"
        )
    if corpus.total_tokens:
        regime.check_sentences(corpus.total_sentences)
