"""Base class of layouts: a table in shards, one on each ps task, and access to the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.shard_ops import ShardOps, TensorFlowShardOps

#: Number of rows per message when a whole table is copied to or from the ps tasks.
ROWS_AT_A_TIME = 1 << 14


class Layout:
    """Table [V, D] that is stored in shards.

    Parameters
    ----------
    n_rows, size : int
        Number of rows V, and of columns D.
    shapes : sequence of (int, int)
        Shape of each shard.
    shard_ops : ShardOps, optional
        Ops that read and change rows; by default TensorFlow's own.
    devices : sequence of str, optional
        Device of each shard. By default, the current strategy scope chooses the devices.
    """

    def __init__(
        self,
        n_rows: int,
        size: int,
        shapes: Sequence[tuple[int, int]],
        shard_ops: ShardOps | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        self.n_rows = n_rows
        self.size = size
        self.shard_ops = shard_ops or TensorFlowShardOps()
        self.shards = []
        for shape, device in itertools.zip_longest(shapes, devices):
            with tf.device(device):
                # The initial value is a function, so that each task allocates zeros itself.
                zeros = partial(tf.raw_ops.Empty, shape=shape, dtype=tf.float32, init=True)
                self.shards.append(tf.Variable(zeros, trainable=False))

    def on_shards(self, run: Callable[..., Any], *parts: Iterable[Any]) -> list[Any]:
        """Call a function on each shard's device, with the shard and its element of each list.

        Returns the results of all calls. The lists `parts` may be longer than the number S of
        shards: element i then belongs to shard i % S, and the function is called for each element.
        """
        results = []
        for shard, *arguments in zip(itertools.cycle(self.shards), *parts, strict=False):
            with tf.device(shard.device):
                results.append(run(shard, *arguments))
        return results

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        """Yield chunks of the table: a shard, indices of rows in it, and slices of the table.

        The slices, of rows and of columns, select the chunk from an array [V, D].
        """
        raise NotImplementedError

    def load(self, array: np.ndarray) -> None:
        """Set the rows to this array [V, D]."""
        for shard, rows, part in self._pieces():
            self.shard_ops.write(shard, rows, tf.constant(array[part], tf.float32))

    def export(self, array: np.ndarray) -> None:
        """Copy the rows into this array [V, D]."""
        for shard, rows, part in self._pieces():
            array[part] = self._read(shard, rows)

    def check(self) -> None:
        """Read a row from each shard. TensorFlow raises an error if a shard's ps task is lost."""
        for shard in self.shards:
            self._read(shard, np.zeros(min(1, int(shard.shape[0])), np.int32))

    def close(self) -> None:
        """Free the resources of `shard_ops`. The shards are freed when this object is."""
        for shard in self.shards:
            with tf.device(shard.device):
                self.shard_ops.free()

    def finite(self) -> bool:
        """Return whether every row is finite."""
        return all(
            bool(tf.reduce_all(tf.math.is_finite(self._read(shard, rows))))
            for shard, rows, _ in self._pieces()
        )

    def _read(self, shard: tf.Variable, rows: np.ndarray) -> tf.Tensor:
        with tf.device(shard.device):
            return self.shard_ops.read(shard, tf.constant(rows), tf.float32)


def pieces_of(n_rows: int) -> Iterator[range]:
    """Split the rows of a shard into ranges of at most `ROWS_AT_A_TIME`."""
    for start in range(0, n_rows, ROWS_AT_A_TIME):
        yield range(start, min(n_rows, start + ROWS_AT_A_TIME))
