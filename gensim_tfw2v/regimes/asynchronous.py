"""A cluster whose workers fetch rows, train work units and push changes, each at its own time.

Parameters stand on ps tasks, under TensorFlow's ``ParameterServerStrategy`` (Li et al. 2014,
"Scaling Distributed Machine Learning with the Parameter Server"): workers neither wait for nor
know of each other.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.corpus.units import WorkUnit
from gensim_tfw2v.layouts import RowLayout
from gensim_tfw2v.monitor.graph import step_graph
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import ClusterProgram
from gensim_tfw2v.regimes.base import ClusterLost, Divergence, UnitReport, never, unit_key
from gensim_tfw2v.regimes.job import JobResult, Ledger, job_function
from gensim_tfw2v.regimes.liveness import Liveness, naming_lost_tasks
from gensim_tfw2v.regimes.sources import NOTHING, is_seen_by, source_of
from gensim_tfw2v.regimes.tables import Tables
from gensim_tfw2v.regimes.traffic import Traffic

#: Seconds that jobs have to end when training is interrupted.
ENDING_SECONDS = 20.0

#: Jobs that wait at the coordinator for each worker, beside the one that it trains.
AHEAD = 1


class AsynchronousRegime:
    """Trains on the workers of a cluster.

    Parameters
    ----------
    program : ClusterProgram
    words : Words
        Of the vocabulary.
    rates : Tables of ndarray [V]
        See `pair_rates`.
    rows : int
        V.
    units : int
        Of an epoch, at most.
    coordinator : ClusterCoordinator
        Of a ``ParameterServerStrategy``.
    tasks : sequence of Task
        Its ps and workers.
    seed : int
    folder : Path
        That the units' files are in.

    Attributes
    ----------
    traffic : Traffic
    """

    def __init__(
        self,
        program: ClusterProgram,
        words: Words,
        rates: Tables,
        rows: int,
        units: int,
        coordinator: Any,
        tasks: Sequence[Task],
        seed: int,
        folder: Path,
    ) -> None:
        self.seed = seed
        self.traffic = Traffic()
        self._coordinator = coordinator
        self._liveness = Liveness(tasks)
        self._counting = threading.Lock()
        strategy, objective = coordinator.strategy, program.unit.objective
        size, shards = program.unit.vector_size, sum(task.role == "ps" for task in tasks)
        with naming_lost_tasks():
            is_shared = is_seen_by(program.workers, folder)
        self.program = program = replace(program, shared_corpus=is_shared)
        with naming_lost_tasks(), strategy.scope():
            self._tables = Tables(
                *(
                    RowLayout(rows if is_used else 0, size, shards)
                    for is_used in (True, objective.negative > 0, objective.hierarchical)
                )
            )
            own_words, own_rates = tf.nest.map_structure(
                lambda array: tf.Variable(array, trainable=False), (words, rates)
            )
            self._ledger = Ledger(
                tf.Variable(0, trainable=False, dtype=tf.int64),
                # of a variable without a fixed shape on another task, TensorFlow 2.21 crashes
                tf.Variable(tf.zeros([units], tf.int32), trainable=False),
            )
        self._train_job = job_function(program, self._tables, own_words, own_rates, self._ledger)

    def train_epoch(
        self,
        units: Sequence[WorkUnit],
        epoch: int,
        alphas: Sequence[tuple[float, float]],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once, and again if its worker ended; see `Regime`.

        Raises
        ------
        ClusterLost
            If a ps has ended, or no worker is left.
        """
        threads = self.program.threads
        with naming_lost_tasks():
            self._ledger.times.assign(tf.zeros_like(self._ledger.times))
        jobs: queue.SimpleQueue[range] = queue.SimpleQueue()
        for first in range(0, len(units), threads):
            jobs.put(range(first, min(first + threads, len(units))))
        ended, in_order = threading.Event(), threading.Lock()
        errors: list[BaseException] = []

        def work() -> None:
            while not (ended.is_set() or stop()):
                try:
                    with in_order:  # so that one worker trains units in their order
                        places = jobs.get_nowait()
                        scheduled = self._schedule(units, epoch, alphas, places)
                except queue.Empty:
                    return
                except BaseException as error:
                    errors.append(error)
                    ended.set()
                    return
                try:
                    for trained in self._result(scheduled, units, epoch, alphas, places):
                        report(trained)
                except ClusterLost as lost:
                    # it may have been pushed in part, and is trained again
                    jobs.put(places)
                    if not self._liveness.stand(self._tables):
                        errors.append(lost)
                        ended.set()
                except BaseException as error:
                    errors.append(error)
                    ended.set()

        waiting = [
            threading.Thread(target=work, name=f"tfw2v-job-{number}", daemon=True)
            for number in range((1 + AHEAD) * self.program.workers)
        ]
        self._liveness.progress()
        for thread in waiting:
            thread.start()
        try:
            for thread in waiting:
                while thread.is_alive() and not errors:
                    thread.join(0.1)
                    self._liveness.check()
        finally:
            # also after Ctrl-C: what workers are training is pushed, and has to be reported
            ended.set()
            deadline = time.monotonic() + ENDING_SECONDS
            for thread in waiting:
                thread.join(max(0.0, deadline - time.monotonic()))
        if errors:
            raise errors[0]
        with naming_lost_tasks():
            times = self._ledger.times.numpy()
        self.traffic.repeated += int(np.maximum(times - 1, 0).sum())

    def _schedule(
        self,
        units: Sequence[WorkUnit],
        epoch: int,
        alphas: Sequence[tuple[float, float]],
        places: range,
    ) -> Any:
        """Hand a job to the next worker that is free; give its result to come."""
        empty = self.program.threads - len(places)
        of_units = [source_of(units[place], self.program.shared_corpus) for place in places]
        sources, ranges = zip(*of_units, *[NOTHING] * empty, strict=True)
        keys = [unit_key(self.seed, epoch, units[place].index) for place in places]
        arguments = (
            tf.constant(sources),
            tf.constant(ranges, tf.int32),
            tf.constant([*places, *[-1] * empty], tf.int32),
            tf.constant([*keys, *[[0, 0]] * empty], tf.int32),
            tf.constant([alphas[place] for place in places] + [alphas[places[0]]] * empty),
        )
        while True:
            try:
                return self._coordinator.schedule(self._train_job, args=arguments)
            except tf.errors.OpError:
                # of another job, whose own thread gets it too; it is raised once
                continue

    def _result(
        self,
        scheduled: Any,
        units: Sequence[WorkUnit],
        epoch: int,
        alphas: Sequence[tuple[float, float]],
        places: range,
    ) -> list[UnitReport]:
        """Wait for a job and give the reports of its units."""
        with naming_lost_tasks():
            result = JobResult.unpacked(scheduled.fetch())
        self._liveness.progress()
        if not np.isfinite(result.units.magnitude).all():
            raise Divergence(
                f"training turned non-finite in epoch {epoch}, at step size "
                f"alpha={alphas[places[0]][0]:g} with {self.program.unit.shape.tokens} tokens a "
                "step"
            )
        self._count(result, [units[place] for place in places])
        return [
            UnitReport(
                units[place],
                int(result.units.kept[number]),
                float(result.units.loss[number]),
                float(result.units.predictions[number]),
            )
            for number, place in enumerate(places)
        ]

    def _count(self, result: JobResult, units: Sequence[WorkUnit]) -> None:
        row_bytes = self.program.unit.vector_size * tf.as_dtype(self.program.wire_dtype).size
        rows = int(result.rows.sum())
        of_job = Traffic(
            units=len(units),
            tokens=int(result.units.kept.sum()),
            fetched_bytes=rows * row_bytes,
            pushed_bytes=rows * (row_bytes + 4),  # and the ids, which travel once
            corpus_bytes=0
            if self.program.shared_corpus
            else 4 * sum(unit.stop - unit.start for unit in units),
            staleness=[int(result.staleness)],
            seconds=result.seconds,
        )
        with self._counting:
            self.traffic += of_job

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        with naming_lost_tasks():
            for table, array in zip(self._tables, arrays, strict=True):
                table.load(array)

    def finite(self) -> bool:
        """Whether every row is finite."""
        with naming_lost_tasks():
            return all(table.finite() for table in self._tables)

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""
        with naming_lost_tasks():
            for table, array in zip(self._tables, arrays, strict=True):
                table.export(array)

    def step_graph(self) -> tf.Graph | None:
        """The graph of a step."""
        return step_graph(self._train_job.get_concrete_function())

    def close(self) -> None:
        """Free the tables."""
        del self._tables, self._ledger, self._train_job
