"""Shards: the files of an encoded corpus."""

import os
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.entry_ranges import EntryRange
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG, ID, Ids, write_error

PIECE_ENTRIES = 1 << 16  # entries per read of a shard


class Stops(Protocol):
    """Sorted indices, such as those behind the ends of sentences: an array, or a similar object."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int: ...


class UnitCounts(NamedTuple):
    """Slice of a shard for a work unit, and its counts: see `WorkUnit`."""

    start: int
    stop: int
    tokens: int
    raw_words: int
    sentences: int


@dataclass(frozen=True)
class Shard:
    """File of whole sentences: raw little-endian int32 ids, with -1 after each sentence.

    A sentence may be a document, whose tags do not count as tokens. After `EncodedCorpus.recut`,
    the first and the last sentence may be parts of a sentence.

    A subclass whose entries are drawn at random, instead of read from a file, overrides all
    methods. In each epoch, its entries can be new. Its ranges may count items that are larger than
    entries, such as walks.

    Attributes
    ----------
    is_drawn : bool
        Whether the entries are drawn.
    is_walks : bool
        Whether they are walks, which workers of a cluster draw themselves. Other drawn entries are
        sent to them.
    """

    is_drawn: ClassVar[bool] = False
    is_walks: ClassVar[bool] = False

    path: str
    n_entries: int  # number of int32 values in the file
    n_tokens: int  # number of entries that are words
    n_raw_words: int  # number of words in the encoded text, including unknown ones
    n_sentences: int  # number of sentences in the encoded text, including empty ones

    def read(self, start: int, stop: int, epoch: int = 0) -> Ids:
        """Return a slice of the entries in an epoch: int32, [stop - start]."""
        return read_ids(self.path, start, stop)

    def source(self, epoch: int) -> bytes:
        """Return the source from which workers read the entries of an epoch: the absolute path.

        The source of drawn entries contains whatever determines them.
        """
        return os.fsencode(os.path.abspath(self.path))

    def pieces(self) -> Iterator[Ids]:
        """Yield the entries of the file; see `read_pieces`."""
        return read_pieces(self)

    def save_copy(self, path: Path, pieces: Iterable[Ids]) -> "Shard":
        """Write new entries to a file, and return a shard for the file with this one's counts."""
        return save_shard(path, pieces, self.n_raw_words, self.n_sentences)

    def for_training(self, number: int, first_entry: int) -> "Shard":
        """Return the shard for a model's training run, which is numbered from 0.

        `first_entry` is the number of entries in earlier shards of the corpus.
        """
        return self

    def cut(self, gaps: Iterable[EntryRange], size: int, whole: bool) -> Iterator[UnitCounts]:
        """Cut slices of the entries into work units; see `EncodedCorpus.units`.

        Raw words and sentences are distributed in proportion to the entries.
        """
        sentence_stops, non_words = self._find_ends()
        for first, last in gaps:
            edges = unit_edges(sentence_stops, last, size, whole, first)
            n_stops = np.searchsorted(sentence_stops, edges, "right").tolist()
            n_tokens = (np.diff(edges) - np.diff(np.searchsorted(non_words, edges))).tolist()
            n_raw_words = shares(self.n_raw_words, edges, self.n_entries)
            n_sentences = shares(self.n_sentences, n_stops, len(sentence_stops))
            slices = zip(edges, edges[1:], n_tokens, n_raw_words, n_sentences, strict=False)
            yield from map(UnitCounts._make, slices)

    def _find_ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the ends of sentences, and the entries that are not words.

        Returns two arrays: the index behind the end of each sentence, and the index of each entry
        that is not a word, such as ends and tags.
        """
        offset = 0
        sentence_stops = list[NDArray[np.int64]]()
        non_words = list[NDArray[np.int64]]()
        for piece in read_pieces(self):
            indices = np.flatnonzero(piece < 0)
            sentence_stops.append(offset + indices[piece[indices] == END] + 1)
            non_words.append(offset + indices)
            offset += len(piece)
        return np.concatenate(sentence_stops), np.concatenate(non_words)

    def checksum(self, earlier: int) -> int:
        """Return the CRC-32 of the entries, following entries whose CRC-32 is `earlier`."""
        for start in range(0, self.n_entries, PIECE_ENTRIES):
            ids = read_ids(self.path, start, min(start + PIECE_ENTRIES, self.n_entries))
            earlier = zlib.crc32(np.ascontiguousarray(ids, ID).data, earlier)
        return earlier

    @property
    def longest_sentence(self) -> int:
        """Number of words of the longest sentence, not counting unknown ones."""
        max_words = 0
        for piece in read_pieces(self):
            stops = np.append(np.flatnonzero(piece == END), len(piece) - 1)
            n_words = np.diff(np.cumsum(piece >= 0)[stops], prepend=0)
            max_words = max(max_words, int(n_words.max()))
        return max_words

    def tag_counts(self, n_tags: int) -> NDArray[np.int64]:
        """Count the parts of documents with each of `n_tags` tags: [n_tags]."""
        counts = np.zeros(n_tags, np.int64)
        for piece in read_pieces(self):
            np.add.at(counts, FIRST_TAG - piece[piece <= FIRST_TAG], 1)
        return counts


class EncodedPart(NamedTuple):
    """Shards and counts of one part of a corpus.

    With a known vocabulary, shards contain its ids, and `words` is empty. Otherwise they contain
    provisional ids: indices of `words`, which are in order of first occurrence.
    """

    shards: Sequence[Shard]
    n_raw_words: int
    n_sentences: int
    words: bytes = b""  # UTF-8, a newline after each word
    counts: NDArray[np.int64] = np.zeros(0, np.int64)  # occurrences of each of `words`


def check_shards(shards: Iterable[Shard]) -> None:
    """Raise a ValueError if a shard's file is missing or has a wrong length."""
    for shard in shards:
        size = os.path.getsize(shard.path) if os.path.exists(shard.path) else 0
        if size != shard.n_entries * ID.itemsize:
            raise ValueError(f"{shard.path} is missing or cut short: encode the corpus again")


