"""Arrays in files that are mapped into memory.

The operating system keeps only the used parts of a mapped array in memory. So a model may be larger
than memory.
"""

import errno
import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import DTypeLike

from gensim_tfw2v.row_blocks import RELEASED_BLOCKS, release_pages, row_blocks

#: Fraction of a machine's memory above which a model that a cluster trains is kept in files.
MEMORY_SHARE = 1 / 4


def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> np.memmap:
    """Create an array of zeros in a new ``.npy`` file, and allocate the file's disk space.

    If the disk is full, an OSError is raised, and the file is removed. Without the allocation, a
    signal would kill the process later, when it writes to a part of the array for which no space is
    left. If a file exists, it is replaced; processes that have mapped the old file keep its
    content.
    """
    path.unlink(missing_ok=True)
    try:
        array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
        with open(path, "r+b", buffering=0) as file:
            allocate(file, path.stat().st_size - array.nbytes, array.nbytes)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _space_error(error, path.name, shape, dtype, path.parent) from error
    return array


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a ``.npy`` file, like `np.save`, but raise the errors of `new_array`."""
    target = new_array(path, array.shape, array.dtype)
    if not is_mapped(array):
        target[:] = array
        return
    for index, block in enumerate(row_blocks(array), 1):  # pages of both files are released
        target[block] = array[block]
        if index % RELEASED_BLOCKS == 0:
            release_pages(target)


def temporary_array(shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> np.ndarray:
    """Create an array of zeros in a temporary file, and allocate the file's disk space.

    The file has no name, so that it is removed when the array and all views of it are freed, even
    if the process is killed. It is in the folder of `tempfile`, such as TMPDIR.

    Raises
    ------
    OSError
        If the disk is full.
    """
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not n_bytes:  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    folder = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            allocate(file, 0, n_bytes)
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        raise _space_error(error, "a temporary file", shape, dtype, folder) from error


def is_mapped(array: np.ndarray) -> bool:
    """Return whether the elements of an array are in a file that is mapped into memory."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def new_like(array: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an array of zeros: a `temporary_array` if `array` is mapped, otherwise in memory."""
    return temporary_array(shape, dtype) if is_mapped(array) else np.zeros(shape, dtype)


def take_rows(
    rows: np.ndarray, indices: np.ndarray | None = None, dtype: DTypeLike | None = None
) -> np.ndarray:
    """Return a copy of rows, or of those with some indices; see `new_like`."""
    n_rows = len(rows) if indices is None else len(indices)
    copy = new_like(rows, (n_rows, *rows.shape[1:]), dtype or rows.dtype)
    for block in row_blocks(copy):
        copy[block] = rows[block if indices is None else indices[block]]
    return copy


def _space_error(
    error: OSError, name: str, shape: tuple[int, ...], dtype: DTypeLike, folder: str | Path
) -> OSError:
    """Return the error for an array for whose file, `name`, a folder lacks space."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize / 1e6
    advice = f"{name} needs {size:,.1f} MB; free space there, or use a different folder"
    return OSError(error.errno, f"{error.strerror or error}: {advice}", str(folder))


def allocate(file: IO[bytes], offset: int, size: int) -> None:
    """Allocate disk space in a file for `size` bytes from `offset`, which read as zeros."""
    if not size:
        return
    try:
        os.posix_fallocate(file.fileno(), offset, size)
        return
    except AttributeError:  # macOS has no posix_fallocate
        pass
    except OSError as error:
        is_unsupported = error.errno in (errno.EINVAL, errno.EOPNOTSUPP)
        if not is_unsupported:
            raise
    # The system or the file system cannot allocate space, so write zeros instead.
    file.seek(offset)
    zeros = bytes(1 << 20)
    while size > 0:
        size -= file.write(zeros[:size])
