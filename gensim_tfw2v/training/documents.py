"""Tags of documents while these are read, and as keys of a model's document vectors."""

import logging
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.corpus.encoded_corpus import FIRST_TAG, Ids
from gensim_tfw2v.messages import quoted

logger = logging.getLogger(__name__)

INTEGERS = (int, np.integer)

#: Provisional number of the first tag that is no integer; the next one's is lower by 1.
TOP = 2**31 - 4
#: And of an integer that can't be a row.
NO_ROW = 2**30

#: gensim's attributes of tags that are no integers.
COUNTS = ("word_count", "doc_count")


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
        tags = cls()
        tags.ints = len(vectors) - len(vectors.key_to_index)
        for tag in vectors.key_to_index:
            tags.counted[tag] = [int(vectors.get_vecattr(tag, name)) for name in COUNTS]
        return tags

    def packed(self, documents: Iterable[Any]) -> Iterator[tuple[bytes, Iterable[Hashable]]]:
        """Yield the packed numbers of documents' tags, and their words; count the tags.

        A first document whose words are a string is warned of, as in gensim.

        Raises
        ------
        TypeError
            If a document lacks words or tags.
        """
        for place, document in enumerate(documents):
            try:
                words = document.words
                tags = document.tags
            except AttributeError:
                raise TypeError(
                    f"document {place} must have words and tags, got {quoted(document)} of type "
                    f"{type(document).__name__}: give TaggedDocument(words, tags)"
                ) from None
            if not place and isinstance(words, str):
                logger.warning(
                    "Each 'words' should be a list of words (usually unicode strings). "
                    "First 'words' here is instead plain %s.",
                    type(words),
                )
            entries = [FIRST_TAG - self._number(tag, len(words)) for tag in tags]
            yield struct.pack(f"<{len(entries)}i", *entries), words

    def _number(self, tag: Hashable, words: int) -> int:
        if isinstance(tag, INTEGERS):
            self.ints = max(self.ints, int(tag) + 1)
            return int(tag) if 0 <= tag < NO_ROW else NO_ROW
        counts = self.counted.setdefault(tag, [0, 0, TOP - len(self.counted)])
        counts[0] += words
        counts[1] += 1
        return counts[2]

    def rows(self, vectors: Any) -> Callable[[Ids], Ids]:
        """The rows of `vectors` that its `get_index` gives for tags, by their numbers here."""
        others = np.array([vectors.get_index(tag, -1) for tag in self.counted], np.int64)
        keys = vectors.key_to_index.items()
        # integers that have been added to vectors with other tags; the last is none
        own = sorted((int(key), row) for key, row in keys if isinstance(key, INTEGERS))
        added = np.array([*own, (2**62, -1)])

        def rows(numbers: Ids) -> Ids:
            found = np.where(numbers < len(vectors), numbers, -1)
            place = np.searchsorted(added[:, 0], numbers)
            is_own = added[place, 0] == numbers
            found[is_own] = added[place[is_own], 1]
            is_other = numbers > TOP - len(others)
            found[is_other] = others[TOP - numbers[is_other]]
            return found

        return rows


class KnownTags(Tags):
    """Tags of documents that are read with the vectors that have them, by their rows."""

    def __init__(self, vectors: Any) -> None:
        super().__init__()
        self.vectors = vectors

    def _number(self, tag: Hashable, words: int) -> int:
        return int(self.vectors.get_index(tag, -1))  # which makes an UNKNOWN entry


def take_tags(vectors: KeyedVectors, tags: Tags, documents: int, update: bool = False) -> None:
    """Make the tags of counted documents the keys of vectors, which get no rows yet.

    Integer tags are their rows, from 0 to the highest; other tags follow, in order of first
    occurrence, with their ``word_count`` and ``doc_count``. That is as in gensim.

    Parameters
    ----------
    vectors : KeyedVectors
        A model's `dv`. Its `resize_vectors`, seeded, then makes the new rows.
    tags : Tags
    documents : int
        How many documents were counted: gensim's `corpus_count`.
    update : bool
        Keep the keys, and their rows; add new ones behind them, and counts to theirs. Integers
        that come behind other tags are keys like these, ``key_to_index`` gives their rows.
    """
    if len(tags.counted) > documents:
        logger.warning("More unique tags (%i) than documents (%i).", len(tags.counted), documents)
    if (excess := tags.ints - 1 - documents) > 0:
        logger.warning(
            f"Highest int doctag ({tags.ints - 1}) larger than count of documents ({documents}). "
            f"This means at least {excess} excess, unused slots ({4 * excess * vectors.vector_size}"
            " bytes) will be allocated for vectors."
        )
    if not update:
        vectors.index_to_key = []
        vectors.key_to_index = {}
        vectors.expandos = {}
    keys = vectors.index_to_key
    own = vectors.key_to_index
    # integers that are their rows have no index of their own
    highest = max([len(keys) - len(own) - 1, *(key for key in own if isinstance(key, INTEGERS))])
    ints = range(highest + 1, tags.ints)
    others = [tag for tag in tags.counted if tag not in own]
    if own:
        own.update(zip(ints, count(len(keys)), strict=False))
    own.update(zip(others, count(len(keys) + len(ints)), strict=False))
    try:
        vectors.index_to_key = [*keys, *ints, *others]
    except MemoryError as error:
        size = 4 * len(ints) * vectors.vector_size / 2**40
        raise MemoryError(f"tags up to {ints[-1]} need {size:.1f} TiB of vectors") from error
    if tags.counted:
        rows = [own[tag] for tag in tags.counted]
        for column, name in enumerate(COUNTS):
            vectors.allocate_vecattrs([name], [int])
            vectors.expandos[name][rows] += [counts[column] for counts in tags.counted.values()]
