"""A corpus that was read to count its words, kept for the training that may follow."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gensim_tfw2v.corpus.encode import encode_file, encode_sentences
from gensim_tfw2v.corpus.scan import scan_file, scan_sentences
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace

#: A file, or sentences.
Source = Path | Iterable[list[str]]


class HeldScan:
    """What reading a corpus once has given.

    Parameters
    ----------
    source : Path or iterable of list of str
    parent : str, optional
        Where the folder with the encoded corpus is made.
    progress : callable (words, sentences, word_types), optional
        Called now and then.

    Attributes
    ----------
    scan : Scan
    """

    def __init__(
        self,
        source: Source,
        parent: str | None = None,
        progress: Callable[[int, int, int], None] | None = None,
    ) -> None:
        self._source = _identity(source)
        self._workspace = Workspace(parent)
        folder = self._workspace.folder
        if isinstance(source, Path):
            self.scan = scan_file(str(source), folder=folder, progress=progress)
        else:
            self.scan = scan_sentences(source, folder=folder, progress=progress)

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
    source: Source, key_to_index: Mapping[str, int], parent: str | None = None
) -> tuple[EncodedCorpus, Workspace]:
    """Read a corpus of which nothing is held; see `HeldScan.encode`."""
    workspace = Workspace(parent)
    try:
        if isinstance(source, Path):
            return encode_file(str(source), key_to_index, folder=workspace.folder), workspace
        return encode_sentences(source, key_to_index, folder=workspace.folder), workspace
    except BaseException:
        workspace.close()
        raise


def _identity(source: Source) -> object:
    """Tells a file from another, and from itself once changed."""
    if not isinstance(source, Path):
        return source
    status = os.stat(source)
    return (os.path.realpath(source), status.st_size, status.st_mtime_ns)
