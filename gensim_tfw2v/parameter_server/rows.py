"""A table whose rows are distributed over P ps tasks: row r is row ``r // P`` of shard ``r % P``.

gensim numbers words by descending frequency. So the round-robin distribution gives each task the
same number of frequent words. (TensorFlow's ``ShardedVariable`` assigns contiguous ranges of rows,
so the first task would get nearly all of the work.)

A job fetches its rows once, trains on a copy of them, and pushes their changes once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.combining import DirectedShare
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.layout import Layout, pieces_of
from gensim_tfw2v.parameter_server.scratch import join_parts
from gensim_tfw2v.parameter_server.shard_ops import ShardOps
from gensim_tfw2v.parameter_server.wire import decode_rows


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

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        n_shards = len(self.shards)
        for first, shard in enumerate(self.shards):
            for rows in pieces_of(int(shard.shape[0])):
                ids = slice(
                    first + rows.start * n_shards, first + rows[-1] * n_shards + 1, n_shards
                )
                yield shard, np.asarray(rows, np.int32), (ids, slice(None))


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


class RowJob(WorkerJob):
    """Job that adds its changes, or fractions of them, to the rows on the ps tasks.

    See `WorkerJob`.
    """

    #: Number of parts per shard. While one part is sent, the next is gathered or added.
    n_parts = 4
    by_direction = True

    def __init__(self, config: JobConfig, server: ParameterServer) -> None:
        super().__init__(config, server)
        self._scratch = {
            name: config.engine.scratch(server.worker_variables, name, config.vector_size)
            for name in Tables._fields
        }

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows. `push` computes changes as differences from the rows as received."""
        self._tables = self.server.tables._asdict()
        self._splits = {
            name: self._tables[name].split(ids, self.n_parts) for name, ids in self.job.ids.items()
        }
        self._fetched = {
            name: self._tables[name].fetch_parts(split, self.wire)
            for name, split in self._splits.items()
        }
        # The fractions are computed in parallel with training.
        self._shares = self._measure_shares()
        return [
            self._scratch[name].place(self._splits[name].indices, parts)
            for name, parts in self._fetched.items()
        ]

    def train(self) -> list[UnitResult]:
        """Train the units in parallel."""
        # Each unit gets new handles, because TensorFlow would run units that share a handle
        # sequentially.
        return [
            self.config.engine.train(
                unit,
                Tables(*(rows.make_handle() for rows in self._scratch.values())),
                self.job.words,
            )
            for unit in self.job.units
        ]

    def push(self) -> list[tf.Operation]:
        """Push the changes of each table."""
        return [
            self._push(
                name,
                self._scratch[name].changes(
                    split.indices,
                    self._fetched[name],
                    self._shares[name],
                    self.job.key + [0, index],
                ),
            )
            for index, (name, split) in enumerate(self._splits.items())
        ]

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].push_parts(self._splits[name], changes)

    def _measure_shares(self) -> dict[str, DirectedShare | None]:
        """Compute the fraction of each table's changes that is pushed; None to push all."""
        if self.config.workers == 1 or not self.by_direction:
            return dict.fromkeys(self._splits)
        rates = self.rates()
        # The effective step z of a row is alpha * tokens * rate.
        step_per_rate = self.job.alpha * self.job.tokens
        # Rows are joined in the order of the ids, so that random draws of rows do not depend on the
        # number of ps tasks.
        rows = {
            name: join_parts(split.indices, self._fetched[name])
            for name, split in self._splits.items()
        }
        steepest = self.directions(rows, rates)
        return {name: steepest[name].shares(step_per_rate * rate) for name, rate in rates.items()}


class StagedJob(RowJob):
    """Job that stages its changes on the ps tasks, under its number; see `RowLayout.stage`.

    If `by_direction` is False, the job stages whole changes rather than fractions. The changes of
    several jobs are combined when they are added.
    """

    n_parts = 1

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Return 0, because no changes are added while the jobs of a round run."""
        return tf.zeros_like(others)

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].stage(self._splits[name], changes, self.job.number)
