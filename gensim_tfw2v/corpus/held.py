"""A corpus that was read to count its words, kept for the training that may follow."""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from gensim_tfw2v.corpus.encode import encode_sentences, encode_texts
from gensim_tfw2v.corpus.helpers import Readers
from gensim_tfw2v.corpus.scan import scan_sentences, scan_texts
from gensim_tfw2v.corpus.texts import text_files
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace

#: A file, or sentences.
Source = Path | Iterable[list[str]]

#: Gives those who read files and write to a folder, or None for this process and its helpers.
Reading = Callable[[Sequence[str], Path], contextlib.AbstractContextManager[Readers | None]]


def reading_here(
    paths: Sequence[str], folder: Path
) -> contextlib.AbstractContextManager[Readers | None]:
    """Let this machine read, whatever is to be read."""
    return contextlib.nullcontext()


class HeldScan:
    """What reading a corpus once has given.

    Parameters
    ----------
    source : Path or iterable of list of str
    parent : str, optional
        Where the folder with the encoded corpus is made.
    progress : callable (words, sentences, word_types), optional
        Called now and then.
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
        progress: Callable[[int, int, int], None] | None = None,
        reading: Reading = reading_here,
    ) -> None:
        self._source, self._reading = _identity(source), reading
        self._workspace = Workspace(parent)
        self._paths, folder = text_files(source), self._workspace.folder
        if self._paths is None:
            assert not isinstance(source, Path)
            self.scan = scan_sentences(source, folder=folder, progress=progress)
            return
        with reading(self._paths, folder) as readers:
            self.scan = scan_texts(self._paths, folder, readers, progress)

    def is_of(self, source: Source) -> bool:
        """Whether this is what was read: the same object, or a file that has not changed."""
        if isinstance(source, Path):
            return isinstance(self._source, tuple) and self._source == _identity(source)
        return self._source is source

    def encode(self, key_to_index: Mapping[str, int]) -> tuple[EncodedCorpus, Workspace]:
        """Give the corpus in ids of the vocabulary, and its folder; nothing else is left."""
        reading = reading_here if self._paths is None else self._reading
        with (
            self.scan,  # the provisional ids are not needed any more
            reading(self._paths or [], self._workspace.folder) as readers,
        ):
            return self.scan.encode(key_to_index, readers), self._workspace

    def close(self) -> None:
        """Remove what is held."""
        self.scan.close()
        self._workspace.close()


def encode_source(
    source: Source,
    key_to_index: Mapping[str, int],
    parent: str | None = None,
    reading: Reading = reading_here,
) -> tuple[EncodedCorpus, Workspace]:
    """Read a corpus of which nothing is held; see `HeldScan`."""
    workspace = Workspace(parent)
    try:
        if (paths := text_files(source)) is None:
            assert not isinstance(source, Path)
            return encode_sentences(source, key_to_index, folder=workspace.folder), workspace
        with reading(paths, workspace.folder) as readers:
            return encode_texts(paths, key_to_index, workspace.folder, readers), workspace
    except BaseException:
        workspace.close()
        raise


def _identity(source: Source) -> object:
    """Tells a file from another, and from itself once changed."""
    if not isinstance(source, Path):
        return source
    status = os.stat(source)
    return (os.path.realpath(source), status.st_size, status.st_mtime_ns)
