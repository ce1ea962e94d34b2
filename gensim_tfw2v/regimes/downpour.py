"""Downpour SGD: replicas that fetch rows and push changes every few steps, without synchronization.

Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.1. Adagrad is optional;
its sums of squares are on the ps tasks. A warm start is also optional: at first, only one replica
trains.

A worker is a replica. Its threads train the units of a job in parallel on one copy of their rows,
while other replicas change the same rows on the ps tasks. A replica holds two values of each row.
The current value is the one that it trains. The known value is the last fetched value, plus the
changes that the replica has pushed since. Current minus known is the change that has not been
pushed.
"""

from __future__ import annotations

import math
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.steps import PreparedUnit
from gensim_tfw2v.graph.updates import adagrad_sizes, read_rows, whole_rows, write_rows
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.options.regimes import Downpour
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.rows import RowLayout
from gensim_tfw2v.parameter_server.scratch import Scratch, WorkerVariables
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.regimes import Setup
from gensim_tfw2v.regimes.asynchronous import AsynchronousRegime

#: Distinct rows that a range of steps uses. For each table name, their indices into the job's ids:
#: Tensor [n], int32.
Window = dict[str, tf.Tensor]


def rows_of(window: Window) -> tf.Tensor:
    """Number of rows of a window, summed over the tables: [], int32."""
    return tf.add_n([tf.size(indices) for indices in window.values()])


