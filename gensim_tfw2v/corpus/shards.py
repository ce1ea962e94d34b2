"""Writing encoded sentences to disk, a shard at a time."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gensim_tfw2v.corpus.numbering import END, ID, Ids
from gensim_tfw2v.corpus.workspace import explained

SHARD = 1 << 20  # entries, at most (more only if one sentence is longer)


@dataclass(frozen=True)
class Shard:
    """A file of whole sentences: raw little-endian int32 ids, -1 after each sentence."""

    path: str
    entries: int  # int32 in the file
    tokens: int  # of them words
    raw_words: int  # words of the text that it stands for
    sentences: int  # sentences of the text that it stands for


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


def renumbered(shards: Iterable[Shard], numbers: Ids) -> Iterator[bytes]:
    """Give the packed ids of each shard, with ``numbers[id]`` in place of each id."""
    table = np.append(numbers, ID.type(END))  # so that table[END] is END
    for shard in shards:
        yield table[np.fromfile(shard.path, ID)].tobytes()


class ShardWriter:
    """Collects packed ids and writes them as shards that end where sentences end.

    Parameters
    ----------
    folder : Path
        Where to write.
    prefix : str
        How the files' names begin.
    finish : callable
        Takes the run of whole sentences that is to become a shard (int32, [entries]) and
        gives what is to be written: for counting, or for dropping words.
    report : callable, optional
        Called after each shard with the words and sentences so far.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        finish: Callable[[Ids], Ids],
        report: Callable[[int, int], object] | None = None,
    ) -> None:
        self.shards: list[Shard] = []
        self.raw_words = self.sentences = 0
        self._folder, self._prefix, self._finish, self._report = folder, prefix, finish, report
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, ids: bytes) -> None:
        """Add packed ids, which may begin and end within a sentence."""
        self._parts.append(ids)
        self._size += len(ids)
        if self._size >= SHARD * ID.itemsize:
            self._cut()

    def close(self) -> list[Shard]:
        """Write what is left, a whole number of sentences, and give all shards."""
        while self._size:
            self._cut()
        return self.shards

    def _cut(self) -> None:
        """Write one shard: as many whole sentences as it can hold."""
        buffer = np.frombuffer(b"".join(self._parts), ID)
        ends = np.flatnonzero(buffer == END) + 1
        if not len(ends):
            return
        count = max(1, int(np.searchsorted(ends, SHARD, "right")))
        stop = int(ends[count - 1])
        self._parts, self._size = [buffer[stop:].tobytes()], (len(buffer) - stop) * ID.itemsize
        self.raw_words += stop - count
        self.sentences += count
        run = self._finish(buffer[:stop])
        if len(run):  # else no shard stands for these words; EncodedCorpus shares them out
            path = self._folder / f"{self._prefix}{len(self.shards):05}.int32"
            self._save(path, run)
            tokens = int(np.count_nonzero(run != END))
            self.shards.append(Shard(str(path), len(run), tokens, stop - count, count))
        if self._report:
            self._report(self.raw_words, self.sentences)

    def _save(self, path: Path, run: Ids) -> None:
        with explained(self._folder), open(path, "wb", buffering=0) as file:
            data = memoryview(run.astype(ID, copy=False).tobytes())
            while data:  # a disk that fills takes a part of the bytes before it complains
                data = data[file.write(data) :]
