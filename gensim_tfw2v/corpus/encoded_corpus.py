"""Corpus as ids on disk: shards, which are files of whole sentences, and slices for work units."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.files.temporary import TemporaryFolder

Ids = NDArray[np.int32]
#: Callback with the numbers so far: words, sentences, word types, bytes of files.
Progress = Callable[[int, int, int, int], object]
#: Parent of a temporary folder; None for the default of `tempfile` (see TMPDIR).
Parent = str | os.PathLike[str] | None

ID = np.dtype("<i4")  # an entry on disk, little-endian on all machines
END = -1  # entry after each sentence
UNKNOWN = -2  # entry of a word outside the vocabulary
FIRST_TAG = -3  # FIRST_TAG - number is the entry of a tag, before the words of its document
SHARD = 1 << 22  # maximum entries of a shard, except for a single longer sentence
PIECE = 1 << 16  # entries of a shard that are read at a time
MAX_SENTENCE = 10_000  # maximum words, as in LineSentence; longer lines are cut


@dataclass(frozen=True)
class Shard:
    """File of whole sentences: raw little-endian int32 ids, with -1 after each sentence.

    A sentence may be a document, whose tags do not count as tokens. After `EncodedCorpus.cut_anew`,
    the first and the last sentence may be parts of a sentence.
    """

    path: str
    entries: int  # number of int32 in the file
    tokens: int  # number of entries that are words
    raw_words: int  # number of words in the encoded text, including unknown ones
    sentences: int  # number of sentences in the encoded text, including empty ones


class EncodedPart(NamedTuple):
    """Shards and counts of one part of a corpus.

    With a known vocabulary, shards contain its ids, and `words` is empty. Otherwise they contain
    provisional ids: indices of `words`, which are in order of first occurrence.
    """

    shards: list[Shard]
    raw_words: int
    sentences: int
    words: bytes = b""  # UTF-8, a newline after each word
    counts: NDArray[np.int64] = np.zeros(0, np.int64)  # occurrences of each of `words`


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


def write_error(number: int | None, folder: Path) -> OSError:
    """Return an error with this errno, the folder and the bytes written so far, and a remedy."""
    written = sum(map(_size, folder.glob("**/*")))
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "free space there, or"
    elif number in (errno.ENOENT, errno.ENOTDIR):
        advice = "make the folder first, or"
    else:
        advice = "fix that, or"
    return OSError(
        number,
        f"{os.strerror(number or 0)}, after {written:,} bytes of encoded corpus; {advice} "
        "use a different folder (encoded_dir=…, or TMPDIR in the environment)",
        str(folder),
    )


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # moved or removed meanwhile
        if path.is_file():
            return path.stat().st_size
    return 0


def check_shards(shards: Iterable[Shard]) -> None:
    """Raise a ValueError if a shard's file is missing or has a wrong length."""
    for shard in shards:
        size = os.path.getsize(shard.path) if os.path.exists(shard.path) else 0
        if size != shard.entries * ID.itemsize:
            raise ValueError(f"{shard.path} is missing or cut short: encode the corpus again")


def without_unknown(run: Ids) -> Ids:
    """Drop unknown words from whole sentences, then sentences without words."""
    run = run[run != UNKNOWN]
    ends = np.flatnonzero(run == END)
    words = np.diff(np.cumsum(run >= 0)[ends], prepend=0)
    return run[np.repeat(words > 0, np.diff(ends, prepend=-1))]


def save_ids(path: Path, ids: Ids, mode: str = "wb") -> None:
    """Write ids to a file; if that fails, raise the OSError of `write_error`."""
    try:
        with path.open(mode) as file:
            file.write(np.ascontiguousarray(ids, ID))
    except OSError as error:
        raise write_error(error.errno, path.parent) from error


def save_shard(path: Path, runs: Iterable[Ids], raw_words: int, sentences: int) -> Shard:
    """Write runs of sentences to a shard; `raw_words`, `sentences`: their counts in the text."""
    entries = 0
    tokens = 0
    save_ids(path, np.zeros(0, ID))
    for run in runs:
        save_ids(path, run, "ab")
        entries += len(run)
        tokens += int(np.count_nonzero(run >= 0))
    return Shard(str(path), entries, tokens, raw_words, sentences)


def read_ids(path: str, start: int, stop: int) -> Ids:
    """Read a slice of a shard: int32, [stop - start]."""
    ids = np.fromfile(path, ID, stop - start, offset=start * ID.itemsize)
    if len(ids) != stop - start:
        raise ValueError(f"{path} is cut short: encode the corpus again")
    return ids.astype(np.int32, copy=False)


