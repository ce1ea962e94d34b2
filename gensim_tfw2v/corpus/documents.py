"""The tags of documents: counted as gensim counts them, and turned into rows of vectors."""

import logging
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.shards import FIRST_TAG

logger = logging.getLogger(__name__)

#: Gives the rows of provisional numbers of tags; -1 for a tag that has none.
Rows = Callable[[NDArray[Any]], NDArray[Any]]

INTEGERS = (int, np.integer)

#: Provisional number of the first tag that is no integer; the next one's is lower by 1.
TOP = 2**31 - 4
#: What integers that are larger are numbered, for no vectors have so many rows.
LARGEST = 2**30


class Tags:
    """Tags of documents, while they are read.

    Integers below a limit are tags, whether a document has them or not, as in gensim; so they are
    not kept one by one.

    Attributes
    ----------
    ints : int
        The limit: 1 above the highest integer tag; lines of a text.
    counted : dict
        Tags that are no integers, in order of first occurrence. Of each: the words and the number
        of the documents that have it, and its provisional number.
    """

    def __init__(self) -> None:
        self.ints = 0
        self.counted: dict[Hashable, list[int]] = {}

    @classmethod
    def of(cls, vectors: Any) -> "Tags":
        """Tags that gensim's own `scan_vocab` has put into vectors that had none."""
        tags, counts = cls(), ("word_count", "doc_count")
        tags.ints = len(vectors) - len(vectors.key_to_index)
        tags.counted = {
            tag: [int(vectors.get_vecattr(tag, name)) for name in counts]
            for tag in vectors.key_to_index
        }
        return tags

    def packed(self, documents: Iterable[Any]) -> Iterator[tuple[bytes, Iterable[Hashable]]]:
        """Give the packed provisional tags of documents, and their words; count the tags.

        A first document whose words are a string is warned of, as in gensim.
        """
        for place, document in enumerate(documents):
            words = document.words
            if not place and isinstance(words, str):
                logger.warning(
                    "Each 'words' should be a list of words (usually unicode strings). "
                    "First 'words' here is instead plain %s.",
                    type(words),
                )
            numbers = [self._number(tag, len(words)) for tag in document.tags]
            entries = [FIRST_TAG - number for number in numbers if number >= 0]
            yield struct.pack(f"<{len(entries)}i", *entries), words

    def _number(self, tag: Hashable, words: int) -> int:
        if isinstance(tag, INTEGERS):
            self.ints = max(self.ints, int(tag) + 1)
            return min(int(tag), LARGEST)
        counts = self.counted.setdefault(tag, [0, 0, TOP - len(self.counted)])
        counts[0] += words
        counts[1] += 1
        return counts[2]

    def rows(self, vectors: Any) -> Rows:
        """The rows of `vectors` that its `get_index` gives for tags, by their numbers here."""
        others = np.array([vectors.get_index(tag, -1) for tag in self.counted], np.int64)
        keys = vectors.key_to_index.items()
        # integers that have been added to vectors with other tags; the last is none
        own = sorted((int(key), row) for key, row in keys if isinstance(key, INTEGERS))
        added = np.array([*own, (2**62, -1)])

        def rows(numbers: NDArray[Any]) -> NDArray[Any]:
            found = np.where(numbers < len(vectors), numbers, -1)
            place = np.searchsorted(added[:, 0], numbers)
            is_own = added[place, 0] == numbers
            found[is_own] = added[place[is_own], 1]
            is_other = numbers > TOP - len(others)
            found[is_other] = others[TOP - numbers[is_other]]
            return found

        return rows
