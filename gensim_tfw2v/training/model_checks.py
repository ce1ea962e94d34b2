"""Models whose arrays or vocabulary training cannot start from, found before anything changes."""

from typing import Any

import numpy as np
from gensim.models.fasttext import FastTextKeyedVectors

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.gensim_classes import Doc2Vec, FastText
from gensim_tfw2v.kernel.tables import all_finite
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.options.regimes import RegimeOptions, SubModels, check_lock
from gensim_tfw2v.options.table import named

#: Rows that are no words': of FastText's n-grams, and of documents' tags.
NGRAMS = "wv.vectors_ngrams"
TAGS = "dv.vectors"

#: What makes what is missing or does not fit.
_ANEW = "build the vocabulary again, or set what is part of it together"


#: Attributes that all saved vectors have; those of FastText have more.
_OF_VECTORS = ("vectors", "index_to_key", "key_to_index", "vector_size")
_OF_FASTTEXT = ("vectors_vocab", "vectors_ngrams", "min_n", "max_n", "bucket")


def check_loaded(saved: Any) -> None:
    """Raise an AttributeError for a model, or vectors alone, whose file has damaged names."""
    vectors = getattr(saved, "wv", saved)
    # what gensim does not find under an older name either, it sets to None
    missing = [f"wv.{name}" for name in _OF_VECTORS if getattr(vectors, name, None) is None]
    if isinstance(vectors, FastTextKeyedVectors):
        missing += [f"wv.{name}" for name in _OF_FASTTEXT if not hasattr(vectors, name)]
    if vectors is not saved:
        missing += [name for name in named("needed") if not hasattr(saved, name)]
    if missing:
        raise AttributeError(f"it lacks {', '.join(missing)}")


def check_state(model: Any, config: TrainingConfig) -> None:
    """Raise TypeError or ValueError for arrays and a vocabulary that training cannot start from.

    What is missing, of the wrong shape or type, or not finite; ``wv.vectors_lockf`` also if the
    regime cannot use its factors.
    """
    if not model.wv.key_to_index or not len(model.wv.vectors):
        return  # gensim says what is missing
    words = len(model.wv)
    _check_indices(model.wv.key_to_index, words)
    inputs = _inputs(model)
    tables = {}
    for name, rows, number, what in inputs:
        _check_rows(name, rows, number, what, model.vector_size)
        tables[name] = rows
    lists = getattr(model.wv, "buckets_word", None)
    number = 0 if lists is None else len(lists)
    if isinstance(model, FastText) and number != words:
        raise ValueError(
            f"wv.buckets_word has lists for {number} of "
            f"{words} words: make it again with wv.recalc_char_ngram_buckets()"
        )
    size = model.vector_size * (config.concatenated or 1)
    if model.negative:
        if not hasattr(model, "syn1neg"):
            raise ValueError(
                f"negative={model.negative} needs syn1neg, and this model was built without: set "
                "negative in the constructor, or before build_vocab"
            )
        tables["syn1neg"] = model.syn1neg
        _check_rows("syn1neg", model.syn1neg, words, "words", size)
        _check_cum_table(model.cum_table, words)
    if model.hs:
        if not hasattr(model, "syn1") or "point" not in model.wv.expandos:
            raise ValueError(
                "hs=1 needs a Huffman tree, and this vocabulary was built without: set hs in the "
                "constructor, or before build_vocab"
            )
        tables["syn1"] = model.syn1
        _check_rows("syn1", model.syn1, words, "words", size)
        _check_counts("point", model.wv.expandos, words)
        _check_counts("code", model.wv.expandos, words)
    _check_counts("count", model.wv.expandos, words)
    if model.sample and "sample_int" in model.wv.expandos:  # else nothing is subsampled
        _check_counts("sample_int", model.wv.expandos, words)
    for name, _, number, what in inputs:
        _check_lock(model, f"{name}_lockf", number, what, config)
    for name, rows in tables.items():
        if not all_finite(rows):
            keys = (model.dv if name == TAGS else model.wv).index_to_key
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            first = f"bucket {bad[0]}" if name == NGRAMS else quoted(keys[bad[0]])
            raise ValueError(
                f"{name} holds {len(bad)} rows that are not finite, the first for {first}: "
                "replace them before training on (model.init_weights() starts anew)"
            )


