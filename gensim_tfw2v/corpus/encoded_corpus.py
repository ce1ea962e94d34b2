"""Encoded corpus: its shards, and the work units into which they are cut."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.entry_ranges import EntryRange, gaps_between, join_ranges
from gensim_tfw2v.corpus.shard_files import END, Ids
from gensim_tfw2v.corpus.shards import EncodedPart, Shard, shares
from gensim_tfw2v.files.temporary import TemporaryFolder


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
    shard: Shard
    start: int  # index of the first entry in the shard
    stop: int  # index behind the last entry
    tokens: int  # number of words that are in the vocabulary
    raw_words: int  # number of words in the text, including unknown ones; estimated within a shard
    sentences: int  # number of the text's sentences that end in the unit; may be estimated, too

    def read(self, epoch: int = 0) -> Ids:
        """Return the unit's entries in an epoch: int32, -1 after each sentence.

        The epoch matters only if entries are drawn: see `Shard`.
        """
        return self.shard.read(self.start, self.stop, epoch)


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
        self._shards = []
        for shard, raw_words, sentences in zip(shards, n_raw_words, n_sentences, strict=True):
            self._shards.append(replace(shard, n_raw_words=raw_words, n_sentences=sentences))

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
        for shard, gaps in list(self._find_gaps(trained)):
            for counts in shard.cut(gaps, size, self._whole):
                units.append(WorkUnit(len(units), shard, *counts))
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
        starts = dict(zip(self._shards, shard_starts, strict=False))
        return join_ranges(
            (starts[unit.shard] + unit.start, starts[unit.shard] + unit.stop) for unit in units
        )

    @property
    def is_drawn(self) -> bool:
        """True if the entries are drawn, instead of read from files: see `Shard`."""
        return any(shard.is_drawn for shard in self._shards)

    @property
    def walk_file(self) -> Path | None:
        """Path of the file from which walks are drawn; None if the entries are not walks."""
        paths = [Path(shard.path) for shard in self._shards if shard.is_walks]
        return paths[0] if paths else None

    def begin_training(self, number: int) -> None:
        """Let drawn entries be those of a model's training run, which is numbered from 0."""
        if not self.is_drawn:
            return
        first_entries = accumulate((shard.n_entries for shard in self._shards), initial=0)
        self._shards = [
            shard.for_training(number, first_entry)
            for shard, first_entry in zip(self._shards, first_entries, strict=False)
        ]

    def recut(self) -> None:
        """Cut the corpus into new shards of `SHARD_ENTRIES`, however its text was read.

        Shards of walks stay, because they don't depend on how a text was read.

        Sentences may be cut, but documents and sentences with weights are not. The text's words and
        sentences are distributed over shards in proportion to their entries.
        """
        if self.walk_file is not None:
            return
        max_entries = shard_files.SHARD_ENTRIES
        cuts_sentences = not (self._whole or self.is_drawn)
        old_shards = iter(self._shards)
        entries = np.zeros(0, np.int32)  # entries of old shards that are in no new shard yet
        new_shards = list[Shard]()
        edges = [0]
        while True:
            while len(entries) < max_entries and (shard := next(old_shards, None)):
                entries = np.concatenate([entries, *shard.pieces()])
                os.remove(shard.path)
            if not len(entries):
                break
            stop = max_entries
            if len(entries) > max_entries and not cuts_sentences:
                stop = int(np.flatnonzero(entries[:max_entries] == END)[-1]) + 1
            shard_entries, entries = np.split(entries, [stop])
            path = self.folder / f"cut{len(new_shards):05}.int32"
            new_shards.append(self._shards[0].save_copy(path, [shard_entries]))
            edges.append(edges[-1] + new_shards[-1].n_entries)
        self._distribute_totals(new_shards, edges, edges)

    @property
    def checksum(self) -> int:
        """CRC-32 of all entries, whatever the shards."""
        checksum = 0
        for shard in self._shards:
            checksum = shard.checksum(checksum)
        return checksum

    @property
    def longest_sentence(self) -> int:
        """Number of words of the longest sentence, not counting unknown ones."""
        return max((shard.longest_sentence for shard in self._shards), default=0)

    def tag_counts(self, n_tags: int) -> NDArray[np.int64]:
        """Count the documents with each of `n_tags` tags: [n_tags]."""
        counts = np.zeros(n_tags, np.int64)
        for shard in self._shards:
            counts += shard.tag_counts(n_tags)
        return counts
