"""gensim's `prepare_vocab` with arrays instead of loops over words; the results are the same."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import keys
from gensim_tfw2v.corpus.raw_vocabulary import RawVocabulary
from gensim_tfw2v.keys.compact import compact, set_keys
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.training.model_arrays import NEVER_LEFT_OUT

logger = logging.getLogger(__name__)

#: Number of words whose probabilities are computed at a time.
WORDS_AT_A_TIME = 1 << 18

#: Integers below this number are exact as floats.
MAX_EXACT = 2**53

Counts = NDArray[np.int64]
Indices = NDArray[np.intp]


def prepare_vocab(
    model: Any,
    gensims_method: Callable[..., dict[str, int]],
    update: bool = False,
    keep_raw_vocab: bool = False,
    trim_rule: Any = None,
    min_count: Any = None,
    sample: Any = None,
    dry_run: bool = False,
) -> dict[str, int]:
    """Select the words of a model from its `raw_vocab`; see gensim's `prepare_vocab`.

    gensim's method selects them if `trim_rule` is set, if the model has vectors, or if counts,
    `min_count` or `sample` are unusual numbers. For `update`, see `update_vocab`.
    """
    plan = None
    if trim_rule is None and not len(model.wv.vectors):
        plan = make_plan(model, min_count or model.min_count, sample or model.sample)
    if plan is None:
        return gensims_method(update, keep_raw_vocab, trim_rule, min_count, sample, dry_run)
    return _carry_out(plan, model, keep_raw_vocab, dry_run)


class VocabularyPlan(NamedTuple):
    """Values that determine a vocabulary; see gensim's method for their names."""

    counts: Counts  # counts of all words
    kept: Indices | None  # indices of the words that are kept; None: all
    retain_total: int
    drop_total: int
    min_count: Any
    sample: Any
    calc_min_count: int | None  # None without max_final_vocab
    effective_min_count: Any
    threshold_count: Any

    def set_min_count(self, model: Any) -> None:
        """Set the effective `min_count` of a model, with the event of gensim's method."""
        model.effective_min_count = self.effective_min_count
        if self.calc_min_count is not None:
            model.add_lifecycle_event(
                "prepare_vocab",
                msg=(
                    f"max_final_vocab={model.max_final_vocab} and min_count={self.min_count} "
                    f"resulted in calc_min_count={self.calc_min_count}, "
                    f"effective_min_count={self.effective_min_count}"
                ),
            )


def make_plan(model: Any, min_count: Any, sample: Any) -> VocabularyPlan | None:
    """Return the plan of a vocabulary; None if gensim's method must make it."""
    counts = _read_counts(model.raw_vocab)
    if counts is None or type(min_count) not in (int, float) or type(sample) not in (int, float):
        return None
    expected_types = {"count": np.int64, "sample_int": np.uint32}
    expandos = model.wv.expandos
    if any(
        name in expandos and expandos[name].dtype != kind for name, kind in expected_types.items()
    ):
        return None
    calc_min_count = None
    effective_min_count = min_count
    if model.max_final_vocab is not None:
        calc_min_count = 1
        if model.max_final_vocab < len(counts):
            calc_min_count = int(np.sort(counts)[::-1][model.max_final_vocab]) + 1
        effective_min_count = max(calc_min_count, min_count)
    total = int(counts.sum())
    retain_total = total
    kept = None
    if (counts < effective_min_count).any():
        kept = np.flatnonzero(counts >= effective_min_count)
        retain_total = int(counts[kept].sum())
    if not sample:
        threshold_count: Any = retain_total
    elif sample < 1.0:
        threshold_count = sample * retain_total
    else:
        threshold_count = int(sample * (3 + np.sqrt(5)) / 2)
    if retain_total and not 0 < threshold_count < MAX_EXACT:
        return None
    return VocabularyPlan(
        counts,
        kept,
        retain_total,
        total - retain_total,
        min_count,
        sample,
        calc_min_count,
        effective_min_count,
        threshold_count,
    )


