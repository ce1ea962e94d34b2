"""Rounds: all workers train from one snapshot of the rows, and what they change meets at a barrier.

With one ps it is the design of a single parameter actor. What comes out of a round does not depend
on which worker was faster, nor on how often a job was run.

A round, like Sandblaster's pass, is a batch of work items, each for the next worker that is
free. When none is left to hand out, workers that would be idle are given copies of those that are
not done, and what is done first counts (Dean et al. 2012, "Large Scale Distributed Deep Networks",
section 4.2). So neither a slow worker nor one that stands still holds up a batch.
"""

import itertools
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.kernel.sizes import ROUND_TIMES
from gensim_tfw2v.kernel.tables import Reporter, UnitReport, UnitTask
from gensim_tfw2v.options.regimes import Deterministic, Synchronous
from gensim_tfw2v.parameter_server.combining import adasum
from gensim_tfw2v.parameter_server.job import NOTHING, JobResult, source_of
from gensim_tfw2v.parameter_server.job_queue import runs_of
from gensim_tfw2v.parameter_server.rows import StagedJob, adder_of_staged
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.process_guards import defer_interrupts
from gensim_tfw2v.processes.threads import LOOK_SECONDS
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

#: Of a patient scheduler: an item is copied, once, when it takes this many times as long as the
#: median of its batch, and at least so many seconds.
STRAGGLER_TIMES = 3.0
STRAGGLER_SECONDS = 1.0


@dataclass(eq=False)
class WorkItem:
    """A part of a batch."""

    what: Any
    attempts: int = 0  # that run now
    is_done: bool = False


