"""Keys of a vocabulary in a compiled table: what strings and integers have in common."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.keys.key_table import KEYS_AT_A_TIME, KeyTable
from gensim_tfw2v.keys.view_types import list_keys

if TYPE_CHECKING:
    from typing_extensions import Self


class Keys(ABC):
    """Distinct keys, which do not change. The index of a key is the row of its vector.

    Attributes
    ----------
    table : KeyTable
        The compiled table. Its arrays are attributes of this object.
    """

    table: KeyTable

    def __len__(self) -> int:
        return int(self.table.n_keys)

    @overload
    def __getitem__(self, item: slice) -> list[Any]: ...
    @overload
    def __getitem__(self, item: int) -> Any: ...
    def __getitem__(self, item: int | slice) -> Any:
        if isinstance(item, slice):
            start, stop, step = item.indices(len(self))
            if step == 1:
                return list_keys(self.table, start, max(start, stop))
            return [self[index] for index in range(start, stop, step)]
        try:
            index = operator.index(item)
        except TypeError:
            raise TypeError(
                f"list indices must be integers or slices, not {type(item).__name__}"
            ) from None
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError("list index out of range")
        return list_keys(self.table, index, index + 1)[0]

    def item(self, item: int | slice) -> Any:
        """Return ``self[item]``. A compiled view calls this method for slices and unusual types."""
        return self[item]

    def __iter__(self) -> Iterator[Any]:
        for keys in self.blocks():
            yield from keys

    def __reversed__(self) -> Iterator[Any]:
        for stop in range(len(self), 0, -KEYS_AT_A_TIME):
            yield from reversed(self[max(0, stop - KEYS_AT_A_TIME) : stop])

    def blocks(self) -> Iterator[list[Any]]:
        """Yield all keys as lists of `KEYS_AT_A_TIME`."""
        for start in range(0, len(self), KEYS_AT_A_TIME):
            yield self[start : start + KEYS_AT_A_TIME]

    def find(self, key: object) -> int:
        """Return the index of the key that equals an object, as in a dict; -1 if there is none.

        Raises a TypeError if the object has no hash.
        """
        key_hash = hash(key)
        for index in self._find_candidates(key, key_hash):
            candidate = self[index]
            if hash(candidate) == key_hash and candidate == key:
                return index
        return -1

    def find_in_list(self, key: object) -> int:
        """Return the index of the key that equals an object, as in a list; -1 if there is none.

        Unlike `find`, it accepts objects without a hash, with which it compares all keys.
        """
        try:
            return self.find(key)
        except TypeError:
            return next((index for index, own_key in enumerate(self) if own_key == key), -1)

    @abstractmethod
    def _find_candidates(self, key: Any, key_hash: int) -> Iterable[int]:
        """Return indices of keys; if any key equals an object, its index is among them."""

    def find_all(self, keys: Iterable[Any]) -> NDArray[np.int32]:
        """Return the index of each of some keys, -1 for those that are missing."""
        return np.fromiter(map(self.find, keys), np.int32)

    @abstractmethod
    def select(self, indices: NDArray, folder: Path | None = None) -> Self:
        """Return the keys with these distinct indices, in their order."""

    @abstractmethod
    def release_pages(self) -> None:
        """Take the keys out of this process's memory until they are used."""

    @abstractmethod
    def equals(self, other: Keys) -> bool:
        """Return whether two objects have the same keys in the same order."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle the keys as a list, which gensim can load, and which all views in a file share."""
        return list, (), None, iter(self)
