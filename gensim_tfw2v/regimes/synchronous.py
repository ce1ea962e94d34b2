"""Synchronous training in rounds: workers train from one snapshot, then their changes are merged.

With one ps, a single task holds all parameters and merges all changes. The result of a round does
not depend on the speed of workers, or on the number of times that a job was run.

A round, like a pass of Sandblaster, is a batch of work items. The next free worker runs the next
item. When no items are left, idle workers run backup copies of unfinished items, and an item's
first result counts (Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.2). So
neither slow nor hanging workers delay a batch.
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
from gensim_tfw2v.unit_sizes import ROUND_POWER, ROUND_TIMES

#: Times are counted from the start of a batch. An item that has not finished after this multiple of
#: the median time of the finished items is a straggler. A patient scheduler runs one copy of a
#: straggler, if at least half of the items have finished.
STRAGGLER_TIMES = 3.0

#: Minimum number of seconds from the start of a batch until a patient scheduler copies an item.
STRAGGLER_SECONDS = 1.0


@dataclass(eq=False)
class WorkItem:
    """A work item of a batch, and the state of its attempts."""

    content: Any
    n_attempts: int = 0  # number of running attempts
    is_done: bool = False


class BackupScheduler:
    """Runs batches of work items on workers, with backup copies of unfinished items.

    Batches are run sequentially. A worker that still runs an obsolete copy, even of an earlier
    batch, gets no new item.

    Parameters
    ----------
    workers : int
        Maximum number of concurrent attempts.
    run : function (item, attempt) -> result
        Runs an item, and waits for its result; called in threads. `attempt` is a unique number.
    intact : function () -> bool
        Called after a failed attempt. Returns whether the results of earlier attempts still exist.
    is_patient : bool
        Copy only stragglers, which are slow items. Otherwise any idle worker copies an unfinished
        item.
    """

    def __init__(
        self,
        workers: int,
        run: Callable[[Any, int], Any],
        intact: Callable[[], bool],
        is_patient: bool = False,
    ) -> None:
        self._n_workers = workers
        self._run = run
        self._intact = intact
        self._is_patient = is_patient
        self._attempts = itertools.count(1)
        # (attempt, item) of all running attempts, including obsolete ones of earlier batches
        self._running: dict[Future[Any], tuple[int, WorkItem]] = {}
        self._threads = ThreadPoolExecutor(workers, "tfw2v-item")

    def run_batch(self, items: Iterable[Any], stop: Stop) -> Iterator[tuple[Any, int, Any, bool]]:
        """Run all items of a batch.

        Parameters
        ----------
        items : iterable
        stop : callable
            Once it returns True, no more items are started, but items that run are waited for.

        Yields
        ------
        (item, attempt, result, bool)
            For each successful attempt, including attempts of earlier batches: the item, the number
            of the attempt, the result, and whether it is the first result of the item. Only the
            first one counts.

        Raises
        ------
        ClusterLost
            If an attempt failed, and the results of earlier attempts are lost.
        """
        waiting_items = deque(map(WorkItem, items))
        running_items: list[WorkItem] = []
        n_items = len(waiting_items)
        start_time = time.monotonic()
        end_times = list[float]()  # seconds from the start of the batch to the end of each item
        is_stopped = False
        while True:
            is_stopped = is_stopped or stop()
            seconds = time.monotonic() - start_time
            n_started = len(running_items)
            running_items = [item for item in running_items if not item.is_done]
            end_times += [seconds] * (n_started - len(running_items))
            while len(self._running) < self._n_workers:
                if waiting_items and not is_stopped:
                    running_items.append(waiting_items.popleft())
                    self._begin(running_items[-1])
                    continue
                item = min(running_items, key=lambda item: item.n_attempts, default=None)
                if item is None:
                    break
                if item.n_attempts and not self._may_copy(item, seconds, end_times, n_items):
                    break
                self._begin(item)
            if not running_items and (is_stopped or not waiting_items):
                return
            futures, _ = wait(self._running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in futures:
                attempt, item = self._running.pop(future)
                item.n_attempts -= 1
                try:
                    result = future.result()
                except ClusterLost:
                    if not self._intact():
                        raise
                    continue
                is_first = not item.is_done
                item.is_done = True
                yield item.content, attempt, result, is_first

    def _may_copy(
        self, item: WorkItem, seconds: float, end_times: list[float], n_items: int
    ) -> bool:
        """Return whether to run a copy of a running item, `seconds` after the start of the batch.

        `end_times` are those of the finished items of the batch, which has `n_items` items.
        """
        if not self._is_patient:
            return True
        if item.n_attempts > 1 or 2 * len(end_times) < n_items:
            return False
        return seconds > max(STRAGGLER_SECONDS, STRAGGLER_TIMES * statistics.median(end_times))

    def _begin(self, item: WorkItem) -> None:
        attempt = next(self._attempts)
        item.n_attempts += 1
        self._running[self._threads.submit(self._run, item.content, attempt)] = attempt, item

    def close(self) -> None:
        """Stop without waiting for running attempts."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class ScheduledRegime(ParameterServerRegime):
    """Base of regimes whose jobs a `BackupScheduler` runs; see `ParameterServerRegime`."""

    is_patient = False

    def __init__(self, setup: Setup, workers: Workers, options: Any) -> None:
        super().__init__(setup, workers, options)
        self._concurrent_jobs = 1  # number of jobs that are trained concurrently; see `ROUND_TIMES`
        self._schedule_lock = threading.Lock()  # only one thread may trace the function
        self._scheduler = BackupScheduler(
            workers.number,
            self.run_job,
            lambda: workers.liveness.intact(self.server.tables),
            self.is_patient,
        )

    def run_job(self, tasks: Sequence[UnitTask], attempt: int) -> np.ndarray:
        """Run a job on the next free worker; return its packed result.

        `attempt` is a unique number.
        """
        n_missing = self.config.threads - len(tasks)  # threads without a unit
        unit_sources = [source_of(task.unit, self.config) for task in tasks]
        sources, ranges = zip(*unit_sources, *[NOTHING] * n_missing, strict=True)
        arguments = (
            np.array(sources, object),
            np.array(ranges, np.int32),
            np.array([*(task.unit.index for task in tasks), *[-1] * n_missing], np.int32),
            np.array([*(task.key for task in tasks), *[[0, 0]] * n_missing], np.int32),
            np.array([task.alphas for task in (*tasks, *[tasks[0]] * n_missing)], np.float32),
            np.float32(self._concurrent_jobs),
            np.int64(attempt),
        )
        with self._schedule_lock:
            job = self.workers.schedule(self.job.function, *map(tf.constant, arguments))
        return job.result()

    def close(self) -> None:
        """See `Regime.close`."""
        self._scheduler.close()
        super().close()


