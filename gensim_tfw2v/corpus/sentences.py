"""An iterable of token lists to ids, by Python alone.

Dictionaries give ids packed as four little-endian bytes: ``b"".join(map(ids.__getitem__, words))``
is then a whole sentence, ready to be written: one look-up and one copy a word, without an array or
a list of integers in between.
"""

import logging
import struct
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import shards
from gensim_tfw2v.corpus.shards import (
    END,
    ID,
    UNKNOWN,
    Ids,
    Part,
    Progress,
    ShardWriter,
    without_unknown,
)

logger = logging.getLogger(__name__)

_pack = struct.Struct("<i").pack


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
    """Write sentences to shards; those of more than 10,000 words are cut, as LineSentence cuts.

    Parameters
    ----------
    sentences : iterable of iterables of hashable
        Read once; may tell its `bytes_read`.
    ids : Numbering or KnownWords
    folder : Path
    progress : callable, optional
        Called after each shard.

    Returns
    -------
    part : Part
        Without words.
    items : int
        Of the iterable, empty ones too.
    """
    lookup, join, end = ids.__getitem__, b"".join, _pack(END)
    longest = shards.MAX_SENTENCE * ID.itemsize
    writer, items = ShardWriter(folder, ids.finish), 0

    def report() -> None:
        if progress:
            read = getattr(sentences, "bytes_read", 0)
            progress(writer.raw_words, writer.sentences, len(ids), read)

    for sentence in sentences:
        items += 1
        if items == 1 and isinstance(sentence, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(sentence),
            )
        packed = join(map(lookup, sentence))
        for start in range(0, len(packed), longest):
            if writer.write(packed[start : start + longest] + end):
                report()
    writer.cut()
    report()
    return Part(writer.shards, writer.raw_words, writer.sentences), items
