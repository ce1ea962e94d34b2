"""Compiled table of the integers that are words of a corpus.

The source is ``kernel/native/src/text/integers.cc``, which is compiled into the kernels' library.
"""

import ctypes
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.scanner import call, library
from gensim_tfw2v.corpus.shard_files import ID, UNKNOWN, Ids
from gensim_tfw2v.keys.compact import is_large
from gensim_tfw2v.keys.integer_keys import IntegerKeys

INT64_POINTER = ctypes.POINTER(ctypes.c_int64)

#: Maximum number of different integers: their indices are int32.
MAX_WORDS = 2**31 - 1

#: Types of words that are equal to no integer.
NON_INTEGER_TYPES = (str, bytes)


class IntegerTable:
    """Compiled hash table of distinct integers; indices are in the order of their addition."""

    def __init__(self) -> None:
        self._pointer = call(library().tfw2v_integers_new)
        weakref.finalize(self, library().tfw2v_integers_free, self._pointer)
        # the table's size is copied, because other threads may ask for it while the table changes
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def encode(self, batch: IntegerBatch, add: bool = True) -> Ids:
        """Return the entries of a batch: indices of its words, and `END` after each sentence.

        With `add`, new integers are added to the table. Otherwise their index is `UNKNOWN`.

        Raises
        ------
        ValueError
            If the lengths of the sentences don't add up to the number of words, or if there are too
            many different integers.
        """
        if add and self._size + len(batch.values) > MAX_WORDS:
            raise ValueError(
                f"the corpus has more than {self._size:,} different integers, and a vocabulary can "
                f"have at most {MAX_WORDS:,} words: map rare ones to one integer"
            )
        functions = library()
        values = np.ascontiguousarray(batch.values, np.int64)
        lengths = np.ascontiguousarray(batch.lengths, np.int64)
        max_words = shard_files.MAX_SENTENCE
        entries = np.empty(len(values) + int(-(-lengths // max_words).sum()), np.int32)
        n_entries = call(
            functions.tfw2v_integers_encode,
            self._pointer,
            values.ctypes.data,
            len(values),
            lengths.ctypes.data,
            len(lengths),
            max_words,
            add,
            entries.ctypes.data,
            len(entries),
        )
        if n_entries < 0:
            raise ValueError(
                f"a batch has {len(values)} integers, but the lengths of its {len(lengths)} "
                f"sentences add up to {lengths.sum()}, or one is negative"
            )
        self._size = functions.tfw2v_integers_number(self._pointer)
        return entries

    def words(self, folder: Path | None = None) -> IntegerKeys | list[int]:
        """Return all integers, in the order of their indices, as a list if they are few.

        The keys lie in files of `folder`.
        """
        if not self._size:
            return []
        address = library().tfw2v_integers_values(self._pointer)
        # the table's own memory, which is only read here
        values = np.ctypeslib.as_array(ctypes.cast(address, INT64_POINTER), (self._size,))
        return IntegerKeys(values, folder) if is_large(self._size) else values.tolist()


class KnownIntegers:
    """The integers among the words of a vocabulary.

    Parameters
    ----------
    words : list
        All words; entries of a batch are indices in this list.
    """

    def __init__(self, words: list[Any]) -> None:
        integers = {
            index: int(word)
            for index, word in enumerate(words)
            if not isinstance(word, NON_INTEGER_TYPES)
        }
        fitting = {index: key for index, key in integers.items() if -(2**63) <= key < 2**63}
        values = np.fromiter(fitting.values(), np.int64, len(fitting))
        # the last entry only keeps the array from being empty: `encode` reads it, at index -1, for
        # negative entries, but does not use it
        self._entries = np.array([*fitting, UNKNOWN], ID)
        self._table = IntegerTable()
        self._table.encode(IntegerBatch(values, np.array([len(values)]), 1))

    @classmethod
    def among(cls, words: list[Any]) -> "KnownIntegers | None":
        """Return the integers among `words`; None if words of other types may equal integers."""
        allowed_types = (*NON_INTEGER_TYPES, int, np.integer)
        types = {*map(type, words)}
        if bool in types or not all(issubclass(kind, allowed_types) for kind in types):
            return None
        return cls(words)

    def __len__(self) -> int:
        return len(self._table)

    def encode(self, batch: IntegerBatch) -> Ids:
        """Return the entries of a batch, `UNKNOWN` for words that the vocabulary lacks."""
        entries = self._table.encode(batch, add=False)
        return np.where(entries < 0, entries, self._entries[np.maximum(entries, -1)])
