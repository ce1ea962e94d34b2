"""Lines of text and other iterables of token lists to ids, by Python alone.

Dictionaries give ids packed as four little-endian bytes: ``b"".join(map(ids.__getitem__, words))``
is then a whole sentence, ready to be written: one look-up and one copy a word, without an array or
a list of integers in between.
"""

import logging
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import files, shards
from gensim_tfw2v.corpus.files import CorpusDecodeError, FileRange, open_corpus
from gensim_tfw2v.corpus.shards import END, FIRST_TAG, ID, UNKNOWN, Ids, Progress, Shard, save_ids

logger = logging.getLogger(__name__)

#: Of a shard, at most, for progress is told after each, and Python is slow.
ENTRIES = 1 << 20

pack = struct.Struct("<i").pack


class Lines:
    """The sentences of runs of texts, where the compiled scanner is missing.

    A sentence is a line, or 10,000 words of it at most; none is empty.
    """

    def __init__(self, runs: Iterable[Iterable[FileRange]]) -> None:
        self._pieces = chain.from_iterable(runs)
        self.bytes_read = 0  # on disk, of all pieces so far

    def __iter__(self) -> Iterator[Any]:
        """Raise `CorpusDecodeError` if a text is not UTF-8."""
        for words in self._lines():
            for first in range(0, len(words), shards.MAX_SENTENCE):
                yield words[first : first + shards.MAX_SENTENCE]

    def _lines(self) -> Iterator[list[str]]:
        for piece in self._pieces:
            before = self.bytes_read
            with open_corpus(piece.path) as stream:
                if piece.start:
                    stream.seek(piece.start)
                at = piece.start
                while (piece.stop is None or at < piece.stop) and (line := stream.readline()):
                    try:
                        words = line.removesuffix(b"\n").decode().split()
                    except UnicodeDecodeError as error:
                        raise CorpusDecodeError(error, piece.path, at + error.start) from None
                    yield words
                    at += len(line)
                    read = files.bytes_read(stream) if files.is_compressed(piece.path) else at
                    self.bytes_read = before + min(read - piece.start, piece.bytes)
            self.bytes_read = before + piece.bytes


class TaggedLines(Lines):
    """The lines as documents: each one's number as its packed tag, and its words."""

    def __iter__(self) -> Iterator[Any]:
        return ((pack(FIRST_TAG - number), words) for number, words in enumerate(self._lines()))


class Numbers(dict[Any, bytes]):
    """Ids of words: of a given vocabulary, where any other word is `UNKNOWN`, and not remembered.

    Without one, words are counted, and numbered 0, 1, 2, … in the order in which they are first
    asked for.
    """

    def __init__(self, key_to_index: Mapping[Any, int] | None = None) -> None:
        super().__init__((word, pack(index)) for word, index in (key_to_index or {}).items())
        self._is_known = key_to_index is not None
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def __missing__(self, word: Hashable, unknown: bytes = pack(UNKNOWN)) -> bytes:
        if self._is_known:
            return unknown
        number = self[word] = pack(len(self))
        return number

    def finish(self, run: Ids) -> Ids:
        """Give the ids of a run that stay in a shard, or count them all."""
        if self._is_known:
            return shards.without_unknown(run)
        found = np.bincount(np.maximum(run, END) + 1)[1:]
        shorter, longer = sorted((self.counts, found), key=len)
        longer[: len(shorter)] += shorter
        self.counts = longer
        return run


def packed_to_shards(
    sentences: Iterable[Any],
    ids: Numbers,
    folder: Path,
    progress: Progress | None = None,
    tagged: bool = False,
) -> shards.EncodedPart:
    """Write sentences to shards; give a `EncodedPart` without words, whose sentences are all items.

    Items may be empty, and the iterable may tell its `bytes_read`. `progress` is called after each
    shard. Of `tagged` documents items are packed tags, and words.
    """
    documents = sentences if tagged else _untagged(sentences)
    made = list[Shard]()
    raw_words = items = 0
    for packed, items in _shard_by_shard(documents, ids):  # noqa: B007  the last is returned
        run = np.frombuffer(b"".join(packed), ID)
        words = int(np.count_nonzero(run > FIRST_TAG)) - len(packed)
        run = ids.finish(run)
        if len(run):  # else no shard stands for these words; EncodedCorpus shares them out
            path = folder / f"{len(made):05}.int32"
            save_ids(path, run)
            tokens = int(np.count_nonzero(run >= 0))
            made.append(Shard(str(path), len(run), tokens, words, len(packed)))
        raw_words += words
        if progress:
            progress(raw_words, items, len(ids), getattr(sentences, "bytes_read", 0))
    return shards.EncodedPart(made, raw_words, items)


def _untagged(
    sentences: Iterable[Iterable[Hashable]],
) -> Iterator[tuple[bytes, Iterable[Hashable]]]:
    """Give sentences as documents without tags; warn of a first that is a string, as gensim."""
    for number, sentence in enumerate(sentences):
        if not number and isinstance(sentence, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(sentence),
            )
        yield b"", sentence


def _shard_by_shard(
    documents: Iterable[tuple[bytes, Iterable[Hashable]]], ids: Mapping[Any, bytes]
) -> Iterator[tuple[list[bytes], int]]:
    """Give as many packed sentences as make a shard, each with its end, and the items so far.

    Sentences of more than 10,000 words are cut, as LineSentence cuts; each part has all tags.
    """
    lookup = ids.__getitem__
    join = b"".join
    end = pack(END)
    longest = shards.MAX_SENTENCE * ID.itemsize
    packed = list[bytes]()
    size = 0
    items = 0
    for tags, sentence in documents:
        items += 1
        whole = join(map(lookup, sentence))
        for start in range(0, len(whole), longest):
            piece = tags + whole[start : start + longest] + end
            if packed and size + len(piece) > min(shards.SHARD, ENTRIES) * ID.itemsize:
                yield packed, items
                packed = []
                size = 0
            packed.append(piece)
            size += len(piece)
    yield packed, items