class ReplicaTable:
    """Rows of one table that a job uses: current and known values.

    Reads and writes are not ordered automatically: add control dependencies.

    Parameters
    ----------
    layout : RowLayout
    dtype : DType
        Type in which rows and changes are sent.
    variables : WorkerVariables
    """

    def __init__(self, layout: RowLayout, dtype: tf.DType, variables: WorkerVariables) -> None:
        self._layout = layout
        self._dtype = dtype
        self.current = Scratch(variables, "current", layout.size)
        self._known = Scratch(variables, "known", layout.size)

    def begin(self, n_rows: tf.Tensor) -> list[tf.Operation]:
        """Allocate `n_rows` rows of zeros, both current and known."""
        return [self.current.allocate(n_rows), self._known.allocate(n_rows)]

    def fetch(self, ids: tf.Tensor) -> tf.Tensor:
        """Fetch rows from the ps tasks."""
        return self._layout.fetch(self._layout.split(ids), self._dtype)

    def renew(self, indices: tf.Tensor, fetched: tf.Tensor) -> list[tf.Operation]:
        """Set rows to the fetched values plus the local changes that have not been pushed."""
        current = self.current.make_handle()
        known = self._known.make_handle()
        rows = tf.cast(fetched, tf.float32)
        changed = rows + (read_rows(current, indices) - read_rows(known, indices))
        with tf.control_dependencies([changed]):
            return [write_rows(current, indices, changed), write_rows(known, indices, rows)]

    def take(self, indices: tf.Tensor) -> tf.Tensor:
        """Return the changes that have not been pushed, and mark them as pushed."""
        known = self._known.make_handle()
        rows = read_rows(self.current.make_handle(), indices)
        change = rows - read_rows(known, indices)
        with tf.control_dependencies([change]):
            written = write_rows(known, indices, rows)
        with tf.control_dependencies([written]):
            return tf.identity(change)

    def push(self, ids: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to the rows on the ps tasks."""
        return self._layout.push(self._layout.split(ids), changes, self._dtype)


class ReplicaJob(WorkerJob):
    """A job in phases of gcd(`n_fetch`, `n_push`) steps each; see `WorkerJob`.

    While a phase trains, the changes of earlier steps are pushed, and the rows of later steps are
    fetched.

    Parameters
    ----------
    config : JobConfig
        Its engine is the TensorFlow fallback.
    server : ParameterServer
    n_fetch, n_push : int
        Number of steps from one fetch or push to the next.
    squares : Tables of RowLayout [V, 1], optional
        Adagrad's sum of squares for each row of the tables; None without Adagrad.
    """

    by_direction = True

    def __init__(
        self,
        config: JobConfig,
        server: ParameterServer,
        n_fetch: int,
        n_push: int,
        squares: Tables | None = None,
    ) -> None:
        super().__init__(config, server)
        self._options = config.engine.options
        self._n_fetch = n_fetch
        self._n_push = n_push
        self._every = math.gcd(n_fetch, n_push)
        # by table name; in lists built from both, the tables come first, then Adagrad's sums
        self._tables, self._squares = (
            {
                name: ReplicaTable(layout, dtype, server.worker_variables)
                for name, layout in layouts._asdict().items()
                if layout and layout.rows
            }
            for layouts, dtype in (
                (server.tables, self.wire),
                (squares or Tables(*[None for _ in Tables._fields]), tf.float32),
            )
        )
        self._all_tables = [*self._tables.items(), *self._squares.items()]

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows of the first steps."""
        # number of steps of the longest unit
        steps = self._steps = tf.reduce_max(tf.stack([unit.steps for unit in self.job.units]))
        # number of steps during which replicas do not see each other's changes
        apart = max(self._n_fetch, self._n_push)
        self._share = tf.minimum(1.0, apart / tf.cast(tf.maximum(1, steps), tf.float32))
        self._first = self._window(0, self._n_fetch)
        fetched = self._fetch(self._first)
        if self.config.workers > 1:
            order = {name: tf.argsort(indices) for name, indices in self._first.items()}
            self._row_rates = self.rates()
            self._directions = self.directions(
                {
                    name: tf.gather(rows, order[name])
                    for name, rows in zip(self._tables, fetched, strict=False)
                },
                {
                    name: tf.gather(self._row_rates[name], tf.gather(self._first[name], at))
                    for name, at in order.items()
                },
            )
        with tf.control_dependencies(
            [
                done
                for name, table in self._all_tables
                for done in table.begin(tf.size(self.job.ids[name]))
            ]
        ):
            return self._renew(self._first, fetched)

    def train(self) -> list[UnitResult]:
        """Train all steps."""
        tables, _ = self._handles()
        sums = [unit.begin(tables) for unit in self.job.units]
        _, sums, self._fetched, self._pushed = tf.while_loop(
            lambda step, *_: step < self._steps,
            self._phase,
            [tf.constant(0), sums, rows_of(self._first), tf.constant(0)],
            parallel_iterations=1,
        )
        return [UnitResult(unit.kept, *of) for unit, of in zip(self.job.units, sums, strict=True)]

    def push(self) -> list[tf.Operation]:
        """Push the remaining changes."""
        pushed = tf.maximum(0, self._steps - 1) // self._n_push * self._n_push
        window = self._window(pushed, self._steps)
        self._pushed += rows_of(window)
        return self._push(window, self._take(window))

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Bytes fetched and pushed, over all windows."""
        return self.row_traffic(self._fetched, self._pushed)

    @property
    def row_bytes(self) -> int:
        """Bytes that are sent per row, including Adagrad's sum."""
        return super().row_bytes + (tf.float32.size if self._squares else 0)

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Mean number of units that other replicas push during one window.

        It is `others`, their number during the whole job, times the fraction of the job's steps
        that one window covers. Of the windows to fetch and to push, the longer one counts.
        """
        return tf.cast(others, tf.float32) * self._share

    def _window(self, first: Any, last: Any) -> Window:
        """Rows that the steps in [`first`, `last`) use; empty if the range is empty."""
        window = {}
        for name in self.job.ids:
            parts = []
            for unit in self.job.units:
                steps = tf.minimum(tf.stack([first, last]), unit.steps)
                begin, end = tf.unstack(tf.gather(getattr(unit.plan, name).distinct.edges, steps))
                parts.append(getattr(unit.ids, name)[begin:end])
            window[name] = tf.unique(tf.concat(parts, 0)).y
        return window

    def _phase(self, step: tf.Tensor, sums: Any, fetched: tf.Tensor, pushed: tf.Tensor) -> Any:
        """Train the phase that starts at `step`; meanwhile, push and fetch windows that are due."""
        then = step + self._every
        pushes = (step > 0) & tf.equal(step % self._n_push, 0)
        behind = self._window(tf.where(pushes, step - self._n_push, step), step)
        fetches = tf.equal(then % self._n_fetch, 0)
        ahead = self._window(then, tf.where(fetches, then + self._n_fetch, then))
        changes = self._take(behind)
        with tf.control_dependencies(changes):
            # TensorFlow orders the operations on a ps variable at the ps. So the rows fetched here
            # include the changes pushed here, though the worker does not wait for the push.
            landed = self._push(behind, changes)
            rows = self._fetch(ahead)
            sums = [
                self._train_steps(part, step, so_far)
                for part, so_far in zip(self.job.units, sums, strict=True)
            ]
        with tf.control_dependencies([*landed, *tf.nest.flatten([sums, rows])]):
            renewed = self._renew(ahead, rows)
        with tf.control_dependencies(renewed):
            then = tf.identity(then)
        return then, sums, fetched + rows_of(ahead), pushed + rows_of(behind)

    def _train_steps(self, part: PreparedUnit, step: tf.Tensor, sums: Any) -> Any:
        tables, squares = self._handles()
        last = tf.minimum(step + self._every, part.steps)
        return part.train_steps(self._options, tables, self.job.words, step, last, sums, squares)

    def _handles(self) -> tuple[Tables, Tables | None]:
        """New handles of tables and squares: TensorFlow would serialize threads that share them."""
        tables, squares = (
            Tables(
                *(
                    by_name[name].current.make_handle() if name in by_name else None
                    for name in Tables._fields
                )
            )
            for by_name in (self._tables, self._squares)
        )
        return whole_rows(tables), squares if self._squares else None

    def _take(self, window: Window) -> list[tf.Tensor]:
        """Changes of a window; with several workers, the fraction of each that is pushed."""
        changes = [table.take(window[name]) for name, table in self._all_tables]
        if self.config.workers > 1:
            # tokens of one window, for the effective step z of each row: see `combining`
            tokens = self._share * self.job.tokens
            for index, name in enumerate(self._tables):
                indices = window[name]
                size = self.job.alpha
                if self._squares:
                    squares = read_rows(self._squares[name].current.make_handle(), indices)
                    size = adagrad_sizes(squares[:, 0], size)
                steps = size * tokens * tf.gather(self._row_rates[name], indices)
                share = self._directions[name].shares(steps)
                changes[index] = share.apply(changes[index], tf.range(tf.size(indices)))
        return changes

    def _push(self, window: Window, changes: list[tf.Tensor]) -> list[tf.Operation]:
        parts = zip(self._all_tables, changes, strict=True)
        return [table.push(self._ids(window, name), part) for (name, table), part in parts]

    def _fetch(self, window: Window) -> list[tf.Tensor]:
        return [table.fetch(self._ids(window, name)) for name, table in self._all_tables]

    def _ids(self, window: Window, name: str) -> tf.Tensor:
        return tf.gather(self.job.ids[name], window[name])

    def _renew(self, window: Window, fetched: list[tf.Tensor]) -> list[tf.Operation]:
        parts = zip(self._all_tables, fetched, strict=True)
        return [done for (name, table), part in parts for done in table.renew(window[name], part)]


class DownpourRegime(AsynchronousRegime):
    """Asynchronous jobs that fetch rows and push changes during training; see `ReplicaJob`.

    Adagrad's sums of squares are 0 when the regime is created. `load` does not reset them, and
    `export` does not include them.

    Parameters
    ----------
    setup : Setup
    workers : Workers
    options : Downpour

    Attributes
    ----------
    squares : Tables of RowLayout [V, 1], optional
        Adagrad's sum of squares for each row; None without Adagrad.
    """

    def __init__(self, setup: Setup, workers: Workers, options: Downpour) -> None:
        super().__init__(setup, workers, options)
        self.warm_units = max(self.warm_units, round(options.warm_start * setup.units))
        self.squares: Tables | None = None
        if options.adagrad:
            with workers.scope():
                self.squares = Tables(*(RowLayout(n, 1, workers.shards) for n in setup.rows))

    def _make_job(self) -> ReplicaJob:
        every = self.options.n_fetch, self.options.n_push
        return ReplicaJob(self.config, self.server, *every, self.squares)

    def close(self) -> None:
        """See `Regime.close`."""
        for table in self.squares or ():
            table.close()
        super().close()
