"""Base of `KeyIndex` and `KeyList`, the views of compact keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.keys.view_types import show_keys


class KeysView:
    """Base of the views of compact keys; the other base is a compiled type.

    Parameters
    ----------
    keys : Keys
        The keys, which other views may share.
    """

    __slots__ = ()

    def __init__(self, keys: Keys) -> None:
        show_keys(self, keys.table, keys)

    def _owner(self) -> Any:
        """Return the keys or, after a change, the dict or list; the compiled type overrides it."""
        raise NotImplementedError

    @property
    def compact_keys(self) -> Keys | None:
        """The compact keys, by index; None after a change."""
        owner = self._owner()
        return owner if isinstance(owner, Keys) else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._owner())
