"""Integers as keys: nodes of a graph, or ids."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.keys.key_table import (
    INTEGERS,
    PERMUTATION,
    RANGE,
    KeyTable,
    check_size,
    new_mapped_array,
    new_table,
    slot_count,
)
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.row_blocks import release_pages

if TYPE_CHECKING:
    from typing_extensions import Self

#: Integers whose difference is a multiple of this number have the same hash.
HASH_MODULUS = sys.hash_info.modulus

#: All integers of 64 bits whose hash is h are among h + k * `HASH_MODULUS` with these k.
HASH_FACTORS = range(-5, 6)

INT64 = np.iinfo(np.int64)


class IntegerKeys(Keys):
    """Distinct integers of 64 bits.

    A permutation of 0 … V - 1 takes 8 bytes an integer, exactly this range none, and other integers
    16.

    Parameters
    ----------
    values : ndarray of integers
        The keys, [V].
    folder : path, optional
        Folder where the arrays lie in files without names; see `new_mapped_array`.

    Raises
    ------
    ValueError
        If two integers are equal, or if there are too many.
    """

    def __init__(self, values: NDArray[np.integer] | range, folder: Path | None = None) -> None:
        check_size(len(values))
        self._arrays: dict[str, NDArray] = {}
        if isinstance(values, range):
            if values == range(len(values)):
                self.table = new_table(RANGE, len(values))
                return
            values = np.arange(values.start, values.stop, values.step)
        if not len(values):
            self.table = new_table(RANGE, 0)
        elif values.min() < 0 or values.max() >= len(values):
            self.table = self._hash(values, folder)
        else:
            self.table = self._invert(values, folder)

    def _invert(self, values: NDArray[np.integer], folder: Path | None) -> KeyTable:
        """Return the table of a permutation of 0 … V - 1."""
        n_keys = len(values)
        if values[0] == 0 and values[-1] == n_keys - 1 and (np.diff(values) == 1).all():
            return new_table(RANGE, n_keys)
        if (counts := np.bincount(values)).max() > 1:
            raise ValueError(f"the key {counts.argmax()} occurs {counts.max()} times")
        numbers = new_mapped_array(n_keys, np.int32, folder)
        numbers[:] = values
        inverse = new_mapped_array(n_keys, np.int32, folder)
        inverse[numbers] = np.arange(n_keys, dtype=np.int32)
        self._arrays = {"numbers": numbers, "inverse": inverse}
        return new_table(PERMUTATION, n_keys, numbers=numbers, inverse=inverse)

    def _hash(self, values: NDArray[np.integer], folder: Path | None) -> KeyTable:
        """Return the table of any integers."""
        n_keys = len(values)
        new_values = new_mapped_array(n_keys, np.int64, folder)
        new_values[:] = values
        slots = new_mapped_array(slot_count(n_keys), np.uint32, folder)
        self._arrays = {"values": new_values, "slots": slots}
        table = new_table(INTEGERS, n_keys, values=new_values, slots=slots)
        duplicate = compiled_library.load().tfw2v_keys_fill(ctypes.byref(table))
        if duplicate >= 0:
            raise ValueError(f"key {duplicate} is {new_values[duplicate]}, as an earlier one")
        return table

    @property
    def is_range(self) -> bool:
        """True if the keys are 0, 1, … V - 1, in this order."""
        return bool(self.table.kind == RANGE)

    def values(self) -> NDArray[np.integer]:
        """Return all integers in an array, which must not be changed."""
        if self.is_range:
            return np.arange(len(self), dtype=np.int32)
        return self._arrays["values" if self.table.kind == INTEGERS else "numbers"]

    def find(self, key: object) -> int:
        """Return the index of the key that equals an object, as in a dict; -1 if there is none.

        Raises a TypeError if the object has no hash.
        """
        if type(key) is int:
            return int(self._find_integers([key])[0]) if INT64.min <= key <= INT64.max else -1
        return super().find(key)

    def _find_candidates(self, key: Any, key_hash: int) -> Iterable[int]:
        # what equals an integer has its hash
        candidates = [key_hash + factor * HASH_MODULUS for factor in HASH_FACTORS]
        candidates += [-1] if key_hash == hash(-1) else []
        return [index for index in map(self.find, candidates) if index >= 0]

    def find_all(self, keys: Iterable[Any]) -> NDArray[np.int32]:
        """Return the index of each of some keys, -1 for those that are missing."""
        if isinstance(keys, IntegerKeys):
            return self._find_integers(keys.values())
        if isinstance(keys, range):
            keys = np.arange(keys.start, keys.stop, keys.step)
        if isinstance(keys, np.ndarray) and np.can_cast(keys.dtype, np.int64):
            return self._find_integers(keys)
        return super().find_all(keys)

    def _find_integers(self, values: NDArray | list[int]) -> NDArray[np.int32]:
        values = np.ascontiguousarray(values, np.int64)
        indices = np.empty(len(values), np.int32)
        compiled_library.load().tfw2v_keys_find_integers(
            ctypes.byref(self.table), values.ctypes.data, len(values), indices.ctypes.data
        )
        return indices

    def select(self, indices: NDArray, folder: Path | None = None) -> Self:
        """Return the keys with these distinct indices, in their order."""
        return type(self)(self.values()[indices], folder)

    def release_pages(self) -> None:
        """Take the keys out of this process's memory until they are used."""
        for array in self._arrays.values():
            release_pages(array)

    def equals(self, other: Keys) -> bool:
        """Return whether two objects have the same keys in the same order."""
        if not isinstance(other, IntegerKeys):
            return len(self) == len(other) == 0
        return len(self) == len(other) and (
            (self.is_range and other.is_range) or np.array_equal(self.values(), other.values())
        )

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if self.is_range:
            return list, (range(len(self)),)
        return super().__reduce_ex__(protocol)
