"""Arrays in temporary files that grow."""

import tempfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import DTypeLike

from gensim_tfw2v.files.mapped import allocate


class GrowingArray:
    """Array with room for further elements, in a temporary file.

    Growing it copies nothing. The file has no name in `folder`, and vanishes with the array.

    Attributes
    ----------
    array : ndarray
        The elements, and room for more, which is zeros. Each call of `reserve` may replace it.
    """

    def __init__(self, dtype: DTypeLike, folder: Path | None) -> None:
        self.array = np.zeros(0, dtype)
        self._folder = folder
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, buffering=0)

    def reserve(self, n_elements: int) -> None:
        """Make room for a number of elements in total.

        Raises an OSError if no disk space can be allocated.
        """
        n_old = len(self.array)
        if n_elements <= n_old:
            return
        n_elements = max(n_elements, n_old * 3 // 2)
        size = self.array.itemsize
        try:
            allocate(self._file, n_old * size, (n_elements - n_old) * size)
        except OSError as error:
            advice = f"an array needs {n_elements * size / 1e6:,.1f} MB; free space there, or use"
            message = f"{error.strerror or error}: {advice} a different folder"
            raise OSError(error.errno, message, str(self._folder)) from error
        self._map(n_elements)

    def _map(self, n_elements: int) -> None:
        mapped = np.memmap(self._file, self.array.dtype, "r+", shape=n_elements)
        self.array = np.asarray(mapped)

    def finish(self, n_elements: int) -> np.ndarray:
        """Return the first elements; the array can't grow any more."""
        if n_elements:  # an empty file can't be mapped
            self._file.truncate(n_elements * self.array.itemsize)
            self._map(n_elements)
        self._file.close()
        return self.array[:n_elements]
