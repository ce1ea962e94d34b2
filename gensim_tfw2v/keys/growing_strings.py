"""Distinct strings with their counts, to which strings are added, without an object per string."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.files.growing_array import GrowingArray
from gensim_tfw2v.keys.compact import is_large
from gensim_tfw2v.keys.joined_strings import JoinedStrings
from gensim_tfw2v.keys.key_table import check_size, slot_count
from gensim_tfw2v.keys.string_keys import StringKeys

#: Number of strings for which there is room at first.
FIRST_CAPACITY = 1 << 12


class GrowingTable(ctypes.Structure):
    """The struct ``GrowingStrings`` of ``keys/keys.h``, with its fields in the same order."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n_keys", "capacity", "n_slots")),
        *((name, ctypes.c_void_p) for name in ("slots", "offsets", "text", "counts")),
    )


class GrowingStrings:
    """Counter of strings. The index of a string is its ordinal, in order of first occurrence.

    With a text of 10 bytes, a string takes about 36 bytes: 10 in memory, and the rest in files.

    Parameters
    ----------
    folder : Path or None
        Folder of the arrays' files, which have no names.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._text = GrowingArray(np.uint8, folder)
        self._offsets = GrowingArray(np.int64, folder)
        self._offsets.reserve(1)
        self._offsets.array[0] = 0
        self._counts = GrowingArray(np.int64, folder)
        self._slots = np.zeros(0, np.uint32)
        self._table = GrowingTable()

    def __len__(self) -> int:
        return int(self._table.n_keys)

    def add(self, strings: JoinedStrings, times: NDArray[np.int64] | None = None) -> NDArray:
        """Add strings, each as often as `times` says, by default once; return their indices.

        Raises
        ------
        ValueError
            If there are too many distinct strings.
        OSError
            If no disk space can be allocated.
        """
        self._reserve(strings)
        indices = np.empty(strings.n_strings, np.int32)
        if times is not None:
            times = np.ascontiguousarray(times, np.int64)
        compiled_library.load().tfw2v_growing_add(
            ctypes.byref(self._table),
            strings.text.ctypes.data,
            strings.offsets.ctypes.data,
            strings.n_strings,
            None if times is None else times.ctypes.data,
            indices.ctypes.data,
        )
        return indices

    def _reserve(self, strings: JoinedStrings) -> None:
        """Make room for strings that may all be new."""
        n_keys = len(self) + strings.n_strings
        check_size(n_keys)
        self._text.reserve(self._text_size + len(strings.text))
        self._offsets.reserve(n_keys + 1)
        self._counts.reserve(n_keys)
        table = self._table
        table.text, table.offsets, table.counts = (
            growing.array.ctypes.data for growing in (self._text, self._offsets, self._counts)
        )
        if n_keys > table.capacity:
            table.capacity = max(FIRST_CAPACITY, n_keys * 3 // 2)
            del self._slots  # before new ones take memory
            self._slots = np.zeros(slot_count(table.capacity), np.uint32)
            table.n_slots = len(self._slots)
            table.slots = self._slots.ctypes.data
            compiled_library.load().tfw2v_growing_hash(ctypes.byref(table))

    @property
    def _text_size(self) -> int:
        return int(self._offsets.array[len(self)])

    def finish(self) -> tuple[StringKeys | list[str], NDArray[np.int64]]:
        """Return the strings, as a list if they are few, and their counts; nothing can be added.

        The keys use the same files.
        """
        n_keys = len(self)
        self._slots = np.zeros(0, np.uint32)
        counts = self._counts.finish(n_keys)
        text = self._text.finish(self._text_size)
        strings = JoinedStrings(text, self._offsets.finish(n_keys + 1))
        if not is_large(n_keys):
            return strings.to_list(), counts
        string_keys = StringKeys.hash_arrays(*strings, self._folder)
        string_keys.release_pages()
        return string_keys, counts
