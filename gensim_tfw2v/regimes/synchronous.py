"""Synchronous training in rounds: workers train from one snapshot, then their changes are merged.

With one ps, a single task holds all parameters and merges all changes. The result of a round does
not depend on the speed of workers, or on how often a job was run.

A round, like a pass of Sandblaster, is a batch of work items. Each item goes to the next free
worker. When no items are left, idle workers run backup copies of unfinished items, and the first
result counts (Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.2). So neither
slow nor hanging workers delay a batch.
"""

import itertools
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.kernel.sizes import ROUND_POWER, ROUND_TIMES
from gensim_tfw2v.kernel.tables import Reporter, UnitReport, UnitTask
from gensim_tfw2v.options.regimes import Deterministic, Synchronous
from gensim_tfw2v.parameter_server.combining import adasum
from gensim_tfw2v.parameter_server.job_queue import runs_of
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.rows import StagedJob, adder_of_staged
from gensim_tfw2v.parameter_server.text import NOTHING, source_of
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.threads import LOOK_SECONDS, defer_interrupts
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

#: Multiple of the median time of a batch's finished items. After that time, a patient scheduler
#: copies an unfinished item, once, if at least half of the batch's items have finished.
STRAGGLER_TIMES = 3.0

#: Minimum number of seconds from the start of a batch until a patient scheduler copies an item.
STRAGGLER_SECONDS = 1.0


@dataclass(eq=False)
class WorkItem:
    """A work item of a batch, and the state of its attempts."""

    what: Any
    attempts: int = 0  # running now
    is_done: bool = False


class BackupScheduler:
    """Runs batches of work items on workers, with backup copies of unfinished items.

    Batches are run sequentially. A worker that still runs an obsolete copy, even of an earlier
    batch, gets no new item.

    Parameters
    ----------
    workers : int
        Maximum number of concurrent attempts.
    run : function (item, number) -> result
        Runs an attempt under a unique number, and waits for it; called in threads.
    intact : function () -> bool
        Called after a failed attempt: returns whether the results of earlier attempts still exist.
    patient : bool
        Copy only stragglers, which are slow items. Otherwise any idle worker copies an unfinished
        item.
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
        # number and item of each running attempt, including obsolete ones of earlier batches
        self._running: dict[Future[Any], tuple[int, WorkItem]] = {}
        self._threads = ThreadPoolExecutor(workers, "tfw2v-item")

    def run_batch(self, items: Iterable[Any], stop: Stop) -> Iterator[tuple[Any, int, Any, bool]]:
        """Run all items of a batch.

        Parameters
        ----------
        items : iterable
        stop : callable
            Once it returns True, no more items are started; started ones are waited for.

        Yields
        ------
        (item, number, result, bool)
            For each successful attempt, including attempts of earlier batches: its item, its
            number, its result, and whether the result counts. Only an item's first result counts.

        Raises
        ------
        ClusterLost
            If an attempt failed, and the results of earlier attempts are lost.
        """
        waiting = deque(map(WorkItem, items))
        out: list[WorkItem] = []  # started, not finished
        total = len(waiting)
        began = time.monotonic()
        took = list[float]()  # seconds from the start of the batch to the end of each item
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
        """Return whether to run a copy of an item; `passed` and `took` are as in `run_batch`."""
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
        """Stop without waiting for running attempts."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class ScheduledRegime(ParameterServerRegime):
    """Base of regimes whose jobs a `BackupScheduler` runs; see `ParameterServerRegime`."""

    patient = False

    def __init__(self, setup: Setup, workers: Workers, options: Any) -> None:
        super().__init__(setup, workers, options)
        self._replicas = 1  # number of jobs trained concurrently
        self._scheduling = threading.Lock()  # only one thread may trace the function
        self._scheduler = BackupScheduler(
            workers.number,
            self.run_job,
            lambda: workers.liveness.intact(self.server.tables),
            self.patient,
        )

    def run_job(self, tasks: Sequence[UnitTask], number: int) -> np.ndarray:
        """Run a job on the next free worker, under a unique number; return its packed result."""
        empty = self.config.threads - len(tasks)
        unit_sources = [source_of(task.unit, self.config) for task in tasks]
        sources, ranges = zip(*unit_sources, *[NOTHING] * empty, strict=True)
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
        return job.result()

    def close(self) -> None:
        """See `Regime.close`."""
        self._scheduler.close()
        super().close()


class SynchronousRegime(ScheduledRegime):
    """Trains in rounds of ``config.workers`` jobs; see `ParameterServerRegime`.

    The cluster may have fewer or more worker tasks than that.
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
        skipgram = self.config.objective.skipgram
        job.growth_power = ROUND_POWER["skipgram" if skipgram else "cbow"]
        return job

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once; see `Regime`. Units are reported at the end of their round.

        Raises
        ------
        ClusterLost
            If a ps is lost, or no worker is left.
        """
        self.begin_epoch()
        jobs = runs_of(tasks, self.config.threads)
        alone = -(-self.alone(tasks) // self.config.threads)
        for round_jobs in [
            *runs_of(jobs[:alone], 1),
            *runs_of(jobs[alone:], self.config.workers),
        ]:
            if stop():
                break
            is_shared = self.options.combines_by_direction and len(round_jobs) > 1
            # jobs of a round overlap completely, unlike asynchronous ones: see `ROUND_TIMES`
            self._replicas = len(round_jobs) * (ROUND_TIMES if is_shared else 1)
            # by index of a job's first unit: number of the attempt that counts, and its reports
            ended: dict[int, tuple[int, list[UnitReport]]] = {}
            for job, number, packed, counts in self._scheduler.run_batch(round_jobs, never):
                if counts:
                    ended[job[0].unit.index] = number, self.reported(packed, job)
                else:
                    self.count_work(JobResult.unpacked(packed), job)
            # in the order of the jobs, whichever finished first
            job_results = [ended[job[0].unit.index] for job in round_jobs]
            with defer_interrupts():
                self._add_staged(tf.constant([number for number, _ in job_results], tf.int64))
            for _, reports in job_results:
                for trained in reports:
                    report(trained)
        self.end_epoch()
