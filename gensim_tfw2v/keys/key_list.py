"""Keys that behave as the list ``index_to_key`` of gensim's KeyedVectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import Any, SupportsIndex

from gensim_tfw2v.keys.keys_view import KeysView
from gensim_tfw2v.keys.view_types import CONVERSION_LOCK, KeysAsList, show_plain


class KeyList(KeysAsList, KeysView, MutableSequence[Any]):
    """All keys of a vocabulary, by index.

    It equals a list of its keys, and is pickled as one. The first change turns it into a list
    inside of this object.
    """

    __slots__ = ()

    def _plain(self) -> list[Any]:
        """Return the list inside of this object, after turning it into one if necessary."""
        with CONVERSION_LOCK:
            if (keys := self.compact_keys) is not None:
                show_plain(self, list(keys))
            return self._owner()

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._owner())

    def __setitem__(self, item: Any, value: Any) -> None:
        self._plain()[item] = value

    def __delitem__(self, item: Any) -> None:
        del self._plain()[item]

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Insert a key before an index."""
        self._plain().insert(index, value)

    def append(self, value: Any) -> None:
        """Append a key."""
        self._plain().append(value)

    def extend(self, values: Iterable[Any]) -> None:
        """Append keys."""
        self._plain().extend(values)

    def clear(self) -> None:
        """Remove all keys."""
        show_plain(self, [])

    def sort(self, **options: Any) -> None:
        """Sort the keys, as `list.sort`."""
        self._plain().sort(**options)

    def reverse(self) -> None:
        """Reverse the order of the keys."""
        self._plain().reverse()

    def copy(self) -> KeyList:
        """Return a copy, which shares the keys until either is changed."""
        if self.compact_keys is not None:
            return type(self)(self.compact_keys)
        copied = type(self).__new__(type(self))
        show_plain(copied, self._owner().copy())
        return copied

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> KeyList:
        return self.copy()

    def index(self, key: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a key, as `list.index`."""
        if (keys := self.compact_keys) is None:
            return self._owner().index(key, start, len(self) if stop is None else stop)
        start, stop, _ = slice(start, stop).indices(len(keys))
        index = keys.find_in_list(key)
        if not start <= index < stop:
            raise ValueError(f"{key!r} is not in list")
        return index

    def count(self, key: Any) -> int:
        """Return how often a key occurs."""
        if (keys := self.compact_keys) is None:
            return self._owner().count(key)
        return int(keys.find_in_list(key) >= 0)

    def __add__(self, other: Any) -> Any:
        return list(self) + list(other) if isinstance(other, (list, KeyList)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other + list(self) if isinstance(other, list) else NotImplemented

    def __mul__(self, factor: SupportsIndex) -> list[Any]:
        return list(self) * factor

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        keys = self.compact_keys
        other_keys = other.compact_keys if isinstance(other, KeyList) else None
        if keys is not None and other_keys is not None:
            return keys is other_keys or keys.equals(other_keys)
        if not isinstance(other, (list, KeyList)):
            return NotImplemented
        return len(self) == len(other) and all(
            key is other_key or key == other_key for key, other_key in zip(self, other, strict=True)
        )

    def __lt__(self, other: Any) -> bool:
        return list(self) < list(other) if isinstance(other, (list, KeyList)) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return list(self) <= list(other) if isinstance(other, (list, KeyList)) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return list(self) > list(other) if isinstance(other, (list, KeyList)) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return list(self) >= list(other) if isinstance(other, (list, KeyList)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return list, (self._owner(),)
