"""Encoding a corpus with a vocabulary that exists: the text is read once."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from gensim_tfw2v.corpus.parallel import Reading, read_runs, reading_here
from gensim_tfw2v.corpus.scanner import Known, library
from gensim_tfw2v.corpus.sentences import KnownWords, Lines, packed_to_shards
from gensim_tfw2v.corpus.shards import Parent, Progress, fresh_folder
from gensim_tfw2v.corpus.texts import Texts
from gensim_tfw2v.corpus.units import EncodedCorpus


def encode_texts(
    paths: Sequence[str],
    key_to_index: Mapping[str, int],
    parent: Parent = None,
    progress: Progress | None = None,
    reading: Reading = reading_here,
) -> EncodedCorpus:
    """Encode text files in LineSentence form: a sentence a line, words between white space.

    Lines of more than 10,000 words are cut, words outside the vocabulary left out.

    Parameters
    ----------
    paths : sequence of str
        UTF-8 text, read as if it were in one file; plain, or compressed with an ending that
        smart_open knows (.gz, .bz2, …). All cores read plain files.
    key_to_index : dict
        The vocabulary: words to ids from 0 up.
    parent : path, optional
        An existing folder where the corpus's temporary folder is made.
    progress : callable, optional
        Called now and then with the words, sentences, word types and bytes of files so far.
    reading : callable
        Gives those who help to read.

    Returns
    -------
    EncodedCorpus

    Raises
    ------
    CorpusDecodeError
        A UnicodeDecodeError: a file is not UTF-8.
    OSError
        If a file can't be read, or the folder can't be written or is full. Nothing is left
        behind then.
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        If compressed data are damaged or cut short.
    ValueError
        If a file holds compressed data without being named so.
    """
    with fresh_folder(parent) as made, reading(paths, made.folder) as helpers:
        runs = Texts.found(paths).cut()  # once helpers are there: texts may have grown meanwhile
        if library() is None:
            ids = KnownWords(key_to_index)
            parts = [packed_to_shards(Lines(runs), ids, made.folder, progress)[0]]
        else:
            known = Known(key_to_index)
            parts = list(read_runs(runs, made.folder, known, progress, helpers))
        shards = [shard for part in parts for shard in part.shards]
        raw_words = sum(part.raw_words for part in parts)
        return EncodedCorpus(made, shards, raw_words, sum(part.sentences for part in parts))


def encode_sentences(
    sentences: Iterable[Iterable[Hashable]],
    key_to_index: Mapping[str, int],
    parent: Parent = None,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode token lists, which are read once.

    A sentence of more than 10,000 words is cut, and none of its words lost (gensim drops what
    comes after them). Words outside the vocabulary are left out.

    Parameters
    ----------
    sentences : iterable of iterables of words
        Words are strings as a rule, and may be whatever can be a key.
    key_to_index, parent, progress
        As in `encode_texts`.

    Returns
    -------
    EncodedCorpus
        Its `total_sentences` counts every item, empty ones too.

    Raises
    ------
    OSError
        As in `encode_texts`.
    """
    with fresh_folder(parent) as made:
        ids = KnownWords(key_to_index)
        part, items = packed_to_shards(sentences, ids, made.folder, progress)
        return EncodedCorpus(made, part.shards, part.raw_words, items)