def save_ids(path: Path, ids: Ids, mode: str = "wb") -> None:
    """Write ids to a file; if that fails, raise the OSError of `write_error`."""
    try:
        with path.open(mode) as file:
            file.write(np.ascontiguousarray(ids, ID))
    except OSError as error:
        raise write_error(error.errno, path.parent) from error


def save_shard(path: Path, pieces: Iterable[Ids], n_raw_words: int, n_sentences: int) -> Shard:
    """Write arrays of entries to a shard, one behind another.

    `n_raw_words` and `n_sentences` are those of the text from which the entries were encoded.
    """
    n_entries = 0
    n_tokens = 0
    save_ids(path, np.zeros(0, ID))
    for piece in pieces:
        save_ids(path, piece, "ab")
        n_entries += len(piece)
        n_tokens += int(np.count_nonzero(piece >= 0))
    return Shard(str(path), n_entries, n_tokens, n_raw_words, n_sentences)


def read_ids(path: str, start: int, stop: int) -> Ids:
    """Read a slice of a shard: int32, [stop - start]."""
    ids = np.fromfile(path, ID, stop - start, offset=start * ID.itemsize)
    if len(ids) != stop - start:
        raise ValueError(f"{path} is cut short: encode the corpus again")
    return ids.astype(np.int32, copy=False)


def read_pieces(shard: Shard) -> Iterator[Ids]:
    """Yield the entries of a shard in pieces of whole sentences, about `PIECE_ENTRIES` each.

    Only the last piece of a shard may end within a sentence, if the shard does.
    """
    sentence_start = np.zeros(0, np.int32)  # start of a sentence that ends in the next read
    for start in range(0, shard.n_entries, PIECE_ENTRIES):
        entries = read_ids(shard.path, start, min(start + PIECE_ENTRIES, shard.n_entries))
        entries = np.concatenate([sentence_start, entries])
        last_end = len(entries) - 1 - int(np.argmax(entries[::-1] == END))
        if entries[last_end] == END:
            piece, sentence_start = np.split(entries, [last_end + 1])
            yield piece
        else:
            sentence_start = entries
    if len(sentence_start):
        yield sentence_start


def unit_edges(
    sentence_stops: Stops, last: int, size: int, whole: bool = False, first: int = 0
) -> list[int]:
    """Return the indices at which the entries [first, last) of a shard are cut into units.

    Units are about equal and have at most `size` entries. A cut is moved back to the end of a
    sentence unless that would halve the unit. With `whole`, every cut is at the end of a sentence.
    If none ends within a unit, the unit extends to the next end, and may be longer than `size`.
    """
    edges = [first]
    while (start := edges[-1]) < last:
        n_units = -(-(last - start) // size)
        stop = start + -(-(last - start) // n_units)
        n_stops = bisect_right(sentence_stops, stop)
        last_stop = int(sentence_stops[n_stops - 1]) if n_stops else 0
        if last_stop - start > (0 if whole else (stop - start) // 2):
            stop = last_stop
        elif whole:
            stop = int(sentence_stops[n_stops])
        edges.append(stop)
    return edges


def shares(total: int, edges: list[int], end: int | None = None) -> list[int]:
    """Split an integer in proportion to the gaps between edges.

    The integer belongs to the range [0, end), by default up to the last edge. If the edges cover
    that range, the parts add up to the integer, wherever the edges between are.

    >>> shares(10, [0, 1, 2, 3])
    [3, 3, 4]
    >>> shares(10, [1, 3], 3)
    [7]
    """
    end = edges[-1] if end is None else end
    cumulative_shares = [total * edge // max(end, 1) for edge in edges]
    return [stop - start for start, stop in pairwise(cumulative_shares)]