@dataclass(frozen=True)
class WorkUnit:
    """Slice [start, stop) of one shard of an encoded corpus.

    The units of a corpus follow each other without gaps; their counts add up to its totals.
    """

    index: int  # index in the order of the text, from 0
    path: str  # shard file: raw little-endian int32, -1 after each sentence
    start: int  # in entries
    stop: int
    tokens: int  # number of words that are in the vocabulary
    raw_words: int  # number of words in the text, including unknown ones; estimated within a shard
    sentences: int  # number of sentences in the text that end here; estimated if some became empty

    def read(self) -> Ids:
        """Read its entries: int32, [stop - start], -1 after each sentence."""
        return read_ids(self.path, self.start, self.stop)


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
        words = [0]
        sentences = [0]
        for part in parts:
            self.total_raw_words += part.raw_words
            self.total_sentences += part.sentences
            for shard in part.shards:
                shards.append(shard)
                words.append(words[-1] + shard.raw_words)
                sentences.append(sentences[-1] + shard.sentences)
                self.total_tokens += shard.tokens
        # counts of shards already add up to the text's totals, unless a run of text resulted in no
        # shard, or sentences were empty or cut
        self._share_out(shards, words, sentences)

    def _share_out(self, shards: list[Shard], words: list[int], sentences: list[int]) -> None:
        """Set the shards, and distribute the text's totals over them.

        Shares are in proportion to the gaps in `words` and `sentences`, [shards + 1] each.
        """
        of_words = shares(self.total_raw_words, words)
        of_sentences = shares(self.total_sentences, sentences)
        self._shards = [
            replace(shard, raw_words=of_words[place], sentences=of_sentences[place])
            for place, shard in enumerate(shards)
        ]

    def units(self, size: int) -> list[WorkUnit]:
        """Cut the corpus into work units of about equal size.

        Parameters
        ----------
        size : int
            Maximum entries (words, and the -1 after sentences) of a unit. Units end at the end of a
            sentence if one is near; a sentence that is cut has no -1 there. Documents are not cut,
            even if that makes a unit longer.

        Returns
        -------
        list of WorkUnit
            In the order of the text.
        """
        if size < 1:
            raise ValueError(f"a work unit must hold at least 1 entry, not {size}")
        units: list[WorkUnit] = []
        for shard in self._shards:
            ends, others = _ends(shard)
            edges = unit_edges(ends, shard.entries, size, self._whole)
            ended = np.searchsorted(ends, edges, "right").tolist()
            tokens = (np.diff(edges) - np.diff(np.searchsorted(others, edges))).tolist()
            raw_words = shares(shard.raw_words, edges)
            sentences = shares(shard.sentences, ended)
            for cut in zip(edges, edges[1:], tokens, raw_words, sentences, strict=False):
                units.append(WorkUnit(len(units), shard.path, *cut))
        return units

    def cut_anew(self) -> None:
        """Cut the text into new shards of `SHARD` entries, independent of how it was read.

        Sentences may be cut, but documents are not. The text's words and sentences are distributed
        over shards in proportion to their entries.
        """
        old = iter(self._shards)
        left = np.zeros(0, np.int32)
        cut = list[Shard]()
        entries = [0]
        while True:
            while len(left) < SHARD and (shard := next(old, None)):
                left = np.concatenate([left, read_ids(shard.path, 0, shard.entries)])
                os.remove(shard.path)
            if not len(left):
                break
            stop = SHARD
            if self._whole and len(left) > SHARD:
                stop = int(np.flatnonzero(left[:SHARD] == END)[-1]) + 1
            run, left = np.split(left, [stop])
            cut.append(save_shard(self.folder / f"cut{len(cut):05}.int32", [run], 0, 0))
            entries.append(entries[-1] + len(run))
        self._share_out(cut, entries, entries)

    @property
    def longest_sentence(self) -> int:
        """Number of words of the longest sentence, not counting unknown ones."""
        longest = 0
        for shard in self._shards:
            for run in read_pieces(shard):
                stops = np.append(np.flatnonzero(run == END), len(run) - 1)
                words = np.diff(np.cumsum(run >= 0)[stops], prepend=0)
                longest = max(longest, int(words.max()))
        return longest

    def tag_counts(self, number: int) -> NDArray[np.int64]:
        """Count the documents with each of `number` tags: [number]."""
        counts = np.zeros(number, np.int64)
        for shard in self._shards:
            for run in read_pieces(shard):
                np.add.at(counts, FIRST_TAG - run[run <= FIRST_TAG], 1)
        return counts


def read_pieces(shard: Shard) -> Iterator[Ids]:
    """Read a shard in runs of whole sentences, of about `PIECE` entries; the last may be cut."""
    left = np.zeros(0, np.int32)
    for start in range(0, shard.entries, PIECE):
        more = read_ids(shard.path, start, min(start + PIECE, shard.entries))
        whole = np.concatenate([left, more])
        last = len(whole) - 1 - int(np.argmax(whole[::-1] == END))
        if whole[last] == END:
            run, left = np.split(whole, [last + 1])
            yield run
        else:
            left = whole
    if len(left):
        yield left


def _ends(shard: Shard) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index behind the end of each sentence, and of each entry that is not a word."""
    first = 0
    ends = list[NDArray[np.int64]]()
    others = list[NDArray[np.int64]]()
    for run in read_pieces(shard):
        places = np.flatnonzero(run < 0)
        ends.append(first + places[run[places] == END] + 1)
        others.append(first + places)
        first += len(run)
    return np.concatenate(ends), np.concatenate(others)


def unit_edges(ends: NDArray[np.int64], entries: int, size: int, whole: bool = False) -> list[int]:
    """Return where to cut a shard, whose sentences end at `ends`, into units: 0, …, entries.

    Units are about equal and have at most `size` entries. A cut is moved back to the end of a
    sentence unless that would halve the unit. With `whole` sentences, a cut is always at an end, if
    necessary the next one.
    """
    edges = [0]
    while (start := edges[-1]) < entries:
        units = -(-(entries - start) // size)
        stop = start + -(-(entries - start) // units)
        last = int(np.searchsorted(ends, stop, "right")) - 1
        if last >= 0 and ends[last] - start > (0 if whole else (stop - start) // 2):
            stop = int(ends[last])
        elif whole:
            stop = int(ends[last + 1])
        edges.append(stop)
    return edges


def shares(total: int, edges: list[int]) -> list[int]:
    """Split an integer in proportion to the gaps between edges; the parts add up to it.

    >>> shares(10, [0, 1, 2, 3])
    [3, 3, 4]
    """
    shared = list[int]()
    before = 0
    for edge in edges[1:]:
        upto = total * edge // max(edges[-1], 1)
        shared.append(upto - before)
        before = upto
    return shared
