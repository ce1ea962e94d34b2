"""An encoded corpus on disk, and the work units that it is cut into."""

import functools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.saved import Description, described, keep
from gensim_tfw2v.corpus.shards import END, ID, Ids, Shard
from gensim_tfw2v.corpus.workspace import Workspace


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
        return _read(self.path, self.start, self.stop)


class EncodedCorpus:
    """A corpus as ids, in shards on disk; made by `Scan.encode`, `encode_file` and the like.

    A temporary one is removed by `close`, at the end of a ``with`` block, when it is collected,
    or at the interpreter's exit. One that was given a folder stays there for `open`.

    Attributes
    ----------
    folder : Path
        Where the shards are.
    total_tokens : int
        Vocabulary words in it.
    total_raw_words, total_sentences : int
        Of the text, whatever became of its words: gensim's `corpus_total_words`, `corpus_count`.
    """

    def __init__(
        self, folder: Path, corpus: Description, workspace: Workspace | None = None
    ) -> None:
        self.folder = folder
        self.total_tokens = sum(shard.tokens for shard in corpus.shards)
        self.total_raw_words = corpus.total_raw_words
        self.total_sentences = corpus.total_sentences
        self._shards = corpus.shards
        self._workspace = workspace  # the folder, if it is temporary
        self._units: dict[int, list[WorkUnit]] = {}

    @classmethod
    def of_shards(
        cls,
        workspace: Workspace,
        shards: list[Shard],
        raw_words: int,
        sentences: int,
        folder: str | os.PathLike[str] | None = None,
    ) -> "EncodedCorpus":
        """Take shards written in a workspace, and totals; move them to `folder` if one is given."""
        corpus = Description(shards, raw_words, sentences)
        corpus = replace(corpus, shards=list(_adding_up(corpus)))
        if folder is None:
            return cls(workspace.folder, corpus, workspace)
        corpus = keep(corpus, Path(folder))
        workspace.close()
        return cls(Path(folder), corpus)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "EncodedCorpus":
        """Open a corpus that was encoded into `folder`.

        Raises
        ------
        FileNotFoundError
            If there is none, or one whose writing was not finished.
        ValueError
            If its files are not what was written.
        """
        return cls(Path(folder), described(Path(folder)))

    def units(self, size: int) -> list[WorkUnit]:
        """Cut the corpus into work units of about equal size.

        Parameters
        ----------
        size : int
            Entries (words, and the -1 after sentences) in a unit, at most. Units end where
            sentences end if that is near; a sentence that is cut has no -1 there.

        Returns
        -------
        list of WorkUnit
            In the order of the text.
        """
        if size < 1:
            raise ValueError(f"a work unit must hold at least 1 entry, not {size}")
        if size not in self._units:
            units: list[WorkUnit] = []
            for shard in self._shards:
                units += _cut(shard, size, len(units))
            self._units[size] = units
        return list(self._units[size])

    @functools.cached_property
    def longest_sentence(self) -> int:
        """Tokens of the longest sentence, that are in the vocabulary."""
        return max((_longest(shard) for shard in self._shards), default=0)

    def close(self) -> None:
        """Remove the folder if it is temporary."""
        if self._workspace:
            self._workspace.close()

    def __enter__(self) -> "EncodedCorpus":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _ends(shard: Shard) -> np.ndarray:
    """Where its sentences end."""
    return np.flatnonzero(_read(shard.path, 0, shard.entries) == END) + 1


def _longest(shard: Shard) -> int:
    ends = _ends(shard)
    lengths = np.diff(ends, prepend=0) - 1
    after_the_last = shard.entries - (ends[-1] if len(ends) else 0)
    return int(max(lengths.max(initial=0), after_the_last))


def _cut(shard: Shard, size: int, index: int) -> Iterable[WorkUnit]:
    ends = _ends(shard)
    edges = unit_edges(ends, shard.entries, size)
    ended = np.searchsorted(ends, edges, "right").tolist()
    raw_words = shares(shard.raw_words, edges)
    sentences = shares(shard.sentences, ended)
    for unit, (start, stop) in enumerate(pairwise(edges)):
        yield WorkUnit(
            index=index + unit,
            path=shard.path,
            start=start,
            stop=stop,
            tokens=stop - start - (ended[unit + 1] - ended[unit]),
            raw_words=next(raw_words),
            sentences=next(sentences),
        )


def unit_edges(ends: NDArray[np.int64], entries: int, size: int) -> list[int]:
    """Cut a shard into units of about equal size.

    Parameters
    ----------
    ends : int64 array, [sentences]
        Where the sentences of the shard end.
    entries : int
        In the shard.
    size : int
        Entries in a unit, at most. A cut is moved back to the end of a sentence, unless that
        would halve the unit.

    Returns
    -------
    list of int
        0, …, entries.
    """
    edges = [0]
    while (start := edges[-1]) < entries:
        units = -(-(entries - start) // size)
        stop = start + -(-(entries - start) // units)
        last = int(np.searchsorted(ends, stop, "right")) - 1
        if last >= 0 and ends[last] - start > (stop - start) // 2:
            stop = int(ends[last])
        edges.append(stop)
    return edges


def shares(total: int, edges: list[int]) -> Iterator[int]:
    """Share a whole number out in proportion to the gaps between edges; the shares add up to it.

    >>> list(shares(10, [0, 1, 2, 3]))
    [3, 3, 4]
    """
    whole = max(edges[-1], 1)
    for start, stop in pairwise(edges):
        yield total * stop // whole - total * start // whole


def _read(path: str, start: int, stop: int) -> Ids:
    ids = np.fromfile(path, ID, stop - start, offset=start * ID.itemsize)
    if len(ids) != stop - start:
        raise ValueError(f"{path} is cut short: encode the corpus again")
    return ids.astype(np.int32, copy=False)


def _adding_up(corpus: Description) -> Iterable[Shard]:
    """Let the counts of the shards add up to those of the text.

    They do already, unless a run of text left no shard, or sentences were empty or cut.
    """
    shards = corpus.shards
    words = accumulate((shard.raw_words for shard in shards), initial=0)
    sentences = accumulate((shard.sentences for shard in shards), initial=0)
    raw_words = shares(corpus.total_raw_words, list(words))
    ended = shares(corpus.total_sentences, list(sentences))
    for shard in shards:
        yield replace(shard, raw_words=next(raw_words), sentences=next(ended))
