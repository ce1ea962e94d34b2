"""Encoding of token lists as ids, in pure Python: lines of text, and iterables.

Dictionaries map words to ids packed as four little-endian bytes. So a whole sentence is
``b"".join(map(ids.__getitem__, words))``, ready to be written: one look-up and one copy per word,
without an intermediate array or list of integers.
"""

import logging
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import encoded_corpus, text_files
from gensim_tfw2v.corpus.encoded_corpus import (
    END,
    FIRST_TAG,
    ID,
    UNKNOWN,
    EncodedPart,
    Ids,
    Progress,
    Shard,
    save_shard,
)
from gensim_tfw2v.corpus.text_files import CorpusDecodeError, FileRange, Text, open_text

logger = logging.getLogger(__name__)

#: Maximum entries of a shard. It is small because progress is reported only after each shard, and
#: Python is slow.
ENTRIES = 1 << 20

pack = struct.Struct("<i").pack


class Lines:
    """Sentences of runs of texts, for systems without the compiled scanner.

    A sentence is a line, cut at 10,000 words; empty lines are skipped. In `tagged` text, each line
    is a document: items are (packed tag, words), where the tag is the number of the line.
    """

    def __init__(self, runs: Iterable[Iterable[FileRange]], tagged: bool) -> None:
        self._texts = chain.from_iterable(runs)
        self._tagged = tagged
        self.bytes_read = 0  # bytes on disk, over all texts so far

    def __iter__(self) -> Iterator[Any]:
        """Raise `CorpusDecodeError` if a text is not UTF-8."""
        for number, words in enumerate(self._lines()):
            if self._tagged:
                yield pack(FIRST_TAG - number), words
                continue
            for first in range(0, len(words), encoded_corpus.MAX_SENTENCE):
                yield words[first : first + encoded_corpus.MAX_SENTENCE]

    def _lines(self) -> Iterator[list[str]]:
        for text in self._texts:
            before = self.bytes_read
            at = text.start
            with open_text(text) as stream:
                while (text.is_stream or at < text.stop) and (line := stream.readline()):
                    try:
                        words = line.removesuffix(b"\n").decode().split()
                    except UnicodeDecodeError as error:
                        raise CorpusDecodeError(error, text.path, at + error.start) from None
                    yield words
                    at += len(line)
                    read = text_files.bytes_read(stream) if text.is_stream else at
                    self.bytes_read = before + min(read, text.stop) - text.start
            self.bytes_read = before + text.stop - text.start


class Numbers(dict[Any, bytes]):
    """Packed ids of words, which are numbered 0, 1, 2, … in the order of their first look-up.

    Attributes
    ----------
    counts : ndarray of int64
        Occurrences of each word in the finished runs.
    """

    counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def __missing__(self, word: Hashable) -> bytes:
        number = self[word] = pack(len(self))
        return number

    def finish(self, run: Ids) -> Ids:
        """Count the ids of a run, and return all of them for its shard."""
        found = np.bincount(np.maximum(run, END) + 1)[1:]
        shorter, longer = sorted((self.counts, found), key=len)
        longer[: len(shorter)] += shorter
        self.counts = longer
        return run


class KnownNumbers(dict[Any, bytes]):
    """Packed ids of a vocabulary, and `UNKNOWN` for any word that it lacks."""

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__((word, pack(index)) for word, index in key_to_index.items())

    def __missing__(self, word: Hashable, unknown: bytes = pack(UNKNOWN)) -> bytes:
        return unknown

    def finish(self, run: Ids) -> Ids:
        """Return the ids of a run without unknown words, for its shard."""
        return encoded_corpus.without_unknown(run)


def packed_to_shards(
    text: Text, ids: Numbers | KnownNumbers, folder: Path, progress: Progress | None = None
) -> EncodedPart:
    """Write a text to shards; return an `EncodedPart` without words.

    Its `sentences` is the number of items, including empty ones. `progress` is called after each
    shard.
    """
    documents = text.sentences if text.runs is None else Lines(text.runs, text.tagged)
    made = list[Shard]()
    raw_words = 0
    items = 0
    for packed, items in _shard_by_shard(documents, text.tagged, ids):  # noqa: B007  the last is returned
        run = np.frombuffer(b"".join(packed), ID)
        words = int(np.count_nonzero(run > FIRST_TAG)) - len(packed)
        run = ids.finish(run)
        if len(run):  # otherwise EncodedCorpus distributes these words over other shards
            path = folder / f"{len(made):05}.int32"
            made.append(save_shard(path, [run], words, len(packed)))
        raw_words += words
        if progress:
            progress(raw_words, items, len(ids), getattr(documents, "bytes_read", 0))
    return EncodedPart(made, raw_words, items)


def _shard_by_shard(
    documents: Iterable[Any], tagged: bool, ids: Mapping[Any, bytes]
) -> Iterator[tuple[list[bytes], int]]:
    """Yield the packed sentences of each shard, with their ends, and the number of items so far.

    Sentences of more than 10,000 words are cut, as in LineSentence; each part has all tags.
    """
    lookup = ids.__getitem__
    join = b"".join
    end = pack(END)
    longest = encoded_corpus.MAX_SENTENCE * ID.itemsize
    packed = list[bytes]()
    size = 0
    items = 0
    for item in documents:
        tags, sentence = item if tagged else (b"", item)
        if not items and isinstance(item, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(item),
            )
        items += 1
        whole = join(map(lookup, sentence))
        for start in range(0, len(whole), longest):
            piece = tags + whole[start : start + longest] + end
            if packed and size + len(piece) > min(encoded_corpus.SHARD, ENTRIES) * ID.itemsize:
                yield packed, items
                packed = []
                size = 0
            packed.append(piece)
            size += len(piece)
    yield packed, items
