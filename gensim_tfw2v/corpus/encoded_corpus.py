"""A corpus as ids on disk: shards, which are files of whole sentences, cut into work units.

Sentences of units may be dealt out to N samples (Anand et al. 2019, section 3).
"""

import contextlib
import errno
import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.files.temporary import TemporaryFolder

Ids = NDArray[np.int32]
#: Told the words, sentences, word types and bytes of files so far.
Progress = Callable[[int, int, int, int], object]
#: Where a temporary folder is made; None for where `tempfile` makes them (see TMPDIR).
Parent = str | os.PathLike[str] | None

ID = np.dtype("<i4")  # on disk, whatever the machine
END = -1  # after each sentence
UNKNOWN = -2  # in place of a word outside the vocabulary
FIRST_TAG = -3  # a document's tags stand before its words, as FIRST_TAG - number
SHARD = 1 << 22  # entries, at most (more only if one sentence is longer)
MAX_SENTENCE = 10_000  # words: gensim's MAX_WORDS_IN_BATCH, where LineSentence cuts a line


@dataclass(frozen=True)
class Shard:
    """A file of whole sentences: raw little-endian int32 ids, -1 after each sentence.

    A sentence may be a document, whose tags are not among its tokens.
    """

    path: str
    entries: int  # int32 in the file
    tokens: int  # of them words
    raw_words: int  # words of the text that it stands for
    sentences: int  # sentences of the text that it stands for


class EncodedPart(NamedTuple):
    """Shards and counts of one part of a corpus.

    With a known vocabulary the shards hold its ids, and there are no words; else they hold
    provisional ids: places in `words`, which are in order of first occurrence.
    """

    shards: list[Shard]
    raw_words: int
    sentences: int
    words: bytes = b""  # each with a line's end after it
    counts: NDArray[np.int64] = np.zeros(0, np.int64)


class OnDisk(contextlib.AbstractContextManager["OnDisk"]):
    """Arrays kept in a temporary folder.

    The folder is removed by `close`, at the end of a ``with`` block, when this is collected, or at
    the interpreter's exit.
    """

    temporary: TemporaryFolder

    def close(self) -> None:
        """Remove the folder."""
        self.temporary.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def write_error(number: int | None, folder: Path) -> OSError:
    """Return an error of this errno that says how much was written where, and what to do."""
    written = sum(map(_size, folder.glob("**/*")))
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "free space there, or"
    elif number in (errno.ENOENT, errno.ENOTDIR):
        advice = "make the folder first, or"
    else:
        advice = "mend that, or"
    return OSError(
        number,
        f"{os.strerror(number or 0)}, after {written:,} bytes of encoded corpus; {advice} "
        "name another folder (encoded_dir=…, or TMPDIR in the environment)",
        str(folder),
    )


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # it has been moved
        if path.is_file():
            return path.stat().st_size
    return 0


def check_shards(shards: Iterable[Shard]) -> None:
    """Raise a ValueError unless files are as long as was written."""
    for shard in shards:
        size = os.path.getsize(shard.path) if os.path.exists(shard.path) else 0
        if size != shard.entries * ID.itemsize:
            raise ValueError(f"{shard.path} is missing or cut short: encode the corpus again")


def without_unknown(run: Ids) -> Ids:
    """Drop the unknown words of whole sentences, then the sentences that have none left."""
    run = run[run != UNKNOWN]
    ends = np.flatnonzero(run == END)
    words = np.diff(np.cumsum(run >= 0)[ends], prepend=0)
    return run[np.repeat(words > 0, np.diff(ends, prepend=-1))]


def save_ids(path: Path, ids: Ids) -> None:
    """Write ids to a file; errors are explained."""
    try:
        path.write_bytes(ids.astype(ID, copy=False).tobytes())
    except OSError as error:
        raise write_error(error.errno, path.parent) from error


def save_shard(path: Path, ids: Ids, raw_words: int, sentences: int) -> Shard:
    """Write whole sentences, which stand for this many words and sentences of the text."""
    save_ids(path, ids)
    tokens = int(np.count_nonzero(ids >= 0))
    return Shard(str(path), len(ids), tokens, raw_words, sentences)


def read_ids(path: str, start: int, stop: int) -> Ids:
    """Read a slice of a shard: int32, [stop - start]."""
    ids = np.fromfile(path, ID, stop - start, offset=start * ID.itemsize)
    if len(ids) != stop - start:
        raise ValueError(f"{path} is cut short: encode the corpus again")
    return ids.astype(np.int32, copy=False)


@dataclass(frozen=True)
class WorkUnit:
    """A run of encoded corpus: a slice of one shard file.

    The units of a corpus follow each other without gaps; their counts add up to its totals.
    """

    index: int  # its place in the epoch
    path: str  # shard file: raw little-endian int32, -1 after each sentence
    start: int  # in int32 entries
    stop: int
    tokens: int  # vocabulary words in it, without the -1
    raw_words: int  # words of the text it stands for, unknown ones too; estimated within a shard
    sentences: int  # sentences of the text that end in it; estimated where some were left empty

    def read(self) -> Ids:
        """Give its ids: int32, [stop - start], -1 after each sentence."""
        return read_ids(self.path, self.start, self.stop)