def _read_counts(raw_vocab: Any) -> Counts | None:
    """Return the counts of all words; None if some aren't positive integers, or too large."""
    if isinstance(raw_vocab, RawVocabulary) and raw_vocab.compact_counts is not None:
        counts = raw_vocab.compact_counts[1]
    elif not isinstance(raw_vocab, dict) or not {*map(type, raw_vocab.values())} <= {int}:
        return None
    else:
        try:
            counts = np.fromiter(raw_vocab.values(), np.int64, len(raw_vocab))
        except OverflowError:
            return None
    if counts.min(initial=1) < 1 or counts.sum(dtype=np.float64) >= MAX_EXACT:
        return None
    return counts


class Subsampling(NamedTuple):
    """Subsampling of the words that are kept."""

    sample_ints: NDArray[np.uint32]  # probability of each word to be kept, times 2**32 - 1
    n_sampled: int  # number of words with a probability below 1
    expected_total: Any  # expected number of words of the corpus, with gensim's rounding


def compute_sampling(counts: Counts, threshold: Any) -> Subsampling:
    """Return how subsampling treats words with these counts."""
    sample_ints = np.empty(len(counts), np.uint32)
    n_sampled = 0
    expected_total = np.zeros(1)
    for first in range(0, len(counts), WORDS_AT_A_TIME):
        block = slice(first, first + WORDS_AT_A_TIME)
        block_counts = counts[block].astype(np.float64)
        with np.errstate(over="ignore"):
            probabilities = np.sqrt(block_counts / threshold) + 1
            probabilities *= threshold / block_counts
        n_sampled += int(np.count_nonzero(probabilities < 1.0))
        np.minimum(probabilities, 1.0, out=probabilities)
        sample_ints[block] = probabilities * NEVER_LEFT_OUT
        # cumsum adds the numbers one after another, as a loop over words does
        expected_counts = probabilities * block_counts
        expected_total = np.cumsum(np.concatenate([expected_total, expected_counts]))[-1:]
    total = expected_total[0] if n_sampled else int(expected_total[0])
    return Subsampling(sample_ints, n_sampled, total)


def _carry_out(
    plan: VocabularyPlan, model: Any, keep_raw_vocab: bool, dry_run: bool
) -> dict[str, int]:
    """Make the vocabulary of a plan, with the logs and events of gensim's method."""
    counts = plan.counts if plan.kept is None else plan.counts[plan.kept]
    _add_events(plan, model, len(counts))
    sampling = compute_sampling(counts, plan.threshold_count)
    is_sorted = bool(model.sorted_vocab and not model.null_word and not dry_run and len(counts))
    if not dry_run:
        # the stored settings are the applied ones
        model.min_count = plan.min_count
        model.sample = plan.sample
        _set_words(plan, model, counts, sampling.sample_ints, is_sorted)
        delete_raw_counts(model, keep_raw_vocab)
    needs_sorting = bool(model.sorted_vocab) and not is_sorted
    return finish_vocabulary(plan, model, sampling, needs_sorting)


def delete_raw_counts(model: Any, keep_raw_vocab: bool) -> None:
    """Delete the raw vocabulary of a model, unless it is to be kept."""
    if not keep_raw_vocab:
        n_words = len(model.raw_vocab)
        logger.info("deleting the raw counts dictionary of %i items", n_words)
        model.raw_vocab = defaultdict(int)


def finish_vocabulary(
    plan: VocabularyPlan, model: Any, sampling: Subsampling, needs_sorting: bool
) -> dict[str, int]:
    """Make what depends on the selected words, and return gensim's report."""
    n_sampled = sampling.n_sampled
    expected_total = sampling.expected_total
    logger.info("sample=%g downsamples %i most-common words", plan.sample, n_sampled)
    model.add_lifecycle_event(
        "prepare_vocab",
        msg=(
            f"downsampling leaves estimated {expected_total} word corpus "
            f"({expected_total * 100.0 / max(plan.retain_total, 1):.1f}%% of prior "
            f"{plan.retain_total})"
        ),
    )
    if model.null_word:
        model.add_null_word()
    if needs_sorting:
        model.wv.sort_by_descending_frequency()
    if len(model.wv) >= keys.MIN_WORDS:
        compact(model.wv)
    if model.hs:
        model.create_binary_tree()
    if model.negative:
        model.make_cum_table()
    n_retained = len(sampling.sample_ints)
    return {
        "drop_unique": len(plan.counts) - n_retained,
        "retain_total": plan.retain_total,
        "downsample_unique": n_sampled,
        "downsample_total": int(expected_total),
        "num_retained_words": n_retained,
    }


