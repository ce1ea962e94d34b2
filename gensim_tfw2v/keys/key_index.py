"""Keys that behave as the dict ``key_to_index`` of gensim's KeyedVectors."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any, SupportsIndex

from gensim_tfw2v.keys.keys_view import KeysView
from gensim_tfw2v.keys.view_types import CONVERSION_LOCK, KeysAsDict, show_plain


class KeyIndex(KeysAsDict, KeysView, MutableMapping[Any, int]):
    """The index of each key of a vocabulary, by key.

    It equals a dict of the indices, and is pickled as one. The first change turns it into a dict
    inside of this object.
    """

    __slots__ = ()

    def _plain(self) -> dict[Any, int]:
        """Return the dict inside of this object, after turning it into one if necessary."""
        with CONVERSION_LOCK:
            if (keys := self.compact_keys) is not None:
                show_plain(self, dict(zip(keys, range(len(keys)), strict=True)))
            return self._owner()

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._owner())

    def items(self) -> ItemsView[Any, int]:
        """Return a view of the pairs of key and index."""
        return PairsView(self)

    def values(self) -> ValuesView[int]:
        """Return a view of the indices."""
        return IndicesView(self)

    def __setitem__(self, key: Any, index: int) -> None:
        self._plain()[key] = index

    def __delitem__(self, key: Any) -> None:
        del self._plain()[key]

    def popitem(self) -> tuple[Any, int]:
        """Remove the last key, and return it with its index."""
        return self._plain().popitem()

    def clear(self) -> None:
        """Remove all keys."""
        show_plain(self, {})

    def copy(self) -> KeyIndex:
        """Return a copy, which shares the keys until either is changed."""
        if (keys := self.compact_keys) is not None:
            return type(self)(keys)
        copied = type(self).__new__(type(self))
        show_plain(copied, self._owner().copy())
        return copied

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> KeyIndex:
        return self.copy()

    def __or__(self, other: Any) -> Any:
        return dict(self) | dict(other) if isinstance(other, (dict, KeyIndex)) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return other | dict(self) if isinstance(other, dict) else NotImplemented

    def __ior__(self, other: Any) -> KeyIndex:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        keys = self.compact_keys
        other_keys = other.compact_keys if isinstance(other, KeyIndex) else None
        if keys is not None and other_keys is not None:
            return keys is other_keys or keys.equals(other_keys)
        if not isinstance(other, Mapping):
            return NotImplemented
        missing = object()
        return len(self) == len(other) and all(
            other.get(key, missing) == index for key, index in self.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if (keys := self.compact_keys) is None:
            return dict, (self._owner(),)
        return dict, (_PickledCall(zip, keys, range(len(keys))),)


class IndicesView(ValuesView[int]):
    """View of the indices in a `KeyIndex`, which are 0, 1, … without a look-up of each key."""

    _mapping: KeyIndex

    def __iter__(self) -> Iterator[int]:
        if self._mapping.compact_keys is None:
            return iter(self._mapping._owner().values())
        return iter(range(len(self._mapping)))

    def __reversed__(self) -> Iterator[int]:
        if self._mapping.compact_keys is None:
            return reversed(self._mapping._owner().values())
        return reversed(range(len(self._mapping)))

    def __contains__(self, index: object) -> bool:
        if self._mapping.compact_keys is None:
            return index in self._mapping._owner().values()
        return index in range(len(self._mapping))


class PairsView(ItemsView[Any, int]):
    """View of the pairs of key and index in a `KeyIndex`, without a look-up of each key."""

    _mapping: KeyIndex

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return zip(self._mapping, self._mapping.values(), strict=True)

    def __reversed__(self) -> Iterator[tuple[Any, int]]:
        return zip(reversed(self._mapping), reversed(IndicesView(self._mapping)), strict=True)


class _PickledCall:
    """Object that is pickled as the result of calling a function."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call
