"""Counting a vocabulary, and encoding the corpus without reading the text again."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.encode import Folder, fresh_workspace, texts_parts
from gensim_tfw2v.corpus.helpers import Processes, Readers, renumber
from gensim_tfw2v.corpus.numbering import (
    ID,
    UNKNOWN,
    Ids,
    Numbering,
    Progress,
    without_unknown,
)
from gensim_tfw2v.corpus.parts import Part, read_part
from gensim_tfw2v.corpus.sentences import SentenceEncoder
from gensim_tfw2v.corpus.shards import Shard, ShardWriter, renumbered
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
        parts: Iterable[Part],
        sentences: int | None = None,
    ) -> None:
        self._workspace, self._folder = workspace, folder
        self._shards: list[tuple[list[Shard], Ids]] = []  # with the part's ids -> all parts' ids
        self.total_words = self.corpus_count = 0
        numbers: dict[Any, int] = {}
        counts = np.zeros(0, np.int64)
        for part in parts:
            ids = np.fromiter(
                (numbers.setdefault(word, len(numbers)) for word in part.words), ID, len(part.words)
            )
            if len(numbers) > len(counts):  # seldom, for it copies all
                counts = np.pad(counts, (0, 2 * len(numbers) - len(counts)))
            counts[ids] += part.counts
            self._shards.append((part.shards, ids))
            self.total_words += part.raw_words
            self.corpus_count += part.sentences
        self._words = list(numbers)  # of its own: raw_vocab may be pruned by whoever gets it
        found = counts[: len(numbers)].tolist()
        numbers.update(zip(self._words, found, strict=True))  # a second dict is large
        self.raw_vocab = numbers
        if sentences is not None:
            self.corpus_count = sentences

    def encode(
        self, key_to_index: Mapping[str, int], readers: Readers | None = None
    ) -> EncodedCorpus:
        """Turn the provisional ids into those of a vocabulary, a shard at a time.

        Parameters
        ----------
        key_to_index : dict
            Words to ids from 0 up; other words are left out.
        readers : Readers, optional
            Who runs helper processes for it; by default this process does it alone.

        Returns
        -------
        EncodedCorpus
            In the folder given to the scan, or temporary.

        Raises
        ------
        OSError
            If the folder can't be written or is full. Nothing is left behind then.
        """
        new_ids = np.fromiter(
            map(key_to_index.get, self._words, repeat(UNKNOWN)), ID, len(self._words)
        )
        with fresh_workspace(self._folder) as workspace:
            if readers is not None and len(self._shards) > 1:
                parts = renumber(self._shards, new_ids, workspace.folder, readers)
                return EncodedCorpus.from_parts(workspace, parts, self._folder)
            writer = ShardWriter(workspace.folder, "", without_unknown)
            for shards, ids in self._shards:
                for run in renumbered(shards, new_ids[ids]):
                    writer.write(run)
            part = Part(writer.close(), self.total_words, self.corpus_count, [], np.zeros(0, int))
            return EncodedCorpus.from_parts(workspace, [part], self._folder)

    def close(self) -> None:
        """Remove the provisional ids."""
        self._workspace.close()

    def __enter__(self) -> "Scan":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def scan_file(
    path: str | os.PathLike[str],
    folder: Folder = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Scan:
    """Count the words of a text file, as gensim's `build_vocab` does with a `corpus_file`.

    Parameters and errors are those of `encode_file`; `folder` is where `Scan.encode` will write.
    """
    return scan_texts([path], folder, Processes(processes), progress)


def scan_texts(
    paths: Sequence[str | os.PathLike[str]],
    folder: Folder = None,
    readers: Readers | None = None,
    progress: Progress | None = None,
) -> Scan:
    """Count the words of text files as if they were one; parameters as of `encode_texts`."""
    with fresh_workspace(folder) as workspace:
        parts = texts_parts(paths, None, workspace, readers or Processes(), progress)
        return Scan(workspace, folder, parts)


def scan_sentences(
    sentences: Iterable[Iterable[Hashable]],
    folder: Folder = None,
    progress: Progress | None = None,
) -> Scan:
    """Count the words of token lists, as gensim's `build_vocab` does.

    Parameters and errors are those of `encode_sentences`; `folder` is where `Scan.encode` will
    write. A first sentence that is a string is warned of, as in gensim.
    """
    with fresh_workspace(folder) as workspace:
        chunks = SentenceEncoder(sentences, ids := Numbering())
        part = read_part(chunks, ids, workspace.folder, progress=progress)
        return Scan(workspace, folder, [part], chunks.count)
