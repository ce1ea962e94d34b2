"""Rows of floats in memory with room for the padding that the kernels need.

Rows are either *together*, which is C order without padding, as in gensim's arrays, or *apart*,
each followed by its padding. Kernels train rows that are apart. Moving them apart or together is in
place, so that a table is in memory only once.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import numpy as np

FLOAT32 = "float32"
LINE = 64  # bytes of a cache line

#: Rows of the tables that kernels train are padded to a multiple of this number of floats.
STRIDE = 16

#: Number of floats that are moved at a time. So many fit into a core's cache.
FLOATS_AT_A_TIME = 1 << 17

#: Seconds between two checks whether all threads have finished their units.
LOOK_SECONDS = 0.001


def stride(size: int) -> int:
    """Return the number of floats of a row of size D, padded as the kernels need it."""
    return -(-size // STRIDE) * STRIDE


def new_rows(n_rows: int, size: int) -> np.ndarray:
    """Return an array of zeros [n_rows, size], float32 in C order, with room for padding.

    It is the array of a new `RowMemory`, which lives as long as the array and views of it.
    """
    return RowMemory(n_rows, size).array


def all_finite(array: np.ndarray) -> bool:
    """Return whether all elements are finite, without allocating an array of bools."""
    array = np.asarray(array)  # min() of np.matrix has no `initial`
    return bool(np.isfinite([array.min(initial=0), array.max(initial=0)]).all())


class RowMemory:
    """Memory of n rows of D floats, with room for their padding, all zeros at first.

    While the rows are together, `array` is in C order. While they are apart, row i starts at float
    i * `stride` of the memory, and zeros follow it up to the next row. Rows that are apart are
    aligned to cache lines, so that no SIMD vector spans two lines.

    Moving the rows invalidates views of the memory until they are moved back. A move must not be
    interrupted, because only some of the rows would be moved: see `defer_interrupts`.
    """

    def __init__(self, n_rows: int, size: int, is_apart: bool = False) -> None:
        self.shape = n_rows, size
        self.stride = stride(size)
        self.is_apart = is_apart
        self._trainers: set[int] = set()  # ids of the threads that train the rows
        self._bytes = np.zeros(4 * n_rows * self.stride + LINE, np.uint8)
        self.address = self._bytes.ctypes.data + -self._bytes.ctypes.data % LINE
        # np.asarray(self) returns the floats in an array whose `base` is this object
        self.__array_interface__ = {
            "shape": (n_rows * self.stride,),
            "typestr": np.dtype(FLOAT32).str,
            "data": (self.address, False),  # writable
            "version": 3,
        }

    @classmethod
    def find(cls, rows: np.ndarray | None) -> RowMemory | None:
        """Return the memory that contains an array, itself or as a view; None if there is none."""
        base: object = rows
        while isinstance(base, np.ndarray):
            base = base.base
        return base if isinstance(base, cls) else None

    @classmethod
    def of(cls, rows: np.ndarray | None) -> RowMemory | None:
        """Return the memory if `rows` is its whole `array`, and can be written; otherwise None."""
        memory = cls.find(rows)
        if memory is None or rows is None or not rows.flags.writeable:
            return None
        array = memory.array
        layouts = [(x.ctypes.data, x.shape, x.strides, x.dtype) for x in (rows, array)]
        return memory if layouts[0] == layouts[1] else None

    def index(self, rows: np.ndarray) -> int:
        """Return the index in this memory of the first row of `rows`; all rows must be together."""
        return (rows.ctypes.data - self.address) // (4 * self.shape[1])

    @property
    def array(self) -> np.ndarray:
        """The rows as they are now, [n, D]: in C order, or apart."""
        return self._rows_apart if self.is_apart else self._rows_together

    @property
    def _rows_together(self) -> np.ndarray:
        n_rows, size = self.shape
        return np.asarray(self)[: n_rows * size].reshape(self.shape)

    @property
    def _rows_apart(self) -> np.ndarray:
        n_rows, size = self.shape
        return np.asarray(self).reshape(n_rows, self.stride)[:, :size]

    def move_apart(self) -> None:
        """Move the rows apart, the last ones first, and set the padding to zero."""
        if self.is_apart:
            return
        n_rows, size = self.shape
        together = self._rows_together
        memory = np.asarray(self).reshape(n_rows, self.stride)
        n_rows_at_a_time = self._rows_at_a_time
        for end in range(n_rows, 0, -n_rows_at_a_time) if size < self.stride else ():
            rows = slice(max(0, end - n_rows_at_a_time), end)
            memory[rows, :size] = together[rows]  # NumPy copies them first if they overlap
            memory[rows, size:] = 0
        self.is_apart = True

    def move_together(self) -> None:
        """Move the rows together, after the threads that train them have finished their units."""
        if not self.is_apart:
            return
        n_rows, size = self.shape
        apart = self._rows_apart
        together = self._rows_together
        self.is_apart = False  # from now on, no thread starts to train
        while self._trainers - {threading.get_ident()}:
            time.sleep(LOOK_SECONDS)
        n_rows_at_a_time = self._rows_at_a_time
        for start in range(0, n_rows, n_rows_at_a_time) if size < self.stride else ():
            rows = slice(start, start + n_rows_at_a_time)
            together[rows] = apart[rows]

    @property
    def _rows_at_a_time(self) -> int:
        return max(1, FLOATS_AT_A_TIME // self.stride)

    @contextlib.contextmanager
    def training(self) -> Iterator[None]:
        """Keep the rows apart while this thread trains them.

        Raises a RuntimeError if they are together.
        """
        thread = threading.get_ident()
        # added before `is_apart` is read, so that `move_together` waits for this thread
        self._trainers.add(thread)
        try:
            if not self.is_apart:
                raise RuntimeError("rows that are together cannot be trained: call move_apart()")
            yield
        finally:
            self._trainers.discard(thread)
