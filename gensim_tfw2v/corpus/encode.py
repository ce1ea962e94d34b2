"""Encoding a corpus with a vocabulary that exists: the text is read once."""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from gensim_tfw2v.corpus.files import check_corpus, line_ranges, open_corpus
from gensim_tfw2v.corpus.helpers import read_ranges
from gensim_tfw2v.corpus.keeping import check_unused
from gensim_tfw2v.corpus.lines import encode_lines
from gensim_tfw2v.corpus.numbering import KnownWords, Numbering, Progress
from gensim_tfw2v.corpus.parts import Part, read_part
from gensim_tfw2v.corpus.sentences import SentenceEncoder
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace

Folder = str | os.PathLike[str] | None


def encode_file(
    path: str | os.PathLike[str],
    key_to_index: Mapping[str, int],
    folder: Folder = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode a text file in LineSentence form: a sentence a line, words between white space.

    Lines of more than 10,000 words are cut, words outside the vocabulary left out.

    Parameters
    ----------
    path : path
        UTF-8 text; plain, or compressed with an ending that smart_open knows (.gz, .bz2, …).
    key_to_index : dict
        The vocabulary: words to ids from 0 up.
    folder : path, optional
        An existing folder where the encoded corpus is to stay; otherwise it is temporary.
    processes : int, optional
        Helper processes for a plain file; by default one a usable core, fewer for small files.
        With 1, this process reads the file itself.
    progress : callable, optional
        Called now and then with the words, sentences and word types so far.

    Returns
    -------
    EncodedCorpus

    Raises
    ------
    CorpusDecodeError
        A UnicodeDecodeError: the file is not UTF-8.
    FileExistsError
        If `folder` holds an encoded corpus already.
    OSError
        If the file can't be read, or the folder can't be written or is full. Nothing is left
        behind then.
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        If compressed data are damaged or cut short.
    ValueError
        If the file holds compressed data without being named so.
    """
    with fresh_workspace(folder) as workspace:
        parts = file_parts(path, key_to_index, workspace, processes, progress)
        return EncodedCorpus.from_parts(workspace, parts, folder)


def encode_sentences(
    sentences: Iterable[Iterable[Hashable]],
    key_to_index: Mapping[str, int],
    folder: Folder = None,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode token lists, which are read once.

    A sentence of more than 10,000 words is cut, and none of its words lost (gensim drops what
    comes after them). Words outside the vocabulary are left out.

    Parameters
    ----------
    sentences : iterable of iterables of words
        Words are strings as a rule, and may be whatever can be a key.
    key_to_index, folder, progress
        As in `encode_file`.

    Returns
    -------
    EncodedCorpus
        Its `total_sentences` counts every item, empty ones too.

    Raises
    ------
    FileExistsError, OSError
        As in `encode_file`.
    """
    with fresh_workspace(folder) as workspace:
        chunks = SentenceEncoder(sentences, ids := KnownWords(key_to_index))
        part = read_part(chunks, ids, workspace.folder, progress=progress)
        return EncodedCorpus.from_parts(workspace, [part], folder, chunks.count)


@contextmanager
def fresh_workspace(folder: Folder) -> Iterator[Workspace]:
    """Make a workspace where a corpus is to be written; remove it at any error."""
    check_unused(folder)
    workspace = Workspace(folder)
    try:
        yield workspace
    except BaseException:  # Ctrl-C too
        workspace.close()
        raise


def file_parts(
    path: str | os.PathLike[str],
    key_to_index: Mapping[str, int] | None,
    workspace: Workspace,
    processes: int | None,
    progress: Progress | None,
) -> Iterable[Part]:
    """Read a file, here or with helpers; without a vocabulary its words are numbered."""
    path = os.fspath(path)
    ranges = line_ranges(path, processes) if check_corpus(path) else []
    if len(ranges) > 1:
        return read_ranges(path, ranges, key_to_index, workspace.folder, progress)
    ids = Numbering() if key_to_index is None else KnownWords(key_to_index)
    with open_corpus(path) as stream:
        chunks = encode_lines(stream, ids, path=path)
        return [read_part(chunks, ids, workspace.folder, progress=progress)]
