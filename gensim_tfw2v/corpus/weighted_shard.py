"""Shard of sentences with weights, which are repeated whenever a work unit is read.

An entry before a sentence contains the bits of its weight; sentences of weight 1 have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.entry_ranges import EntryRange
from gensim_tfw2v.corpus.sentence_weights import draw_extra
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG, ID, Ids
from gensim_tfw2v.corpus.shards import Shard, UnitCounts, read_ids, save_shard, shares, unit_edges

#: Approximate number of entries of a file that are read to find a sentence.
BLOCK_ENTRIES = 1 << 12

#: Expected numbers of entries and sentences are rounded to fractions with this denominator before
#: the words and sentences of a text are distributed in proportion to them.
_SHARE_PRECISION = 1 << 20


class SentenceTable(NamedTuple):
    """Sentences in the entries of a file."""

    starts: NDArray[np.int64]  # index of each sentence's first word
    lengths: NDArray[np.int64]  # number of entries of each sentence: its words, and -1
    weights: NDArray[np.float64]

    @property
    def n_copies(self) -> NDArray[np.int64]:
        """Maximum number of copies of each sentence in an epoch."""
        return np.ceil(self.weights).astype(np.int64)


def insert_weights(entries: Ids, lengths: NDArray[np.int64], weights: NDArray[np.float32]) -> Ids:
    """Return sentences with the entries of their weights, without sentences of weight 0.

    Parameters
    ----------
    entries : ndarray of int32
        Words of the sentences, and -1 after each sentence.
    lengths : ndarray of int64 [n_sentences]
        Number of entries of each sentence.
    weights : ndarray of float32 [n_sentences]
    """
    # threads may read subnormal numbers as 0, so they count as 0 everywhere
    is_kept = weights >= np.finfo(np.float32).tiny
    entries = entries[np.repeat(is_kept, lengths)]
    lengths = lengths[is_kept]
    weights = weights[is_kept]
    is_marked = weights != 1
    starts = np.cumsum(lengths) - lengths
    # FIRST_TAG - bits is below the entry of tag 0, and fits into int32, as bits < 0x7F800000
    marks = FIRST_TAG - weights[is_marked].view(np.int32)
    return np.insert(entries, starts[is_marked], marks)


def find_sentences(entries: Ids) -> SentenceTable:
    """Find the sentences in entries that consist of whole sentences."""
    stops = np.flatnonzero(entries == END) + 1
    firsts = np.append(0, stops[:-1])[: len(stops)]
    is_marked = entries[firsts] < FIRST_TAG
    weights = np.ones(len(stops))
    weights[is_marked] = (FIRST_TAG - entries[firsts[is_marked]]).view(np.float32)
    starts = firsts + is_marked
    return SentenceTable(starts, stops - starts, weights)


class RepeatedStops:
    """Sorted indices behind the copies of sentences, each computed when it is read.

    Parameters
    ----------
    sentences : SentenceTable
    """

    def __init__(self, sentences: SentenceTable) -> None:
        n_copies = sentences.n_copies
        self._lengths = sentences.lengths
        #: Number of copies, and number of their entries, of all sentences up to each one.
        self._copies = np.cumsum(n_copies)
        self._entries = np.cumsum(n_copies * sentences.lengths)

    def __len__(self) -> int:
        return int(self._copies[-1]) if len(self._copies) else 0

    def __getitem__(self, copy: int) -> int:
        sentence = int(np.searchsorted(self._copies, copy, "right"))
        n_later_copies = int(self._copies[sentence]) - copy - 1  # of the same sentence
        return int(self._entries[sentence]) - n_later_copies * int(self._lengths[sentence])


class ExpectedCounts:
    """Expected numbers of tokens and of sentence ends among the first repeated entries of a shard.

    Parameters
    ----------
    sentences : SentenceTable
    """

    def __init__(self, sentences: SentenceTable) -> None:
        self._sentences = sentences
        self._starts = np.append(0, np.cumsum(sentences.n_copies * sentences.lengths))
        self._tokens = np.append(0, np.cumsum(sentences.weights * (sentences.lengths - 1)))
        self._ends = np.append(0, np.cumsum(sentences.weights))

    @property
    def n_entries(self) -> int:
        """Number of all repeated entries."""
        return int(self._starts[-1])

    @property
    def n_tokens(self) -> float:
        """Expected number of tokens."""
        return float(self._tokens[-1])

    @property
    def n_ends(self) -> float:
        """Expected number of sentence ends."""
        return float(self._ends[-1])

    def before(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected numbers of tokens and of ends before each index."""
        lengths = self._sentences.lengths
        weights = self._sentences.weights
        sentence = np.minimum(np.searchsorted(self._starts, indices, "right"), len(lengths)) - 1
        copy, offset = np.divmod(indices - self._starts[sentence], lengths[sentence])
        # a copy that starts before the index is drawn with this probability, below 1 for the last
        probability = np.minimum(1, weights[sentence] - copy)
        n_full_copies = np.minimum(copy, weights[sentence])
        tokens = self._tokens[sentence] + n_full_copies * (lengths[sentence] - 1)
        tokens += np.where(offset > 0, probability * offset, 0)
        return tokens, self._ends[sentence] + n_full_copies


