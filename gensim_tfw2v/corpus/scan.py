"""Counting a vocabulary, and encoding the corpus without reading the text again."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.parallel import Reading, in_threads, read_runs, reading_here
from gensim_tfw2v.corpus.scanner import Words, library, renumbered
from gensim_tfw2v.corpus.sentences import Lines, Numbering, packed_to_shards
from gensim_tfw2v.corpus.shards import (
    END,
    ID,
    UNKNOWN,
    OnDisk,
    Parent,
    Progress,
    Shard,
    fresh_folder,
    save_ids,
)
from gensim_tfw2v.corpus.texts import Texts
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.files.temporary import TemporaryFolder


class Scan(OnDisk):
    """A corpus that was read once: its words and their counts, and provisional ids on disk.

    The provisional ids are as large as the encoded corpus.

    Attributes
    ----------
    raw_vocab : dict
        Words to counts, in order of first occurrence, so that ties sort as in gensim.
    total_words : int
        gensim's `corpus_total_words`.
    corpus_count : int
        Sentences: lines, or pieces of 10,000 words, of a file; all items of an iterable.
    """

    def __init__(
        self,
        temporary: TemporaryFolder,
        shards: Sequence[tuple[Shard, Path | None]],
        words: Sequence[Any],
        counts: Iterable[int],
        total_words: int,
        corpus_count: int,
    ) -> None:
        """Take words, and shards: with the file of the words' places, if ids are not these."""
        super().__init__(temporary)
        self._shards = shards
        self._words = words  # of its own: raw_vocab may be pruned by whoever gets it
        self.raw_vocab = dict(zip(words, counts, strict=True))
        self.total_words, self.corpus_count = total_words, corpus_count

    def encode(self, key_to_index: Mapping[str, int]) -> EncodedCorpus:
        """Turn the provisional ids into those of a vocabulary, in a folder beside.

        Parameters
        ----------
        key_to_index : dict
            Words to ids from 0 up; other words are left out.

        Raises
        ------
        OSError
            If the folder can't be written or is full. Nothing is left behind then.
        """
        number = key_to_index.get
        numbers = np.fromiter(map(number, self._words, repeat(UNKNOWN)), ID, len(self._words))
        with fresh_folder(self.folder.parent) as made:

            def encoded(place: int, _: object) -> Shard:
                shard, places = self._shards[place]
                ids = numbers if places is None else numbers[np.fromfile(places, ID)]
                run = renumbered(np.fromfile(shard.path, ID), ids)
                path = made.folder / f"{place:05}.int32"
                if len(run):
                    save_ids(path, run)
                tokens = int(np.count_nonzero(run != END))
                return replace(shard, path=str(path), entries=len(run), tokens=tokens)

            shards = [shard for shard in in_threads(encoded, len(self._shards)) if shard.entries]
            return EncodedCorpus(made, shards, self.total_words, self.corpus_count)


def scan_texts(
    paths: Sequence[str],
    parent: Parent = None,
    progress: Progress | None = None,
    reading: Reading = reading_here,
) -> Scan:
    """Count the words of text files as if they were one, as gensim does with a `corpus_file`.

    Parameters and errors are those of `encode_texts`.
    """
    with fresh_folder(parent) as made, reading(paths, made.folder) as helpers:
        runs = Texts.found(paths).cut()  # once helpers are there: texts may have grown meanwhile
        if library() is None:
            return _scanned(made, Lines(runs), progress)[0]
        words, shards = Words(), list[tuple[Shard, Path | None]]()
        total_words = sentences = 0
        for number, part in enumerate(read_runs(runs, made.folder, None, progress, helpers)):
            places = made.folder / f"part{number:05}.places"
            save_ids(places, words.add(part.words, part.counts))
            shards += ((shard, places) for shard in part.shards)
            total_words += part.raw_words
            sentences += part.sentences
        text, counts = words.found()
        found = text.decode().split("\n")[:-1]
        return Scan(made, shards, found, counts.tolist(), total_words, sentences)


def scan_sentences(
    sentences: Iterable[Iterable[Hashable]],
    parent: Parent = None,
    progress: Progress | None = None,
) -> Scan:
    """Count the words of token lists, as gensim's `build_vocab` does.

    Parameters and errors are those of `encode_sentences`. A first sentence that is a string is
    warned of, as in gensim.
    """
    with fresh_folder(parent) as made:
        scan, items = _scanned(made, sentences, progress)
        scan.corpus_count = items
        return scan


def _scanned(
    made: TemporaryFolder, sentences: Iterable[Iterable[Hashable]], progress: Progress | None
) -> tuple[Scan, int]:
    """Count words by Python; give the number of items too, empty ones among them."""
    ids = Numbering()
    part, items = packed_to_shards(sentences, ids, made.folder, progress)
    shards = [(shard, None) for shard in part.shards]
    counts = ids.counts.tolist()
    return Scan(made, shards, list(ids), counts, part.raw_words, part.sentences), items