class BackupScheduler:
    """Has items done by workers, one batch after another, the last ones with backup copies.

    What a worker still does of a batch that has been done keeps it from being given more.

    Parameters
    ----------
    workers : int
        Attempts that run at a time.
    run : function (item, number) -> result
        Runs an attempt under a number that no other has, and waits for it; in threads.
    intact : function () -> bool
        Whether what the attempts before have left is there, when one has failed.
    patient : bool
        Whether only stragglers are copied. Else all that idle workers have time for.
    """

    def __init__(
        self,
        workers: int,
        run: Callable[[Any, int], Any],
        intact: Callable[[], bool],
        patient: bool = False,
    ) -> None:
        self._workers = workers
        self._run = run
        self._intact = intact
        self._patient = patient
        self._numbers = itertools.count(1)
        self._running: dict[Future[Any], tuple[int, WorkItem]] = {}
        self._threads = ThreadPoolExecutor(workers, "tfw2v-item")

    def run_batch(self, items: Iterable[Any], stop: Stop) -> Iterator[tuple[Any, int, Any, bool]]:
        """Have all of a batch done.

        Parameters
        ----------
        items : iterable
        stop : callable
            Whether to hand out no more of them; those that are out are waited for.

        Yields
        ------
        (item, number, result, bool)
            Of each attempt that has ended; and whether it is the one that counts for its item.

        Raises
        ------
        ClusterLost
            If an attempt failed, and what others have left is gone.
        """
        waiting = deque(map(WorkItem, items))
        out: list[WorkItem] = []
        total = len(waiting)
        began = time.monotonic()
        took = list[float]()
        is_stopped = False
        while True:
            is_stopped = is_stopped or stop()
            passed = time.monotonic() - began
            before = len(out)
            out = [item for item in out if not item.is_done]
            took += [passed] * (before - len(out))
            while len(self._running) < self._workers:
                if waiting and not is_stopped:
                    out.append(waiting.popleft())
                    self._begin(out[-1])
                    continue
                again = min(out, key=lambda item: item.attempts, default=None)
                if again is None or again.attempts and not self._copies(again, passed, took, total):
                    break
                self._begin(again)
            if not out and (is_stopped or not waiting):
                return
            done, _ = wait(self._running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                number, item = self._running.pop(future)
                item.attempts -= 1
                try:
                    result = future.result()
                except ClusterLost:
                    if not self._intact():
                        raise
                    continue
                is_first = not item.is_done
                item.is_done = True
                yield item.what, number, result, is_first

    def _copies(self, item: WorkItem, passed: float, took: list[float], total: int) -> bool:
        """Return whether a copy is handed out too; `took` are the seconds of what is done."""
        if not self._patient:
            return True
        if item.attempts > 1 or 2 * len(took) < total:
            return False
        return passed > max(STRAGGLER_SECONDS, STRAGGLER_TIMES * statistics.median(took))

    def _begin(self, item: WorkItem) -> None:
        number = next(self._numbers)
        item.attempts += 1
        self._running[self._threads.submit(self._run, item.what, number)] = number, item

    def close(self) -> None:
        """Wait for nothing that still runs."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class ScheduledRegime(ParameterServerRegime):
    """Jobs by a `BackupScheduler`, each of which counts once; see `ParameterServerRegime`."""

    patient: ClassVar[bool] = False

    def __init__(self, setup: Setup, workers: Workers, options: Any) -> None:
        super().__init__(setup, workers, options)
        self._replicas = 1  # jobs that are trained at the same time
        self._scheduling = threading.Lock()  # or several threads would trace the function
        self._scheduler = BackupScheduler(
            workers.number,
            self.run_job,
            lambda: workers.liveness.intact(self.server.tables),
            self.patient,
        )

    def run_job(self, tasks: Sequence[UnitTask], number: int) -> np.ndarray:
        """Hand a job, whose number no other has, to the next worker that is free; wait for it."""
        empty = self.config.threads - len(tasks)
        of_units = [source_of(task.unit, self.config.shared_corpus) for task in tasks]
        sources, ranges = zip(*of_units, *[NOTHING] * empty, strict=True)
        arguments = (
            np.array(sources, object),
            np.array(ranges, np.int32),
            np.array([*(task.unit.index for task in tasks), *[-1] * empty], np.int32),
            np.array([*(task.key for task in tasks), *[[0, 0]] * empty], np.int32),
            np.array([task.alphas for task in (*tasks, *[tasks[0]] * empty)], np.float32),
            np.float32(self._replicas),
            np.int64(number),
        )
        with self._scheduling:
            job = self.workers.schedule(self.job.function, *map(tf.constant, arguments))
        packed: np.ndarray = job.result()
        return packed

    def close(self) -> None:
        """Free the tables."""
        self._scheduler.close()
        super().close()


class SynchronousRegime(ScheduledRegime):
    """A round is a job for each worker; see `ParameterServerRegime`.

    There may be fewer or more tasks that run them.
    """

    patient = True

    def __init__(
        self, setup: Setup, workers: Workers, options: Synchronous | Deterministic
    ) -> None:
        super().__init__(setup, workers, options)
        wire = tf.as_dtype(self.config.wire_dtype)
        combine = adasum if options.combining == "adasum" else None
        self._add_staged = adder_of_staged(self.server.tables, wire, combine)

    def _make_job(self) -> StagedJob:
        job = StagedJob(self.config, self.server)
        job.by_direction = self.options.combines_by_direction
        return job

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once; see `Regime`. Units are reported at the end of their round.

        Raises
        ------
        ClusterLost
            If a ps has ended, or no worker is left.
        """
        self.begin_epoch()
        jobs = runs_of(tasks, self.config.threads)
        alone = -(-self.alone(tasks) // self.config.threads)
        for of_round in [
            *runs_of(jobs[:alone], 1),
            *runs_of(jobs[alone:], self.config.workers),
        ]:
            if stop():
                break
            is_shared = self.options.combines_by_direction and len(of_round) > 1
            self._replicas = len(of_round) * (ROUND_TIMES if is_shared else 1)
            ended: dict[int, tuple[int, list[UnitReport]]] = {}  # by a job's first unit
            for job, number, packed, counts in self._scheduler.run_batch(of_round, never):
                if counts:
                    ended[job[0].unit.index] = number, self.reported(packed, job)
                else:
                    self.counted(JobResult.unpacked(packed), job)
            # in the order of the jobs, whichever came first
            of_jobs = [ended[job[0].unit.index] for job in of_round]
            with defer_interrupts():
                self._add_staged(tf.constant([number for number, _ in of_jobs], tf.int64))
            for _, reports in of_jobs:
                for trained in reports:
                    report(trained)
        self.end_epoch()