class SynchronousRegime(ScheduledRegime):
    """Trains in rounds of ``config.workers`` jobs; see `ParameterServerRegime`.

    The number of worker tasks may differ from the number of jobs in a round.
    """

    is_patient = True

    def __init__(
        self, setup: Setup, workers: Workers, options: Synchronous | Deterministic
    ) -> None:
        super().__init__(setup, workers, options)
        wire_dtype = tf.as_dtype(self.config.wire_dtype)
        combine = adasum if options.combining == "adasum" else None
        self._add_staged = adder_of_staged(self.server.tables, wire_dtype, combine)

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
        n_warm_jobs = -(-self.count_warm_tasks(tasks) // self.config.threads)
        for round_jobs in [
            *runs_of(jobs[:n_warm_jobs], 1),
            *runs_of(jobs[n_warm_jobs:], self.config.workers),
        ]:
            if stop():
                break
            is_shared = self.options.combines_by_direction and len(round_jobs) > 1
            # jobs of a round overlap completely, unlike asynchronous ones: see `ROUND_TIMES`
            self._concurrent_jobs = len(round_jobs) * (ROUND_TIMES if is_shared else 1)
            # for the index of a job's first unit, the attempt that counts and the job's reports
            results: dict[int, tuple[int, list[UnitReport]]] = {}
            for job, attempt, packed, is_first in self._scheduler.run_batch(round_jobs, never):
                if is_first:
                    results[job[0].unit.index] = attempt, self.make_reports(packed, job)
                else:
                    self.count_work(JobResult.unpack(packed), job)
            # sorted by job, because jobs finish in any order
            job_results = [results[job[0].unit.index] for job in round_jobs]
            with defer_interrupts():
                self._add_staged(tf.constant([attempt for attempt, _ in job_results], tf.int64))
            for _, unit_reports in job_results:
                for unit_report in unit_reports:
                    report(unit_report)
        self.end_epoch()
