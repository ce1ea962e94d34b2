"""Tags of documents, while documents are read and as keys of a model's document vectors."""

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.corpus.shard_files import FIRST_TAG, Ids
from gensim_tfw2v.messages import quoted

logger = logging.getLogger(__name__)

INTEGERS = (int, np.integer)

#: Provisional number of the first tag that is not an integer; the next have TOP - 1, TOP - 2, …
TOP = 2**31 - 4
#: Provisional number of an integer tag that can't be a row: negative, or too large.
NO_ROW = 2**30

#: gensim's attributes of tags that are not integers.
COUNTS = ("word_count", "doc_count")


class Tags:
    """Tags of documents, while they are read.

    As in gensim, all integers from 0 to the highest are tags, whether a document has them or not.
    So only their number is kept.

    Attributes
    ----------
    ints : int
        Number of integer tags: 1 more than the highest, or the number of lines of a text.
    counted : dict
        Tags that are not integers, in order of first occurrence. The value is [total words of the
        documents with this tag, number of these documents, provisional number of the tag].
    """

    def __init__(self) -> None:
        self.ints = 0
        self.counted: dict[Hashable, list[int]] = {}

    @classmethod
    def of(cls, vectors: Any) -> "Tags":
        """Read the tags that gensim's own `scan_vocab` has put into empty vectors."""
        tags = cls()
        tags.ints = len(vectors) - len(vectors.key_to_index)
        for tag in vectors.key_to_index:
            tags.counted[tag] = [int(vectors.get_vecattr(tag, name)) for name in COUNTS]
        return tags

    def encoded(self, documents: Iterable[Any]) -> Iterator[tuple[list[int], Iterable[Hashable]]]:
        """Yield the entries of each document's tags, and its words; count the tags.

        As in gensim, a warning is logged if the words of the first document are a string.

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
                    f"{type(document).__name__}: pass TaggedDocument(words, tags)"
                ) from None
            if not place and isinstance(words, str):
                logger.warning(
                    "Each 'words' should be a list of words (usually unicode strings). "
                    "First 'words' here is instead plain %s.",
                    type(words),
                )
            yield [FIRST_TAG - self._number(tag, len(words)) for tag in tags], words

    def _number(self, tag: Hashable, words: int) -> int:
        if isinstance(tag, INTEGERS):
            self.ints = max(self.ints, int(tag) + 1)
            return int(tag) if 0 <= tag < NO_ROW else NO_ROW
        counts = self.counted.setdefault(tag, [0, 0, TOP - len(self.counted)])
        counts[0] += words
        counts[1] += 1
        return counts[2]

    def rows(self, vectors: Any) -> Callable[[Ids], Ids]:
        """Return a function from provisional numbers of tags to their rows in `vectors`.

        The row is that of `vectors.get_index` for the tag, and -1 for unknown tags.
        """
        others = np.array([vectors.get_index(tag, -1) for tag in self.counted], np.int64)
        keys = vectors.key_to_index.items()
        # [(tag, row)] of integer tags that are not their own rows, because they were added behind
        # tags that are not integers; sorted, with a sentinel at the end
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
    """Tags of documents whose vectors exist already; the number of a tag is its row."""

    def __init__(self, vectors: Any) -> None:
        super().__init__()
        self.vectors = vectors

    def _number(self, tag: Hashable, words: int) -> int:
        return int(self.vectors.get_index(tag, -1))  # FIRST_TAG - (-1) is UNKNOWN


def take_tags(vectors: KeyedVectors, tags: Tags, documents: int, update: bool = False) -> None:
    """Set the keys of vectors to the tags of counted documents, without allocating rows.

    As in gensim, integer tags are their own rows, from 0 to the highest. The remaining tags follow
    in order of first occurrence, with their ``word_count`` and ``doc_count``.

    Parameters
    ----------
    vectors : KeyedVectors
        A model's `dv`. Call its `resize_vectors`, with a seed, to make the new rows.
    tags : Tags
    documents : int
        Number of counted documents: gensim's `corpus_count`.
    update : bool
        Keep the existing keys and their rows, add new keys behind them, and add to the counts.
        Integer tags behind tags that are not integers are not their own rows, so ``key_to_index``
        contains their rows.
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
    # key_to_index lacks the integers that are their own rows
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
