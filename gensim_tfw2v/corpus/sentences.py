"""An iterable of token lists to ids."""

import logging
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from gensim_tfw2v.corpus.lines import MAX_SENTENCE
from gensim_tfw2v.corpus.numbering import END_BYTES, ID

logger = logging.getLogger(__name__)

FLUSH = 1 << 18  # bytes of ids
LONGEST = MAX_SENTENCE * ID.itemsize


class SentenceEncoder:
    """Encodes sentences, chunk by chunk, as it is iterated over.

    A sentence longer than 10,000 words is cut, as LineSentence cuts a line; nothing is lost.

    Parameters
    ----------
    sentences : iterable of iterables of hashable
        Read once.
    ids : dict
        Words to packed ids, for any word that comes: `Numbering` or `KnownWords`.

    Attributes
    ----------
    count : int
        The items so far, empty ones too: gensim's `corpus_count`.
    bytes_read : int
        Of files: none.
    """

    bytes_read = 0

    def __init__(self, sentences: Iterable[Iterable[Hashable]], ids: dict[Any, bytes]) -> None:
        self._sentences, self._ids = sentences, ids
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        lookup, join = self._ids.__getitem__, b"".join
        parts: list[bytes] = []
        size = 0
        for sentence in self._sentences:
            self.count += 1
            if self.count == 1 and isinstance(sentence, str):
                logger.warning(
                    "Each 'sentences' item should be a list of words (usually unicode strings). "
                    "First item here is instead plain %s.",
                    type(sentence),
                )
            ids = join(map(lookup, sentence))
            if len(ids) > LONGEST:
                yield join(parts)
                parts, size = [], 0
                for start in range(0, len(ids), LONGEST):
                    yield ids[start : start + LONGEST] + END_BYTES
            elif ids:
                parts += (ids, END_BYTES)
                size += len(ids)
                if size >= FLUSH:
                    yield join(parts)
                    parts, size = [], 0
        yield join(parts)
