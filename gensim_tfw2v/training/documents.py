"""Tags of documents, while documents are read and as keys of a model's document vectors."""

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.corpus.shard_files import FIRST_TAG, Ids
from gensim_tfw2v.keys.compact import compact, is_large, keys_of
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.keys.key_list import KeyList
from gensim_tfw2v.keys.string_keys import StringKeys
from gensim_tfw2v.messages import quoted

logger = logging.getLogger(__name__)

#: Types of integer tags.
INTEGERS = (int, np.integer)

#: Provisional number of the first tag that is not an integer; the next tags have one less each.
#: Provisional numbers stand for tags while documents are read, before tags have rows.
FIRST_NON_INTEGER = 2**31 - 4
#: Provisional number of an integer tag that can't be a row: negative, or too large.
NO_ROW = 2**30

#: gensim's attributes of tags that are not integers: total words, number of documents.
COUNT_ATTRIBUTES = ("word_count", "doc_count")


class Tags:
    """Tags of documents, while they are read.

    As in gensim, all integers from 0 to the highest are tags, whether a document has them or not.
    So only the number of integer tags is kept.

    Attributes
    ----------
    n_integers : int
        Number of integer tags: 1 more than the highest, or the number of lines of a text.
    non_integers : dict
        Tags that are not integers, in order of first occurrence. The value is [total words of the
        documents with this tag, number of these documents, provisional number of the tag].
    """

    def __init__(self) -> None:
        self.n_integers = 0
        self.non_integers: dict[Hashable, list[int]] = {}

    @classmethod
    def of(cls, vectors: Any) -> "Tags":
        """Read the tags that gensim's own `scan_vocab` has added to empty `vectors`."""
        tags = cls()
        tags.n_integers = len(vectors) - len(vectors.key_to_index)
        for tag in vectors.key_to_index:
            tags.non_integers[tag] = [
                int(vectors.get_vecattr(tag, name)) for name in COUNT_ATTRIBUTES
            ]
        return tags

    def encode_documents(
        self, documents: Iterable[Any]
    ) -> Iterator[tuple[list[int], Iterable[Hashable]]]:
        """Yield, per document, the entries that encode its tags, and its words; count the tags.

        As in gensim, a warning is logged if the words of the first document are a string.

        Raises
        ------
        TypeError
            If a document lacks words or tags.
        """
        for index, document in enumerate(documents):
            try:
                words = document.words
                tags = document.tags
            except AttributeError:
                raise TypeError(
                    f"document {index} must have words and tags, got {quoted(document)} of type "
                    f"{type(document).__name__}: pass TaggedDocument(words, tags)"
                ) from None
            if not index and isinstance(words, str):
                logger.warning(
                    "Each 'words' should be a list of words (usually unicode strings). "
                    "First 'words' here is instead plain %s.",
                    type(words),
                )
            yield [FIRST_TAG - self._count(tag, len(words)) for tag in tags], words

    def _count(self, tag: Hashable, n_words: int) -> int:
        """Count a tag of a document of `n_words`, and return its provisional number."""
        if isinstance(tag, INTEGERS):
            self.n_integers = max(self.n_integers, int(tag) + 1)
            return int(tag) if 0 <= tag < NO_ROW else NO_ROW
        counts = self.non_integers.setdefault(
            tag, [0, 0, FIRST_NON_INTEGER - len(self.non_integers)]
        )
        counts[0] += n_words
        counts[1] += 1
        return counts[2]

    def rows(self, vectors: Any) -> Callable[[Ids], Ids]:
        """Return a function from provisional numbers of tags to their rows in `vectors`.

        The row is that of `vectors.get_index` for the tag, and -1 for unknown tags.
        """
        non_integer_rows = np.array(
            [vectors.get_index(tag, -1) for tag in self.non_integers], np.int64
        )
        # Usually, integer tag t is row t. gensim lists the exceptions in key_to_index: integers
        # that were added behind tags that are not integers. Here, they are sorted by tag, with a
        # sentinel at the end.
        exceptions = sorted(
            (int(key), vectors.key_to_index[key]) for key in _integer_keys(vectors.key_to_index)
        )
        listed_tags, listed_rows = np.array([*exceptions, (2**62, -1)]).T

        def find_rows(tag_numbers: Ids) -> Ids:
            row_ids = np.where(tag_numbers < len(vectors), tag_numbers, -1)
            indices = np.searchsorted(listed_tags, tag_numbers)
            are_exceptions = listed_tags[indices] == tag_numbers
            row_ids[are_exceptions] = listed_rows[indices[are_exceptions]]
            are_non_integers = tag_numbers > FIRST_NON_INTEGER - len(non_integer_rows)
            row_ids[are_non_integers] = non_integer_rows[
                FIRST_NON_INTEGER - tag_numbers[are_non_integers]
            ]
            return row_ids

        return find_rows