def _inputs(model: Any) -> list[tuple[str, Any, int, str]]:
    """Arrays of inputs: name, rows, how many there should be, and of what."""
    words = len(model.wv)
    if isinstance(model, FastText):
        return [
            ("wv.vectors_vocab", model.wv.vectors_vocab, words, "words"),
            (NGRAMS, model.wv.vectors_ngrams, model.wv.bucket, "buckets"),
        ]
    found = [("wv.vectors", model.wv.vectors, words, "words")]
    if isinstance(model, Doc2Vec):
        found.append((TAGS, model.dv.vectors, len(model.dv), "tags"))
    return found


def _check_indices(key_to_index: dict[Any, Any], words: int) -> None:
    indices = np.asarray(list(key_to_index.values()))
    if indices.dtype.kind not in "iu":
        raise TypeError("wv.key_to_index holds indices that are no whole numbers: " + _ANEW)
    for place in np.flatnonzero((indices < 0) | (indices >= words))[:1]:
        raise ValueError(
            f"wv.key_to_index has index {indices[place]} for {quoted(list(key_to_index)[place])}, "
            f"and wv.index_to_key {words} words (0 to {words - 1}): {_ANEW}"
        )


def _check_rows(name: str, rows: Any, number: int, what: str, size: int) -> None:
    is_array = isinstance(rows, np.ndarray)
    if not is_array or rows.dtype.kind not in "fiu":
        came = f"{type(rows).__name__} of {rows.dtype}" if is_array else type(rows).__name__
        raise TypeError(f"{name} must be a NumPy array of float32, got {came}: convert it")
    if rows.shape != (number, size):
        raise ValueError(
            f"{name} has the shape {rows.shape}, and {number} {what} of vector_size={size} ask for "
            f"({number}, {size}): {_ANEW}"
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


def _check_counts(name: str, expandos: dict[str, Any], words: int) -> None:
    if (counts := expandos.get(name)) is None:
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


def _check_lock(model: Any, name: str, rows: int, what: str, config: TrainingConfig) -> None:
    """Check the factors of rows' updates."""
    holder, attribute = name.split(".")
    lock = np.asarray(getattr(getattr(model, holder), attribute, 1.0))
    if lock.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers, got {lock.dtype}")
    if lock.size not in (1, rows):
        raise ValueError(
            f"{name} has {lock.size} factors: give one for all {what}, or one for each of the "
            f"{rows}"
        )
    if not np.isfinite(lock).all():
        raise ValueError(
            f"{name} holds factors that are not finite: give 0 for rows that stay as they are, and "
            "1 for the others"
        )
    if config.regime_of_workers.is_batch:
        check_lock(lock)


def check_corpus(corpus: EncodedCorpus, words: int, regime: RegimeOptions) -> None:
    """Raise RuntimeError for a corpus of another vocabulary, ValueError for one that is too small.

    RuntimeError is gensim's where no vocabulary was built. `words` is V; a corpus is too small if
    sub-models would have no sentence.
    """
    if corpus.total_raw_words and not corpus.total_tokens:
        raise RuntimeError(
            f"none of the corpus's {corpus.total_raw_words:,} words is among the {words:,} of the "
            "vocabulary: prepare the text as that of the vocabulary was, or add its words first "
            "with build_vocab(corpus, update=True)"
        )
    if corpus.total_tokens and isinstance(regime, SubModels):
        _check_samples(regime, corpus.total_sentences)


def _check_samples(regime: SubModels, sentences: int) -> None:
    if regime.models > sentences:
        raise ValueError(
            f"models={regime.models:,} sub-models are more than the corpus's {sentences:,} "
            "sentences, of which each needs one at least: give fewer models"
        )
    if regime.rate is not None and regime.rate * sentences < 1:
        raise ValueError(
            f"rate={regime.rate:g} of the corpus's {sentences:,} sentences is not one sentence "
            "for a sub-model: give a larger rate"
        )
