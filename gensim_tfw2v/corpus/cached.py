"""A corpus that was read to count its words, kept for the training that may follow."""

import contextlib
import operator
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gensim_tfw2v.corpus.encode import encode_sentences, encode_texts
from gensim_tfw2v.corpus.files import is_pipe
from gensim_tfw2v.corpus.parallel import Helper
from gensim_tfw2v.corpus.scan import scan_sentences, scan_texts
from gensim_tfw2v.corpus.shards import Progress
from gensim_tfw2v.corpus.texts import Texts, text_files
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace, fresh_workspace

#: A file, or sentences.
Source = Path | Iterable[list[str]]

#: Gives those who help to read files and write to a folder.
Reading = Callable[[Sequence[str], Path], contextlib.AbstractContextManager[Sequence[Helper]]]


def reading_here(
    paths: Sequence[str], folder: Path
) -> contextlib.AbstractContextManager[Sequence[Helper]]:
    """Let this machine read alone."""
    return contextlib.nullcontext(())


class CachedScan:
    """What reading a corpus once has given.

    Parameters
    ----------
    source : Path or iterable of list of str
    parent : str, optional
        Where the folder with the encoded corpus is made.
    progress : callable, optional
        Called now and then; see `encode_file`.
    reading : callable
        Who reads it, if it is in files (see `text_files`).

    Attributes
    ----------
    scan : Scan
    """

    def __init__(
        self,
        source: Source,
        parent: str | None = None,
        progress: Progress | None = None,
        reading: Reading = reading_here,
    ) -> None:
        self._source = _identity(source)
        with fresh_workspace(parent) as self._workspace:
            folder = self._workspace.folder
            if (paths := text_files(source)) is None:
                assert not isinstance(source, Path)
                self.scan = scan_sentences(source, folder, progress)
                return
            with _reading_of(source, reading)(paths, folder) as helpers:
                self.scan = scan_texts(paths, folder, progress, helpers)

    def is_of(self, source: Source) -> bool:
        """Whether this is what was read: the same object, or a file that has not changed."""
        if isinstance(source, Path):
            return isinstance(self._source, tuple) and self._source == _identity(source)
        return self._source is source

    def encode(self, key_to_index: Mapping[str, int]) -> tuple[EncodedCorpus, Workspace]:
        """Give the corpus in ids of the vocabulary, and its folder; nothing else is left."""
        with self.scan:  # the provisional ids are not needed any more
            return self.scan.encode(key_to_index), self._workspace

    def close(self) -> None:
        """Remove what is held."""
        self.scan.close()
        self._workspace.close()


def encode_source(
    source: Source,
    key_to_index: Mapping[str, int],
    parent: str | None = None,
    reading: Reading = reading_here,
    progress: Progress | None = None,
) -> tuple[EncodedCorpus, Workspace]:
    """Read a corpus of which nothing is held; see `CachedScan`."""
    with fresh_workspace(parent) as workspace:
        if (paths := text_files(source)) is None:
            assert not isinstance(source, Path)
            corpus = encode_sentences(source, key_to_index, workspace.folder, progress)
            return corpus, workspace
        with _reading_of(source, reading)(paths, workspace.folder) as helpers:
            corpus = encode_texts(paths, key_to_index, workspace.folder, progress, helpers)
            return corpus, workspace


def _identity(source: Source) -> object:
    """Tells a file from another, and from itself once changed."""
    if not isinstance(source, Path):
        return source
    status = os.stat(source)
    if not stat.S_ISREG(status.st_mode):  # a pipe's time is that of its last byte
        return (os.path.realpath(source), status.st_dev, status.st_ino)
    return (os.path.realpath(source), status.st_size, status.st_mtime_ns)


def _reading_of(source: Source, reading: Reading) -> Reading:
    """A pipe is read where it ends."""
    return reading_here if isinstance(source, Path) and is_pipe(source) else reading


class Extent(NamedTuple):
    """How much there is to read, as far as that is known before.

    Attributes
    ----------
    unit : {"B", "sentences", "words"}
    total : int, optional
    """

    unit: str
    total: int | None

    @classmethod
    def of(cls, source: Source) -> "Extent":
        """The bytes of files, or the sentences of a list; errors as of `text_files`."""
        if (paths := text_files(source)) is None:
            number = operator.length_hint(source, 0)
            return cls("sentences", number) if number else cls("words", None)
        size = Texts.found(paths).bytes
        return cls("B", size) if size else cls("words", None)

    def reached(self, words: int, sentences: int, word_types: int, read: int) -> int:
        """How far reading is, of what a `Progress` is told."""
        return {"B": read, "sentences": sentences, "words": words}[self.unit]
