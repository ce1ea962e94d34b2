"""Counts of the words of a large corpus, which behave as a dict."""

from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.keys.key_table import KEYS_AT_A_TIME
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.row_blocks import release_pages


class RawVocabulary(MutableMapping[Any, int]):
    """Count of each word: gensim's ``raw_vocab``, without objects per word.

    It equals a dict, and is pickled as one. The first change turns it into a dict inside of this
    object.

    Parameters
    ----------
    words : Keys
        Words in order of first occurrence.
    counts : ndarray of int64
        Occurrences of each word.
    """

    def __init__(self, words: Keys, counts: NDArray[np.int64]) -> None:
        self._words = words
        self._counts = counts
        self._plain_counts: dict[Any, int] | None = None

    @property
    def compact_counts(self) -> tuple[Keys, NDArray[np.int64]] | None:
        """The words and their counts; None after a change."""
        return (self._words, self._counts) if self._plain_counts is None else None

    def release_pages(self) -> None:
        """Take words and counts out of this process's memory until they are used."""
        if self._plain_counts is None:
            self._words.release_pages()
            release_pages(self._counts)

    def _plain(self) -> dict[Any, int]:
        """Return the dict inside of this object, after turning it into one if necessary."""
        if self._plain_counts is None:
            self._plain_counts = dict(self._pairs())
            del self._words, self._counts
        return self._plain_counts

    def _pairs(self) -> Iterator[tuple[Any, int]]:
        return zip(self._words, self._count_list(), strict=True)

    def _count_list(self) -> Iterator[int]:
        for first in range(0, len(self._counts), KEYS_AT_A_TIME):
            yield from self._counts[first : first + KEYS_AT_A_TIME].tolist()

    def __len__(self) -> int:
        return len(self._words if self._plain_counts is None else self._plain_counts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._words if self._plain_counts is None else self._plain_counts)

    def __getitem__(self, word: Any) -> int:
        if self._plain_counts is not None:
            return self._plain_counts[word]
        index = self._words.find(word)
        if index < 0:
            raise KeyError(word)
        return int(self._counts[index])

    def __setitem__(self, word: Any, count: int) -> None:
        self._plain()[word] = count

    def __delitem__(self, word: Any) -> None:
        del self._plain()[word]

    def clear(self) -> None:
        """Remove all words."""
        self._plain_counts = {}

    def items(self) -> ItemsView[Any, int]:
        """Return a view of the pairs of word and count."""
        return _Pairs(self)

    def values(self) -> ValuesView[int]:
        """Return a view of the counts."""
        return _Counts(self)

    def copy(self) -> dict[Any, int]:
        """Return a dict."""
        return dict(self.items())

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle the words and counts as a dict, which gensim can load."""
        return dict, (), None, None, iter(self.items())


class _Pairs(ItemsView[Any, int]):
    """View of the pairs of a `RawVocabulary`, without a look-up of each word."""

    _mapping: RawVocabulary

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        plain_counts = self._mapping._plain_counts
        return self._mapping._pairs() if plain_counts is None else iter(plain_counts.items())


class _Counts(ValuesView[int]):
    """View of the counts of a `RawVocabulary`, without a look-up of each word."""

    _mapping: RawVocabulary

    def __iter__(self) -> Iterator[int]:
        plain_counts = self._mapping._plain_counts
        return self._mapping._count_list() if plain_counts is None else iter(plain_counts.values())
