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

#: Of a shard, at most, for progress is told after each, and Python is slow.
ENTRIES = 1 << 20

pack = struct.Struct("<i").pack


class Lines:
    """The sentences of runs of texts, where the compiled scanner is missing.

    A sentence is a line, or 10,000 words of it at most; none is empty. Of `tagged` text each line
    is a document: its number as its packed tag, and its words.
    """

    def __init__(self, runs: Iterable[Iterable[FileRange]], tagged: bool) -> None:
        self._texts = chain.from_iterable(runs)
        self._tagged = tagged
        self.bytes_read = 0  # on disk, of all texts so far

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
    """Words numbered 0, 1, 2, … in the order in which they are first asked for.

    Attributes
    ----------
    counts : ndarray of int64
        How often each stands in the finished runs.
    """

    counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def __missing__(self, word: Hashable) -> bytes:
        number = self[word] = pack(len(self))
        return number

    def finish(self, run: Ids) -> Ids:
        """Count the ids of a run, all of which stay in its shard."""
        found = np.bincount(np.maximum(run, END) + 1)[1:]
        shorter, longer = sorted((self.counts, found), key=len)
        longer[: len(shorter)] += shorter
        self.counts = longer
        return run


class KnownNumbers(dict[Any, bytes]):
    """Ids of a vocabulary, where any other word is `UNKNOWN`, and not remembered."""

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__((word, pack(index)) for word, index in key_to_index.items())

    def __missing__(self, word: Hashable, unknown: bytes = pack(UNKNOWN)) -> bytes:
        return unknown

    def finish(self, run: Ids) -> Ids:
        """Return the ids of a run that stay in its shard."""
        return encoded_corpus.without_unknown(run)


def packed_to_shards(
    text: Text, ids: Numbers | KnownNumbers, folder: Path, progress: Progress | None = None
) -> EncodedPart:
    """Write a text to shards; return them without words, with the number of all items.

    Items may be empty. `progress` is called after each shard.
    """
    documents = text.sentences if text.runs is None else Lines(text.runs, text.tagged)
    made = list[Shard]()
    raw_words = 0
    items = 0
    for packed, items in _shard_by_shard(documents, text.tagged, ids):  # noqa: B007  the last is returned
        run = np.frombuffer(b"".join(packed), ID)
        words = int(np.count_nonzero(run > FIRST_TAG)) - len(packed)
        run = ids.finish(run)
        if len(run):  # else no shard stands for these words; EncodedCorpus shares them out
            path = folder / f"{len(made):05}.int32"
            made.append(save_shard(path, run, words, len(packed)))
        raw_words += words
        if progress:
            progress(raw_words, items, len(ids), getattr(documents, "bytes_read", 0))
    return EncodedPart(made, raw_words, items)


def _shard_by_shard(
    documents: Iterable[Any], tagged: bool, ids: Mapping[Any, bytes]
) -> Iterator[tuple[list[bytes], int]]:
    """Yield as many packed sentences as make a shard, each with its end, and the items so far.

    Sentences of more than 10,000 words are cut, as LineSentence cuts; each part has all tags.
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
