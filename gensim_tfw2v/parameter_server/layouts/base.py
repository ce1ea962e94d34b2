"""What layouts have in common: a table in shards, one on each ps task."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from gensim_tfw2v._tensorflow import tf

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
    """

    def __init__(
        self,
        rows: int,
        size: int,
        shapes: Sequence[tuple[int, int]],
        variable: Callable[..., tf.Variable] | None,
    ) -> None:
        variable = variable or tf.Variable
        self.rows, self.size = rows, size
        self._mutex = f"tfw2v-push-{uuid.uuid4().hex}"
        # a function, so that every task makes its own zeros
        self.shards = [variable(partial(tf.zeros, shape), trainable=False) for shape in shapes]

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        """Rows of the shards, piece by piece, and which part of the table they are."""
        raise NotImplementedError

    def load(self, array: np.ndarray) -> None:
        """Go on from these rows [V, D]."""
        for shard, rows, part in self._pieces():
            shard.scatter_update(tf.IndexedSlices(np.asarray(array[part], np.float32), rows))

    def export(self, array: np.ndarray) -> None:
        """Copy the rows into this array [V, D]."""
        for shard, rows, part in self._pieces():
            array[part] = shard.sparse_read(rows)

    def check(self) -> None:
        """Read from each shard; raises TensorFlow's error if one is gone."""
        for shard in self.shards:
            shard.sparse_read(tf.zeros([min(1, int(shard.shape[0]))], tf.int32))

    def finite(self) -> bool:
        """Whether every row is finite."""
        return all(
            bool(tf.reduce_all(tf.math.is_finite(shard.sparse_read(rows))))
            for shard, rows, _ in self._pieces()
        )

    def _add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to different rows of a shard, one push at a time.

        Reading, adding and writing takes half the time of ``ResourceScatterAdd``; a mutex of the
        ps keeps other pushes from what was read and is not written yet. It is taken when the
        changes have arrived, so no worker that ends can keep it.
        """
        with tf.control_dependencies([changes]):
            mutex = tf.raw_ops.MutexV2(shared_name=self._mutex, container="")
            lock = tf.raw_ops.MutexLock(mutex=mutex)
        with tf.control_dependencies([lock]):
            changes += shard.sparse_read(rows)
            written = tf.raw_ops.ResourceScatterUpdate(
                resource=shard.handle, indices=rows, updates=changes
            )
        with tf.control_dependencies([written]):
            return tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)


def pieces_of(rows: int) -> Iterator[range]:
    """Rows of a shard that has so many, piece by piece."""
    for start in range(0, rows, ROWS_AT_A_TIME):
        yield range(start, min(rows, start + ROWS_AT_A_TIME))