def repeat_sentences(
    entries: Ids,
    first: int,
    start: int,
    stop: int,
    draw: Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.bool_]],
) -> Ids:
    """Return those of the repeated entries whose indices are in [start, stop).

    Parameters
    ----------
    entries : ndarray of int32
        Whole sentences of a file, with the entries of their weights.
    first : int
        Index of the first copy of the first of these sentences, among the repeated entries.
    start, stop : int
    draw : callable
        Function from the weights of sentences, and the indices of their first copies, to whether
        each sentence is repeated once more than its weight, rounded down.
    """
    sentences = find_sentences(entries)
    lengths = sentences.lengths
    n_copies = sentences.n_copies
    n_repeated = n_copies * lengths
    starts = first + np.cumsum(n_repeated) - n_repeated
    has_last_copy = (n_copies == sentences.weights) | draw(sentences.weights, starts)
    n_drawn = np.where(has_last_copy, n_copies, n_copies - 1)
    # copies [low, high) of each sentence have entries in the range
    low = np.clip((start - starts) // lengths, 0, n_drawn)
    high = np.clip(-((starts - stop) // lengths), 0, n_drawn)
    n_read = np.maximum(high - low, 0)
    sentence = np.repeat(np.arange(len(lengths)), n_read)
    ordinal = _ranges(low, n_read)
    copy_starts = starts[sentence] + ordinal * lengths[sentence]
    # the range may begin or end within a copy
    copy_low = np.maximum(start - copy_starts, 0)
    copy_high = np.minimum(stop - copy_starts, lengths[sentence])
    return entries[_ranges(sentences.starts[sentence] + copy_low, copy_high - copy_low)]


def _share_edge(count: float) -> int:
    """Return an expected count in units of 1 / `_SHARE_PRECISION`, as an edge for `shares`."""
    return round(count * _SHARE_PRECISION)


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of several ranges, concatenated."""
    stops = np.cumsum(lengths)
    n_integers = int(stops[-1]) if len(stops) else 0
    return np.repeat(starts - stops + lengths, lengths) + np.arange(n_integers)


@dataclass(frozen=True)
class WeightedShard(Shard):
    """Shard whose sentences are repeated according to their weights.

    Its ranges count entries as if each sentence were in the file as often as its weight, rounded
    up. The last copy of a sentence is left out in some of the epochs, unless the weight is an
    integer. The numbers of tokens, raw words and sentences are expected ones, rounded.

    Attributes
    ----------
    training : int
        Number of earlier training runs of the model, so that the draws of this one are new.
    first_entry : int
        Number of entries in earlier shards of the corpus.
    """

    is_drawn: ClassVar[bool] = True

    training: int = 0
    first_entry: int = 0

    @classmethod
    def from_file(cls, file: Shard) -> WeightedShard:
        """Return the weighted shard of a file, whose words and sentences are those of `file`."""
        counts = ExpectedCounts(find_sentences(read_ids(file.path, 0, file.n_entries)))
        return cls(
            file.path,
            counts.n_entries,
            round(counts.n_tokens),
            file.n_raw_words,
            file.n_sentences,
        )

    @cached_property
    def _file(self) -> Shard:
        """The file's entries, without repetition."""
        n_entries = Path(self.path).stat().st_size // ID.itemsize
        return Shard(self.path, n_entries, self.n_tokens, self.n_raw_words, self.n_sentences)

    def _find_sentences(self) -> SentenceTable:
        return find_sentences(self._file.read(0, self._file.n_entries))

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts of blocks of whole sentences: in the file, and among the repeated entries.

        Both arrays also contain the end of the last block.
        """
        sentences = self._find_sentences()
        stops = sentences.starts + sentences.lengths
        starts = np.append(0, stops)
        repeated_starts = np.append(0, np.cumsum(sentences.n_copies * sentences.lengths))
        is_first = np.diff(starts // BLOCK_ENTRIES, prepend=-1) > 0
        is_first[-1] = True
        return starts[is_first], repeated_starts[is_first]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without arrays that are computed from the file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def read(self, start: int, stop: int, epoch: int = 0) -> Ids:
        """Return a slice of the repeated entries, without copies that are left out of the epoch."""
        starts, repeated_starts = self._blocks
        first = int(np.searchsorted(repeated_starts, start, "right")) - 1
        last = int(np.searchsorted(repeated_starts, stop, "left"))
        entries = self._file.read(int(starts[first]), int(starts[last]))

        def draw(weights: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
            return draw_extra(weights, starts + self.first_entry, epoch, self.training)

        return repeat_sentences(entries, int(repeated_starts[first]), start, stop, draw)

    def pieces(self) -> Iterator[Ids]:
        """Yield the entries of the file, with those of weights; see `Shard.pieces`."""
        return self._file.pieces()

    def save_copy(self, path: Path, pieces: Iterable[Ids]) -> WeightedShard:
        """Write new entries, with those of weights, to a file; see `Shard.save_copy`."""
        return WeightedShard.from_file(save_shard(path, pieces, self.n_raw_words, self.n_sentences))

    def for_training(self, number: int, first_entry: int) -> WeightedShard:
        """Return a shard with the draws of a model's training run; see `Shard.for_training`."""
        return replace(self, training=number, first_entry=first_entry)

    def cut(self, gaps: Iterable[EntryRange], size: int, whole: bool) -> Iterator[UnitCounts]:
        """Cut slices of the repeated entries into work units; see `Shard.cut`.

        Tokens are expected numbers. Raw words and sentences are distributed in proportion to the
        expected entries. All numbers are exact if the weights are integers.
        """
        sentences = self._find_sentences()
        sentence_stops = RepeatedStops(sentences)
        expected = ExpectedCounts(sentences)
        n_all_entries = _share_edge(expected.n_tokens + expected.n_ends)
        n_all_ends = _share_edge(expected.n_ends)
        for first, last in gaps:
            edges = unit_edges(sentence_stops, last, size, whole, first)
            tokens, ends = expected.before(np.array(edges))
            n_tokens = np.diff(np.rint(tokens).astype(np.int64)).tolist()
            entry_edges = list(map(_share_edge, (tokens + ends).tolist()))
            end_edges = list(map(_share_edge, ends.tolist()))
            n_raw_words = shares(self.n_raw_words, entry_edges, n_all_entries)
            n_sentences = shares(self.n_sentences, end_edges, n_all_ends)
            slices = zip(edges, edges[1:], n_tokens, n_raw_words, n_sentences, strict=False)
            yield from map(UnitCounts._make, slices)

    def checksum(self, earlier: int) -> int:
        """Return the CRC-32 of the file, following entries whose CRC-32 is `earlier`."""
        return self._file.checksum(earlier)

    @property
    def longest_sentence(self) -> int:
        """Number of words of the longest sentence, not counting unknown ones."""
        return self._file.longest_sentence

    def tag_counts(self, n_tags: int) -> NDArray[np.int64]:
        """Return zeros, because documents have no weights."""
        return np.zeros(n_tags, np.int64)
