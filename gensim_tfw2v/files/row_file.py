"""Rows of an array in an ``.npy`` file, read and written by blocks, without mapping the file."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.files.mapped import new_array
from gensim_tfw2v.row_blocks import row_blocks

#: Number of bytes that are copied at a time when many rows are set.
COPIED_BYTES = 1 << 24


class RowFile:
    """Array [n_rows, size], float32, in an open ``.npy`` file.

    Unlike pages of a mapped file, the rows that are read or written do not count as memory of this
    process. Threads may read and write concurrently.

    Parameters
    ----------
    path : Path
        Existing file.
    size : int, optional
        Number of columns D, if it is not that of the file's array: rows may be joined there.
    is_writable : bool
        Whether the file is opened for writing, too.

    Attributes
    ----------
    shape : (int, int)
    """

    def __init__(self, path: Path, size: int | None = None, is_writable: bool = True) -> None:
        self.path = path
        array = np.load(path, "r")
        if array.dtype != np.float32 or not array.flags.c_contiguous or array.ndim != 2:
            raise ValueError(
                f"{path}: expected rows of float32 in C order, got {array.dtype} {array.shape}"
            )
        size = size or array.shape[1]
        self.shape = array.size // size, size
        self._row_bytes = 4 * size
        self._offset = getattr(array, "offset", 0)  # an array without elements is not mapped
        access = os.O_RDWR if is_writable else os.O_RDONLY
        self._descriptor = os.open(path, access | getattr(os, "O_CLOEXEC", 0))
        self.close = weakref.finalize(self, os.close, self._descriptor)

    @classmethod
    def create(cls, path: Path, shape: tuple[int, int]) -> RowFile:
        """Create a file of zeros, and allocate its disk space; errors are those of `new_array`."""
        new_array(path, shape)
        return cls(path)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Read the rows of a slice without a step: [n, D]."""
        start, stop, _ = rows.indices(len(self))
        block = np.empty((max(0, stop - start), self.shape[1]), np.float32)
        memory = memoryview(block.reshape(-1).view(np.uint8).data)
        offset = self._offset + start * self._row_bytes
        n_read = 0
        while n_read < len(memory):
            n_bytes = os.preadv(self._descriptor, [memory[n_read:]], offset + n_read)
            if not n_bytes:
                raise OSError(f"{self.path} was truncated")
            n_read += n_bytes
        return block

    def __setitem__(self, rows: slice, values: np.ndarray) -> None:
        """Write the rows of a slice without a step."""
        start, stop, _ = rows.indices(len(self))
        n_block_rows = max(1, COPIED_BYTES // self._row_bytes)
        for first in range(start, stop, n_block_rows):
            last = min(stop, first + n_block_rows)
            block = np.ascontiguousarray(values[first - start : last - start], np.float32)
            memory = memoryview(block.reshape(-1).view(np.uint8).data)
            offset = self._offset + first * self._row_bytes
            n_written = 0
            while n_written < len(memory):
                n_written += os.pwrite(self._descriptor, memory[n_written:], offset + n_written)


def copy_rows(source: Any, target: Any) -> None:
    """Copy rows between arrays or files: anything that slices of rows select."""
    for block in row_blocks(source):
        target[block] = source[block]


def file_of(array: np.ndarray) -> Path | None:
    """Return the path of the ``.npy`` file that an array is mapped from; None if there is none.

    The array must be the whole array of the file, which must not have been replaced meanwhile.
    """
    whole: object = array
    while isinstance(whole, np.ndarray) and not _is_mapped(whole):
        whole = whole.base
    if not isinstance(whole, np.memmap) or whole.filename is None:
        return None
    is_whole = array.nbytes == whole.nbytes and array.ctypes.data == whole.ctypes.data
    path = Path(whole.filename)
    is_complete = is_whole and array.flags.c_contiguous and array.dtype == np.float32
    is_current = is_complete and path.suffix == ".npy" and path.exists()
    return path if is_current and not _is_replaced(path, array.ctypes.data) else None


def _is_replaced(path: Path, address: int) -> bool:
    """Return whether a new file has replaced the one that is mapped at an address.

    Linux lists the name that a mapped file has now: if it was replaced, its name has the suffix
    " (deleted)", or is a name that the file system has chosen (NFS). Systems without such a list
    return False.
    """
    try:
        lines = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    for line in lines:
        addresses, *_, current_name = line.split(maxsplit=5)
        first, last = (int(text, 16) for text in addresses.split("-"))
        if first <= address < last:
            return os.path.basename(current_name) != path.resolve().name
    return False


def _is_mapped(array: np.ndarray) -> bool:
    """Return whether an array is a mapping itself, not a view of one."""
    return isinstance(array, np.memmap) and not isinstance(array.base, np.ndarray)
