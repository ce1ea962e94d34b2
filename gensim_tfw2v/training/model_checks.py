"""Checks of a model: arrays and vocabulary before training, and settings during training."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gensim.models.fasttext import FastTextKeyedVectors

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.gensim_classes import FastText
from gensim_tfw2v.kernel.native.padded_rows import all_finite
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.regimes import SubModels, check_lock
from gensim_tfw2v.options.table import DEFAULTS, option_names
from gensim_tfw2v.row_blocks import find_nonfinite_rows
from gensim_tfw2v.training.model_arrays import (
    shapes,
    trained_inputs,
    trained_outputs,
    weights_of,
)
from gensim_tfw2v.weight_tables import NGRAMS, OUTPUT_LAYER, TAGS, WeightArray

logger = logging.getLogger(__name__)

#: Remedy for arrays that are missing or do not match the vocabulary.
_REBUILD = "build the vocabulary again, or set all of its attributes consistently"

#: Options that are read at the start of each epoch, so callbacks may change them.
EACH_EPOCH = set(option_names(Use.EACH_EPOCH))

#: Settings that must not change during training.
FIXED = {*option_names(Use.FIXED), "words", "shapes"}

#: Attributes that all saved vectors have.
_VECTOR_ATTRIBUTES = ("vectors", "index_to_key", "key_to_index", "vector_size")

#: Additional attributes that saved vectors of FastText have.
_FASTTEXT_ATTRIBUTES = ("vectors_vocab", "vectors_ngrams", "min_n", "max_n", "bucket")


def check_loaded(model: Any) -> None:
    """Raise an AttributeError if a loaded model, or its vectors, lack attributes."""
    vectors = getattr(model, "wv", model)
    # gensim's load sets an attribute to None if it finds neither the attribute nor an older name
    missing_names = [
        f"wv.{name}" for name in _VECTOR_ATTRIBUTES if getattr(vectors, name, None) is None
    ]
    if isinstance(vectors, FastTextKeyedVectors):
        missing_names += [
            f"wv.{name}" for name in _FASTTEXT_ATTRIBUTES if not hasattr(vectors, name)
        ]
    if vectors is not model:
        missing_names += [name for name in option_names(Use.NEEDED) if not hasattr(model, name)]
    if missing_names:
        raise AttributeError(f"it lacks {', '.join(missing_names)}")


def check_state(model: Any, config: TrainingConfig) -> None:
    """Raise a TypeError or ValueError if training cannot start from a model's arrays or vocabulary.

    Arrays may be missing, of the wrong shape or type, or not finite. ``wv.vectors_lockf`` may also
    have factors that the regime does not support.
    """
    if not model.wv.key_to_index or not len(model.wv.vectors):
        return  # gensim raises an error for an empty vocabulary
    n_words = len(model.wv)
    _check_indices(model.wv.key_to_index, n_words)
    inputs = trained_inputs(model)
    outputs = trained_outputs(model)
    for array, rows in inputs.items():
        _check_rows(array, rows, model, model.vector_size)
    bucket_lists = getattr(model.wv, "buckets_word", None)
    n_lists = 0 if bucket_lists is None else len(bucket_lists)
    if isinstance(model, FastText) and n_lists != n_words:
        raise ValueError(
            f"wv.buckets_word has lists for {n_lists} of "
            f"{n_words} words: rebuild it with wv.recalc_char_ngram_buckets()"
        )
    if model.hs and "point" not in model.wv.expandos:
        raise ValueError(
            "hs=1 needs a Huffman tree, which this vocabulary was built without: set hs in the "
            "constructor, or before build_vocab"
        )
    for array, rows in outputs.items():
        if array.name not in vars(model):
            option = array.option
            raise ValueError(
                f"{option}={getattr(model, option)} needs {array.name}, which this model was built "
                f"without: set {option} in the constructor, or before build_vocab"
            )
        _check_rows(array, rows, model, model.vector_size * (config.concatenated or 1))
    if model.negative:
        _check_cum_table(model.cum_table, n_words)
    if model.hs:
        _check_counts("point", model.wv.expandos, n_words)
        _check_counts("code", model.wv.expandos, n_words)
    _check_counts("count", model.wv.expandos, n_words)
    if model.sample and "sample_int" in model.wv.expandos:  # otherwise nothing is subsampled
        _check_counts("sample_int", model.wv.expandos, n_words)
    for array in inputs:
        _check_lock(array, model, config)
    for array, rows in (inputs | outputs).items():
        is_mapped = isinstance(rows, np.memmap)  # then, it is read in blocks
        if len(find_nonfinite_rows(rows)) if is_mapped else not all_finite(rows):
            raise _nonfinite_error(array, rows, model)


def check_learns(model: Any) -> None:
    """Raise a ValueError if nothing can be learnt: the output layer is all 0 and must not change.

    ``build_vocab`` leaves the output layer of a model of `train_slice` in this state.
    """
    names = [array.name for array in OUTPUT_LAYER]
    outputs = [vars(model)[name] for name in names if name in vars(model)]
    if not model.learn_hidden and outputs and not any(map(np.any, outputs)):
        raise ValueError(
            f"learn_hidden=False keeps the output layer ({', '.join(names)}), but it is all 0, so "
            "that nothing would be learnt: set learn_hidden=True, or call train_slice"
        )


def _count_keys(array: WeightArray, model: Any) -> tuple[int, str]:
    """Return the required number of rows of an array, and the kind of the keys of its rows."""
    if array.rows_of == "tags":
        return len(model.dv), "tags"
    if array.rows_of == "buckets":
        return model.wv.bucket, "buckets"
    return len(model.wv), "words"  # gensim's arrays of nodes have a row per word, too


def _check_indices(key_to_index: Mapping[Any, Any], n_words: int) -> None:
    is_compact = isinstance(key_to_index, KeyIndex) and key_to_index.compact_keys is not None
    if is_compact and len(key_to_index) <= n_words:
        return
    indices = np.asarray(list(key_to_index.values()))
    if indices.dtype.kind not in "iu":
        raise TypeError("wv.key_to_index holds indices that are not whole numbers: " + _REBUILD)
    for position in np.flatnonzero((indices < 0) | (indices >= n_words))[:1]:
        raise ValueError(
            f"wv.key_to_index has index {indices[position]} for "
            f"{quoted(list(key_to_index)[position])}, but wv.index_to_key has {n_words} words "
            f"(0 to {n_words - 1}): {_REBUILD}"
        )


def _check_rows(array: WeightArray, rows: Any, model: Any, size: int) -> None:
    is_array = isinstance(rows, np.ndarray)
    if not is_array or rows.dtype.kind not in "fiu":
        actual_type = f"{type(rows).__name__} of {rows.dtype}" if is_array else type(rows).__name__
        raise TypeError(
            f"{array.name} must be a NumPy array of float32, got {actual_type}: convert it"
        )
    n_keys, keys = _count_keys(array, model)
    if rows.shape != (n_keys, size):
        raise ValueError(
            f"{array.name} has the shape {rows.shape}, but {n_keys} {keys} of vector_size={size} "
            f"need ({n_keys}, {size}): {_REBUILD}"
        )


def _nonfinite_error(array: WeightArray, rows: np.ndarray, model: Any) -> ValueError:
    """Return the error for an array with rows that are not finite."""
    bad_rows = find_nonfinite_rows(rows)
    if array is NGRAMS:
        first = f"bucket {bad_rows[0]}"
    else:
        keys = (model.dv if array is TAGS else model.wv).index_to_key
        first = quoted(keys[bad_rows[0]])
    return ValueError(
        f"{array.name} holds {len(bad_rows)} rows that are not finite, the first for {first}: "
        "replace them before training (model.init_weights() resets all)"
    )


def _check_cum_table(table: Any, n_words: int) -> None:
    if table is None or np.shape(table) != (n_words,):
        raise ValueError(
            f"cum_table has the shape {np.shape(table)}, but negative sampling among {n_words} "
            f"words needs ({n_words},): rebuild it with make_cum_table()"
        )
    table = np.asarray(table)
    if table.dtype.kind not in "iu" or (table[1:] < table[:-1]).any() or table[-1] <= 0:
        raise ValueError(
            "cum_table must be whole numbers that never decrease, the last above 0: rebuild it "
            "with make_cum_table()"
        )


def _check_counts(name: str, expandos: dict[str, Any], n_words: int) -> None:
    if (counts := expandos.get(name)) is None:
        raise ValueError(
            f"wv.expandos[{name!r}] is missing, but training needs a value for each word: set it "
            "with wv.set_vecattr, or build the vocabulary again"
        )
    if len(counts) != n_words:
        raise ValueError(
            f"wv.expandos[{name!r}] has {len(counts)} entries for {n_words} words: {_REBUILD}"
        )
    if name == "count" and (np.asarray(counts).dtype.kind not in "fiu" or np.min(counts) < 0):
        raise ValueError("wv.expandos['count'] must hold numbers from 0 up: " + _REBUILD)


def _check_lock(array: WeightArray, model: Any, config: TrainingConfig) -> None:
    """Check the factors of an array's updates, such as ``wv.vectors_lockf``."""
    name = f"{array.name}_lockf"
    holder, attribute = name.split(".")
    lock = np.asarray(getattr(getattr(model, holder), attribute, 1.0))
    if lock.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers, got {lock.dtype}")
    n_keys, keys = _count_keys(array, model)
    if lock.size not in (1, n_keys):
        raise ValueError(
            f"{name} has {lock.size} factors: set one for all {keys}, or one for each of the "
            f"{n_keys}"
        )
    if not np.isfinite(lock).all():
        raise ValueError(
            f"{name} holds factors that are not finite: use 0 for rows that must not change, and "
            "1 for the remaining ones"
        )
    if config.regime_of_workers.is_batch:
        check_lock(lock)


