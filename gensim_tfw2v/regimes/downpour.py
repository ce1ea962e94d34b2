"""Downpour SGD: replicas that fetch rows and push changes every few steps, without synchronization.

Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.1. Adagrad is optional;
its sums of squares are on the ps tasks. A warm start is also optional: at first, only one replica
trains.

A worker is a replica. Its threads train the units of a job in parallel on one copy of the job's
rows, while other replicas change the same rows on the ps tasks. A replica holds two values of each
row. The *current* value is the one that the replica trains. The *known* value is the last fetched
value, plus the changes that the replica has pushed since then. Current minus known is the change
that has not been pushed.
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

#: Distinct rows that a range of steps uses. For each table name, their indices in the job's ids:
#: Tensor [n], int32.
Window = dict[str, tf.Tensor]


def count_rows(window: Window) -> tf.Tensor:
    """Return the number of rows of a window, summed over the tables: [], int32."""
    return tf.add_n([tf.size(indices) for indices in window.values()])


class ReplicaTable:
    """Current and known values of the rows of one table that a job uses.

    TensorFlow doesn't order reads and writes of these rows, so callers add control dependencies.

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
        self._known_rows = Scratch(variables, "known", layout.size)

    def begin(self, n_rows: tf.Tensor) -> list[tf.Operation]:
        """Allocate memory for the current and the known values of `n_rows` rows, all zeros."""
        return [self.current.allocate(n_rows), self._known_rows.allocate(n_rows)]

    def fetch(self, ids: tf.Tensor) -> tf.Tensor:
        """Fetch rows from the ps tasks."""
        return self._layout.fetch(self._layout.split(ids), self._dtype)

    def renew(self, indices: tf.Tensor, fetched_rows: tf.Tensor) -> list[tf.Operation]:
        """Set rows to the fetched values plus the local changes that have not been pushed."""
        current = self.current.make_handle()
        known_rows = self._known_rows.make_handle()
        rows = tf.cast(fetched_rows, tf.float32)
        new_rows = rows + (read_rows(current, indices) - read_rows(known_rows, indices))
        with tf.control_dependencies([new_rows]):
            return [write_rows(current, indices, new_rows), write_rows(known_rows, indices, rows)]

    def take(self, indices: tf.Tensor) -> tf.Tensor:
        """Return the changes that have not been pushed, and mark them as pushed."""
        known_rows = self._known_rows.make_handle()
        rows = read_rows(self.current.make_handle(), indices)
        change = rows - read_rows(known_rows, indices)
        with tf.control_dependencies([change]):
            write = write_rows(known_rows, indices, rows)
        with tf.control_dependencies([write]):
            return tf.identity(change)

    def push(self, ids: tf.Tensor, changes: tf.Tensor) -> tf.Operation:
        """Add changes to the rows on the ps tasks."""
        return self._layout.push(self._layout.split(ids), changes, self._dtype)