class EncodedCorpus(OnDisk):
    """A corpus as ids, in shards on disk.

    Work units of one of documents hold `whole` ones.

    Attributes
    ----------
    folder : Path
    total_tokens : int
        Vocabulary words in it.
    total_raw_words, total_sentences : int
        Of the text, whatever became of its words: gensim's `corpus_total_words`, `corpus_count`.
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
        # the counts of shards add up to those of the text already, unless a run of text left no
        # shard, or sentences were empty or cut
        self._share_out(shards, words, sentences)

    def _share_out(self, shards: list[Shard], words: list[int], sentences: list[int]) -> None:
        """Have shards that share the text's words and sentences by the gaps between edges."""
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
            Entries (words, and the -1 after sentences) in a unit, at most. Units end where
            sentences end if that is near; a sentence that is cut has no -1 there. A document is
            not cut, and may make its unit longer.

        Returns
        -------
        list of WorkUnit
            In the order of the text.
        """
        if size < 1:
            raise ValueError(f"a work unit must hold at least 1 entry, not {size}")
        units: list[WorkUnit] = []
        for shard in self._shards:
            ids, ends = _ids_and_ends(shard)
            edges = unit_edges(ends, shard.entries, size, self._whole)
            ended = np.searchsorted(ends, edges, "right").tolist()
            tokens = _words(ids, edges)
            raw_words = shares(shard.raw_words, edges)
            sentences = shares(shard.sentences, ended)
            for cut in zip(edges, edges[1:], tokens, raw_words, sentences, strict=False):
                units.append(WorkUnit(len(units), shard.path, *cut))
        return units

    def cut_anew(self) -> None:
        """Cut the text into shards by its entries alone, not by how it was read.

        A sentence may be cut, too, a document not; words and sentences of the text are shared out
        by entries.
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
            cut.append(save_shard(self.folder / f"cut{len(cut):05}.int32", run, 0, 0))
            entries.append(entries[-1] + len(run))
        self._share_out(cut, entries, entries)

    @property
    def longest_sentence(self) -> int:
        """Tokens of the longest sentence, that are in the vocabulary."""
        longest = 0
        for shard in self._shards:
            ids, ends = _ids_and_ends(shard)
            longest = max(longest, *_words(ids, [0, *ends.tolist()]))
        return longest

    def tag_counts(self, number: int) -> NDArray[np.int64]:
        """Count the documents that have each of so many tags: [number]."""
        counts = np.zeros(number, np.int64)
        for shard in self._shards:
            entries = read_ids(shard.path, 0, shard.entries)
            counts += np.bincount(FIRST_TAG - entries[entries <= FIRST_TAG], minlength=number)
        return counts


def _ids_and_ends(shard: Shard) -> tuple[Ids, NDArray[np.int64]]:
    """Read it, and tell where its sentences end."""
    ids = read_ids(shard.path, 0, shard.entries)
    return ids, np.flatnonzero(ids == END) + 1


def _words(ids: Ids, edges: list[int]) -> list[int]:
    """Count the words between edges."""
    return np.add.reduceat(ids >= 0, edges[:-1], dtype=np.int64).tolist()


def unit_edges(ends: NDArray[np.int64], entries: int, size: int, whole: bool = False) -> list[int]:
    """Cut a shard, whose sentences end at `ends`, into units of about equal size: 0, …, entries.

    A unit has `size` entries at most. A cut is moved back to the end of a sentence, unless that
    would halve the unit. Of `whole` sentences it is always at an end, the next one if it must be.
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
    """Share a whole number out in proportion to the gaps between edges; the shares add up to it.

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


#: Says to the random numbers that they are not a unit's own draws.
_STREAM = 0x5A4D50


@dataclass(frozen=True)
class Sampling:
    """Draws samples of sentences.

    Parameters
    ----------
    kind : {"shuffle", "random", "equal"}
        ``"shuffle"``: drawn anew each epoch, each sentence goes to one sample, and to each of the
        others by chance, so that a sample's share is `rate`; below 1 / N, it goes to one or none.
        ``"random"``: each sentence goes to each sample with probability `rate`, drawn once for all
        epochs, so some may go to none. ``"equal"``: N runs of the text.
    number : int
        N.
    rate : float
        The share of the sentences that a sample has.
    seed : int
    """

    kind: str
    number: int
    rate: float
    seed: int

    @property
    def share(self) -> float:
        """Expected share of a unit's sentences that a sample has, if it has any of the unit."""
        return 1.0 if self.kind == "equal" else self.rate

    def has_unit(self, sample: int, index: int, units: int) -> bool:
        """Return whether a sample contains sentences of the unit at this place among so many."""
        return self.kind != "equal" or index * self.number // units == sample

    def of(self, entries: Ids, sample: int, index: int, epoch: int) -> Ids:
        """A sample's part of a unit's entries: int32 [n], -1 after each sentence.

        The unit is named by its place in the text, `index`, and by its epoch.
        """
        if self.kind == "equal":
            return entries
        ends = np.flatnonzero(entries == END) + 1
        if not len(ends) or ends[-1] < len(entries):
            ends = np.append(ends, len(entries))  # a sentence that the unit's end cuts
        of_epoch = epoch if self.kind == "shuffle" else 0
        taken = _members(self, len(ends), index, of_epoch)[:, sample]
        return entries[np.repeat(taken, np.diff(ends, prepend=0))]


@functools.lru_cache(maxsize=64)  # samples ask one after the other for the same units
def _members(sampling: Sampling, sentences: int, index: int, epoch: int) -> np.ndarray:
    """Which sentences of a unit belong to which samples: bool [sentences, N]."""
    draws = np.random.default_rng([_STREAM, abs(sampling.seed), epoch, index])
    of_one = draws.random((sentences, sampling.number))
    if sampling.kind == "random":
        return of_one < sampling.rate
    mean = sampling.rate * sampling.number  # how many samples a sentence goes to
    taken = of_one < (mean - 1) / max(1, sampling.number - 1)
    first = draws.integers(sampling.number, size=sentences)
    taken[np.arange(sentences), first] = draws.random(sentences) < mean
    return taken
