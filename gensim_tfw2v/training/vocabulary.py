"""Vocabulary in training, read from gensim's attributes."""

from __future__ import annotations

import functools
import math
import secrets
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.initial_rows import InitialRows
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import (
    Lists,
    WordArrays,
    count_kept,
    noise_shares,
    pair_rates,
    survival,
)
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.training.huffman import Paths
from gensim_tfw2v.training.model_arrays import initial_inputs, keyed_vectors, trained_outputs
from gensim_tfw2v.weight_tables import WeightArray

if TYPE_CHECKING:
    from gensim_tfw2v.training.subwords import Subwords


@dataclass(frozen=True)
class Vocabulary:
    """Arrays of a vocabulary of V words."""

    counts: np.ndarray  # [V], occurrences in the corpus
    keep: np.ndarray  # [V], float32, probability of each word to survive subsampling
    noise: np.ndarray | None  # [V], weight of each word as a negative; None without negatives
    paths: Paths | None  # [V], path of each word; None without hierarchical softmax
    #: [rows of inputs], float32, factor of each row's updates; None if all are 1.
    lock: np.ndarray | None
    subwords: Subwords | None = None  # None if a word's input is its own row
    n_tags: int = 0  # number of tags of documents, whose rows follow the rows of words
    padding: int = 0  # index of the word that stands for positions outside of a document
    output_arrays: tuple[WeightArray, ...] = ()  # arrays of the output layer
    initial_inputs: tuple[InitialRows, ...] = ()  # see `Setup`

    @classmethod
    def of(cls, model: Any) -> Vocabulary:
        """Read the vocabulary of a model from its attributes."""
        attributes = model.wv.expandos
        counts = np.asarray(attributes["count"])
        thresholds = attributes.get("sample_int") if model.sample else None
        keep = np.ones(len(counts), np.float32) if thresholds is None else survival(thresholds)
        subwords = None
        n_tags = len(model.dv) if model.has_documents else 0
        if model.has_subwords:
            from gensim_tfw2v.training.subwords import Subwords

            exact_keep = 1.0 if thresholds is None else survival(thresholds, np.float64)
            subwords = Subwords.of(model.wv, counts * exact_keep)
            lock = subwords.lock
        else:
            factors = [
                np.ravel(getattr(keyed, "vectors_lockf", 1.0)) for keyed in keyed_vectors(model)
            ]
            lock = np.concatenate(factors)
            if np.any(lock != 1.0):  # otherwise no array of V + N factors is needed
                n_factors = len(counts), n_tags
                lock = np.concatenate(
                    [np.resize(*pair) for pair in zip(factors, n_factors, strict=False)]
                )
        return cls(
            counts=counts,
            keep=keep,
            noise=np.diff(model.cum_table, prepend=np.uint32(0)) if model.negative else None,
            paths=Paths.of(model.wv) if model.hs else None,
            lock=None if np.all(lock == 1.0) else lock.astype(np.float32),
            subwords=subwords,
            n_tags=n_tags,
            padding=model.wv.key_to_index.get("\0", 0),
            output_arrays=tuple(trained_outputs(model)),
            initial_inputs=initial_inputs(model) if model._state.is_new else (),
        )

    @functools.cached_property
    def _n_kept(self) -> tuple[float, float]:
        """Expected numbers of tokens that survive subsampling, and that are the commonest word."""
        return count_kept(self.counts, self.keep)

    @functools.cached_property
    def kept_share(self) -> float:
        """Expected fraction of the tokens that survives subsampling."""
        return float(self._n_kept[0] / max(1.0, self.counts.sum()))

    @functools.cached_property
    def most_frequent(self) -> float:
        """Fraction of the tokens, after subsampling, that are the most frequent word.

        With N tags of documents, the result is at least 1 / N, because the most frequent tag has at
        least this fraction.
        """
        total, max_count = self._n_kept
        word_share = max_count / max(1e-9, total)
        return max(word_share, 1 / self.n_tags if self.n_tags else 0.0)

    @functools.cached_property
    def tree(self) -> Lists | None:
        """The paths as kernels read them."""
        return self.paths and self.paths.lists()

    def words(self, negative_shards: int) -> WordArrays:
        """Return the vocabulary's arrays that kernels read when they train a unit."""
        word_arguments = (self.keep, self.noise, self.tree, self.lock, negative_shards)
        row_arguments = (self.subwords.lists, self.subwords.weights) if self.subwords else ()
        return WordArrays.of(*word_arguments, *row_arguments)

    def count_rows(self) -> Tables:
        """Return the number of rows of each table, 0 if it is unused."""
        n_words = len(self.counts)
        n_inputs = n_words + self.n_tags if self.subwords is None else len(self.subwords.weights)
        n_rows = dict.fromkeys(Tables._fields, 0) | {"inputs": n_inputs}
        n_rows |= {array.table: n_words for array in self.output_arrays}
        return Tables(**n_rows)

    def rates(self, config: TrainingConfig, window: int, corpus: EncodedCorpus) -> Tables:
        """Return, for each row, its number of predictions per position; see `pair_rates`.

        The number is negative for tags of a single document: no two jobs train such a tag
        concurrently.
        """
        frequency = self.counts * self.keep
        noise = None
        if self.noise is not None:
            noise = noise_shares(self.noise, frequency, config.negative_shards)
        frequency /= self._n_kept[0]
        skipgram = config.objective.skipgram
        pairs: float = min(config.window + 1, 2 * window) if config.shrink_windows else 2 * window
        counts = corpus.tag_counts(self.n_tags) if self.n_tags else np.zeros(0)
        tags = counts / max(1, corpus.total_sentences)
        if config.has_documents and skipgram:
            positions = config.dbow_words + tags.sum() or 1.0
            pairs = config.dbow_words * pairs / positions
            tags = tags / positions
        rates = pair_rates(
            frequency,
            pairs=pairs,
            skipgram=skipgram,
            negative=config.objective.negative,
            noise=noise,
            tree=self.tree,
            tags=tags,
        )
        rates.inputs[len(frequency) :][counts == 1] *= -1
        if self.subwords is None:
            return rates
        return rates._replace(inputs=self.subwords.spread(rates.inputs))


