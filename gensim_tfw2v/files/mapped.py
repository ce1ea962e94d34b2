"""Arrays in files that are mapped into memory.

The operating system keeps only the used parts of a mapped array in memory. So a model may be larger
than memory.
"""

import errno
import os
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import DTypeLike


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
            _allocate(file, path.stat().st_size - array.nbytes, array.nbytes)
    except OSError as error:
        path.unlink(missing_ok=True)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize / 1e6
        advice = f"{path.name} needs {size:,.1f} MB; free space there, or use a different folder"
        message = f"{error.strerror or error}: {advice}"
        raise OSError(error.errno, message, str(path.parent)) from error
    return array


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a ``.npy`` file, like `np.save`, but raise the errors of `new_array`."""
    new_array(path, array.shape, array.dtype)[:] = array


def _allocate(file: IO[bytes], offset: int, size: int) -> None:
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
