"""Array in a raw file, which other processes read or map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.files.mapped import allocate


@dataclass(frozen=True)
class ArrayFile:
    """File with the elements of an array, and the array's type and shape.

    It is pickled as a path, without the elements.
    """

    path: Path
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def save(cls, path: Path, array: np.ndarray) -> ArrayFile:
        """Write an array to a new file; raises an OSError if the disk is full."""
        with path.open("wb") as file:
            allocate(file, 0, array.nbytes)
            file.seek(0)
            array.tofile(file)
        return cls(path, array.dtype.name, array.shape)

    def read(self) -> np.ndarray:
        """Read the array into memory."""
        return np.fromfile(self.path, self.dtype).reshape(self.shape)


def array_of(source: Any) -> np.ndarray:
    """Return an array, or the array of an `ArrayFile`."""
    return source.read() if isinstance(source, ArrayFile) else source
