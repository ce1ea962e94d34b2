"""Ops that read and change rows of a shard, on the ps task that holds it."""

from __future__ import annotations

import uuid

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.parameter_server.wire import columns


class TensorFlowShardOps:
    """TensorFlow's own ops, on any device."""

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
            lock = tf.raw_ops.MutexLock(mutex=self._mutex_handle())
        with tf.control_dependencies([lock]):
            changes = tf.cast(changes, tf.float32) + shard.sparse_read(rows)
            written = tf.raw_ops.ResourceScatterUpdate(
                resource=shard.handle, indices=rows, updates=changes
            )
        with tf.control_dependencies([written]):
            return tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)

    def free(self) -> None:
        """Free the mutex on the current device; it occupies a thread there."""
        tf.raw_ops.DestroyResourceOp(resource=self._mutex_handle())

    def _mutex_handle(self) -> tf.Tensor:
        return tf.raw_ops.MutexV2(shared_name=self._mutex, container="")


class CompiledShardOps:
    """Compiled ops, on CPUs; each op makes a single pass over the rows.

    The ops change the shard's memory in place. Never use TensorFlow's own ops on single rows of the
    shard: after such an op, `table_memory` returns a copy, and changes to the copy are lost.
    """

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return rows [n, D]."""
        read = load_ops().tfw2v_fetch(table_memory(shard.handle), rows, shard.shape[1], dtype=dtype)
        return tf.ensure_shape(read, [None, columns(shard.shape[1], dtype)])

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set rows [n, D]."""
        with tf.device(shard.device):
            load_ops().tfw2v_scatter(table_memory(shard.handle), rows, values)

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to rows; pushes are serialized."""
        changes = tf.ensure_shape(changes, [None, columns(shard.shape[1], changes.dtype)])
        return load_ops().tfw2v_add(table_memory(shard.handle), rows, changes)

    def free(self) -> None:
        """Do nothing: no resources exist besides the shard."""


#: Ops of a shard.
ShardOps = TensorFlowShardOps | CompiledShardOps