def _set_words(
    plan: VocabularyPlan,
    model: Any,
    counts: Counts,
    sample_ints: NDArray[np.uint32],
    is_sorted: bool,
) -> None:
    """Set the words that are kept, and their attributes.

    `counts` and `sample_ints` are those of the words that are kept.
    """
    vectors = model.wv
    # by descending count; of equal counts, the last word is first
    order = np.argsort(counts, kind="stable")[::-1] if is_sorted else None
    folder = Path(model.encoded_dir) if model.encoded_dir else None
    words = _select(model.raw_vocab, _compose(plan.kept, order), folder)
    if isinstance(words, Keys):
        set_keys(vectors, words)
    else:
        vectors.index_to_key = words
        vectors.key_to_index = dict(zip(words, range(len(words)), strict=True))
    if len(counts):  # gensim sets no attributes of no words
        # copies, because counts may be mapped from a temporary file
        vectors.expandos["count"] = counts.copy() if order is None else counts[order]
        vectors.expandos["sample_int"] = sample_ints if order is None else sample_ints[order]
    if isinstance(model.raw_vocab, RawVocabulary):
        model.raw_vocab.release_pages()
    if order is not None:
        # other attributes, of a former vocabulary, are treated as gensim's sorting does
        vectors.allocate_vecattrs()
        for name in vectors.expandos.keys() - {"count", "sample_int"}:
            vectors.expandos[name] = vectors.expandos[name][order]


def _add_events(plan: VocabularyPlan, model: Any, n_retained: int) -> None:
    """Log the plan, and add its events to the model."""
    plan.set_min_count(model)
    logger.info("Creating a fresh vocabulary")
    n_words = len(plan.counts)
    unique_percentage = n_retained * 100 / max(n_words, 1)
    model.add_lifecycle_event(
        "prepare_vocab",
        msg=(
            f"effective_min_count={plan.effective_min_count} retains {n_retained} unique words "
            f"({unique_percentage:.2f}% of original {n_words}, drops {n_words - n_retained})"
        ),
    )
    total = plan.retain_total + plan.drop_total
    percentage = plan.retain_total * 100 / max(total, 1)
    model.add_lifecycle_event(
        "prepare_vocab",
        msg=(
            f"effective_min_count={plan.effective_min_count} leaves {plan.retain_total} word "
            f"corpus ({percentage:.2f}% of original {total}, drops {plan.drop_total})"
        ),
    )


def _compose(kept: Indices | None, order: Indices | None) -> Indices | None:
    """Return the indices of kept words in an order; None stands for all words in their order."""
    if kept is None or order is None:
        return order if kept is None else kept
    return kept[order]


def _select(raw_vocab: Any, indices: Indices | None, folder: Path | None) -> Keys | list[Any]:
    """Return the words with these indices; with None, all."""
    if isinstance(raw_vocab, RawVocabulary) and raw_vocab.compact_counts is not None:
        all_words = raw_vocab.compact_counts[0]
        return all_words if indices is None else all_words.select(indices, folder)
    words = list(raw_vocab)
    if indices is None:
        return words
    n_words = len(words)
    words = np.fromiter(words, object, n_words)[indices].tolist()
    if len(words) < n_words and {*map(type, words)} == {str}:
        # Copies are close together in memory. The words themselves are scattered among the rare
        # ones: when these are freed, their memory could not be returned to the system.
        words = ["".join(word) for word in words]
    return words
