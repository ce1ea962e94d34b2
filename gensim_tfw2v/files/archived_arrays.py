"""Arrays of ``.npz`` archives, without reading a whole array into memory.

An array in an archive cannot be mapped, because its elements may be compressed, or at an unaligned
address.
"""

import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from gensim_tfw2v.files.mapped import temporary_array
from gensim_tfw2v.row_blocks import row_blocks

#: Functions of NumPy that read the header of a ``.npy`` file, by the version of the format.
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_archived(path: Path, name: str) -> np.ndarray:
    """Copy an array of an archive to a temporary file, and map that.

    An array that is not of numbers or strings in C order, or has no dimension, is read into memory.

    Raises
    ------
    ValueError, zipfile.BadZipFile
        If the archive is damaged.
    """
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        read_header = _HEADER_READERS.get(np.lib.format.read_magic(file))
        if read_header is not None:
            shape, is_fortran_order, dtype = read_header(file)
            if shape and dtype.kind in "biufcU" and not is_fortran_order:
                return _copy_to_file(file, shape, dtype)
    with np.load(path) as arrays:
        return np.asarray(arrays[name])


def _copy_to_file(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Copy the elements of an array from an open file of an archive to a temporary file."""
    rows = temporary_array(shape, dtype)
    for block in row_blocks(rows):
        missing_bytes = rows[block].reshape(-1).view(np.uint8)
        while len(missing_bytes):
            content = file.read(len(missing_bytes))
            if not content:
                raise ValueError("an array is truncated")
            missing_bytes[: len(content)] = np.frombuffer(content, np.uint8)
            missing_bytes = missing_bytes[len(content) :]
    if file.read(1):  # at the end of the file, its checksum is compared
        raise ValueError("an array is followed by further bytes")
    return rows
