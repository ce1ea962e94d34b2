"""When a vocabulary is kept in compiled tables, and work on its keys without an object per key."""

import contextlib
import operator
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import keys as keys_package
from gensim_tfw2v.keys.integer_keys import INT64, IntegerKeys
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from gensim_tfw2v.keys.key_table import KEYS_AT_A_TIME, MAX_KEYS
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.keys.string_keys import StringKeys
from gensim_tfw2v.keys.view_types import IS_SUPPORTED


def is_large(n_words: int) -> bool:
    """Return whether a vocabulary of so many words should be compact, and can be here."""
    return IS_SUPPORTED and max(keys_package.MIN_WORDS, 1) <= n_words <= MAX_KEYS


def compact(vectors: Any) -> None:
    """Replace the list and the dict of large gensim KeyedVectors by views of compact keys.

    Nothing changes if the keys are neither all strings nor all integers of 64 bits, or if the dict
    does not contain the index of each key in the list. If it is empty, as for documents whose tags
    are the numbers of their rows, it stays a dict.
    """
    words, indices = vectors.index_to_key, vectors.key_to_index
    if type(words) is not list or type(indices) is not dict or not is_large(len(words)):
        return
    if indices and not _are_numbered(words, indices):
        return
    if (keys := compact_keys(words)) is None:
        return
    if indices:
        set_keys(vectors, keys)
    elif isinstance(keys, IntegerKeys) and keys.is_range:
        vectors.index_to_key = KeyList(keys)


def _are_numbered(words: list[Any], indices: dict[Any, int]) -> bool:
    """Return whether a dict contains all words in their order, each with its index."""
    return (
        len(words) == len(indices)
        and all(map(operator.is_, indices, words))
        and all(map(operator.eq, indices.values(), range(len(words))))
    )


def compact_keys(words: Iterable[Any]) -> Keys | None:
    """Return distinct words as compact keys; None unless all are strings, or all are integers.

    Views share their keys. Subclasses of str and int, such as bool, are not converted.
    """
    if isinstance(words, Keys):
        return words
    if isinstance(words, (KeyList, KeyIndex)) and words.compact_keys is not None:
        return words.compact_keys
    if isinstance(words, range):
        return IntegerKeys(words)
    words = words if isinstance(words, list) else list(words)
    types = set(map(type, words))
    if types == {str}:
        return StringKeys.from_strings(words)
    if types == {int} and INT64.min <= min(words) and max(words) <= INT64.max:
        return IntegerKeys(np.fromiter(words, np.int64, len(words)))
    return None


def set_words(vectors: Any, words: Iterable[Any]) -> None:
    """Set the keys of gensim KeyedVectors to words, compact ones if there are many.

    A list is copied. If a word occurs twice, ``key_to_index`` contains its last index.
    """
    keys = keys_of(words)
    if keys is None:
        words = list(words)
        if is_large(len(words)):
            with contextlib.suppress(ValueError):  # a word occurs twice
                keys = compact_keys(words)
    if keys is not None:
        set_keys(vectors, keys)
        return
    vectors.index_to_key = words
    vectors.key_to_index = {word: row for row, word in enumerate(words)}


def set_keys(vectors: Any, keys: Keys) -> None:
    """Set the keys of gensim KeyedVectors to views of compact keys."""
    vectors.index_to_key = KeyList(keys)
    vectors.key_to_index = KeyIndex(keys)


def keys_of(words: object) -> Keys | None:
    """Return the compact keys of a view, or of keys; None for other objects, such as lists."""
    if isinstance(words, Keys):
        return words
    return words.compact_keys if isinstance(words, (KeyList, KeyIndex)) else None


def find_indices(
    key_to_index: Mapping[Any, int], words: Iterable[Any], missing: int = -1
) -> NDArray[np.int32]:
    """Return the index of each word in a vocabulary, `missing` for words that it lacks."""
    keys, sought = keys_of(key_to_index), keys_of(words)
    if keys is None:
        return np.fromiter(map(key_to_index.get, words, repeat(missing)), np.int32)
    if sought is keys:
        return np.arange(len(keys), dtype=np.int32)
    indices = keys.find_all(words if sought is None else sought)
    indices[indices < 0] = missing
    return indices


def key_blocks(words: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield words, of a list or compact, as lists of at most `KEYS_AT_A_TIME`."""
    iterator = iter(words)
    while block := list(islice(iterator, KEYS_AT_A_TIME)):
        yield block


def checksum(words: Iterable[Any]) -> int:
    """Return the CRC-32 of the texts of words, separated by newlines, in UTF-8."""
    value = 0
    separator = ""
    for block in key_blocks(words):
        text = separator + "\n".join(map(str, block))
        value = zlib.crc32(text.encode("utf-8", "surrogatepass"), value)
        separator = "\n"
    return value
