"""Encoded corpus: reading and writing shards, and cutting them into work units."""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.entry_ranges import EntryRange, gaps_between, join_ranges
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG, ID, EncodedPart, Ids, Shard, write_error
from gensim_tfw2v.files.temporary import TemporaryFolder

PIECE_ENTRIES = 1 << 16  # entries per read of a shard


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


class OnDisk(contextlib.AbstractContextManager["OnDisk"]):
    """Owner of arrays in a temporary folder.

    The folder is removed by `close`, at the end of a ``with`` block, when the owner is garbage
    collected, or at the interpreter's exit.
    """

    temporary: TemporaryFolder

    def close(self) -> None:
        """Remove the folder."""
        self.temporary.close()

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(frozen=True)
class WorkUnit:
    """Slice [start, stop) of one shard of an encoded corpus.

    The units of a corpus follow each other without gaps; their counts add up to its totals.
    """

    index: int  # index in the order of the text, from 0
    path: str  # shard file: raw little-endian int32, -1 after each sentence
    start: int  # index of the first entry in the file
    stop: int  # index behind the last entry
    tokens: int  # number of words that are in the vocabulary
    raw_words: int  # number of words in the text, including unknown ones; estimated within a shard
    sentences: int  # number of the text's sentences that end in the unit; may be estimated, too

    def read(self) -> Ids:
        """Return the unit's entries: int32, [stop - start], -1 after each sentence."""
        return read_ids(self.path, self.start, self.stop)


def unit_key(seed: int, epoch: int, index: int) -> NDArray[np.int32]:
    """Return the key of a unit's random draws: a hash of the arguments, as int32 [2]."""
    words = np.random.SeedSequence([abs(int(seed)), epoch, index]).generate_state(2)
    return words.view(np.int32)


