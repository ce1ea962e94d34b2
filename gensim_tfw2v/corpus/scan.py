"""Counting a vocabulary, and encoding the corpus without reading the text again."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.encode import Folder, target
from gensim_tfw2v.corpus.parallel import Helper, in_threads, read_runs
from gensim_tfw2v.corpus.scanner import Words, library, renumbered
from gensim_tfw2v.corpus.sentences import Lines, Numbering, packed_to_shards
from gensim_tfw2v.corpus.shards import END, ID, UNKNOWN, Progress, Shard, save_ids
from gensim_tfw2v.corpus.texts import Texts
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace


class Scan:
    """A corpus that was read once: its words and their counts, and provisional ids on disk.

    The provisional ids, as large as the encoded corpus, are removed by `close`, at the end of a
    ``with`` block, when the scan is collected, or at the interpreter's exit.

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
        workspace: Workspace,
        folder: Folder,
        shards: Sequence[tuple[Shard, Path | None]],
        words: Sequence[Any],
        counts: Iterable[int],
        total_words: int,
        corpus_count: int,
    ) -> None:
        """Take words, and shards: with the file of the words' places, if ids are not these."""
        self._workspace, self._folder, self._shards = workspace, folder, shards
        self._words = words  # of its own: raw_vocab may be pruned by whoever gets it
        self.raw_vocab = dict(zip(words, counts, strict=True))
        self.total_words, self.corpus_count = total_words, corpus_count

    def encode(self, key_to_index: Mapping[str, int]) -> EncodedCorpus:
        """Turn the provisional ids into those of a vocabulary.

        Parameters
        ----------
        key_to_index : dict
            Words to ids from 0 up; other words are left out.

        Returns
        -------
        EncodedCorpus
            In the folder given to the scan, or temporary.

        Raises
        ------
        OSError
            If the folder can't be written or is full. Nothing is left behind then.
        """
        number = key_to_index.get
        numbers = np.fromiter(map(number, self._words, repeat(UNKNOWN)), ID, len(self._words))
        with target(self._folder) as workspace:

            def encoded(place: int, _: object) -> Shard:
                shard, places = self._shards[place]
                ids = numbers if places is None else numbers[np.fromfile(places, ID)]
                run = renumbered(np.fromfile(shard.path, ID), ids)
                path = workspace.folder / f"{place:05}.int32"
                if len(run):
                    save_ids(path, run)
                tokens = int(np.count_nonzero(run != END))
                return replace(shard, path=str(path), entries=len(run), tokens=tokens)

            made = in_threads(encoded, len(self._shards))
            shards = [shard for shard in made if shard.entries]
            return EncodedCorpus.of_shards(
                workspace, shards, self.total_words, self.corpus_count, self._folder
            )

    def close(self) -> None:
        """Remove the provisional ids."""
        self._workspace.close()

    def __enter__(self) -> "Scan":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def scan_file(
    path: str | os.PathLike[str], folder: Folder = None, progress: Progress | None = None
) -> Scan:
    """Count the words of a text file, as gensim's `build_vocab` does with a `corpus_file`.

    Parameters and errors are those of `encode_file`; `folder` is where `Scan.encode` will write.
    """
    return scan_texts([path], folder, progress)


def scan_texts(
    paths: Sequence[str | os.PathLike[str]],
    folder: Folder = None,
    progress: Progress | None = None,
    helpers: Sequence[Helper] = (),
) -> Scan:
    """Count the words of text files as if they were one; see `scan_file` and `read_runs`."""
    with target(folder) as workspace:
        runs = Texts.found(paths).cut()
        if library() is None:
            return _scanned(workspace, folder, Lines(runs), progress)[0]
        words, shards = Words(), list[tuple[Shard, Path | None]]()
        total_words = sentences = 0
        for number, part in enumerate(read_runs(runs, workspace.folder, None, progress, helpers)):
            places = workspace.folder / f"part{number:05}.places"
            save_ids(places, words.add(part.words, part.counts))
            shards += ((shard, places) for shard in part.shards)
            total_words += part.raw_words
            sentences += part.sentences
        text, counts = words.found()
        found = text.decode().split("\n")[:-1]
        return Scan(workspace, folder, shards, found, counts.tolist(), total_words, sentences)


def scan_sentences(
    sentences: Iterable[Iterable[Hashable]],
    folder: Folder = None,
    progress: Progress | None = None,
) -> Scan:
    """Count the words of token lists, as gensim's `build_vocab` does.

    Parameters and errors are those of `encode_sentences`; `folder` is where `Scan.encode` will
    write. A first sentence that is a string is warned of, as in gensim.
    """
    with target(folder) as workspace:
        scan, items = _scanned(workspace, folder, sentences, progress)
        scan.corpus_count = items
        return scan


def _scanned(
    workspace: Workspace,
    folder: Folder,
    sentences: Iterable[Iterable[Hashable]],
    progress: Progress | None,
) -> tuple[Scan, int]:
    """Count words by Python; give the number of items too, empty ones among them."""
    ids = Numbering()
    part, items = packed_to_shards(sentences, ids, workspace.folder, progress)
    shards = [(shard, None) for shard in part.shards]
    totals = part.raw_words, part.sentences
    return Scan(workspace, folder, shards, list(ids), ids.counts.tolist(), *totals), items