class ReplicaJob(WorkerJob):
    """A job that is trained in phases of gcd(`n_fetch`, `n_push`) steps; see `WorkerJob`.

    During a phase, the changes of earlier steps are pushed, and the rows of later steps are
    fetched.

    Parameters
    ----------
    config : JobConfig
        The engine must be the TensorFlow fallback.
    server : ParameterServer
    n_fetch, n_push : int
        Number of steps from one fetch to the next, and from one push to the next.
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
        self._phase_steps = math.gcd(n_fetch, n_push)
        # dicts by table name: the rows of the tables, and Adagrad's sums
        self._tables, self._squares = (
            {
                name: ReplicaTable(layout, dtype, server.worker_variables)
                for name, layout in layouts._asdict().items()
                if layout and layout.n_rows
            }
            for layouts, dtype in (
                (server.tables, self.wire),
                (squares or Tables(*[None for _ in Tables._fields]), tf.float32),
            )
        )
        # (name, table) of the rows of all tables, then of all of Adagrad's sums
        self._all_tables = [*self._tables.items(), *self._squares.items()]

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows of the first steps."""
        # number of steps of the longest unit
        self._n_steps = tf.reduce_max(tf.stack([unit.steps for unit in self.job.units]))
        # number of steps during which replicas do not see each other's changes
        max_gap = max(self._n_fetch, self._n_push)
        n_steps = tf.cast(tf.maximum(1, self._n_steps), tf.float32)
        self._share = tf.minimum(1.0, max_gap / n_steps)
        self._first_window = self._find_window(0, self._n_fetch)
        rows_by_table = self._fetch(self._first_window)
        if self.config.workers > 1:
            order = {name: tf.argsort(indices) for name, indices in self._first_window.items()}
            self._row_rates = self.rates()
            self._directions = self.directions(
                {
                    # `_fetch` lists the rows of the tables first, then Adagrad's sums
                    name: tf.gather(rows, order[name])
                    for name, rows in zip(self._tables, rows_by_table, strict=False)
                },
                {
                    name: tf.gather(
                        self._row_rates[name], tf.gather(self._first_window[name], name_order)
                    )
                    for name, name_order in order.items()
                },
            )
        with tf.control_dependencies(
            [
                allocation
                for name, table in self._all_tables
                for allocation in table.begin(tf.size(self.job.ids[name]))
            ]
        ):
            return self._renew(self._first_window, rows_by_table)

    def train(self) -> list[UnitResult]:
        """Train all steps."""
        tables, _ = self._handles()
        sums = [unit.begin(tables) for unit in self.job.units]
        _, sums, self._n_fetched_rows, self._n_pushed_rows = tf.while_loop(
            lambda step, *_: step < self._n_steps,
            self._train_phase,
            [tf.constant(0), sums, count_rows(self._first_window), tf.constant(0)],
            parallel_iterations=1,
        )
        return [
            UnitResult(unit.kept, *unit_sums)
            for unit, unit_sums in zip(self.job.units, sums, strict=True)
        ]

    def push(self) -> list[tf.Operation]:
        """Push the remaining changes."""
        first_step = tf.maximum(0, self._n_steps - 1) // self._n_push * self._n_push
        window = self._find_window(first_step, self._n_steps)
        self._n_pushed_rows += count_rows(window)
        return self._push(window, self._take(window))

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the bytes fetched and pushed, summed over all windows."""
        return self.row_traffic(self._n_fetched_rows, self._n_pushed_rows)

    @property
    def row_bytes(self) -> int:
        """Bytes that are sent per row, including Adagrad's sum."""
        return super().row_bytes + (tf.float32.size if self._squares else 0)

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Return the mean number of units that other replicas push during one window.

        `others` is the number of units that they push during the whole job. It is multiplied by the
        fraction of the job's steps that one window covers. Of the windows to fetch and to push, the
        longer one counts.
        """
        return tf.cast(others, tf.float32) * self._share

    def _find_window(self, first: Any, last: Any) -> Window:
        """Return the rows that the steps [`first`, `last`) use; none if the range is empty."""
        window = {}
        for name in self.job.ids:
            parts = []
            for unit in self.job.units:
                steps = tf.minimum(tf.stack([first, last]), unit.steps)
                begin, end = tf.unstack(tf.gather(getattr(unit.plan, name).distinct.edges, steps))
                parts.append(getattr(unit.ids, name)[begin:end])
            window[name] = tf.unique(tf.concat(parts, 0)).y
        return window

    def _train_phase(
        self, step: tf.Tensor, sums: Any, n_fetched_rows: tf.Tensor, n_pushed_rows: tf.Tensor
    ) -> Any:
        """Train the phase that starts at `step`; meanwhile, push and fetch windows that are due.

        The arguments and the results are the state of the loop over the phases.
        """
        next_step = step + self._phase_steps
        is_push_due = (step > 0) & tf.equal(step % self._n_push, 0)
        push_window = self._find_window(tf.where(is_push_due, step - self._n_push, step), step)
        is_fetch_due = tf.equal(next_step % self._n_fetch, 0)
        fetch_window = self._find_window(
            next_step, tf.where(is_fetch_due, next_step + self._n_fetch, next_step)
        )
        changes = self._take(push_window)
        with tf.control_dependencies(changes):
            # TensorFlow orders the operations on a ps variable at the ps. So the rows fetched here
            # include the changes pushed here, though the worker does not wait for the push.
            push_ops = self._push(push_window, changes)
            rows_by_table = self._fetch(fetch_window)
            sums = [
                self._train_steps(unit, step, unit_sums)
                for unit, unit_sums in zip(self.job.units, sums, strict=True)
            ]
        with tf.control_dependencies([*push_ops, *tf.nest.flatten([sums, rows_by_table])]):
            renew_ops = self._renew(fetch_window, rows_by_table)
        with tf.control_dependencies(renew_ops):
            next_step = tf.identity(next_step)
        n_fetched_rows += count_rows(fetch_window)
        n_pushed_rows += count_rows(push_window)
        return next_step, sums, n_fetched_rows, n_pushed_rows

    def _train_steps(self, unit: PreparedUnit, step: tf.Tensor, sums: Any) -> Any:
        """Train a unit's steps of the phase that starts at `step`."""
        tables, squares = self._handles()
        last = tf.minimum(step + self._phase_steps, unit.steps)
        return unit.train_steps(self._options, tables, self.job.words, step, last, sums, squares)

    def _handles(self) -> tuple[Tables, Tables | None]:
        """Return new handles of tables and squares.

        If threads shared handles, TensorFlow would run the threads one after another.
        """
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
        """Return a window's changes, reduced to the fractions that several workers push."""
        changes = [table.take(window[name]) for name, table in self._all_tables]
        if self.config.workers > 1:
            # number of tokens of one window, for the effective step of each row: see `combining`
            n_tokens = self._share * self.job.tokens
            for index, name in enumerate(self._tables):
                indices = window[name]
                size = self.job.alpha
                if self._squares:
                    squares = read_rows(self._squares[name].current.make_handle(), indices)
                    size = adagrad_sizes(squares[:, 0], size)
                steps = size * n_tokens * tf.gather(self._row_rates[name], indices)
                share = self._directions[name].shares(steps)
                changes[index] = share.apply(changes[index], tf.range(tf.size(indices)))
        return changes

    def _push(self, window: Window, changes: list[tf.Tensor]) -> list[tf.Operation]:
        changes_by_table = zip(self._all_tables, changes, strict=True)
        return [
            table.push(self._ids(window, name), table_changes)
            for (name, table), table_changes in changes_by_table
        ]

    def _fetch(self, window: Window) -> list[tf.Tensor]:
        """Fetch the rows of each table, then Adagrad's sums of each table."""
        return [table.fetch(self._ids(window, name)) for name, table in self._all_tables]

    def _ids(self, window: Window, name: str) -> tf.Tensor:
        return tf.gather(self.job.ids[name], window[name])

    def _renew(self, window: Window, rows_by_table: list[tf.Tensor]) -> list[tf.Operation]:
        return [
            write
            for (name, table), rows in zip(self._all_tables, rows_by_table, strict=True)
            for write in table.renew(window[name], rows)
        ]


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
        self.warm_units = max(self.warm_units, round(options.warm_start * setup.n_units))
        self.squares: Tables | None = None
        if options.adagrad:
            with workers.scope():
                self.squares = Tables(
                    *(RowLayout(n_rows, 1, workers.n_shards) for n_rows in setup.n_rows)
                )

    def _make_job(self) -> ReplicaJob:
        return ReplicaJob(
            self.config, self.server, self.options.n_fetch, self.options.n_push, self.squares
        )

    def close(self) -> None:
        """See `Regime.close`."""
        for table in self.squares or ():
            table.close()
        super().close()
