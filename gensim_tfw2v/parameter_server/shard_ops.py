"""Ops that read and change the rows of a shard, on the ps task that stores the shard."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.parameter_server.wire import columns

#: Number of bytes of a shard that are written or read in one call.
FILE_BLOCK_BYTES = 1 << 28


class TensorFlowShardOps:
    """Access to the rows of shards by TensorFlow's own ops, on any device.

    `read` and `add` use only the attributes ``handle`` and ``shape`` of a shard.
    """

    def __init__(self) -> None:
        self._mutex = f"tfw2v-push-{uuid.uuid4().hex}"

    def read(self, shard: Any, rows: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return rows [n, D] by their indices `rows`, in a dtype."""
        return tf.cast(self._gather(shard, rows), dtype)

    def write(self, shard: tf.Variable, rows: tf.Tensor, values: tf.Tensor) -> None:
        """Set the rows with the indices `rows` to `values` [n, D]."""
        shard.scatter_update(tf.IndexedSlices(values, rows))

    def add(self, shard: Any, rows: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes [n, D] to rows with distinct indices.

        Separate ops that read, add and write take half the time of ``ResourceScatterAdd``. A mutex
        on the ps task protects the rows from concurrent pushes between the read and the write. The
        mutex is locked only after the changes have arrived. So a worker that exits cannot leave it
        locked.
        """
        with tf.control_dependencies([changes]):
            lock = tf.raw_ops.MutexLock(mutex=self._mutex_handle())
        with tf.control_dependencies([lock]):
            values = tf.cast(changes, tf.float32) + self._gather(shard, rows)
            write = tf.raw_ops.ResourceScatterUpdate(
                resource=shard.handle, indices=rows, updates=values
            )
        with tf.control_dependencies([write]):
            return tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)

    def _gather(self, shard: Any, rows: tf.Tensor) -> tf.Tensor:
        values = tf.raw_ops.ResourceGather(resource=shard.handle, indices=rows, dtype=tf.float32)
        return tf.ensure_shape(values, [None, shard.shape[1]])

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

    def draw(
        self, shard: tf.Variable, generator: np.ndarray, drawn: tuple[int, int, int, int]
    ) -> None:
        """Set rows of a shard to initial rows.

        Parameters
        ----------
        shard : Variable
        generator : ndarray [4]
            Result of `InitialRows.generator_state`.
        drawn : (int, int, int, int)
            First row in the shard, number of rows, index of the first one among the `InitialRows`,
            and step from one index to the next.
        """
        with tf.device(shard.device):
            arguments = tf.constant(generator, tf.int64), tf.constant(drawn, tf.int64)
            load_ops().tfw2v_draw_rows(table_memory(shard.handle), *arguments)

    def write_file(self, shard: tf.Variable, path: Path, header: bytes) -> int:
        """Write a shard to a new file on its task, after a header; return the rows' checksum.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        return self._copy_file(load_ops().tfw2v_write_rows, shard, path, header)

    def read_file(self, shard: tf.Variable, path: Path, header: bytes) -> int:
        """Set a shard to the rows of a file on its task; return their checksum.

        Raises
        ------
        OSError
            If the file cannot be read, or is truncated.
        """
        return self._copy_file(load_ops().tfw2v_read_rows, shard, path, header)

    def _copy_file(self, op: Any, shard: tf.Variable, path: Path, header: bytes) -> int:
        n_rows, size = shard.shape
        # an even number, because the checksum takes two floats at a time
        n_block_rows = 2 * max(1, FILE_BLOCK_BYTES // (8 * size))
        names = [tf.constant(np.frombuffer(text, np.uint8)) for text in (os.fsencode(path), header)]
        checksum = 0
        for first in range(0, max(1, n_rows), n_block_rows):
            rows = first, min(n_rows - first, n_block_rows), checksum
            with tf.device(shard.device):
                try:
                    result = op(table_memory(shard.handle), *names, tf.constant(rows, tf.int64))
                except tf.errors.InvalidArgumentError as error:
                    _, _, reason = error.message.rpartition("Rows: ")
                    raise OSError(reason.partition(" [Op:")[0]) from error
            checksum = int(result.numpy()[0])
        return checksum

    def free(self) -> None:
        """Do nothing, because there are no resources besides the shard."""


#: Access to the rows of shards, by either kind of ops.
ShardOps = TensorFlowShardOps | CompiledShardOps
