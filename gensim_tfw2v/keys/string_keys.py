"""Strings as keys, in UTF-8 with their offsets and a hash table."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.files.safetensors import read_tensors, write_tensors
from gensim_tfw2v.keys.key_table import (
    KEYS_AT_A_TIME,
    STRINGS,
    check_size,
    new_mapped_array,
    new_table,
    slot_count,
)
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.row_blocks import release_pages

if TYPE_CHECKING:
    from typing_extensions import Self

#: Arrays of a file, with their types in the safetensors format.
TENSORS = {"offsets": "I64", "slots": "U32", "text": "U8"}

#: Metadata of a file. A change of the hash function in ``keys.cc`` needs a new version.
FORMAT = {"format": "tfw2v keys 1"}

#: Number of bytes of text that are copied at a time.
BYTES_AT_A_TIME = 1 << 24


class StringKeys(Keys):
    """Distinct strings, which may be empty and contain any characters, surrogates included.

    Made by `build`, `from_strings` or `open`. With a text of 10 bytes, a string takes about 26.

    Attributes
    ----------
    text : ndarray of uint8
        All strings in UTF-8, without separators. Surrogates are encoded by
        "surrogatepass".
    offsets : ndarray of int64
        Offset of each string in the text, and the size of the text, [V + 1].
    slots : ndarray of uint32
        Hash table.
    """

    def __init__(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], slots: NDArray[np.uint32]
    ) -> None:
        self.text = text
        self.offsets = offsets
        self.slots = slots
        self.table = new_table(STRINGS, len(offsets) - 1, text=text, offsets=offsets, slots=slots)

    @classmethod
    def build(
        cls,
        text: NDArray[np.uint8] | bytes,
        offsets: NDArray[np.int64],
        folder: Path | None = None,
    ) -> Self:
        """Build keys from their text and their offsets in it.

        `folder` is where the arrays lie in files without names; see `new_mapped_array`.

        Raises
        ------
        ValueError
            If two strings are equal, if there are too many, or if the offsets don't fit the text.
        """
        text = np.frombuffer(text, np.uint8) if isinstance(text, bytes) else text
        _check_offsets(offsets, len(text))
        check_size(len(offsets) - 1)
        new_text = new_mapped_array(len(text), np.uint8, folder)
        for start in range(0, len(text), BYTES_AT_A_TIME):
            new_text[start : start + BYTES_AT_A_TIME] = text[start : start + BYTES_AT_A_TIME]
        new_offsets = new_mapped_array(len(offsets), np.int64, folder)
        new_offsets[:] = offsets
        return cls.hash_arrays(new_text, new_offsets, folder)

    @classmethod
    def hash_arrays(
        cls, text: NDArray[np.uint8], offsets: NDArray[np.int64], folder: Path | None
    ) -> Self:
        """Make keys of arrays that are already in files, and fill their hash table."""
        n_slots = slot_count(len(offsets) - 1)
        keys = cls(text, offsets, new_mapped_array(n_slots, np.uint32, folder))
        duplicate = compiled_library.load().tfw2v_keys_fill(ctypes.byref(keys.table))
        if duplicate >= 0:
            raise ValueError(f"key {duplicate} is {quoted(keys[duplicate])}, as an earlier one")
        return keys

    @classmethod
    def from_strings(cls, strings: Iterable[str], folder: Path | None = None) -> Self:
        """Build keys from strings. Raises the errors of `build`."""
        texts = []
        sizes = [np.zeros(1, np.int64)]
        iterator = iter(strings)
        while block := list(islice(iterator, KEYS_AT_A_TIME)):
            encoded = [string.encode("utf-8", "surrogatepass") for string in block]
            texts.append(b"".join(encoded))
            sizes.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        return cls.build(b"".join(texts), np.cumsum(np.concatenate(sizes)), folder)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file of `save`, which is mapped into memory.

        Raises a ValueError if it is damaged.
        """

        def check_metadata(metadata: Any) -> None:
            if metadata != FORMAT:
                raise ValueError(f"has metadata {quoted(metadata)}, expected {quoted(FORMAT)}")

        arrays = read_tensors(path, TENSORS, check_metadata, is_mapped=True)
        if missing := TENSORS.keys() - arrays.keys():
            raise ValueError(f"lacks {', '.join(sorted(missing))}")
        _check_offsets(arrays["offsets"], len(arrays["text"]))
        n_keys = len(arrays["offsets"]) - 1
        _check_slots(arrays["slots"], n_keys)
        return cls(arrays["text"], arrays["offsets"], arrays["slots"])

    def save(self, path: Path) -> None:
        """Write the keys to a new file, in the safetensors format."""
        arrays: dict[str, NDArray] = {
            "offsets": self.offsets,
            "slots": self.slots,
            "text": self.text,
        }
        tensors = {name: (TENSORS[name], [array]) for name, array in arrays.items()}
        write_tensors(path, tensors, FORMAT)

    def find(self, key: object) -> int:
        """Return the index of the key that equals an object, as in a dict; -1 if there is none.

        Raises a TypeError if the object has no hash.
        """
        return self._find_string(key) if type(key) is str else super().find(key)

    def _find_string(self, string: str) -> int:
        text = string.encode("utf-8", "surrogatepass")
        return int(
            compiled_library.load().tfw2v_keys_find_string(
                ctypes.byref(self.table), text, len(text)
            )
        )

    def _find_candidates(self, key: Any, key_hash: int) -> Iterable[int]:
        if isinstance(key, str):
            index = self._find_string(str.__str__(key))
            candidates = [index] if index >= 0 else []
        else:
            candidates = []
        if _may_equal_other_strings(type(key)):
            return chain(candidates, range(len(self)))
        return candidates

    def find_all(self, keys: Iterable[Any]) -> NDArray[np.int32]:
        """Return the index of each of some keys, -1 for those that are missing."""
        if not isinstance(keys, StringKeys):
            return super().find_all(keys)
        return self._find_strings(keys.text, keys.offsets, gap=0)

    def find_terminated(self, text: bytes, n_strings: int) -> NDArray[np.int32] | None:
        """Return the index of each string of a text, in which a zero byte follows each string.

        The index of a missing string is -1. Returns None if the text does not consist of so many
        strings, because one contains a zero byte.
        """
        characters = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(characters == 0)
        if len(ends) != n_strings:
            return None
        offsets = np.zeros(n_strings + 1, np.int64)
        offsets[1:] = ends + 1
        return self._find_strings(characters, offsets, gap=1)

    def _find_strings(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], gap: int
    ) -> NDArray[np.int32]:
        """Return the index of each string; string i ends `gap` bytes before offset i + 1."""
        indices = np.empty(len(offsets) - 1, np.int32)
        compiled_library.load().tfw2v_keys_find_strings(
            ctypes.byref(self.table),
            text.ctypes.data,
            offsets.ctypes.data,
            gap,
            len(indices),
            indices.ctypes.data,
        )
        return indices

    def select(self, indices: NDArray, folder: Path | None = None) -> Self:
        """Return the keys with these distinct indices, in their order."""
        indices = np.ascontiguousarray(indices, np.int64)
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(self):
            raise IndexError(f"an index is out of range for {len(self)} keys")
        offsets = new_mapped_array(len(indices) + 1, np.int64, folder)
        for start in range(0, len(indices), KEYS_AT_A_TIME):
            block = indices[start : start + KEYS_AT_A_TIME]
            sizes = self.offsets[block + 1] - self.offsets[block]
            offsets[start + 1 : start + 1 + len(block)] = offsets[start] + np.cumsum(sizes)
        text = new_mapped_array(int(offsets[-1]), np.uint8, folder)
        compiled_library.load().tfw2v_keys_copy_strings(
            ctypes.byref(self.table),
            indices.ctypes.data,
            len(indices),
            offsets.ctypes.data,
            text.ctypes.data,
        )
        return type(self).hash_arrays(text, offsets, folder)

    def concatenate(self, other: StringKeys, folder: Path | None = None) -> Self:
        """Return these keys and different ones behind them."""
        n_keys = len(self)
        text = new_mapped_array(len(self.text) + len(other.text), np.uint8, folder)
        text[: len(self.text)] = self.text
        text[len(self.text) :] = other.text
        offsets = new_mapped_array(n_keys + len(other) + 1, np.int64, folder)
        offsets[:n_keys] = self.offsets[:-1]
        np.add(other.offsets, len(self.text), out=offsets[n_keys:])
        return self.hash_arrays(text, offsets, folder)

    def release_pages(self) -> None:
        """Take the keys out of this process's memory until they are used."""
        for array in (self.text, self.offsets, self.slots):
            release_pages(array)

    def equals(self, other: Keys) -> bool:
        """Return whether two objects have the same keys in the same order."""
        if not isinstance(other, StringKeys):
            return len(self) == len(other) == 0
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.text, other.text)

    def contain(self, byte: bytes) -> NDArray[np.bool_]:
        """Return, for each string, whether its UTF-8 contains a byte."""
        contain = np.zeros(len(self), bool)
        for start in range(0, len(self), KEYS_AT_A_TIME):
            offsets = self.offsets[start : start + KEYS_AT_A_TIME + 1]
            positions = np.flatnonzero(self.text[offsets[0] : offsets[-1]] == ord(byte))
            contain[start + np.searchsorted(offsets, positions + offsets[0], "right") - 1] = True
        return contain

    def joined_blocks(self, separator: bytes) -> Iterator[bytes]:
        """Yield the text of all keys in blocks, with a separator of one byte after each key."""
        for start in range(0, len(self), KEYS_AT_A_TIME):
            offsets = self.offsets[start : start + KEYS_AT_A_TIME + 1]
            text = self.text[offsets[0] : offsets[-1]]
            yield np.insert(text, offsets[1:] - offsets[0], ord(separator)).tobytes()


def _check_offsets(offsets: NDArray[np.int64], size: int) -> None:
    """Raise a ValueError if offsets of strings don't fit a text of this size."""
    if not len(offsets) or offsets[0] or offsets[-1] != size or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"the offsets of strings don't rise from 0 to {size:,}, the text's size")


def _check_slots(slots: NDArray[np.uint32], n_keys: int) -> None:
    """Raise a ValueError if a hash table contains an index that is out of range, or is full."""
    index_bits = np.uint32((1 << n_keys.bit_length()) - 1)
    if len(slots) != slot_count(n_keys) or ((slots & index_bits) > n_keys).any() or slots.all():
        raise ValueError(f"its hash table is not one of {n_keys:,} keys")


#: Methods __eq__ and __hash__ of objects that equal no string, or only one of the same characters.
_KNOWN_METHODS: set[Any] = {
    (kind.__eq__, kind.__hash__)
    for kind in (str, object, int, float, complex, bool, bytes, tuple, frozenset, type(None), range)
}


def _may_equal_other_strings(kind: type) -> bool:
    """Return whether instances may equal strings that don't have their characters."""
    methods = (kind.__eq__, kind.__hash__)
    return methods not in _KNOWN_METHODS and not issubclass(kind, np.generic)
