"""Arrays in files with checksums, which reach the disk before they are used."""

import contextlib
import os
import zlib
from pathlib import Path

import numpy as np

from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.files.row_file import file_of

#: Bytes that are read from a file at a time.
_CHUNK = 1 << 20


def save_checksummed(folder: Path, name: str, array: np.ndarray, linked_folder: Path | None) -> int:
    """Save an array as NAME.npy, and return the checksum of the file.

    If the array is mapped from a file in `linked_folder`, and read-only, that file is linked
    instead of being copied.
    """
    path = folder / f"{name}.npy"
    source = None if array.flags.writeable or linked_folder is None else file_of(array)
    is_linked = False
    if source is not None and source.parent == linked_folder:
        with contextlib.suppress(OSError):  # a different file system
            os.link(source, path)
            is_linked = True
    if not is_linked:
        save_array(path, array)
    sync(path)
    return _crc(path)


def read_checksummed(folder: Path, name: str, crc: int) -> np.ndarray:
    """Map the array of NAME.npy; raise a ValueError if the file has a different checksum."""
    path = folder / f"{name}.npy"
    if _crc(path) != crc:
        raise ValueError(f"{path.name} has a wrong checksum")
    return np.load(path, "r", allow_pickle=False)


def _crc(path: Path) -> int:
    # The file is read, not mapped: a read error in mapped memory would kill the process.
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