class KnownTags(Tags):
    """Tags of documents whose vectors exist already; the provisional number of a tag is its row."""

    def __init__(self, vectors: Any) -> None:
        super().__init__()
        self.vectors = vectors

    def _count(self, tag: Hashable, n_words: int) -> int:
        """Return the row of a tag; -1 if it is unknown, for which the entry is UNKNOWN."""
        return int(self.vectors.get_index(tag, -1))


def _integer_keys(key_to_index: Mapping[Any, int]) -> Iterator[Any]:
    """Yield the keys that are integers."""
    if not isinstance(keys_of(key_to_index), StringKeys):
        yield from (key for key in key_to_index if isinstance(key, INTEGERS))


def take_tags(vectors: KeyedVectors, tags: Tags, n_documents: int, update: bool = False) -> None:
    """Set the keys of vectors to the tags of counted documents, without allocating rows.

    As in gensim, integer tags are their own rows, from 0 to the highest. The remaining tags follow
    in order of first occurrence, with their ``word_count`` and ``doc_count``.

    Parameters
    ----------
    vectors : KeyedVectors
        A model's `dv`. Call its `resize_vectors`, with a seed, to make the new rows.
    tags : Tags
    n_documents : int
        Number of counted documents: gensim's `corpus_count`.
    update : bool
        Keep the existing keys and their rows, add new keys behind them, and add to the counts.
        Integer tags behind tags that are not integers are not their own rows, so ``key_to_index``
        contains their rows.
    """
    if len(tags.non_integers) > n_documents:
        logger.warning(
            "More unique tags (%i) than documents (%i).", len(tags.non_integers), n_documents
        )
    if (excess := tags.n_integers - 1 - n_documents) > 0:
        logger.warning(
            f"Highest int doctag ({tags.n_integers - 1}) larger than count of documents "
            f"({n_documents}). This means at least {excess} excess, unused slots "
            f"({4 * excess * vectors.vector_size} bytes) will be allocated for vectors."
        )
    if not update:
        vectors.index_to_key = []
        vectors.key_to_index = {}
        vectors.expandos = {}
    keys = vectors.index_to_key
    rows_of_keys = vectors.key_to_index
    # key_to_index lacks the integers that are their own rows
    highest = max([len(keys) - len(rows_of_keys) - 1, *_integer_keys(rows_of_keys)])
    new_integers = range(highest + 1, tags.n_integers)
    new_tags = [tag for tag in tags.non_integers if tag not in rows_of_keys]
    if rows_of_keys:
        rows_of_keys.update(zip(new_integers, count(len(keys)), strict=False))
    rows_of_keys.update(zip(new_tags, count(len(keys) + len(new_integers)), strict=False))
    n_keys = len(keys) + len(new_integers)
    try:
        if not rows_of_keys and is_large(n_keys):
            vectors.index_to_key = KeyList(IntegerKeys(range(n_keys)))
        elif new_integers or new_tags:
            vectors.index_to_key = [*keys, *new_integers, *new_tags]
            compact(vectors)
    except MemoryError as error:
        size = 4 * len(new_integers) * vectors.vector_size / 2**40
        raise MemoryError(
            f"tags up to {new_integers[-1]} need {size:.1f} TiB of vectors"
        ) from error
    if tags.non_integers:
        rows = [rows_of_keys[tag] for tag in tags.non_integers]
        for column, name in enumerate(COUNT_ATTRIBUTES):
            vectors.allocate_vecattrs([name], [int])
            vectors.expandos[name][rows] += [
                counts[column] for counts in tags.non_integers.values()
            ]