class EncodedCorpus(OnDisk):
    """Corpus as ids, in shards on disk.

    With `whole`, sentences are documents, and work units contain only whole documents.

    Attributes
    ----------
    folder : Path
    total_tokens : int
        Number of words of the text that are in the vocabulary.
    total_raw_words, total_sentences : int
        gensim's `corpus_total_words` and `corpus_count`, including words and sentences that were
        dropped.
    """

    def __init__(
        self, temporary: TemporaryFolder, parts: Iterable[EncodedPart], whole: bool = False
    ) -> None:
        self.temporary = temporary
        self.folder = temporary.folder
        self._whole = whole
        self.total_tokens = 0
        self.total_raw_words = 0
        self.total_sentences = 0
        shards = list[Shard]()
        word_edges = [0]
        sentence_edges = [0]
        for part in parts:
            self.total_raw_words += part.n_raw_words
            self.total_sentences += part.n_sentences
            for shard in part.shards:
                shards.append(shard)
                word_edges.append(word_edges[-1] + shard.n_raw_words)
                sentence_edges.append(sentence_edges[-1] + shard.n_sentences)
                self.total_tokens += shard.n_tokens
        # The shards' counts change only if they do not add up to the text's totals: if a range of
        # the text resulted in no shard, or if sentences were empty or cut.
        self._distribute_totals(shards, word_edges, sentence_edges)

    def _distribute_totals(
        self, shards: list[Shard], word_edges: list[int], sentence_edges: list[int]
    ) -> None:
        """Set the shards, and distribute the text's totals over them.

        The lists of edges contain cumulative counts, [shards + 1]. A shard's share is proportional
        to the gap between its two edges.
        """
        n_raw_words = shares(self.total_raw_words, word_edges)
        n_sentences = shares(self.total_sentences, sentence_edges)
        self._shards = [
            replace(shard, n_raw_words=n_raw_words[index], n_sentences=n_sentences[index])
            for index, shard in enumerate(shards)
        ]

    def units(self, size: int, trained: Sequence[EntryRange] = ()) -> list[WorkUnit]:
        """Cut the corpus, or what is left of it, into work units of about equal size.

        Parameters
        ----------
        size : int
            Maximum number of entries (words, and the -1 after sentences) of a unit. Units end at
            the end of a sentence if one is near. A sentence that is cut has no -1 at the cut.
            Documents are not cut, even if that makes a unit longer.
        trained : sequence of EntryRange
            Entries that are left out: ranges of earlier units, from `unit_ranges`. By default, the
            units contain all entries. The counts of the earlier units and of the new ones add up to
            the corpus's totals.

        Returns
        -------
        list of WorkUnit
            In the order of the text.
        """
        if size < 1:
            raise ValueError(f"a work unit must hold at least 1 entry, not {size}")
        units: list[WorkUnit] = []
        for shard, gaps in self._find_gaps(trained):
            sentence_stops, non_words = _find_ends(shard)
            for first, last in gaps:
                edges = unit_edges(sentence_stops, last, size, self._whole, first)
                n_stops = np.searchsorted(sentence_stops, edges, "right").tolist()
                n_tokens = (np.diff(edges) - np.diff(np.searchsorted(non_words, edges))).tolist()
                n_raw_words = shares(shard.n_raw_words, edges, shard.n_entries)
                n_sentences = shares(shard.n_sentences, n_stops, len(sentence_stops))
                slices = zip(edges, edges[1:], n_tokens, n_raw_words, n_sentences, strict=False)
                for start, stop, *counts in slices:
                    units.append(WorkUnit(len(units), shard.path, start, stop, *counts))
        return units

    def _find_gaps(
        self, ranges: Sequence[EntryRange]
    ) -> Iterator[tuple[Shard, list[tuple[int, int]]]]:
        """Yield the shards with entries outside of ranges, and the slices with these entries."""
        shard_start = 0  # number of entries in earlier shards
        for shard in self._shards:
            shard_stop = shard_start + shard.n_entries
            gaps = [(shard_start, shard_stop)]
            if ranges:
                gaps = gaps_between(ranges, shard_start, shard_stop)
            if gaps:
                yield shard, [(start - shard_start, stop - shard_start) for start, stop in gaps]
            shard_start = shard_stop

    def unit_ranges(self, units: Iterable[WorkUnit]) -> list[EntryRange]:
        """Return the ranges of entries that units contain, counted over all shards, joined."""
        shard_starts = accumulate((shard.n_entries for shard in self._shards), initial=0)
        paths = (shard.path for shard in self._shards)
        starts = dict(zip(paths, shard_starts, strict=False))
        return join_ranges(
            (starts[unit.path] + unit.start, starts[unit.path] + unit.stop) for unit in units
        )

    def recut(self) -> None:
        """Cut the corpus into new shards of `SHARD_ENTRIES`, however its text was read.

        Sentences may be cut, but documents are not. The text's words and sentences are distributed
        over shards in proportion to their entries.
        """
        max_entries = shard_files.SHARD_ENTRIES
        old_shards = iter(self._shards)
        entries = np.zeros(0, np.int32)  # entries of old shards that are in no new shard yet
        new_shards = list[Shard]()
        edges = [0]
        while True:
            while len(entries) < max_entries and (shard := next(old_shards, None)):
                entries = np.concatenate([entries, read_ids(shard.path, 0, shard.n_entries)])
                os.remove(shard.path)
            if not len(entries):
                break
            stop = max_entries
            if self._whole and len(entries) > max_entries:
                stop = int(np.flatnonzero(entries[:max_entries] == END)[-1]) + 1
            shard_entries, entries = np.split(entries, [stop])
            path = self.folder / f"cut{len(new_shards):05}.int32"
            new_shards.append(save_shard(path, [shard_entries], 0, 0))
            edges.append(edges[-1] + len(shard_entries))
        self._distribute_totals(new_shards, edges, edges)

    @property
    def checksum(self) -> int:
        """CRC-32 of all entries, whatever the shards."""
        checksum = 0
        for shard in self._shards:
            for start in range(0, shard.n_entries, PIECE_ENTRIES):
                ids = read_ids(shard.path, start, min(start + PIECE_ENTRIES, shard.n_entries))
                checksum = zlib.crc32(np.ascontiguousarray(ids, ID).data, checksum)
        return checksum

    @property
    def longest_sentence(self) -> int:
        """Number of words of the longest sentence, not counting unknown ones."""
        max_words = 0
        for shard in self._shards:
            for piece in read_pieces(shard):
                stops = np.append(np.flatnonzero(piece == END), len(piece) - 1)
                n_words = np.diff(np.cumsum(piece >= 0)[stops], prepend=0)
                max_words = max(max_words, int(n_words.max()))
        return max_words

    def tag_counts(self, n_tags: int) -> NDArray[np.int64]:
        """Count the documents with each of `n_tags` tags: [n_tags]."""
        counts = np.zeros(n_tags, np.int64)
        for shard in self._shards:
            for piece in read_pieces(shard):
                np.add.at(counts, FIRST_TAG - piece[piece <= FIRST_TAG], 1)
        return counts


def _find_ends(shard: Shard) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the ends of sentences, and the entries of a shard that are not words.

    Returns two arrays: the index behind the end of each sentence, and the index of each entry that
    is not a word, such as ends and tags.
    """
    offset = 0
    sentence_stops = list[NDArray[np.int64]]()
    non_words = list[NDArray[np.int64]]()
    for piece in read_pieces(shard):
        indices = np.flatnonzero(piece < 0)
        sentence_stops.append(offset + indices[piece[indices] == END] + 1)
        non_words.append(offset + indices)
        offset += len(piece)
    return np.concatenate(sentence_stops), np.concatenate(non_words)


def unit_edges(
    sentence_stops: NDArray[np.int64], last: int, size: int, whole: bool = False, first: int = 0
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
        n_stops = int(np.searchsorted(sentence_stops, stop, "right"))
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
