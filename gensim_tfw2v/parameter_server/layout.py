"""Base of the layouts: a table in shards, one on each ps task; reading and changing rows there."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import load_ops
from gensim_tfw2v.parameter_server.wire import columns


class GraphAccess:
    """TensorFlow's own ops, wherever a shard is."""

    def __init__(self) -> None:
        self._mutex = f"tfw2v-push-{uuid.uuid4().hex}"

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Rows, [n, D]."""
        return tf.cast(shard.sparse_read(rows), dtype)

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set rows, [n, D]."""
        shard.scatter_update(tf.IndexedSlices(values, rows))

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to different rows, one push at a time.

        Reading, adding and writing takes half the time of ``ResourceScatterAdd``; a mutex of the
        ps keeps other pushes from what was read and is not written yet. It is taken when the
        changes have arrived, so no worker that ends can keep it.
        """
        with tf.control_dependencies([changes]):
            lock = tf.raw_ops.MutexLock(mutex=self._handle())
        with tf.control_dependencies([lock]):
            changes = tf.cast(changes, tf.float32) + shard.sparse_read(rows)
            written = tf.raw_ops.ResourceScatterUpdate(
                resource=shard.handle, indices=rows, updates=changes
            )
        with tf.control_dependencies([written]):
            return tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)

    def free(self) -> None:
        """Free the mutex of the device that is current, which has a thread."""
        tf.raw_ops.DestroyResourceOp(resource=self._handle())

    def _handle(self) -> tf.Tensor:
        return tf.raw_ops.MutexV2(shared_name=self._mutex, container="")


class NativeAccess:
    """Compiled ops, on processors; each goes through the rows once.

    They work in the shard's memory. TensorFlow's own ops on single rows must not touch the shard:
    after one of them, reading it gives a copy.
    """

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Rows, [n, D]."""
        read = load_ops().tfw2v_fetch(_whole(shard), rows, shard.shape[1], dtype=dtype)
        return tf.ensure_shape(read, [None, columns(shard.shape[1], dtype)])

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set rows, [n, D]."""
        with tf.device(shard.device):
            load_ops().tfw2v_scatter(_whole(shard), rows, values)

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to rows, one push at a time."""
        changes = tf.ensure_shape(changes, [None, columns(shard.shape[1], changes.dtype)])
        return load_ops().tfw2v_add(_whole(shard), rows, changes)

    def free(self) -> None:
        """Free nothing: all is in the shard."""


Access = GraphAccess | NativeAccess


def _whole(shard: tf.Variable) -> tf.Tensor:
    """The memory of a shard."""
    return tf.raw_ops.ReadVariableOp(resource=shard.handle, dtype=tf.float32)


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
    access : Access, optional
        How rows are read and changed.
    devices : sequence of str, optional
        Of the shards; by default, where a strategy's scope places them.
    """

    def __init__(
        self,
        rows: int,
        size: int,
        shapes: Sequence[tuple[int, int]],
        access: Access | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        self.rows = rows
        self.size = size
        self.access = access or GraphAccess()
        self.shards = []
        for shape, device in itertools.zip_longest(shapes, devices):
            with tf.device(device):
                # a function, so that every task makes its own zeros, in memory of their own
                zeros = partial(tf.raw_ops.Empty, shape=shape, dtype=tf.float32, init=True)
                self.shards.append(tf.Variable(zeros, trainable=False))

    def on_shards(self, run: Callable[..., Any], *parts: Iterable[Any]) -> list[Any]:
        """Call a function on each shard's device, with the shard and its item of each list.

        Longer lists go on with the first shard again.
        """
        done = []
        for shard, *of_shard in zip(itertools.cycle(self.shards), *parts, strict=False):
            with tf.device(shard.device):
                done.append(run(shard, *of_shard))
        return done

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        """Rows of the shards, piece by piece, and which part of the table they are."""
        raise NotImplementedError

    def load(self, array: np.ndarray) -> None:
        """Go on from these rows [V, D]."""
        for shard, rows, part in self._pieces():
            self.access.write(shard, rows, tf.constant(array[part], tf.float32))

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
                self.access.free()

    def finite(self) -> bool:
        """Return whether every row is finite."""
        return all(
            bool(tf.reduce_all(tf.math.is_finite(self._read(shard, rows))))
            for shard, rows, _ in self._pieces()
        )

    def _read(self, shard: tf.Variable, rows: np.ndarray) -> tf.Tensor:
        with tf.device(shard.device):
            return self.access.read(shard, tf.constant(rows), tf.float32)


def pieces_of(rows: int) -> Iterator[range]:
    """Rows of a shard that has so many, piece by piece."""
    for start in range(0, rows, ROWS_AT_A_TIME):
        yield range(start, min(rows, start + ROWS_AT_A_TIME))
