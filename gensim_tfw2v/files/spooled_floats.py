"""Floats that are appended to a sequence in memory, or in a temporary file."""

from __future__ import annotations

import tempfile
from array import array
from typing import IO

import numpy as np

#: Maximum number of floats in memory; more floats are written to the file.
MAX_FLOATS = 1 << 20


class SpooledFloats:
    """Growing sequence of floats of 4 bytes, used in a ``with`` statement.

    Parameters
    ----------
    is_mapped : bool
        Write the floats to a temporary file without a name, in the folder of `tempfile`, once they
        are many. `rows` then maps the file into memory.
    """

    def __init__(self, is_mapped: bool) -> None:
        self._is_mapped = is_mapped
        self._floats = array("f")
        self._file: IO[bytes] | None = None

    def extend(self, floats: list[float]) -> None:
        """Append floats; none are appended if an element of the list is not a number."""
        self._floats.fromlist(floats)
        self._write_many()

    def extend_bytes(self, content: bytes) -> None:
        """Append floats that are encoded in bytes."""
        self._floats.frombytes(content)
        self._write_many()

    def rows(self, n_rows: int) -> np.ndarray:
        """Return all floats as an array of `n_rows` rows, which can be written to."""
        if self._file is None:
            return np.frombuffer(self._floats, np.float32).reshape(n_rows, -1 if n_rows else 0)
        self._write(self._file)
        n_floats = self._file.tell() // 4
        return np.memmap(self._file, np.float32, "r+", shape=(n_rows, n_floats // n_rows))

    def _write_many(self) -> None:
        """Write the floats to the file if they are many."""
        if self._is_mapped and len(self._floats) > MAX_FLOATS:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)
            self._write(self._file)

    def _write(self, file: IO[bytes]) -> None:
        missing_bytes = memoryview(self._floats).cast("B")
        try:
            while len(missing_bytes):
                missing_bytes = missing_bytes[file.write(missing_bytes) :]
        except OSError as error:
            advice = "the vectors are written to a temporary file; free space there, or set TMPDIR"
            message = f"{error.strerror}: {advice}"
            raise OSError(error.errno, message, tempfile.gettempdir()) from error
        self._floats = array("f")

    def __enter__(self) -> SpooledFloats:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()  # the mapped rows stay valid