def seed_of(model: Any) -> int:
    """Return the model's seed as an integer from 0 up; a random one per call if it has no seed.

    As in gensim, which passes it to NumPy, the seed may also be a sequence of integers.
    """
    if model.seed is None:
        return secrets.randbits(63)
    if isinstance(model.seed, Integral | np.bool_):
        return abs(int(model.seed))
    integers = np.abs(np.asarray(model.seed, np.int64)).ravel()
    return int(np.random.SeedSequence(integers.tolist()).generate_state(1, np.uint64)[0])


def noise_table(counts: Any, ns_exponent: Any, domain: int) -> np.ndarray:
    """Return gensim's table of the noise distribution, [V]; see `TFWord2Vec.make_cum_table`."""
    counts = np.asarray(counts)
    exponent = float(ns_exponent)
    distinct_counts = np.unique(counts)
    try:
        # words that do not occur, as those that `wv.add_vector` adds, are not drawn
        powers = np.array(
            [math.pow(count, exponent) if count else 0.0 for count in distinct_counts.tolist()]
        )
        cumulative = powers[np.searchsorted(distinct_counts, counts)]
    except (OverflowError, ValueError):  # too large, or undefined for counts below 0
        cumulative = np.full(1, np.nan)
    np.cumsum(cumulative, out=cumulative)
    if len(cumulative) and not 0.0 < cumulative[-1] < math.inf:
        raise ValueError(
            f"no negatives can be drawn: word counts from {distinct_counts[0]} to "
            f"{distinct_counts[-1]}, raised to ns_exponent={ns_exponent!r}, are all 0, too large "
            "or not defined; use counts above 0, and an exponent near 0, such as 0.75"
        )
    cumulative /= cumulative[-1:].copy()
    cumulative *= domain
    return np.rint(cumulative, out=cumulative).astype(np.uint32)
