"""Rows of a FastText model as training has them: of words and of the n-grams that are in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gensim_tfw2v.kernel.word_arrays import Lists

#: Odd, so that multiplying by it mixes all bits.
MIXER = np.uint64(0x9E3779B97F4A7C15)


#: So few that copies of them stay in the processor's cache.
ROWS_AT_A_TIME = 1 << 10


@dataclass(frozen=True)
class Subwords:
    """Which of R rows make the input of each of V words.

    gensim has a row for each word (``wv.vectors_vocab``) and for each bucket of n-grams
    (``wv.vectors_ngrams``). Those that are in the inputs of the same words, as ``<numb`` and
    ``umber`` nearly always are, always have the same updates: here they are one row, their sum.
    Buckets without use have none. Row w < V is word w's own, with what is in its input alone; then
    come those of n-grams, the most frequent first, so that what is read often lies together.

    Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 3.2.
    """

    lists: Lists  # of each word
    buckets: np.ndarray  # [U], those in use
    of_buckets: np.ndarray  # [U], the row that each is part of
    weights: np.ndarray  # [R], float32: of how many of gensim's rows each is the sum
    lock: np.ndarray  # [R], float32: gensim's factors of updates
    frequency: np.ndarray  # [V]: shares of the words trained on

    @classmethod
    def of(cls, vectors: Any, frequency: np.ndarray) -> Subwords:
        """Those of gensim's `FastTextKeyedVectors`, whose words have frequencies [V]."""
        words = len(vectors)
        lengths, entries = _buckets(vectors)
        counts = np.bincount(entries, np.repeat(frequency, lengths), vectors.bucket)
        used = np.unique(entries)
        buckets = used[np.argsort(-counts[used], kind="stable")]
        # of fewer factors than rows, gensim takes the first again
        lock = np.append(
            np.resize(vectors.vectors_vocab_lockf, words),
            np.asarray(vectors.vectors_ngrams_lockf)[buckets % len(vectors.vectors_ngrams_lockf)],
        ).astype(np.float32)
        # a sum over the words of each row, each a random number, tells the rows' words apart
        marks = np.random.default_rng(0).integers(1 << 63, size=words, dtype=np.uint64)
        sums = np.zeros(vectors.bucket, np.uint64)
        np.add.at(sums, entries, np.repeat(marks, lengths))
        sums = np.append(marks, sums[buckets]) + MIXER * lock.view(np.uint32)
        _, first, same, sizes = np.unique(
            sums, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)  # words first, as they come first among what is the same
        row_of = np.argsort(order)[same]
        # of rows that are one, the first stands for all in the lists
        stands = np.zeros(vectors.bucket, bool)
        stands[buckets[first[first >= words] - words]] = True
        kept = stands[entries]
        of_words = np.repeat(np.arange(words), lengths)[kept]
        first_entry = np.append(0, np.cumsum(1 + np.bincount(of_words, minlength=words)))
        rows = np.zeros(vectors.bucket, np.int32)
        rows[buckets] = row_of[words:]
        listed = np.insert(rows[entries[kept]], first_entry[:-1] - np.arange(words), range(words))
        return cls(
            Lists(first_entry.astype(np.int32), listed.astype(np.int32)),
            buckets,
            row_of[words:],
            weights=sizes[order].astype(np.float32),
            lock=lock[first[order]],
            frequency=frequency / frequency.sum(),
        )

    @property
    def ngram_overlap(self) -> float:
        """Mean share of an update of another position's word that a word's input takes on too."""
        rows = self.spread(self.frequency)
        of_words = self._of_words
        shares = (of_words @ (rows * self.weights)) / (of_words @ self.weights)
        return float(self.frequency @ (shares - self.frequency))

    def gather(self, vectors: Any) -> np.ndarray:
        """The rows: [R, D], float32."""
        of_buckets = _ones(np.arange(len(self.buckets) + 1), self.of_buckets, len(self.weights))
        rows = of_buckets.T @ vectors.vectors_ngrams[self.buckets].astype(np.float32)
        rows[: len(vectors.vectors_vocab)] += vectors.vectors_vocab
        return np.asarray(rows)

    def scatter(self, vectors: Any, rows: np.ndarray, before: np.ndarray | None = None) -> None:
        """Add to gensim's rows the updates of these since they were gathered: `before`, or now.

        ``wv.vectors`` is made of them anew. Rows of another size replace gensim's.
        """
        if vectors.vectors_vocab.shape[1] != rows.shape[1]:
            vectors.vectors_vocab = np.zeros((len(vectors), rows.shape[1]), np.float32)
            vectors.vectors_ngrams = np.zeros((vectors.bucket, rows.shape[1]), np.float32)
        updates = rows - (self.gather(vectors) if before is None else before)
        updates /= self.weights[:, None]
        vectors.vectors_vocab += updates[: len(vectors.vectors_vocab)]
        for first in range(0, len(self.buckets), ROWS_AT_A_TIME):
            piece = slice(first, first + ROWS_AT_A_TIME)
            vectors.vectors_ngrams[self.buckets[piece]] += updates[self.of_buckets[piece]]
        vectors.vectors = self.means(rows)

    def spread(self, of_words: np.ndarray) -> np.ndarray:
        """Sum values of words over the words of each row: [R], float32."""
        sums: np.ndarray = self._of_words.T @ of_words
        return sums.astype(np.float32)

    def means(self, rows: np.ndarray) -> np.ndarray:
        """Vectors of words [V, D], the means of their rows [R, D]."""
        of_words = self._of_words
        means: np.ndarray = (of_words @ rows) / (of_words @ self.weights)[:, None]
        return means

    @property
    def _of_words(self) -> sparse.csr_array:
        """[V, R]: how often each row is in each list."""
        return _ones(self.lists.first, self.lists.entries, len(self.weights))


def adjust_vectors(vectors: Any) -> None:
    """Do what gensim's method of this name does, to the bit, without its loop over words."""
    if not vectors.bucket:
        vectors.vectors = vectors.vectors_vocab
        return
    lengths, entries = _buckets(vectors)
    used, places = np.unique(entries, return_inverse=True)
    first = np.append(0, np.cumsum(lengths))
    number = len(vectors)
    # with the word's own row first, as gensim adds them
    places = np.insert(places + number, first[:-1], np.arange(number))
    rows = np.concatenate([vectors.vectors_vocab, vectors.vectors_ngrams[used]])
    sums = _ones(first + np.arange(number + 1), places, len(rows)) @ rows
    vectors.vectors = sums / (lengths + 1).astype(np.float32)[:, None]


def _buckets(vectors: Any) -> tuple[np.ndarray, np.ndarray]:
    """Number of buckets of each word, [V], and the buckets, word after word."""
    lists = vectors.buckets_word
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    return lengths, np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int64)


def _ones(first: np.ndarray, entries: np.ndarray, columns: int) -> sparse.csr_array:
    """The matrix that has a one where a row's list has a column."""
    ones = np.ones(len(entries), np.float32)
    return sparse.csr_array((ones, entries, first), (len(first) - 1, columns))
