"""Jobs of Downpour: a worker trains, while rows are fetched and changes pushed.

Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.1. A worker is a replica; its
threads train units of a job side by side on one copy of their rows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.unit import PreparedUnit
from gensim_tfw2v.kernel.updates import adagrad_sizes
from gensim_tfw2v.parameter_server.combining import averaged_words
from gensim_tfw2v.parameter_server.curvature import directions, larger_step_sizes
from gensim_tfw2v.parameter_server.jobs.job import (
    Job,
    JobProgram,
    ParameterServer,
    job_program,
    row_traffic,
)
from gensim_tfw2v.parameter_server.jobs.replica_rows import (
    ReplicaRows,
    Rows,
    Window,
    Windows,
    rows_of,
)


def replica_job(program: Program, server: ParameterServer, n_fetch: int, n_push: int) -> JobProgram:
    """Build the program that trains a job; see `job_program`.

    Its staleness is what others push in one window, on average: in all of the job, times the share
    of its steps that the longer kind of window is.

    Parameters
    ----------
    program : Program
    server : ParameterServer
        With squares, if the program is Adagrad's.
    n_fetch, n_push : int
        Steps from one fetch or push to the next.
    """
    held = [ReplicaRows(server.tables, tf.as_dtype(program.wire_dtype), server.of_workers)]
    if server.squares is not None:
        held.append(ReplicaRows(server.squares, tf.float32, server.of_workers))
    return job_program(
        program,
        server,
        lambda job: _ReplicaPhases(program, (n_fetch, n_push), held, job),
        step_sizes=partial(larger_step_sizes, program.largest_growth),
        staleness=lambda phases, others: tf.cast(others, tf.float32) * phases.share,  # type: ignore[attr-defined]
    )


class _ReplicaPhases:
    """A job, from phase to phase, of as many steps as divide both `n_fetch` and `n_push`.

    While a phase is trained, what steps before it have changed is pushed, and the rows of steps
    after it are fetched.
    """

    def __init__(
        self, program: Program, every: tuple[int, int], held: list[ReplicaRows], job: Job
    ) -> None:
        self._program, self._held, self._job, self._ids = program, held, job, job.ids
        self._rates = job.rates
        self._n_fetch, self._n_push = every
        self._every = math.gcd(*every)
        self._windows = Windows(job.units)
        self._steps = self._windows.steps
        # replicas do not know of each other for so long
        apart = max(every)
        self.share = tf.minimum(1.0, apart / tf.cast(tf.maximum(1, self._steps), tf.float32))

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows of the first steps."""
        self._first = self._windows.of(0, self._n_fetch)
        fetched = self._fetch(self._first)
        if self._program.workers > 1:
            order = {name: tf.argsort(places) for name, places in self._first.items()}
            self._directions = directions(
                {name: [tf.gather(fetched[0][name], at)] for name, at in order.items()},
                {
                    name: [tf.gather(self._rates[name], tf.gather(self._first[name], at))]
                    for name, at in order.items()
                },
                self._job.number,
                self._job.replicas,
                averaged_words(self._program),
            )
        with tf.control_dependencies(
            [done for rows in self._held for done in rows.begin(self._ids)]
        ):
            return self._renew(self._first, fetched)

    def train(self) -> list[UnitResult]:
        """Train all steps."""
        tables, _ = self._handles()
        sums = [unit.begin(self._program, tables) for unit in self._job.units]
        _, sums, self._fetched, self._pushed = tf.while_loop(
            lambda step, *_: step < self._steps,
            self._phase,
            [tf.constant(0), sums, rows_of(self._first), tf.constant(0)],
            parallel_iterations=1,
        )
        return [UnitResult(unit.kept, *of) for unit, of in zip(self._job.units, sums, strict=True)]

    def push(self) -> list[tf.Operation]:
        """Push what has not been pushed."""
        pushed = tf.maximum(0, self._steps - 1) // self._n_push * self._n_push
        window = self._windows.of(pushed, self._steps)
        self._pushed += rows_of(window)
        return self._push(window, self._take(window))

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Bytes of the rows of all windows."""
        return row_traffic(self._program, self._fetched, self._pushed)

    def _phase(self, step: tf.Tensor, sums: Any, fetched: tf.Tensor, pushed: tf.Tensor) -> Any:
        then = step + self._every
        pushes = (step > 0) & tf.equal(step % self._n_push, 0)
        behind = self._windows.of(tf.where(pushes, step - self._n_push, step), step)
        fetches = tf.equal(then % self._n_fetch, 0)
        ahead = self._windows.of(then, tf.where(fetches, then + self._n_fetch, then))
        changes = self._take(behind)
        with tf.control_dependencies(tf.nest.flatten(changes)):
            # TensorFlow orders what is done to a ps variable, on the ps: rows are read with these
            # changes, and asked for without waiting for them
            landed = self._push(behind, changes)
            rows = self._fetch(ahead)
            sums = [
                self._train_steps(part, step, so_far)
                for part, so_far in zip(self._job.units, sums, strict=True)
            ]
        with tf.control_dependencies([*landed, *tf.nest.flatten([sums, rows])]):
            renewed = self._renew(ahead, rows)
        with tf.control_dependencies(renewed):
            then = tf.identity(then)
        return then, sums, fetched + rows_of(ahead), pushed + rows_of(behind)

    def _train_steps(self, part: PreparedUnit, step: tf.Tensor, sums: Any) -> Any:
        tables, squares = self._handles()
        last = tf.minimum(step + self._every, part.steps)
        return part.train_steps(self._program, tables, self._job.words, step, last, sums, squares)

    def _handles(self) -> tuple[Tables, Tables | None]:
        """Handles of tables and squares, each time others: with the same, threads take turns."""
        tables, *squares = (rows.handles() for rows in self._held)
        return Tables.of_handles(tables), squares[0] if squares else None

    def _take(self, window: Window) -> list[Rows]:
        """The changes of a window, or the share of them that is to be pushed."""
        changes = [rows.take(window) for rows in self._held]
        if self._program.workers > 1:
            tokens = self.share * self._job.tokens
            for name, places in window.items():
                size = self._job.alpha
                if self._program.adagrad:
                    size = adagrad_sizes(self._held[1].read(window)[name][:, 0], size)
                steps = size * tokens * tf.gather(self._rates[name], places)
                share = self._directions[name].of_rows(steps)
                changes[0][name] = share.of(changes[0][name], tf.range(tf.size(places)))
        return changes

    def _push(self, window: Window, changes: list[Rows]) -> list[tf.Operation]:
        parts = zip(self._held, changes, strict=True)
        return [done for rows, part in parts for done in rows.push(self._ids, window, part)]

    def _fetch(self, window: Window) -> list[Rows]:
        return [rows.fetch(self._ids, window) for rows in self._held]

    def _renew(self, window: Window, fetched: list[Rows]) -> list[tf.Operation]:
        parts = zip(self._held, fetched, strict=True)
        return [done for rows, part in parts for done in rows.renew(window, part)]
