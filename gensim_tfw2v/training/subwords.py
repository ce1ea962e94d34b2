"""Rows of a FastText model in training: words, and the n-gram buckets that are in use."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gensim_tfw2v.kernel.word_arrays import Lists

#: Multiplier that spreads the bits of lock factors over 64 bits; odd, so that none are lost.
MIXER = np.uint64(0x9E3779B97F4A7C15)


#: Number of rows that are copied at a time: few enough for the processor's cache.
ROWS_AT_A_TIME = 1 << 10


class MergedRows(NamedTuple):
    """Values of merged rows, and of gensim's rows that they merge, when they were gathered.

    Attributes
    ----------
    members : ndarray [M, D], float32
        gensim's rows that are merged with others: rows of words, then rows of buckets.
    rows : ndarray [K, D], float32
        The rows into which `members` are merged, in the order of `Subwords`.
    """

    members: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Subwords:
    """R rows of inputs, and for each of V words the list of rows that make up its input.

    gensim has a row for each word (``wv.vectors_vocab``) and for each bucket of n-grams
    (``wv.vectors_ngrams``). Rows that are in the inputs of exactly the same words, as those of
    ``<numb`` and ``umber`` usually are, always get equal updates. Here such rows are merged into
    one row, their sum. Unused buckets have no row. Row w < V is the own row of word w, merged with
    the buckets that only this word has. The rows of the remaining buckets follow, the most frequent
    first, so that rows that are read often are close in memory.

    Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 3.2.
    """

    lists: Lists  # rows of each word, its own first
    buckets: np.ndarray  # [U], the buckets in use, the most frequent first
    rows_of_buckets: np.ndarray  # [U], row into which each of `buckets` is merged
    weights: np.ndarray  # [R], float32: number of gensim's rows merged into each row
    lock: np.ndarray  # [R], float32: gensim's factors of updates
    frequency: np.ndarray  # [V], relative frequency of each word after subsampling

    @classmethod
    def of(cls, vectors: Any, frequency: np.ndarray) -> "Subwords":
        """Build from gensim's `FastTextKeyedVectors`.

        `frequency` [V] is the number of occurrences of each word after subsampling.
        """
        n_words = len(vectors)
        lengths, entries = _buckets(vectors)
        counts = np.bincount(entries, np.repeat(frequency, lengths), vectors.bucket)
        used_buckets = np.unique(entries)
        buckets = used_buckets[np.argsort(-counts[used_buckets], kind="stable")]
        # gensim cycles through the factors if there are fewer than rows
        lock = np.append(
            np.resize(vectors.vectors_vocab_lockf, n_words),
            np.asarray(vectors.vectors_ngrams_lockf)[buckets % len(vectors.vectors_ngrams_lockf)],
        ).astype(np.float32)
        # each word adds its own random 64-bit number, so rows with equal sums have the same words
        marks = np.random.default_rng(0).integers(1 << 63, size=n_words, dtype=np.uint64)
        sums = np.zeros(vectors.bucket, np.uint64)
        np.add.at(sums, entries, np.repeat(marks, lengths))
        sums = np.append(marks, sums[buckets]) + MIXER * lock.view(np.uint32)
        _, first, groups, sizes = np.unique(
            sums, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)  # rows of words come first
        row_ids = np.argsort(order)[groups]
        # a row that contains no word's own row is listed only for the first of its buckets
        is_listed = np.zeros(vectors.bucket, bool)
        is_listed[buckets[first[first >= n_words] - n_words]] = True
        is_kept = is_listed[entries]
        word_ids = np.repeat(np.arange(n_words), lengths)[is_kept]
        first_entry = np.append(0, np.cumsum(1 + np.bincount(word_ids, minlength=n_words)))
        if first_entry[-1] > np.iinfo(np.int32).max:
            raise ValueError(
                f"the {n_words:,} words have {first_entry[-1]:,} n-grams, and can have at most "
                f"{np.iinfo(np.int32).max:,}: use fewer words, a larger min_n or a smaller max_n"
            )
        rows = np.zeros(vectors.bucket, np.int32)
        rows[buckets] = row_ids[n_words:]
        entries_of_words = np.insert(
            rows[entries[is_kept]], first_entry[:-1] - np.arange(n_words), range(n_words)
        )
        return cls(
            Lists(first_entry.astype(np.int32), entries_of_words.astype(np.int32)),
            buckets,
            row_ids[n_words:],
            weights=sizes[order].astype(np.float32),
            lock=lock[first[order]],
            frequency=frequency / frequency.sum(),
        )

    @property
    def ngram_overlap(self) -> float:
        """Expected n-gram overlap of a word with the word at a different, random position.

        The overlap is the fraction of the first word's rows, weighted by `weights`, that the second
        word has, too. It counts as 0 for equal words.
        """
        rows = self.spread(self.frequency)
        word_rows = self._word_rows
        shares = (word_rows @ (rows * self.weights)) / (word_rows @ self.weights)
        return float(self.frequency @ (shares - self.frequency))

    def gather(self, vectors: Any) -> np.ndarray:
        """Return the rows, [R, D], float32: sums of gensim's rows that are merged into each."""
        bucket_sums = _ones(
            np.arange(len(self.buckets) + 1), self.rows_of_buckets, len(self.weights)
        )
        rows = bucket_sums.T @ vectors.vectors_ngrams[self.buckets].astype(np.float32)
        rows[: len(vectors.vectors_vocab)] += vectors.vectors_vocab
        return np.asarray(rows)

    def merge_rows(self, vectors: Any, rows: np.ndarray) -> "MergedRows":
        """Return the present values of merged rows, to which `scatter` adds their changes.

        `rows` [R, D] are the gathered rows.
        """
        parts = [np.zeros((0, rows.shape[1]), np.float32)]
        for array, gensim_ids, merged_ids in self._pieces(vectors):
            parts.append(array[gensim_ids[self.weights[merged_ids] > 1]])
        return MergedRows(np.concatenate(parts, dtype=np.float32), rows[self.weights > 1])

    def scatter(self, vectors: Any, rows: np.ndarray, merged: "MergedRows") -> None:
        """Write the rows to gensim's rows, and rebuild ``wv.vectors``.

        The result depends only on the arguments, so that training that is resumed from `rows` has
        the same bits. Rows of a different size replace gensim's.
        """
        if vectors.vectors_vocab.shape[1] != rows.shape[1]:
            vectors.vectors_vocab = np.zeros((len(vectors), rows.shape[1]), np.float32)
            vectors.vectors_ngrams = np.zeros((vectors.bucket, rows.shape[1]), np.float32)
            merged = MergedRows(
                *(np.zeros((len(array), rows.shape[1]), np.float32) for array in merged)
            )
        for array, row_ids, values in self._values(vectors, rows, merged):
            array[row_ids] = values
        vectors.vectors = self.means(rows)

    def are_in(self, vectors: Any, rows: np.ndarray, merged: "MergedRows") -> bool:
        """Return whether gensim's rows equal those that `scatter` would write."""
        return all(
            np.array_equal(array[row_ids], values)
            for array, row_ids, values in self._values(vectors, rows, merged)
        )

    def _values(
        self, vectors: Any, rows: np.ndarray, merged: "MergedRows"
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield an array of gensim, indices of its rows, and the values that `scatter` writes.

        A row that is merged with no other is copied. gensim's rows that are merged into one get
        equal parts of its change.
        """
        merged_index = np.cumsum(self.weights > 1) - 1
        first = 0
        for array, gensim_ids, row_ids in self._pieces(vectors):
            values = rows[row_ids]
            is_merged = self.weights[row_ids] > 1
            end = first + int(np.count_nonzero(is_merged))
            ids = row_ids[is_merged]
            changes = rows[ids] - merged.rows[merged_index[ids]]
            values[is_merged] = merged.members[first:end] + changes / self.weights[ids, None]
            first = end
            yield array, gensim_ids, values

    def _pieces(self, vectors: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield an array of gensim, row indices in it, and the indices of the same rows here."""
        words = np.arange(len(vectors.vectors_vocab))
        for array, gensim_ids, row_ids in (
            (vectors.vectors_vocab, words, words),
            (vectors.vectors_ngrams, self.buckets, self.rows_of_buckets),
        ):
            for first in range(0, len(gensim_ids), ROWS_AT_A_TIME):
                piece = slice(first, first + ROWS_AT_A_TIME)
                yield array, gensim_ids[piece], row_ids[piece]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return, for each row, the sum of `values` over the words that have it: [R], float32."""
        return (self._word_rows.T @ values).astype(np.float32)

    def means(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of words [V, D], the means of their rows [R, D]."""
        word_rows = self._word_rows
        return (word_rows @ rows) / (word_rows @ self.weights)[:, None]

    @property
    def _word_rows(self) -> sparse.csr_array:
        """[V, R], number of times that each word's list has each row."""
        return _ones(self.lists.offsets, self.lists.entries, len(self.weights))


def adjust_vectors(vectors: Any) -> None:
    """Compute ``vectors.vectors`` bit for bit as gensim's method, without its loop over words."""
    if not vectors.bucket:
        vectors.vectors = vectors.vectors_vocab
        return
    lengths, entries = _buckets(vectors)
    used_buckets, row_ids = np.unique(entries, return_inverse=True)
    first = np.append(0, np.cumsum(lengths))
    n_words = len(vectors)
    # the word's own row comes first, because gensim sums in this order
    row_ids = np.insert(row_ids + n_words, first[:-1], np.arange(n_words))
    rows = np.concatenate([vectors.vectors_vocab, vectors.vectors_ngrams[used_buckets]])
    sums = _ones(first + np.arange(n_words + 1), row_ids, len(rows)) @ rows
    vectors.vectors = sums / (lengths + 1).astype(np.float32)[:, None]


def _buckets(vectors: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of buckets of each word, [V], and all buckets, concatenated."""
    lists = vectors.buckets_word
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    return lengths, np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int64)


def _ones(first: np.ndarray, entries: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Make a sparse matrix: row i has ones in the columns ``entries[first[i]:first[i + 1]]``."""
    ones = np.ones(len(entries), np.float32)
    return sparse.csr_array((ones, entries, first), (len(first) - 1, n_columns))
