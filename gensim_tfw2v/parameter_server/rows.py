"""A table whose rows are dealt out to ps tasks: row r is row ``r // P`` of shard ``r % P``.

gensim numbers words by their frequency: dealt out, each of P tasks holds as many frequent ones.
(TensorFlow's ``ShardedVariable`` gives each a run of rows, and so the first task nearly all of
the work.)

A job fetches its rows once, trains on a copy, and pushes once what has changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.updates import whole_rows
from gensim_tfw2v.kernel.kernel_config import KernelConfig
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.combining import DirectedShare
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.layout import Access, Layout, pieces_of
from gensim_tfw2v.parameter_server.scratch import Scratch, joined
from gensim_tfw2v.parameter_server.wire import decoded


class Split(NamedTuple):
    """Ids in parts: the shards' first ones, the shards' second ones, and so on.

    Attributes
    ----------
    rows : list of Tensor, int32
        Which rows of its shard each part is.
    places : list of Tensor, int32
        At which places of the ids these stand.
    """

    rows: list[tf.Tensor]
    places: list[tf.Tensor]


class RowLayout(Layout):
    """Rows spread over shards, one on each ps task.

    Parameters
    ----------
    rows, size : int
        V and D.
    shards : int
        P.
    access, devices
        As for `Layout`.
    """

    def __init__(
        self,
        rows: int,
        size: int,
        shards: int,
        access: Access | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        shapes = [(len(range(number, rows, shards)), size) for number in range(shards)]
        super().__init__(rows, size, shapes, access, devices)
        # for each shard one, since several may be on one device
        stage = f"tfw2v-stage-{uuid.uuid4().hex}"
        self._stages = [f"{stage}-{number}" for number in range(shards)]

    def split(self, ids: tf.Tensor, parts: int = 1) -> Split:
        """Say where rows are, in so many parts of each shard; for `fetch` and `push`."""
        number = len(self.shards)
        places = tf.range(tf.size(ids))
        if number * parts == 1:
            return Split([ids], [places])
        # dealt out, so that the parts of a shard are alike
        part = ids % number + places % parts * number
        return Split(
            tf.dynamic_partition(ids // number, part, number * parts),
            tf.dynamic_partition(places, part, number * parts),
        )

    def fetch(self, split: Split, dtype: tf.DType) -> tf.Tensor:
        """Give rows: [ids, D], in the dtype given, in which they travel."""
        return joined(split.places, self.fetch_parts(split, dtype))

    def fetch_parts(self, split: Split, dtype: tf.DType) -> list[tf.Tensor]:
        """Give the rows of each part."""
        return self.on_shards(partial(self.access.read, dtype=dtype), split.rows)

    def push(self, split: Split, changes: tf.Tensor, dtype: tf.DType) -> tf.Operation:
        """Add changes [ids, D] to rows of different ids; they travel in the dtype given."""
        return self.push_parts(split, parts_of(split, tf.cast(changes, dtype)))

    def push_parts(self, split: Split, parts: list[tf.Tensor]) -> tf.Operation:
        """Add the changes of each part's rows."""
        return tf.group(self.on_shards(self.access.add, split.rows, parts))

    def stage(self, split: Split, parts: list[tf.Tensor], number: tf.Tensor) -> tf.Operation:
        """Lay the changes of each shard's rows down there, under a number, for `add_staged`."""

        def lay(_: tf.Variable, stage: str, *rows_and_changes: tf.Tensor) -> tf.Operation:
            return tf.raw_ops.MapStage(
                key=number,
                indices=[0, 1],
                values=list(map(tf.identity, rows_and_changes)),
                dtypes=[part.dtype for part in rows_and_changes],
                shared_name=stage,
            )

        return tf.group(self.on_shards(lay, self._stages, split.rows, parts))

    def add_staged(
        self,
        numbers: tf.Tensor,
        dtype: tf.DType,
        combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
        drop_others: bool = True,
    ) -> tf.Operation:
        """Add the changes that were laid down under these numbers.

        Parameters
        ----------
        numbers : Tensor [n], int64
            With n known; none may be given, to drop all.
        dtype : DType
            That they were laid down in.
        combine : function (Tensor [u, D], Tensor [u, D]) -> Tensor [u, D], optional
            Makes one change of two, row by row; zeros are no change. By default they are added one
            after the other, in the order of the numbers.
        drop_others : bool
            Whether what was laid down under other numbers is dropped.
        """

        def add(shard: tf.Variable, stage: str) -> tf.Operation:
            staged = []
            for number in tf.unstack(numbers):
                rows, changes = tf.raw_ops.MapUnstage(
                    key=number, indices=[0, 1], dtypes=[tf.int32, dtype], shared_name=stage
                )
                staged.append((tf.ensure_shape(rows, [None]), changes))
            added = tf.no_op()
            for rows, changes in [self._combined(staged, combine)] if combine else staged:
                with tf.control_dependencies([added]):
                    added = self.access.add(shard, rows, changes)
            if drop_others:
                with tf.control_dependencies([added]):
                    added = tf.raw_ops.MapClear(dtypes=[tf.int32, dtype], shared_name=stage)
            return added

        return tf.group(self.on_shards(add, self._stages))

    def _combined(
        self,
        staged: list[tuple[tf.Tensor, tf.Tensor]],
        combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Give all rows that change, and the one change of each: [u, D]."""
        distinct, places = tf.unique(tf.concat([rows for rows, _ in staged], 0))
        own_places = tf.split(places, [tf.size(rows) for rows, _ in staged], num=len(staged))
        shape = [tf.size(distinct), self.size]
        changes = [
            tf.scatter_nd(own[:, None], decoded(changes), shape)
            for own, (_, changes) in zip(own_places, staged, strict=True)
        ]
        while len(changes) > 1:  # by pairs, so that each counts alike
            pairs = zip(changes[::2], changes[1::2], strict=False)
            changes = [combine(*pair) for pair in pairs] + changes[len(changes) // 2 * 2 :]
        return distinct, changes[0]

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        number = len(self.shards)
        for first, shard in enumerate(self.shards):
            for rows in pieces_of(int(shard.shape[0])):
                ids = slice(first + rows.start * number, first + rows[-1] * number + 1, number)
                yield shard, np.asarray(rows, np.int32), (ids, slice(None))


def adder_of_staged(
    tables: Sequence[RowLayout],
    dtype: tf.DType,
    combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
    drop_others: bool = True,
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` of job numbers that calls `add_staged` of all tables in use."""

    @tf.function(autograph=False)  # traced for each number of jobs, of which there are few
    def add_staged(numbers):  # type: ignore[no-untyped-def]
        added = [t.add_staged(numbers, dtype, combine, drop_others) for t in tables if t.rows]
        with tf.control_dependencies(added):
            return tf.size(numbers)

    return add_staged


def parts_of(split: Split, rows: tf.Tensor) -> list[tf.Tensor]:
    """Split rows, given in the order of the ids, into each shard's."""
    return [rows] if len(split.places) == 1 else [tf.gather(rows, at) for at in split.places]


class RowJob(WorkerJob):
    """Adds the changes of rows to the ps, each its share; see `WorkerJob`."""

    #: Of the rows of a shard, so that one part travels while others are gathered or laid down.
    parts = 4
    by_direction = True

    def __init__(self, config: KernelConfig, server: ParameterServer) -> None:
        super().__init__(config, server)
        self._scratch = {
            name: Scratch(server.of_workers, name, config.vector_size, config.native)
            for name in Tables._fields
        }

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows; what travelled is kept, to say later what has changed."""
        self._tables = {name: getattr(self.server.tables, name) for name in self.job.ids}
        self._splits = {
            name: table.split(self.job.ids[name], self.parts)
            for name, table in self._tables.items()
        }
        self._fetched = {
            name: table.fetch_parts(self._splits[name], self.wire)
            for name, table in self._tables.items()
        }
        # beside what is trained
        self._shares = self._measure_shares()
        return [
            self._scratch[name].place(self._splits[name].places, parts)
            for name, parts in self._fetched.items()
        ]

    def train(self) -> list[UnitResult]:
        """Train the units side by side."""
        # each thread has handles of its own: with the same they would take turns
        return [
            unit.train(
                self.config,
                whole_rows(rows.handle() for rows in self._scratch.values()),
                self.job.words,
            )
            for unit in self.job.units
        ]

    def push(self) -> list[tf.Operation]:
        """Push each table's changes."""
        return [
            self._push(
                name,
                self._scratch[name].changes(
                    split.places, self._fetched[name], self._shares[name], self.job.key + [0, at]
                ),
            )
            for at, (name, split) in enumerate(self._splits.items())
        ]

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].push_parts(self._splits[name], changes)

    def _measure_shares(self) -> dict[str, DirectedShare | None]:
        """Measure the share of each table's changes that is pushed."""
        if self.config.workers == 1 or not self.by_direction:
            return dict.fromkeys(self._tables)
        rates = self.rates()
        size = self.job.alpha * self.job.tokens
        # in the order of the ids, on whichever ps they are
        rows = {
            name: decoded(joined(split.places, self._fetched[name]))
            for name, split in self._splits.items()
        }
        steepest = self.directions(rows, rates)
        return {name: steepest[name].of_rows(size * rate) for name, rate in rates.items()}


class StagedJob(RowJob):
    """Lays what it would push down at the ps, under its number; see `RowLayout.stage`.

    Not by direction, whole changes are laid down, which are combined later as they are.
    """

    parts = 1

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """0: all start from the same rows."""
        return tf.zeros_like(others)

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].stage(self._splits[name], changes, self.job.number)
