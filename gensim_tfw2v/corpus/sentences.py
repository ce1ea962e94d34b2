"""Token lists, of an iterable or of a text's lines, to ids, by Python alone.

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
from gensim_tfw2v.corpus.files import open_corpus
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
from gensim_tfw2v.corpus.texts import Piece

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


class CorpusDecodeError(UnicodeDecodeError):
    """A corpus that is not UTF-8, which gensim's corpus form demands.

    Parameters
    ----------
    error : UnicodeDecodeError
        What the decoder said about a line.
    path : str
        The corpus.
    offset : int
        Where in it the wrong bytes begin (in the decompressed text of a compressed file).
    before : bytes
        What stands in the line before what the decoder was given.
    """

    def __init__(
        self, error: UnicodeDecodeError, path: str, offset: int, before: bytes = b""
    ) -> None:
        before = (before + error.object[: error.start])[-20:]
        start, end = len(before), len(before) + error.end - error.start
        near = before + error.object[error.start : error.start + 20]
        super().__init__(error.encoding, near, start, end, error.reason)
        self.path, self.offset = path, offset

    def __str__(self) -> str:
        return (
            f"{self.path} is not UTF-8 text: {self.reason} at byte {self.offset:,} (near "
            f"{self.object!r}). Convert it first, for example with: iconv -f LATIN1 -t UTF-8"
        )


class Lines:
    """The words of each line of runs of texts.

    Attributes
    ----------
    bytes_read : int
        Of all pieces so far.
    """

    def __init__(self, runs: Iterable[Iterable[Piece]]) -> None:
        self._pieces = chain.from_iterable(runs)
        self.bytes_read = 0

    def __iter__(self) -> Iterator[list[str]]:
        """Raise `CorpusDecodeError` if a text is not UTF-8."""
        for piece in self._pieces:
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
                    self.bytes_read += len(line)
