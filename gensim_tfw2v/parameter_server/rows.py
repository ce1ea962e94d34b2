"""A table whose rows are distributed over P ps tasks: row r is row ``r // P`` of shard ``r % P``.

gensim numbers words by descending frequency. So the round-robin distribution gives each task the
same number of frequent words. (TensorFlow's ``ShardedVariable`` assigns contiguous ranges of rows,
so the first task would get nearly all of the work.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.files.sharded_rows import ShardedRows, shard_header, shard_path
from gensim_tfw2v.initial_rows import InitialRows
from gensim_tfw2v.parameter_server.layout import Block, Layout
from gensim_tfw2v.parameter_server.scratch import join_parts
from gensim_tfw2v.parameter_server.shard_ops import CompiledShardOps, ShardOps
from gensim_tfw2v.parameter_server.wire import decode_rows
from gensim_tfw2v.processes.threads import in_threads


class Split(NamedTuple):
    """Ids of rows, split into one or more parts per shard.

    The first parts of all shards come first, then their second parts, and so on.

    Attributes
    ----------
    rows : list of Tensor, int32
        For each part, the indices of its rows in the shard.
    indices : list of Tensor, int32
        For each part, the indices of its ids among all ids.
    """

    rows: list[tf.Tensor]
    indices: list[tf.Tensor]


class RowLayout(Layout):
    """Layout of a table whose rows are distributed over shards, one on each ps task.

    Parameters
    ----------
    n_rows, size : int
        Number of rows V, and of columns D.
    n_shards : int
        Number of shards P.
    shard_ops, devices
        See `Layout`.
    """

    def __init__(
        self,
        n_rows: int,
        size: int,
        n_shards: int,
        shard_ops: ShardOps | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        shapes = [(len(range(shard, n_rows, n_shards)), size) for shard in range(n_shards)]
        super().__init__(n_rows, size, shapes, shard_ops, devices)
        # Names of TensorFlow's maps of staged changes. Each shard has its own, since several shards
        # may be on one device.
        stage = f"tfw2v-stage-{uuid.uuid4().hex}"
        self._stages = [f"{stage}-{shard}" for shard in range(n_shards)]

    def split(self, ids: tf.Tensor, n_parts: int = 1) -> Split:
        """Split ids into `n_parts` parts per shard, and locate their rows in the shards."""
        n_shards = len(self.shards)
        indices = tf.range(tf.size(ids))
        if n_shards * n_parts == 1:
            return Split([ids], [indices])
        # With P shards, part p belongs to shard p % P. A shard's ids are dealt to its parts
        # round-robin, by their index in `ids`, so that the parts have similar sizes.
        part = ids % n_shards + indices % n_parts * n_shards
        return Split(
            tf.dynamic_partition(ids // n_shards, part, n_shards * n_parts),
            tf.dynamic_partition(indices, part, n_shards * n_parts),
        )

    def fetch(self, split: Split, dtype: tf.DType) -> tf.Tensor:
        """Return the rows of a split, in the order of the ids: [ids, D], sent in `dtype`."""
        return join_parts(split.indices, self.fetch_parts(split, dtype))

    def fetch_parts(self, split: Split, dtype: tf.DType) -> list[tf.Tensor]:
        """Return the rows of each part of a split. They are sent in `dtype`."""
        return self.on_shards(partial(self.shard_ops.read, dtype=dtype), split.rows)

    def push(self, split: Split, changes: tf.Tensor, dtype: tf.DType) -> tf.Operation:
        """Add changes [ids, D] to the rows of distinct ids. The changes are sent in `dtype`."""
        return self.push_parts(split, parts_of(split, tf.cast(changes, dtype)))

    def push_parts(self, split: Split, parts: list[tf.Tensor]) -> tf.Operation:
        """Add changes to the rows of a split; `parts` contains those of each part."""
        return tf.group(self.on_shards(self.shard_ops.add, split.rows, parts))

    def stage(self, split: Split, parts: list[tf.Tensor], number: tf.Tensor) -> tf.Operation:
        """Store the changes of a job on the ps tasks of the rows, without adding them.

        `add_staged` adds them later, by the job's number.
        """

        def stage_part(_: tf.Variable, stage: str, *rows_and_changes: tf.Tensor) -> tf.Operation:
            return tf.raw_ops.MapStage(
                key=number,
                indices=[0, 1],
                values=list(map(tf.identity, rows_and_changes)),
                dtypes=[part.dtype for part in rows_and_changes],
                shared_name=stage,
            )

        return tf.group(self.on_shards(stage_part, self._stages, split.rows, parts))

    def add_staged(
        self,
        numbers: tf.Tensor,
        dtype: tf.DType,
        combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
        drop_others: bool = True,
    ) -> tf.Operation:
        """Add the changes that the jobs with these numbers have staged.

        Parameters
        ----------
        numbers : Tensor [n], int64
            Numbers of jobs; n must be static. With n = 0 and `drop_others`, all staged changes are
            dropped.
        dtype : DType
            Type of the staged changes.
        combine : function (Tensor [u, D], Tensor [u, D]) -> Tensor [u, D], optional
            Combines two changes of each of u rows, where zeros stand for no change. By default,
            changes are added sequentially, in the order of the numbers.
        drop_others : bool
            Whether the staged changes of all other jobs are dropped.
        """

        def add_to_shard(shard: tf.Variable, stage: str) -> tf.Operation:
            staged = []
            for number in tf.unstack(numbers):
                rows, changes = tf.raw_ops.MapUnstage(
                    key=number, indices=[0, 1], dtypes=[tf.int32, dtype], shared_name=stage
                )
                staged.append((tf.ensure_shape(rows, [None]), changes))
            addition = tf.no_op()
            for rows, changes in [self._combine_staged(staged, combine)] if combine else staged:
                with tf.control_dependencies([addition]):
                    addition = self.shard_ops.add(shard, rows, changes)
            if drop_others:
                with tf.control_dependencies([addition]):
                    addition = tf.raw_ops.MapClear(dtypes=[tf.int32, dtype], shared_name=stage)
            return addition

        return tf.group(self.on_shards(add_to_shard, self._stages))

    def _combine_staged(
        self,
        staged: list[tuple[tf.Tensor, tf.Tensor]],
        combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the distinct rows of staged changes, and a combined change for each row: [u, D].

        `staged` contains, for each job, the rows and their changes.
        """
        distinct, inverse = tf.unique(tf.concat([rows for rows, _ in staged], 0))
        staged_rows = tf.split(inverse, [tf.size(rows) for rows, _ in staged], num=len(staged))
        shape = [tf.size(distinct), self.size]
        changes = [
            tf.scatter_nd(part[:, None], decode_rows(changes), shape)
            for part, (_, changes) in zip(staged_rows, staged, strict=True)
        ]
        # Combine changes along a binary tree, so that each has a similar weight in the result.
        while len(changes) > 1:
            pairs = zip(changes[::2], changes[1::2], strict=False)
            changes = [combine(*pair) for pair in pairs] + changes[len(changes) // 2 * 2 :]
        return distinct, changes[0]

    def _blocks(self) -> Iterator[Block]:
        n_shards = len(self.shards)
        shard_block_rows = max(1, self._rows_per_block // n_shards)
        for start in range(0, self.n_rows, shard_block_rows * n_shards):
            stop = min(self.n_rows, start + shard_block_rows * n_shards)
            parts = []
            for first, shard in enumerate(self.shards):
                ids = range(start + first, stop, n_shards)
                rows = np.arange(len(ids), dtype=np.int32) + start // n_shards
                parts.append((shard, rows, (slice(first, None, n_shards), slice(None))))
            yield Block(slice(start, stop), parts)

    def save(self, folder: Path, name: str) -> ShardedRows | None:
        """Let each task write its shard to a file; see `Layout.save`."""
        if not isinstance(self.shard_ops, CompiledShardOps):
            return None
        shape = self.n_rows, self.size
        n_shards = len(self.shards)
        ops = self.shard_ops

        def write(index: int, _: object) -> int:
            path = shard_path(folder, name, index, n_shards)
            return ops.write_file(self.shards[index], path, shard_header(shape, index, n_shards))

        checksums = tuple(in_threads(write, range(n_shards), threads=n_shards))
        return ShardedRows(folder, name, shape, checksums)

    def restore(self, rows: ShardedRows) -> bool:
        """Let each task read its shard from its file; see `Layout.restore`."""
        ops = self.shard_ops
        if not isinstance(ops, CompiledShardOps) or rows.n_shards != len(self.shards):
            return False

        def read(index: int, _: object) -> None:
            path = rows.path(index)
            checksum = ops.read_file(self.shards[index], path, rows.header(index))
            if checksum != rows.checksums[index]:
                raise OSError(f"{path} was changed: it has a wrong checksum")

        list(in_threads(read, range(rows.n_shards), threads=rows.n_shards))
        self._is_new = False
        return True

    def _draw(self, initial: Sequence[InitialRows]) -> bool:
        if not isinstance(self.shard_ops, CompiledShardOps):
            return False
        n_shards = len(self.shards)
        first_row = 0  # index in the table of the first of the `InitialRows`
        for rows in initial:
            for index, shard in enumerate(self.shards):
                ids = range(first_row + (index - first_row) % n_shards, first_row + rows.n_rows)
                ids = ids[::n_shards]
                if ids:
                    drawn = ids[0] // n_shards, len(ids), ids[0] - first_row, n_shards
                    self.shard_ops.draw(shard, rows.generator_state(), drawn)
            first_row += rows.n_rows
        return True


def adder_of_staged(
    tables: Sequence[RowLayout],
    dtype: tf.DType,
    combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
    drop_others: bool = True,
) -> tf.types.experimental.PolymorphicFunction:
    """Build a ``tf.function`` that calls `RowLayout.add_staged` for all tables in use.

    Its argument is a list of job numbers.
    """

    @tf.function(autograph=False)  # traced once per length of `numbers`; only few lengths occur
    def add_staged(numbers):  # type: ignore[no-untyped-def]
        additions = [t.add_staged(numbers, dtype, combine, drop_others) for t in tables if t.n_rows]
        with tf.control_dependencies(additions):
            return tf.size(numbers)

    return add_staged


def parts_of(split: Split, rows: tf.Tensor) -> list[tf.Tensor]:
    """Split rows [ids, ...], in the order of the ids, into the parts of a `Split`."""
    return [rows] if len(split.indices) == 1 else [tf.gather(rows, part) for part in split.indices]
