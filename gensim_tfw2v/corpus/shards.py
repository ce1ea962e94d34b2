"""Ids on disk: shards, which are files of whole sentences."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.workspace import explained

Ids = NDArray[np.int32]
#: Told the words, sentences, word types and bytes of files so far.
Progress = Callable[[int, int, int, int], object]

ID = np.dtype("<i4")  # on disk, whatever the machine
END, UNKNOWN = -1, -2  # after each sentence; in place of a word outside the vocabulary
SHARD = 1 << 20  # entries, at most (more only if one sentence is longer)
MAX_SENTENCE = 10_000  # words: gensim's MAX_WORDS_IN_BATCH, where LineSentence cuts a line


@dataclass(frozen=True)
class Shard:
    """A file of whole sentences: raw little-endian int32 ids, -1 after each sentence."""

    path: str
    entries: int  # int32 in the file
    tokens: int  # of them words
    raw_words: int  # words of the text that it stands for
    sentences: int  # sentences of the text that it stands for


class Part(NamedTuple):
    """What was found in a part of a corpus, one after another.

    With a known vocabulary the shards hold its ids, and there are no words; else they hold
    provisional ids: places in `words`, which are in order of first occurrence.
    """

    shards: list[Shard]
    raw_words: int
    sentences: int
    words: bytes = b""  # each with a line's end after it
    counts: NDArray[np.int64] = np.zeros(0, np.int64)


def in_folder(shards: Iterable[Shard], folder: Path) -> list[Shard]:
    """The same shards, whose paths are names in a folder."""
    return [replace(shard, path=str(folder / Path(shard.path).name)) for shard in shards]


def check_shards(shards: Iterable[Shard]) -> None:
    """See that files are as long as was written.

    Raises
    ------
    ValueError
    """
    for shard in shards:
        size = os.path.getsize(shard.path) if os.path.exists(shard.path) else 0
        if size != shard.entries * ID.itemsize:
            raise ValueError(f"{shard.path} is missing or cut short: encode the corpus again")


def without_unknown(run: Ids) -> Ids:
    """Drop unknown words, then the sentences that this left empty.

    Parameters
    ----------
    run : int32 array, [entries]
        Whole sentences, each followed by `END`.

    Returns
    -------
    int32 array, [entries kept]
    """
    run = run[run != UNKNOWN]
    ends = run == END
    empty = ends.copy()
    empty[1:] &= ends[:-1]
    return run[~empty]


def save_ids(path: Path, ids: Ids) -> None:
    """Write ids to a file; errors are explained."""
    with explained(path.parent), open(path, "wb", buffering=0) as file:
        data = memoryview(ids.astype(ID, copy=False).tobytes())
        while data:  # a disk that fills takes a part of the bytes before it complains
            data = data[file.write(data) :]


class ShardWriter:
    """Collects packed sentences and writes them as shards.

    Parameters
    ----------
    folder : Path
        Where to write.
    finish : callable
        Takes the run of whole sentences that is to become a shard (int32, [entries]) and
        gives what is to be written: for counting, or for dropping words.
    """

    def __init__(self, folder: Path, finish: Callable[[Ids], Ids]) -> None:
        self.shards: list[Shard] = []
        self.raw_words = self.sentences = 0
        self._folder, self._finish = folder, finish
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, sentence: bytes) -> bool:
        """Add a packed sentence with its end; say whether a shard was written before it."""
        is_full = self._size + len(sentence) > SHARD * ID.itemsize and bool(self._parts)
        if is_full:
            self.cut()
        self._parts.append(sentence)
        self._size += len(sentence)
        return is_full

    def cut(self) -> None:
        """Write what there is as a shard."""
        run = self._finish(np.frombuffer(b"".join(self._parts), ID))
        raw_words, sentences = self._size // ID.itemsize - len(self._parts), len(self._parts)
        if len(run):  # else no shard stands for these words; EncodedCorpus shares them out
            path = self._folder / f"{len(self.shards):05}.int32"
            save_ids(path, run)
            tokens = int(np.count_nonzero(run != END))
            self.shards.append(Shard(str(path), len(run), tokens, raw_words, sentences))
        self.raw_words += raw_words
        self.sentences += sentences
        self._parts, self._size = [], 0
