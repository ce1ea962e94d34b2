"""Encoding of a corpus as ids, by counting its words or by an existing vocabulary."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus, OnDisk
from gensim_tfw2v.corpus.protocol import Corpus
from gensim_tfw2v.corpus.raw_vocabulary import RawVocabulary
from gensim_tfw2v.corpus.scanner import renumber
from gensim_tfw2v.corpus.shard_files import (
    FIRST_TAG,
    ID,
    UNKNOWN,
    Ids,
    Parent,
    Progress,
    write_error,
)
from gensim_tfw2v.corpus.shards import EncodedPart, Shard
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.keys.compact import find_indices
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.processes.threads import in_threads

#: Function from provisional numbers of tags to their rows, -1 for unknown tags.
TagRows = Callable[[Ids], Ids]


@contextlib.contextmanager
def fresh_folder(parent: Parent = None) -> Iterator[TemporaryFolder]:
    """Make a temporary folder, which is removed only if the ``with`` block raises an exception."""
    try:
        temporary = TemporaryFolder("corpus", parent)
    except OSError as error:
        folder = Path(parent or "the folder for temporary files")
        raise write_error(error.errno, folder) from error
    try:
        yield temporary
    except BaseException:  # includes Ctrl-C
        temporary.close()
        raise


@dataclass(frozen=True)
class Scan(OnDisk):
    """Counted corpus: its words and their counts, and provisional ids on disk.

    The provisional ids take as much disk space as the encoded corpus.

    Attributes
    ----------
    words : Keys or list
        Words by provisional id; see `CountedParts`.
    raw_vocab : dict or RawVocabulary
        Count of each word, in order of first occurrence, so that ties are sorted as in gensim.
    parts : list of (EncodedPart, Path or None)
        See `CountedParts`.
    total_words : int
        gensim's `corpus_total_words`.
    corpus_count : int
        gensim's `corpus_count`: number of sentences, or of tagged documents. Sentences of a file
        are its lines, cut at 10,000 words. Sentences of an iterable are its items.
    drawn_corpus : Corpus, optional
        The corpus, if its entries are drawn, so that nothing was written.
    """

    temporary: TemporaryFolder
    words: Keys | list[Any]
    raw_vocab: MutableMapping[Any, int]
    parts: list[tuple[EncodedPart, Path | None]]
    total_words: int
    corpus_count: int
    drawn_corpus: Corpus | None = None

    def encode(self, key_to_index: Mapping[str, int], rows: TagRows | None = None) -> EncodedCorpus:
        """Copy the corpus to a new folder, with a vocabulary's ids instead of provisional ids.

        The new folder is next to that of this scan.

        Parameters
        ----------
        key_to_index : dict
            Id of each word, from 0 up. Missing words are dropped.
        rows : callable, optional
            Function from provisional numbers of tags to rows, for documents.

        Raises
        ------
        OSError
            If the new folder can't be written or the disk is full. It is then removed.
        """
        parent = self.temporary.folder.parent
        if self.drawn_corpus is not None:
            return encode_corpus(self.drawn_corpus, key_to_index, parent)
        new_ids = find_indices(key_to_index, self.words, UNKNOWN)
        with fresh_folder(parent) as temporary:
            part = renumber_parts(self.parts, temporary.folder, new_ids, rows)
            return EncodedCorpus(temporary, [part], rows is not None)


def scan_corpus(corpus: Corpus, parent: Parent = None, progress: Progress | None = None) -> Scan:
    """Count the words of a corpus, and write it with provisional ids.

    Parameters
    ----------
    corpus : Corpus
    parent : path, optional
        Existing folder in which the corpus's temporary folder is made.
    progress : callable, optional
        Function that is called from time to time; see `Progress`.

    Raises
    ------
    CorpusDecodeError
        If a file is not UTF-8. It is a UnicodeDecodeError.
    OSError
        If a file can't be read, the folder can't be written, or the disk is full. The temporary
        folder is then removed.
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        If compressed data are damaged or truncated.
    ValueError
        If a file contains compressed data, but its name lacks the suffix for it.
    """
    with fresh_folder(parent) as temporary:
        words, counts, parts = corpus.count(temporary.folder, progress)
        raw_vocab: MutableMapping[Any, int]
        if isinstance(words, Keys):
            raw_vocab = RawVocabulary(words, counts)
        else:
            raw_vocab = dict(zip(words, counts.tolist(), strict=True))
        corpus_count = sum(part.n_sentences for part, _ in parts)
        drawn_corpus = corpus if corpus.is_drawn else None
        n_words = sum(part.n_raw_words for part, _ in parts)
        return Scan(temporary, words, raw_vocab, parts, n_words, corpus_count, drawn_corpus)


def encode_corpus(
    corpus: Corpus,
    key_to_index: Mapping[Any, int],
    parent: Parent = None,
    progress: Progress | None = None,
    rows: TagRows | None = None,
) -> EncodedCorpus:
    """Encode a corpus by a vocabulary, which maps words to ids from 0 up; drop unknown words.

    `rows` maps the line numbers of tagged files to rows of tags. For the remaining parameters and
    the errors see `scan_corpus`.
    """
    with fresh_folder(parent) as temporary:
        parts = corpus.encode(key_to_index, temporary.folder, progress)
        if rows is not None:
            unchanged_ids = np.arange(1 + max(key_to_index.values(), default=-1), dtype=ID)
            parts = [
                renumber_parts(zip(parts, repeat(None)), temporary.folder, unchanged_ids, rows)
            ]
        return EncodedCorpus(temporary, parts, corpus.tagged)


def renumber_parts(
    parts: Iterable[tuple[EncodedPart, Path | None]],
    folder: Path,
    new_ids: Ids,
    rows: TagRows | None,
) -> EncodedPart:
    """Write copies of shards to a folder, with ``new_ids[id]`` for each id, and rows for tags.

    `parts` are pairs of a part and a path, as in `CountedParts`.
    """
    tasks = list[tuple[Shard, Path | None, int]]()
    n_raw_words = 0
    n_sentences = 0
    for part, ids_path in parts:  # each part numbers its lines from 0
        tasks += [(shard, ids_path, n_sentences) for shard in part.shards]
        n_raw_words += part.n_raw_words
        n_sentences += part.n_sentences

    def write(task: tuple[Shard, Path | None, int], _: object) -> Shard | None:
        shard, ids_path, first_line = task
        ids = new_ids if ids_path is None else new_ids[np.fromfile(ids_path, ID)]

        def new_pieces() -> Iterator[Ids]:
            for piece in shard.pieces():
                if rows is not None:
                    is_tag = piece <= FIRST_TAG
                    # row -1 of an unknown tag becomes UNKNOWN: FIRST_TAG - (-1)
                    piece[is_tag] = FIRST_TAG - rows(FIRST_TAG - piece[is_tag] + first_line)
                yield renumber(piece, ids)

        # the final path may be that of the original shard, so the copy is first named differently
        path = folder / Path(shard.path).name
        new_path = path.with_suffix(".new")
        copy = shard.save_copy(new_path, new_pieces())
        new_path.replace(path)
        return replace(copy, path=str(path)) if copy.n_entries else None

    shards = list(filter(None, in_threads(write, tasks)))
    return EncodedPart(shards, n_raw_words, n_sentences)