def check_corpus(corpus: EncodedCorpus, n_words: int, config: TrainingConfig) -> None:
    """Raise an error if a model with a vocabulary of `n_words` cannot be trained on a corpus.

    A warning is logged if the corpus is empty, or if all of its sentences are too short.

    Raises
    ------
    RuntimeError
        If the corpus has no word of the vocabulary. (gensim raises a RuntimeError if no vocabulary
        was built.)
    ValueError
        If the corpus is so small that a sub-model would have no sentence.
    """
    if corpus.total_raw_words and not corpus.total_tokens:
        raise RuntimeError(
            f"none of the corpus's {corpus.total_raw_words:,} words is among the {n_words:,} of "
            "the vocabulary: preprocess it like the text of the vocabulary, or add its words first "
            "with build_vocab(corpus, update=True)"
        )
    regime = config.regime_of_workers
    if corpus.total_tokens and isinstance(regime, SubModels):
        _check_samples(regime, corpus.total_sentences)
    if not corpus.total_sentences:
        logger.warning(
            "train() called with an empty iterator (if not intended, be sure to provide a "
            "corpus that offers restartable iteration = an iterable)."
        )
    elif corpus.total_raw_words <= corpus.total_sentences and not config.has_documents:
        logger.warning(
            "the corpus has %i words in %i sentences, and a sentence of one word trains "
            "nothing: each line, or each list, must be a whole sentence",
            corpus.total_raw_words,
            corpus.total_sentences,
        )


