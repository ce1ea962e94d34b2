"""Sandblaster L-BFGS: a batch method whose vectors never leave the ps tasks.

Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.2. Each worker computes the
loss of one work item after another, and its gradient with respect to the rows. The sum over all
items is the gradient of the whole corpus's loss. The coordinator handles scalars only, and has the
ps tasks execute the operations on vectors.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import unit_key
from gensim_tfw2v.files.array_file import array_of
from gensim_tfw2v.graph.slices import Slices
from gensim_tfw2v.graph.updates import WholeRows
from gensim_tfw2v.kernel.tables import Divergence, Reporter, Tables, UnitResult, UnitTask
from gensim_tfw2v.options.regimes import Sandblaster, check_gradient, check_lock
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_queue import runs_of
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.rows import adder_of_staged, parts_of
from gensim_tfw2v.parameter_server.scratch import Scratch
from gensim_tfw2v.parameter_server.sharded_vector import ShardedVector
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.lbfgs import LBFGS
from gensim_tfw2v.regimes.synchronous import ScheduledRegime

#: Lower bound of a row's prediction rate, relative to the mean rate, in the estimate of the inverse
#: Hessian.
MIN_RATE = 1e-3

#: Number of work items whose gradients are added to the sum in one call. Until that call, the
#: gradients are staged at the ps tasks.
N_ADDED_ITEMS = 8


def exact_steps(config: JobConfig) -> JobConfig:
    """Return a configuration whose steps compute the loss and its gradient exactly.

    If scores or rows were rounded, small changes of f would be lost. If updates were clipped, they
    would not be the gradient.
    """
    engine = config.engine
    options = replace(engine.options, max_norm=math.inf, with_loss=True, product_dtype="float32")
    return replace(config, engine=replace(engine, options=options), wire_dtype="float32")


class FixedRows(WholeRows):
    """Constant rows [n, D] that steps read; their updates are summed in a variable [n, D]."""

    def __init__(self, rows: tf.Tensor, sums: tf.Tensor) -> None:
        super().__init__(sums)
        self._rows = rows

    def read(self, ids: tf.Tensor) -> Slices:
        """Return the rows [ids, D], float32."""
        return Slices([tf.gather(self._rows, ids)])


class GradientJob(WorkerJob):
    """Evaluates a work item: the loss of its units, and the loss's gradient; see `WorkerJob`.

    Rows are fetched once and not changed. The updates that training steps would make to the rows,
    with alpha 1 and without clipping, are summed in separate variables. The sum is minus the
    gradient of the loss if ``objective.follows_gradient``: see `Objective`. The ps tasks stage the
    sum under the number of the attempt.

    Parameters
    ----------
    config : JobConfig
        Configuration by `exact_steps`, with the TensorFlow fallback as its engine. The alphas of
        all units must be 1.
    server : ParameterServer
    point : Tables of RowLayout
        Point of evaluation.
    gradient : Tables of RowLayout
        Tables to which the staged sums will be added; see `RowLayout.stage`.
    """

    counts = False

    def __init__(
        self, config: JobConfig, server: ParameterServer, point: Tables, gradient: Tables
    ) -> None:
        super().__init__(config, server)
        self._point = point._asdict()
        self._gradient = gradient._asdict()
        # one sum per thread: if threads shared a sum, some of their additions would be lost
        self._sums = [
            {
                name: Scratch(server.worker_variables, name, config.vector_size)
                for name, table in self._point.items()
                if table.n_rows
            }
            for _ in range(config.threads)
        ]

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows, and set the sums to zero."""
        self._splits = {name: self._point[name].split(ids) for name, ids in self.job.ids.items()}
        self._rows = {
            name: self._point[name].fetch(split, tf.float32) for name, split in self._splits.items()
        }
        clear_ops = [
            thread_sums[name].assign(tf.zeros_like(rows))
            for thread_sums in self._sums
            for name, rows in self._rows.items()
        ]
        return [*clear_ops, *self._rows.values()]

    def train(self) -> list[UnitResult]:
        """Run the steps, and sum their updates."""
        options = self.config.engine.options
        results = []
        for unit, sums in zip(self.job.units, self._sums, strict=True):
            rows = {
                name: FixedRows(rows, sums[name].make_handle()) for name, rows in self._rows.items()
            }
            tables = Tables(*map(rows.get, Tables._fields))
            zeros = (tf.zeros([], tf.float64),) * 3
            unit_sums = unit.train_steps(options, tables, self.job.words, 0, unit.steps, zeros)
            results.append(UnitResult(unit.kept, *unit_sums))
        return results

    def push(self) -> list[tf.Operation]:
        """Stage the sums at the ps tasks."""
        return [
            self._gradient[name].stage(
                split,
                parts_of(split, tf.add_n([sums[name].read() for sums in self._sums])),
                self.job.number,
            )
            for name, split in self._splits.items()
        ]

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Return 0: the point does not change during a pass."""
        return tf.zeros_like(others)


class SandblasterRegime(ScheduledRegime):
    """Evaluates f, the loss of the whole corpus, and the gradient of f once per epoch.

    Each epoch uses the random draws of epoch 0, so that f does not change. The learning rates of
    tasks are ignored. The `alpha` of a report is `LBFGS.step`: f was evaluated at the best point
    plus this multiple of the search direction. `export` copies the best point so far. `load`
    restarts the search if the rows differ from that point.

    Parameters
    ----------
    setup : Setup
        `n_units` is the number of units of an epoch. If an epoch has fewer, because training
        resumed from a checkpoint, the sum of their losses is not f, and is discarded.
    workers : Workers
    options : Sandblaster

    Raises
    ------
    ValueError
        If the updates of the objective are not the gradient of its loss, or a factor of
        ``setup.words.lock`` is neither 0 nor 1.
    """

    def __init__(self, setup: Setup, workers: Workers, options: Sandblaster) -> None:
        check_gradient(setup.config.objective)
        check_lock(array_of(setup.words.lock))
        super().__init__(setup._replace(config=exact_steps(setup.config)), workers, options)
        point = ShardedVector(self.server.tables)
        weights = _weights(point, Tables(*map(array_of, setup.rates)))
        self._search = LBFGS(
            point, point.like, options.history, lambda vector: vector.weigh(weights)
        )
        self._gradient = self._search.gradient
        self._begin_pass()
        tables = self._gradient.tables
        self._add_staged = adder_of_staged(tables, tf.float32, drop_others=False)
        self._drop_others = adder_of_staged(tables, tf.float32)

    def _make_job(self) -> GradientJob:
        point = self._search.trial.tables
        gradient = self._gradient.tables
        return GradientJob(self.config, self.server, Tables(*point), Tables(*gradient))

    def _begin_pass(self) -> None:
        """Reset the sums of an evaluation at the trial point."""
        self._n_evaluated = 0
        self._loss = 0.0
        self._staged_attempts: list[int] = []

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Evaluate each unit once at the trial point; after the last unit, set the next trial.

        To resume after a stop, call this method with the remaining units.

        Raises
        ------
        ClusterLost
            If a ps is lost, or no worker is left.
        Divergence
            If f is not finite at the starting point.
        """
        self.workers.liveness.progress()
        epoch = tasks[0].epoch if tasks else 0
        # tasks with the draws of epoch 0, and with alpha 1, which `GradientJob` requires
        tasks = [
            task._replace(epoch=0, key=unit_key(self._seed, 0, task.unit.index), alphas=(1.0, 1.0))
            for task in tasks
        ]
        items = runs_of(tasks, self.config.threads)
        if not self._n_evaluated:
            with defer_interrupts():
                self._gradient.clear()
                # drop the gradients that attempts of an earlier pass have staged after its end
                self._drop_others(tf.constant([], tf.int64))
        alphas = self._search.step, self._search.step
        n_items = 0
        for item, attempt, packed, is_first in self._scheduler.run_batch(items, stop):
            result = JobResult.unpack(packed)
            unit_reports = self.count_work(result, [task._replace(alphas=alphas) for task in item])
            if not is_first:
                self.traffic.repeated += len(item)
                continue
            n_items += 1
            self._loss += math.fsum(result.units.loss[: len(item)])
            self._n_evaluated += len(item)
            self._staged_attempts.append(attempt)
            if len(self._staged_attempts) == N_ADDED_ITEMS:
                self._add([self._staged_attempts])
            for unit_report in unit_reports:
                report(unit_report)
        self._add([[attempt] for attempt in self._staged_attempts])
        if n_items == len(items):
            self._end_pass(epoch)

    @defer_interrupts()
    def _end_pass(self, epoch: int) -> None:
        loss = self._loss
        is_complete = self._n_evaluated >= self._n_units
        self._begin_pass()
        if not is_complete:
            return
        if self._search.loss is None and not math.isfinite(loss):
            raise Divergence(f"the loss of the corpus is {loss} at the beginning of epoch {epoch}")
        self._gradient.scale(-1.0)
        self._search.report(loss)

    @defer_interrupts()
    def _add(self, batches: list[list[int]]) -> None:
        """Add the staged gradients of batches of attempts to the sum."""
        for attempts in batches:
            self._add_staged(tf.constant(attempts, tf.int64))
        self._staged_attempts = []

    def load(self, arrays: Tables) -> None:
        """Set the rows and restart the search, unless they equal the current point."""
        if self._search.loss is not None and self._point_equals(arrays):
            return
        super().load(arrays)
        self._search.restart()
        self._begin_pass()

    def _point_equals(self, arrays: Tables) -> bool:
        for table, array in zip(self.server.tables, arrays, strict=True):
            current = np.empty(array.shape, np.float32)
            table.export(current)
            if not np.array_equal(current, array[:]):
                return False
        return True

    def close(self) -> None:
        """See `Regime.close`."""
        for table in self._gradient.tables:
            table.close()
        super().close()


def _weights(point: ShardedVector, rates: Tables) -> ShardedVector:
    """Estimate the diagonal of the inverse Hessian, up to a factor: one number per row.

    The curvature of f in a row is a sum over the predictions in which the row takes part. So the
    estimate is the reciprocal of the expected number of these predictions; see `pair_rates`.
    """
    weights = point.like(1)
    for table, rate in zip(weights.tables, rates, strict=True):
        if table.n_rows:
            table.load(1.0 / np.maximum(rate / rate.mean(), MIN_RATE)[:, None])
    return weights
