"""Blocks of consecutive rows, by which large arrays are read.

An array may be mapped from a file that is larger than memory. Operations on blocks need memory for
one block only, and read the file once.
"""

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Approximate size of a block in bytes, which fits into a core's cache.
BLOCK_BYTES = 1 << 21

#: Number of blocks after which the pages of a mapped array are released.
RELEASED_BLOCKS = 32


def row_blocks(rows: np.ndarray, n_rows: int | None = None) -> Iterator[slice]:
    """Yield blocks that together have `n_rows` rows, by default all rows of an array, as slices.

    The array must have at least one dimension. Without rows, there is one empty block. If the array
    is mapped from a file, its pages do not stay in this process's memory.
    """
    n_rows = len(rows) if n_rows is None else n_rows
    block_size = max(1, BLOCK_BYTES // max(1, rows[:1].nbytes))
    for index, start in enumerate(range(0, max(1, n_rows), block_size), 1):
        yield slice(start, min(n_rows, start + block_size))
        if index % RELEASED_BLOCKS == 0:
            release_pages(rows)


def release_pages(array: np.ndarray) -> None:
    """Take the pages of a mapped array out of this process's memory; the file keeps them.

    The system reads a page again when it is used. Does nothing for other arrays, and for private
    mappings, whose changes would be lost.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        mapped = getattr(owner, "_mmap", None)
        if mapped is not None:
            if getattr(owner, "mode", "c") != "c" and hasattr(mapped, "madvise"):  # not on Windows
                mapped.madvise(mmap.MADV_DONTNEED)
            return
        owner = owner.base


def find_nonfinite_rows(rows: np.ndarray) -> np.ndarray:
    """Return the indices of the rows, [V, D], with an element that is NaN or infinite."""
    rows = np.asarray(rows)
    indices = [np.zeros(0, np.int64)]
    for block in row_blocks(rows):
        part = rows[block]
        extremes = part.min(initial=0), part.max(initial=0)  # NaN if any element is NaN
        if not np.isfinite(extremes).all():
            indices.append(block.start + np.flatnonzero(~np.isfinite(part).all(axis=1)))
    return np.concatenate(indices)