def _check_samples(regime: SubModels, n_sentences: int) -> None:
    if regime.models > n_sentences:
        raise ValueError(
            f"models={regime.models:,} sub-models are more than the corpus's {n_sentences:,} "
            "sentences, but each needs at least one sentence: use fewer models"
        )
    if regime.rate is not None and regime.rate * n_sentences < 1:
        raise ValueError(
            f"rate={regime.rate:g} of the corpus's {n_sentences:,} sentences is less than one "
            "sentence per sub-model: use a larger rate"
        )


def check_overrides(model: Any, overrides: Sequence[str]) -> str:
    """Return the reason why gensim's own code has to train a model, for a message.

    `overrides` are the methods that only gensim's code calls, and that the model overrides.

    Raises
    ------
    ValueError
        If an option is set that gensim's code lacks.
    """
    reason = (
        f"{type(model).__name__} overrides {' and '.join(overrides)}, which only gensim's own "
        "training code calls"
    )
    for name in option_names(Use.REFUSED):
        value = getattr(model, name)
        if value != DEFAULTS[name]:
            raise ValueError(
                f"{reason}, and gensim's code has no {name}: leave out {name}={quoted(value)}, "
                "or use a class that does not override such methods"
            )
    return reason


def settings_of(model: Any) -> dict[str, Any]:
    """Return the settings that training reads from a model, by name; hashes for arrays."""
    weights = weights_of(model)
    settings: dict[str, Any] = {"words": [], "shapes": shapes(weights)}
    for name in {*model._kinds, "compute_loss"} - {"seed"}:
        settings[name] = getattr(model, name)
    arrays = {"cum_table": vars(model).get("cum_table")}
    arrays["sample_int"] = model.wv.expandos.get("sample_int")
    for prefix, (attributes, _) in zip(("", "wv.", "dv."), weights, strict=False):
        settings["words"].append(attributes.get("key_to_index"))
        for name in tuple(attributes):  # a tuple, because a thread may add attributes meanwhile
            if "_lockf" in name:
                arrays[prefix + name] = attributes[name]
    for name, array in arrays.items():
        settings[name] = hash(np.asarray(array).tobytes())
    return settings


def refusal(settings: Iterable[str]) -> RuntimeError:
    """Return the error for changes of settings that must not change during training."""
    return RuntimeError(
        "a callback or another thread has changed what must stay the same during training: "
        f"{', '.join(sorted(settings))}. The model keeps what was trained. Change words, shapes of "
        "arrays and these options, and add vectors (wv.add_vector), only before or after train(). "
        "With sub-models, which train all epochs at once, this applies to every option"
    )
