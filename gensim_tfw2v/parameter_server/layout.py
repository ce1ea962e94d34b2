"""Base of the layouts: a table in shards, one on each ps task, and access to its rows."""

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
    """Access by TensorFlow's own ops, on any device."""

    def __init__(self) -> None:
        self._mutex = f"tfw2v-push-{uuid.uuid4().hex}"

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return rows [n, D]."""
        return tf.cast(shard.sparse_read(rows), dtype)

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set rows [n, D]."""
        shard.scatter_update(tf.IndexedSlices(values, rows))

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to distinct rows; pushes are serialized.

        Separate ops that read, add and write take half the time of ``ResourceScatterAdd``. A mutex
        on the ps protects the rows between the read and the write from concurrent pushes. It is
        locked after the changes have arrived, so that no worker can end while it holds the mutex.
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
        """Free the mutex on the current device; it occupies a thread there."""
        tf.raw_ops.DestroyResourceOp(resource=self._handle())

    def _handle(self) -> tf.Tensor:
        return tf.raw_ops.MutexV2(shared_name=self._mutex, container="")


class NativeAccess:
    """Access by compiled ops, on CPUs; each op makes a single pass over the rows.

    The ops change the shard's memory in place. Never use TensorFlow's own ops on single rows of the
    shard: after such an op, `_whole` returns a copy, and changes to the copy are lost.
    """

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return rows [n, D]."""
        read = load_ops().tfw2v_fetch(_whole(shard), rows, shard.shape[1], dtype=dtype)
        return tf.ensure_shape(read, [None, columns(shard.shape[1], dtype)])

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set rows [n, D]."""
        with tf.device(shard.device):
            load_ops().tfw2v_scatter(_whole(shard), rows, values)

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to rows; pushes are serialized."""
        changes = tf.ensure_shape(changes, [None, columns(shard.shape[1], changes.dtype)])
        return load_ops().tfw2v_add(_whole(shard), rows, changes)

    def free(self) -> None:
        """Do nothing: no resources exist besides the shard."""


Access = GraphAccess | NativeAccess


def _whole(shard: tf.Variable) -> tf.Tensor:
    """Memory of a shard, not a copy."""
    return tf.raw_ops.ReadVariableOp(resource=shard.handle, dtype=tf.float32)


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
    access : Access, optional
        Ops that read and change rows; by default TensorFlow's own.
    devices : sequence of str, optional
        Device of each shard; by default chosen by the current strategy scope.
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
                # a function, so that each task allocates its own zeros
                zeros = partial(tf.raw_ops.Empty, shape=shape, dtype=tf.float32, init=True)
                self.shards.append(tf.Variable(zeros, trainable=False))

    def on_shards(self, run: Callable[..., Any], *parts: Iterable[Any]) -> list[Any]:
        """Call a function on each shard's device, with the shard and its element of each list.

        Lists may be longer than the number S of shards: element i belongs to shard i % S.
        """
        done = []
        for shard, *of_shard in zip(itertools.cycle(self.shards), *parts, strict=False):
            with tf.device(shard.device):
                done.append(run(shard, *of_shard))
        return done

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        """Yield chunks of rows: their shard, their indices in it, and their slices of the table."""
        raise NotImplementedError

    def load(self, array: np.ndarray) -> None:
        """Set the rows to this array [V, D]."""
        for shard, rows, part in self._pieces():
            self.access.write(shard, rows, tf.constant(array[part], tf.float32))

    def export(self, array: np.ndarray) -> None:
        """Copy the rows into this array [V, D]."""
        for shard, rows, part in self._pieces():
            array[part] = self._read(shard, rows)

    def check(self) -> None:
        """Read from each shard; raises TensorFlow's error if its ps is lost."""
        for shard in self.shards:
            self._read(shard, np.zeros(min(1, int(shard.shape[0])), np.int32))

    def close(self) -> None:
        """Free the resources of `access`. The shards are freed with this object."""
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
    """Split the rows of a shard into ranges of at most `ROWS_AT_A_TIME`."""
    for start in range(0, rows, ROWS_AT_A_TIME):
        yield range(start, min(rows, start + ROWS_AT_A_TIME))
