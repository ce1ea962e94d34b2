"""Encoding a corpus with a vocabulary that exists: the text is read once."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from gensim_tfw2v.corpus.parallel import Helper, read_runs
from gensim_tfw2v.corpus.saved import check_unused
from gensim_tfw2v.corpus.scanner import Known, library
from gensim_tfw2v.corpus.sentences import KnownWords, Lines, packed_to_shards
from gensim_tfw2v.corpus.shards import Progress
from gensim_tfw2v.corpus.texts import Texts
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace, fresh_workspace

Folder = str | os.PathLike[str] | None


def encode_file(
    path: str | os.PathLike[str],
    key_to_index: Mapping[str, int],
    folder: Folder = None,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode a text file in LineSentence form: a sentence a line, words between white space.

    Lines of more than 10,000 words are cut, words outside the vocabulary left out.

    Parameters
    ----------
    path : path
        UTF-8 text; plain, or compressed with an ending that smart_open knows (.gz, .bz2, …).
        All cores read a plain file.
    key_to_index : dict
        The vocabulary: words to ids from 0 up.
    folder : path, optional
        An existing folder where the encoded corpus is to stay; otherwise it is temporary.
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
    return encode_texts([path], key_to_index, folder, progress)


def encode_texts(
    paths: Sequence[str | os.PathLike[str]],
    key_to_index: Mapping[str, int],
    folder: Folder = None,
    progress: Progress | None = None,
    helpers: Sequence[Helper] = (),
) -> EncodedCorpus:
    """Encode text files as if they were one; see `encode_file` and `read_runs`."""
    with target(folder) as workspace:
        runs = Texts.found(paths).cut()
        if library() is None:
            ids = KnownWords(key_to_index)
            parts = [packed_to_shards(Lines(runs), ids, workspace.folder, progress)[0]]
        else:
            known = Known(key_to_index)
            parts = list(read_runs(runs, workspace.folder, known, progress, helpers))
        shards = [shard for part in parts for shard in part.shards]
        raw_words = sum(part.raw_words for part in parts)
        sentences = sum(part.sentences for part in parts)
        return EncodedCorpus.of_shards(workspace, shards, raw_words, sentences, folder)


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
    with target(folder) as workspace:
        ids = KnownWords(key_to_index)
        part, items = packed_to_shards(sentences, ids, workspace.folder, progress)
        return EncodedCorpus.of_shards(workspace, part.shards, part.raw_words, items, folder)


def target(folder: Folder) -> AbstractContextManager[Workspace]:
    """A workspace where a corpus is to be written, whatever folder it will stay in."""
    check_unused(folder)
    return fresh_workspace(folder)
