"""gensim's `prepare_vocab(update=True)` with arrays instead of loops over words."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.raw_vocabulary import RawVocabulary
from gensim_tfw2v.keys.compact import find_indices, keys_of, set_keys
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.keys.string_keys import StringKeys
from gensim_tfw2v.training.vocabulary_preparation import (
    Indices,
    VocabularyPlan,
    compute_sampling,
    delete_raw_counts,
    finish_vocabulary,
    make_plan,
)

logger = logging.getLogger(__name__)


def update_vocab(
    model: Any,
    gensims_method: Callable[..., dict[str, int]],
    update: bool = True,
    keep_raw_vocab: bool = False,
    trim_rule: Any = None,
    min_count: Any = None,
    sample: Any = None,
    dry_run: bool = False,
) -> dict[str, int]:
    """Add the words of a model's `raw_vocab` to its vocabulary; see gensim's `prepare_vocab`.

    gensim's method adds them if `trim_rule` is set, if counts, `min_count` or `sample` are unusual
    numbers, or if words are not strings.
    """
    plan = None
    raw_words = _string_words(model.raw_vocab)
    is_regular = len(model.wv.index_to_key) == len(model.wv.key_to_index)
    if trim_rule is None and raw_words is not None and is_regular:
        plan = make_plan(model, min_count or model.min_count, sample or model.sample)
    if plan is None or raw_words is None:
        return gensims_method(update, keep_raw_vocab, trim_rule, min_count, sample, dry_run)
    words = _find_words(model, raw_words, plan)
    _add_events(plan, model, words)
    retained = np.concatenate([words.new, words.known])  # in gensim's order
    sampling = compute_sampling(plan.counts[retained], plan.threshold_count)
    if not dry_run:
        _append(model, raw_words, words.new)
        vectors = model.wv
        vectors.allocate_vecattrs(["count"], [int])
        in_vocabulary = np.flatnonzero(words.rows >= 0)
        vectors.expandos["count"][words.rows[in_vocabulary]] += plan.counts[in_vocabulary]
        if len(retained):
            vectors.allocate_vecattrs(["sample_int"], [np.uint32])
            vectors.expandos["sample_int"][words.rows[retained]] = sampling.sample_ints
        delete_raw_counts(model, keep_raw_vocab)
    return finish_vocabulary(plan, model, sampling, needs_sorting=False)


class _Words(NamedTuple):
    """Words of a raw vocabulary, by their indices in it."""

    new: Indices  # kept words that the vocabulary lacks
    known: Indices  # kept words that it has
    rows: NDArray[np.int64]  # row of each word in the extended vocabulary, -1 for dropped words


def _string_words(raw_vocab: Any) -> Keys | list[str] | None:
    """Return the words of a raw vocabulary if all are strings, else None.

    Other words may be equal to words of a different type, as 1 and True are.
    """
    if isinstance(raw_vocab, RawVocabulary) and raw_vocab.compact_counts is not None:
        keys = raw_vocab.compact_counts[0]
        return keys if isinstance(keys, StringKeys) else None
    words = list(raw_vocab or ())
    return words if {*map(type, words)} <= {str} else None


def _find_words(model: Any, raw_words: Any, plan: VocabularyPlan) -> _Words:
    """Find the kept words of a raw vocabulary in the vocabulary of a model."""
    kept = np.arange(len(raw_words)) if plan.kept is None else plan.kept
    rows = find_indices(model.wv.key_to_index, raw_words).astype(np.int64)
    is_new = rows[kept] < 0
    new = kept[is_new]
    rows[new] = len(model.wv.index_to_key) + np.arange(len(new))
    return _Words(new, kept[~is_new], rows)


def _append(model: Any, raw_words: Keys | list[str], new: Indices) -> None:
    """Append new words to the vocabulary."""
    vectors = model.wv
    keys = keys_of(vectors.index_to_key)
    if isinstance(keys, StringKeys) and isinstance(raw_words, StringKeys):
        folder = Path(model.encoded_dir) if model.encoded_dir else None
        set_keys(vectors, keys.concatenate(raw_words.select(new, folder), folder))
        return
    n_words = len(vectors.index_to_key)
    new_words = [raw_words[index] for index in new.tolist()]
    vectors.index_to_key.extend(new_words)
    vectors.key_to_index.update(
        zip(new_words, range(n_words, n_words + len(new_words)), strict=True)
    )


def _add_events(plan: VocabularyPlan, model: Any, words: _Words) -> None:
    """Log the plan, and add its event to the model."""
    plan.set_min_count(model)
    logger.info("Updating model with new vocabulary")
    n_words = len(plan.counts)
    n_new, n_known = len(words.new), len(words.known)
    model.add_lifecycle_event(
        "prepare_vocab",
        msg=(
            f"added {n_new} new unique words ({n_new * 100 / max(n_words, 1):.2f}% of original "
            f"{n_words}) and increased the count of {n_known} pre-existing words "
            f"({n_known * 100 / max(n_words, 1):.2f}% of original {n_words})"
        ),
    )
