"""A model's arrays in files that are mapped into memory: models larger than memory.

The operating system keeps in memory what is in use of them, as it does with any file. While a
cluster trains, only pieces of them are read and written by the program that it trains for.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Rows that are looked at or made at a time.
ROWS_AT_A_TIME = 1 << 14


def map_weights(model: Any, folder: Path) -> None:
    """Give a model new weights in files of a folder: the same as gensim's ``init_weights``.

    Files of that name that are there are replaced.

    Parameters
    ----------
    model : TFWord2Vec
    folder : Path
        Made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shape = len(model.wv.index_to_key), model.wv.vector_size
    vectors = _new(folder / "vectors.npy", shape)
    draws = np.random.default_rng(seed=model.seed)
    for rows in pieces(vectors):
        rows[:] = draws.random(rows.shape, dtype=np.float32)
        rows *= 2.0
        rows -= 1.0
        rows /= model.wv.vector_size
    model.wv.vectors = vectors
    model.wv.resize_vectors(seed=model.seed)  # which is done; and what goes with it
    if model.hs:
        model.syn1 = _new(folder / "syn1.npy", shape)
    if model.negative:
        model.syn1neg = _new(folder / "syn1neg.npy", shape)


def pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Views of an array's rows, piece by piece."""
    for first in range(0, len(array), ROWS_AT_A_TIME):
        yield array[first : first + ROWS_AT_A_TIME]


def all_finite(array: np.ndarray) -> bool:
    """Whether all numbers are finite."""
    return all(bool(np.isfinite(rows).all()) for rows in pieces(array))


def _new(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Zeros in a file, which takes room on the disk only where it is written."""
    path.unlink(missing_ok=True)  # another model may have mapped it
    array: np.ndarray = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    return array
