"""Encoding a corpus with a vocabulary that exists: the text is read once."""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from gensim_tfw2v.corpus.helpers import Processes, Readers, read_texts
from gensim_tfw2v.corpus.numbering import KnownWords, Numbering, Progress
from gensim_tfw2v.corpus.parts import Part, read_part
from gensim_tfw2v.corpus.saved import check_unused
from gensim_tfw2v.corpus.sentences import SentenceEncoder
from gensim_tfw2v.corpus.texts import PieceEncoder, Texts
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
        Called now and then with the words, sentences, word types and bytes of files so far.

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
    return encode_texts([path], key_to_index, folder, Processes(processes), progress)


def encode_texts(
    paths: Sequence[str | os.PathLike[str]],
    key_to_index: Mapping[str, int],
    folder: Folder = None,
    readers: Readers | None = None,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode text files as if they were one; see `encode_file`.

    Parameters
    ----------
    readers : Readers, optional
        Who runs helper processes; by default this machine.
    """
    with fresh_workspace(folder) as workspace:
        parts = texts_parts(paths, key_to_index, workspace, readers or Processes(), progress)
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


def texts_parts(
    paths: Sequence[str | os.PathLike[str]],
    key_to_index: Mapping[str, int] | None,
    workspace: Workspace,
    readers: Readers,
    progress: Progress | None,
) -> Iterable[Part]:
    """Read texts, here or with helpers; without a vocabulary their words are numbered."""
    texts = Texts.found(paths)
    runs = texts.cut(readers.runs(texts.bytes))
    if len(runs) > 1:
        return read_texts(runs, key_to_index, workspace.folder, readers, progress)
    ids = Numbering() if key_to_index is None else KnownWords(key_to_index)
    chunks = PieceEncoder(runs[0] if runs else [], ids)
    return [read_part(chunks, ids, workspace.folder, progress=progress)]
