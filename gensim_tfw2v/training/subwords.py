"""Rows of a FastText model as training has them: words' own, and those of n-grams in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gensim_tfw2v.kernel.word_arrays import Lists


@dataclass(frozen=True)
class Subwords:
    """Which of R rows make the input of each of V words.

    Row w < V is word w's own (``wv.vectors_vocab``). After them come the buckets of
    ``wv.vectors_ngrams`` that the words' n-grams fall into, those of the most frequent n-grams
    first, so that memory that is read often lies together. Buckets without use have no row.

    Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 3.2.
    """

    lists: Lists  # of each word: its own row, then those of its n-grams
    buckets: np.ndarray  # [R - V], of each row after the words'

    @classmethod
    def of(cls, vectors: Any, frequency: np.ndarray) -> Subwords:
        """Those of gensim's `FastTextKeyedVectors`; `frequency` is [V]."""
        words, lists = len(vectors), vectors.buckets_word
        lengths = np.fromiter(map(len, lists), np.int64, words)
        entries = np.concatenate(lists).astype(np.int64) if words else np.zeros(0, np.int64)
        counts = np.bincount(entries, np.repeat(frequency, lengths), vectors.bucket)
        used = np.unique(entries)
        buckets = used[np.argsort(-counts[used], kind="stable")]
        rows = np.zeros(vectors.bucket, np.int32)
        rows[buckets] = np.arange(words, words + len(buckets))
        first = np.append(0, np.cumsum(lengths + 1)).astype(np.int32)
        of_words = np.empty(words + len(entries), np.int32)
        is_own = np.zeros(len(of_words), bool)
        is_own[first[:-1]] = True
        of_words[is_own], of_words[~is_own] = np.arange(words), rows[entries]
        return cls(Lists(first, of_words), buckets)

    def __len__(self) -> int:
        return len(self.lists.first) - 1 + len(self.buckets)

    def gather(self, vectors: Any) -> np.ndarray:
        """The rows: [R, D]."""
        return np.concatenate([vectors.vectors_vocab, vectors.vectors_ngrams[self.buckets]])

    def scatter(self, vectors: Any, rows: np.ndarray) -> None:
        """Put the rows back, and what is made of them: ``wv.vectors``."""
        words = len(vectors)
        vectors.vectors_vocab[:] = rows[:words]
        vectors.vectors_ngrams[self.buckets] = rows[words:]
        vectors.vectors = self.composed(rows) if vectors.bucket else vectors.vectors_vocab

    def composed(self, rows: np.ndarray) -> np.ndarray:
        """The vectors of words [V, D], as gensim's ``adjust_vectors`` makes them: means of rows."""
        return self.summed(rows) / self.counts.astype(np.float32)[:, None]

    def summed(self, rows: np.ndarray) -> np.ndarray:
        """Sums over the rows of each word: [V, D]."""
        sums: np.ndarray = self._matrix @ rows
        return sums

    def spread(self, of_words: np.ndarray) -> np.ndarray:
        """Sums over the words of each row: [R]."""
        sums: np.ndarray = self._matrix.T @ of_words
        return sums

    @property
    def counts(self) -> np.ndarray:
        """How many rows make the input of each word: [V]."""
        return np.diff(self.lists.first)

    @property
    def _matrix(self) -> sparse.csr_array:
        first, entries = self.lists
        ones = np.ones(len(entries), np.float32)
        return sparse.csr_array((ones, entries, first), (len(first) - 1, len(self)))


def adjust_vectors(vectors: Any) -> None:
    """What gensim's method of this name does, without its loop over words."""
    if vectors.bucket:
        subwords = Subwords.of(vectors, np.ones(len(vectors)))
        vectors.vectors = subwords.composed(subwords.gather(vectors))
    else:
        vectors.vectors = vectors.vectors_vocab


def lock_of(vectors: Any, subwords: Subwords) -> np.ndarray:
    """gensim's factors of updates, of each row: [R]. Of fewer, it takes the first again."""
    words = len(vectors)
    own, ngrams = vectors.vectors_vocab_lockf, vectors.vectors_ngrams_lockf
    return np.concatenate(
        [np.resize(own, words), np.asarray(ngrams)[subwords.buckets % len(ngrams)]]
    ).astype(np.float32)
