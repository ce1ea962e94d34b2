"""The compiled table of a vocabulary's keys, and memory for it.

The source is ``kernel/native/src/keys/keys.cc``.
"""

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gensim_tfw2v.files.mapped import new_array
from gensim_tfw2v.files.temporary import TemporaryFolder

STRINGS, RANGE, PERMUTATION, INTEGERS = range(4)

#: Maximum number of keys: a slot of the hash table contains 1 + an index in at most 31 bits.
MAX_KEYS = 2**31 - 2

#: Arrays of fewer bytes are not worth a file.
MIN_FILE_BYTES = 1 << 20

#: Number of keys that are read, compared or converted at a time.
KEYS_AT_A_TIME = 1 << 14


class KeyTable(ctypes.Structure):
    """The struct ``KeyTable`` of ``keys/keys.h``, with its fields in the same order."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("kind", "n_keys", "n_slots")),
        *((name, ctypes.c_void_p) for name in ("slots", "offsets", "text")),
        *((name, ctypes.c_void_p) for name in ("numbers", "inverse", "values")),
    )


def new_table(kind: int, n_keys: int, **arrays: NDArray) -> KeyTable:
    """Return a table over arrays, which must live as long as the table."""
    n_slots = len(arrays["slots"]) if "slots" in arrays else 0
    addresses = {name: array.ctypes.data for name, array in arrays.items()}
    return KeyTable(kind=kind, n_keys=n_keys, n_slots=n_slots, **addresses)


def check_size(n_keys: int) -> None:
    """Raise a ValueError if a table cannot have so many keys."""
    if n_keys > MAX_KEYS:
        raise ValueError(
            f"a vocabulary has {n_keys:,} words, and can have at most {MAX_KEYS:,}: raise min_count"
        )


def slot_count(n_keys: int) -> int:
    """Return the number of slots in the hash table of some keys: about half of them are empty."""
    return 2 * n_keys + 1


def new_mapped_array(size: int, dtype: DTypeLike, folder: Path | None) -> NDArray:
    """Return an array of zeros, which lies in a temporary file unless it is small.

    The system can write the array's pages to the file and use their memory, and processes that are
    forked share them. The file has no name in `folder` any more, so it vanishes with the array. By
    default, the folder is that of `tempfile`.
    """
    if size * np.dtype(dtype).itemsize < MIN_FILE_BYTES:
        return np.zeros(size, dtype)
    with TemporaryFolder("keys", folder) as temporary_folder:
        return np.asarray(new_array(temporary_folder / "keys.npy", (size,), dtype))
