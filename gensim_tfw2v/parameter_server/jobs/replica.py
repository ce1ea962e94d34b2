"""What a worker of Downpour runs: it trains, while rows are fetched and changes pushed.

Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.1. A worker is a replica; its
threads train units of a job side by side on one copy of their rows.
"""

import math
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.unit import PreparedUnit
from gensim_tfw2v.kernel.updates import adagrad_sizes
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.parameter_server.combining import (
    averaged_words,
    concurrent_step_sizes,
    saturating_share,
)
from gensim_tfw2v.parameter_server.config import WorkerConfig
from gensim_tfw2v.parameter_server.jobs.replica_rows import ReplicaRows, Rows
from gensim_tfw2v.parameter_server.jobs.rows import (
    ID_BYTES,
    Constants,
    JobResult,
    ParameterServer,
    job_signature,
    own_ids,
    prepare_units,
)
from gensim_tfw2v.parameter_server.jobs.windows import Window, Windows, rows_of


def replica_function(
    program: WorkerConfig, server: ParameterServer, n_fetch: int, n_push: int
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` that trains a job.

    Parameters
    ----------
    program : WorkerConfig
    server : ParameterServer
        With squares, if the program is Adagrad's.
    n_fetch, n_push : int
        Steps from one fetch or push to the next.

    Returns
    -------
    function -> Tensor [4 n + 6], a packed `JobResult`
        Of what `job_signature` says. `staleness` is what others push in one window, on average: in
        all of the job, times the share of its steps that the longer kind of window is.
    """
    constants, push_counter = Constants(server), server.push_counter
    held = [ReplicaRows(server.tables, tf.as_dtype(program.wire_dtype))]
    if server.squares is not None:
        held.append(ReplicaRows(server.squares, tf.float32))

    def train_job(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
        began = tf.timestamp()
        known = constants.words()
        alphas = concurrent_step_sizes(alphas, replicas)
        prepared = prepare_units(program, known, sources, ranges, keys, alphas)
        ids, prepared, own_words = own_ids(prepared, known)
        rates = Tables(
            *(
                None if of_table is None else tf.gather(constants.rates(name), of_table)
                for name, of_table in ids._asdict().items()
            )
        )
        job = _Job(
            program,
            (n_fetch, n_push),
            held,
            prepared,
            ids,
            own_words,
            rates,
            alphas[0, 0],
            replicas,
        )
        pushed_before = tf.identity(push_counter.pushes)
        begun = job.begin()
        with tf.control_dependencies(begun):
            begun_at = tf.timestamp()
        with tf.control_dependencies([begun_at]):
            _, sums, fetched, pushed = job.train()
        with tf.control_dependencies(tf.nest.flatten(sums)):
            trained_at = tf.timestamp()
        with tf.control_dependencies([trained_at]):
            rest, done = job.end()
        with tf.control_dependencies(done):
            pushed_after = tf.identity(push_counter.pushes)
            with tf.control_dependencies([pushed_after]):
                counted = push_counter.add(indices)
        with tf.control_dependencies([counted]):
            ended_at = tf.timestamp()
        times = tf.stack([began, begun_at, trained_at, ended_at])
        results = [UnitResult(part.kept, *of) for part, of in zip(prepared, sums, strict=True)]
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            tf.cast(fetched, tf.float64) * program.row_bytes,
            tf.cast(pushed + rest, tf.float64) * (program.row_bytes + ID_BYTES),
            tf.cast(pushed_after - pushed_before, tf.float32) * job.share,
            times[1:] - times[:-1],
        ).packed()

    return tf.function(train_job, autograph=False, input_signature=job_signature(program.threads))


class _Job:
    """A job, from phase to phase, of as many steps as divide both `n_fetch` and `n_push`.

    While a phase is trained, what steps before it have changed is pushed, and the rows of steps
    after it are fetched.
    """

    def __init__(
        self,
        program: WorkerConfig,
        every: tuple[int, int],
        held: list[ReplicaRows],
        prepared: list[PreparedUnit],
        ids: Tables,
        words: WordArrays,
        rates: Tables,
        alpha: tf.Tensor,
        replicas: tf.Tensor,
    ) -> None:
        self._program, self._held, self._prepared, self._ids = program, held, prepared, ids
        self._words, self._rates, self._alpha, self._replicas = words, rates, alpha, replicas
        self._n_fetch, self._n_push = every
        self._every = math.gcd(*every)
        self._windows = Windows(prepared)
        self._steps = self._windows.steps
        # replicas do not know of each other for so long
        apart = max(every)
        self.share = tf.minimum(1.0, apart / tf.cast(tf.maximum(1, self._steps), tf.float32))

    def begin(self) -> list[tf.Operation]:
        """Fetch the rows of the first steps."""
        self._first = self._windows.of(0, self._n_fetch)
        fetched = self._fetch(self._first)
        with tf.control_dependencies(
            [done for rows in self._held for done in rows.begin(self._ids)]
        ):
            return self._renew(self._first, fetched)

    def train(self) -> Any:
        """Train all steps; give the number of steps, the sums of each unit, and row counts."""
        tables, squares = self._handles()
        sums = [part.begin(self._program.unit, tables) for part in self._prepared]
        return tf.while_loop(
            lambda step, *_: step < self._steps,
            self._phase,
            [tf.constant(0), sums, rows_of(self._first), tf.constant(0)],
            parallel_iterations=1,
        )

    def end(self) -> tuple[tf.Tensor, list[tf.Operation]]:
        """Push what has not been pushed; give how many rows that is."""
        pushed = tf.maximum(0, self._steps - 1) // self._n_push * self._n_push
        window = self._windows.of(pushed, self._steps)
        return rows_of(window), self._push(window, self._take(window))

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
                for part, so_far in zip(self._prepared, sums, strict=True)
            ]
        with tf.control_dependencies([*landed, *tf.nest.flatten([sums, rows])]):
            renewed = self._renew(ahead, rows)
        with tf.control_dependencies(renewed):
            then = tf.identity(then)
        return then, sums, fetched + rows_of(ahead), pushed + rows_of(behind)

    def _train_steps(self, part: PreparedUnit, step: tf.Tensor, sums: Any) -> Any:
        tables, squares = self._handles()
        last = tf.minimum(step + self._every, part.steps)
        return part.train_steps(self._program.unit, tables, self._words, step, last, sums, squares)

    def _handles(self) -> tuple[Tables, Tables | None]:
        """Handles of tables and squares, each time others: with the same, threads take turns."""
        tables, *squares = (rows.handles() for rows in self._held)
        return Tables.of_handles(tables), squares[0] if squares else None

    def _take(self, window: Window) -> list[Rows]:
        """The changes of a window, or the share of them that is to be pushed."""
        changes = [rows.take(window) for rows in self._held]
        if self._program.workers > 1:
            kept = tf.add_n([part.kept for part in self._prepared])
            tokens = self.share * tf.cast(kept, tf.float32)
            for name, places in window.items():
                size = self._alpha
                if self._program.unit.adagrad:
                    size = adagrad_sizes(self._held[1].read(window)[name][:, 0], size)
                rates = tf.gather(getattr(self._rates, name), places)
                averaged = averaged_words(self._program.unit)
                share = saturating_share(rates, tokens, size, self._replicas, averaged)
                changes[0][name] *= share[:, None]
        return changes

    def _push(self, window: Window, changes: list[Rows]) -> list[tf.Operation]:
        parts = zip(self._held, changes, strict=True)
        return [done for rows, part in parts for done in rows.push(self._ids, window, part)]

    def _fetch(self, window: Window) -> list[Rows]:
        return [rows.fetch(self._ids, window) for rows in self._held]

    def _renew(self, window: Window, fetched: list[Rows]) -> list[tf.Operation]:
        parts = zip(self._held, fetched, strict=True)
        return [done for rows, part in parts for done in rows.renew(window, part)]
