"""Base of the layouts: a table in shards, one on each ps task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.layouts.access import Access, GraphAccess

#: Rows that travel between coordinator and tasks at a time.
ROWS_AT_A_TIME = 1 << 14


class Layout:
    """A table [V, D] in shards.

    Parameters
    ----------
    rows, size : int
        V and D.
    shapes : sequence of (int, int)
        Of the shards.
    variable : callable
        Makes each shard's variable; ``tf.Variable``, which a strategy's scope places.
    access : Access, optional
        How rows are read and changed.
    """

    def __init__(
        self,
        rows: int,
        size: int,
        shapes: Sequence[tuple[int, int]],
        variable: Callable[..., tf.Variable] | None,
        access: Access | None = None,
    ) -> None:
        variable = variable or tf.Variable
        self.rows, self.size = rows, size
        self._access = access or GraphAccess()
        # a function, so that every task makes its own zeros
        self.shards = [
            variable(partial(self._access.zeros, shape), trainable=False) for shape in shapes
        ]

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        """Rows of the shards, piece by piece, and which part of the table they are."""
        raise NotImplementedError

    def load(self, array: np.ndarray) -> None:
        """Go on from these rows [V, D]."""
        for shard, rows, part in self._pieces():
            self._access.write(shard, rows, tf.constant(array[part], tf.float32))

    def export(self, array: np.ndarray) -> None:
        """Copy the rows into this array [V, D]."""
        for shard, rows, part in self._pieces():
            array[part] = self._read(shard, rows)

    def check(self) -> None:
        """Read from each shard; raises TensorFlow's error if one is gone."""
        for shard in self.shards:
            self._read(shard, np.zeros(min(1, int(shard.shape[0])), np.int32))

    def close(self) -> None:
        """Free what is kept beside the shards, which end with this object."""
        for shard in self.shards:
            with tf.device(shard.device):
                self._access.free()

    def finite(self) -> bool:
        """Return whether every row is finite."""
        return all(
            bool(tf.reduce_all(tf.math.is_finite(self._read(shard, rows))))
            for shard, rows, _ in self._pieces()
        )

    def _read(self, shard: tf.Variable, rows: np.ndarray) -> tf.Tensor:
        with tf.device(shard.device):
            return self._access.read(shard, tf.constant(rows), tf.float32)


def pieces_of(rows: int) -> Iterator[range]:
    """Rows of a shard that has so many, piece by piece."""
    for start in range(0, rows, ROWS_AT_A_TIME):
        yield range(start, min(rows, start + ROWS_AT_A_TIME))
