"""An encoded corpus on disk, and the work units that it is cut into."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.shards import END, Ids, OnDisk, Shard, read_ids
from gensim_tfw2v.files.temporary import TemporaryFolder


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
    """A corpus as ids, in shards on disk; made by `Scan.encode`, `encode_texts` and the like.

    Attributes
    ----------
    total_tokens : int
        Vocabulary words in it.
    total_raw_words, total_sentences : int
        Of the text, whatever became of its words: gensim's `corpus_total_words`, `corpus_count`.
    """

    def __init__(
        self, temporary: TemporaryFolder, shards: Sequence[Shard], raw_words: int, sentences: int
    ) -> None:
        super().__init__(temporary)
        self.total_tokens = sum(shard.tokens for shard in shards)
        self.total_raw_words, self.total_sentences = raw_words, sentences
        # the counts of shards add up to those of the text already, unless a run of text left no
        # shard, or sentences were empty or cut
        words = accumulate((shard.raw_words for shard in shards), initial=0)
        ended = accumulate((shard.sentences for shard in shards), initial=0)
        counts = zip(shares(raw_words, list(words)), shares(sentences, list(ended)), strict=True)
        self._shards = [
            replace(shard, raw_words=of_words, sentences=of_sentences)
            for shard, (of_words, of_sentences) in zip(shards, counts, strict=True)
        ]

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
        units: list[WorkUnit] = []
        for shard in self._shards:
            units += _cut(shard, size, len(units))
        return units

    @property
    def longest_sentence(self) -> int:
        """Tokens of the longest sentence, that are in the vocabulary."""
        return max((_longest(shard) for shard in self._shards), default=0)


def _ends(shard: Shard) -> NDArray[np.int64]:
    """Where its sentences end."""
    return np.flatnonzero(read_ids(shard.path, 0, shard.entries) == END) + 1


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
    """Cut a shard, whose sentences end at `ends`, into units of about equal size: 0, …, entries.

    A unit has `size` entries at most. A cut is moved back to the end of a sentence, unless that
    would halve the unit.
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
