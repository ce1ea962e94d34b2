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

from gensim_tfw2v.corpus import shards
from gensim_tfw2v.corpus.files import CorpusDecodeError, bytes_read, is_compressed, open_corpus
from gensim_tfw2v.corpus.shards import (
    END,
    ID,
    UNKNOWN,
    Ids,
    Part,
    Progress,
    Shard,
    save_ids,
    without_unknown,
)
from gensim_tfw2v.corpus.texts import Piece

logger = logging.getLogger(__name__)

#: Of a shard, at most, for progress is told after each, and Python is slow.
ENTRIES = 1 << 20

_pack = struct.Struct("<i").pack


class Lines:
    """The words of each line of runs of texts, where the compiled scanner is missing."""

    def __init__(self, runs: Iterable[Iterable[Piece]]) -> None:
        self._pieces = chain.from_iterable(runs)
        self.bytes_read = 0  # on disk, of all pieces so far

    def __iter__(self) -> Iterator[list[str]]:
        """Raise `CorpusDecodeError` if a text is not UTF-8."""
        for piece in self._pieces:
            before = self.bytes_read
            with open_corpus(piece.path) as stream:
                if piece.start:
                    stream.seek(piece.start)
                at = piece.start
                while (piece.stop is None or at < piece.stop) and (line := stream.readline()):
                    try:
                        yield line.removesuffix(b"\n").decode().split()
                    except UnicodeDecodeError as error:
                        raise CorpusDecodeError(error, piece.path, at + error.start) from None
                    at += len(line)
                    read = bytes_read(stream) if is_compressed(piece.path) else at
                    self.bytes_read = before + min(read - piece.start, piece.bytes)
            self.bytes_read = before + piece.bytes


class Numbering(dict[Any, bytes]):
    """Numbers words 0, 1, 2, … in the order in which they are first asked for; counts runs."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def __missing__(self, word: Hashable) -> bytes:
        number = self[word] = _pack(len(self))
        return number

    def finish(self, run: Ids) -> Ids:
        """Count a run of ids of -1 and up; give it back as it was."""
        found = np.bincount(run + 1)[1:]
        shorter, longer = sorted((self.counts, found), key=len)
        longer[: len(shorter)] += shorter
        self.counts = longer
        return run


class KnownWords(dict[Any, bytes]):
    """The ids of a given vocabulary; any other word is `UNKNOWN`, and is not remembered."""

    finish = staticmethod(without_unknown)

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__((word, _pack(index)) for word, index in key_to_index.items())

    def __missing__(self, word: Hashable, unknown: bytes = _pack(UNKNOWN)) -> bytes:
        return unknown


def packed_to_shards(
    sentences: Iterable[Iterable[Hashable]],
    ids: Numbering | KnownWords,
    folder: Path,
    progress: Progress | None = None,
) -> tuple[Part, int]:
    """Write sentences to shards; give a `Part` without words, and the number of items.

    Items may be empty, and the iterable may tell its `bytes_read`. `progress` is called after each
    shard.
    """
    made = list[Shard]()
    raw_words = ended = items = 0
    for packed, items in _shard_by_shard(sentences, ids):  # noqa: B007  the last is returned
        words = sum(map(len, packed)) // ID.itemsize - len(packed)
        run = ids.finish(np.frombuffer(b"".join(packed), ID))
        if len(run):  # else no shard stands for these words; EncodedCorpus shares them out
            path = folder / f"{len(made):05}.int32"
            save_ids(path, run)
            tokens = int(np.count_nonzero(run != END))
            made.append(Shard(str(path), len(run), tokens, words, len(packed)))
        raw_words += words
        ended += len(packed)
        if progress:
            progress(raw_words, ended, len(ids), getattr(sentences, "bytes_read", 0))
    return Part(made, raw_words, ended), items


def _shard_by_shard(
    sentences: Iterable[Iterable[Hashable]], ids: Mapping[Any, bytes]
) -> Iterator[tuple[list[bytes], int]]:
    """Give as many packed sentences as make a shard, each with its end, and the items so far.

    Sentences of more than 10,000 words are cut, as LineSentence cuts.
    """
    lookup, join, end = ids.__getitem__, b"".join, _pack(END)
    longest = shards.MAX_SENTENCE * ID.itemsize
    packed, size, items = list[bytes](), 0, 0
    for sentence in sentences:
        items += 1
        if items == 1 and isinstance(sentence, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(sentence),
            )
        whole = join(map(lookup, sentence))
        for start in range(0, len(whole), longest):
            piece = whole[start : start + longest] + end
            if packed and size + len(piece) > min(shards.SHARD, ENTRIES) * ID.itemsize:
                yield packed, items
                packed, size = [], 0
            packed.append(piece)
            size += len(piece)
    yield packed, items
