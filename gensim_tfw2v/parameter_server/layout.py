"""Base of the layouts: a table in shards, one on each ps task, and access to its rows."""

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
    """A table [V, D] in shards.

    Parameters
    ----------
    rows, size : int
        Number of rows V, and of columns D.
    shapes : sequence of (int, int)
        Shape of each shard.
    shard_ops : ShardOps, optional
        Ops that read and change rows; by default TensorFlow's own.
    devices : sequence of str, optional
        Device of each shard; by default chosen by the current strategy scope.
    """

    def __init__(
        self,
        rows: int,
        size: int,
        shapes: Sequence[tuple[int, int]],
        shard_ops: ShardOps | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        self.rows = rows
        self.size = size
        self.shard_ops = shard_ops or TensorFlowShardOps()
        self.shards = []
        for shape, device in itertools.zip_longest(shapes, devices):
            with tf.device(device):
                # a function, so that each task allocates its own zeros
                zeros = partial(tf.raw_ops.Empty, shape=shape, dtype=tf.float32, init=True)
                self.shards.append(tf.Variable(zeros, trainable=False))

    def on_shards(self, run: Callable[..., Any], *parts: Iterable[Any]) -> list[Any]:
        """Call a function on each shard's device, with the shard and its element of each list.

        Lists may be longer than the number S of shards: element i belongs to shard i % S.
        """
        results = []
        for shard, *arguments in zip(itertools.cycle(self.shards), *parts, strict=False):
            with tf.device(shard.device):
                results.append(run(shard, *arguments))
        return results

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        """Yield chunks of rows: their shard, their indices in it, and their slices of the table."""
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
        """Read from each shard; raises TensorFlow's error if its ps is lost."""
        for shard in self.shards:
            self._read(shard, np.zeros(min(1, int(shard.shape[0])), np.int32))

    def close(self) -> None:
        """Free the resources of `shard_ops`. The shards are freed with this object."""
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


def pieces_of(rows: int) -> Iterator[range]:
    """Split the rows of a shard into ranges of at most `ROWS_AT_A_TIME`."""
    for start in range(0, rows, ROWS_AT_A_TIME):
        yield range(start, min(rows, start + ROWS_AT_A_TIME))
