"""Ops that read and change the rows of a shard, on the ps task that stores the shard."""

from __future__ import annotations

import uuid

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.parameter_server.wire import columns


class TensorFlowShardOps:
    """Access to the rows of shards by TensorFlow's own ops, on any device."""

    def __init__(self) -> None:
        self._mutex = f"tfw2v-push-{uuid.uuid4().hex}"

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return rows [n, D] by their indices `rows`, in a dtype."""
        return tf.cast(shard.sparse_read(rows), dtype)

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set the rows with the indices `rows` to `values` [n, D]."""
        shard.scatter_update(tf.IndexedSlices(values, rows))

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes [n, D] to rows with distinct indices.

        Separate ops that read, add and write take half the time of ``ResourceScatterAdd``. A mutex
        on the ps task protects the rows from concurrent pushes between the read and the write. The
        mutex is locked only after the changes have arrived. So a worker that exits cannot leave it
        locked.
        """
        with tf.control_dependencies([changes]):
            lock = tf.raw_ops.MutexLock(mutex=self._mutex_handle())
        with tf.control_dependencies([lock]):
            values = tf.cast(changes, tf.float32) + shard.sparse_read(rows)
            write = tf.raw_ops.ResourceScatterUpdate(
                resource=shard.handle, indices=rows, updates=values
            )
        with tf.control_dependencies([write]):
            return tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)

    def free(self) -> None:
        """Free the mutex on the current device, which occupies a thread there."""
        tf.raw_ops.DestroyResourceOp(resource=self._mutex_handle())

    def _mutex_handle(self) -> tf.Tensor:
        return tf.raw_ops.MutexV2(shared_name=self._mutex, container="")


class CompiledShardOps:
    """Access to the rows of shards by compiled ops, on CPUs, each in a single pass over the rows.

    The ops change the shard's memory in place. Never use TensorFlow's own ops on single rows of the
    shard: after such an op, `table_memory` returns a copy, and changes to the copy are lost.
    """

    def read(self, shard: tf.Variable, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return rows [n, D] by their indices `rows`, in a dtype."""
        values = load_ops().tfw2v_fetch(
            table_memory(shard.handle), rows, shard.shape[1], dtype=dtype
        )
        return tf.ensure_shape(values, [None, columns(shard.shape[1], dtype)])

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set the rows with the indices `rows` to `values` [n, D]."""
        with tf.device(shard.device):
            load_ops().tfw2v_scatter(table_memory(shard.handle), rows, values)

    def add(self, shard: tf.Variable, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes [n, D] to rows. The op runs concurrent pushes to a shard sequentially."""
        changes = tf.ensure_shape(changes, [None, columns(shard.shape[1], changes.dtype)])
        return load_ops().tfw2v_add(table_memory(shard.handle), rows, changes)

    def free(self) -> None:
        """Do nothing, because there are no resources besides the shard."""


#: Access to the rows of shards, by either kind of ops.
ShardOps = TensorFlowShardOps | CompiledShardOps
