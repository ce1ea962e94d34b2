"""Synchronous training in rounds: workers train from one snapshot, then their changes are merged.

With one ps, a single task holds all parameters and merges all changes. The result of a round does
not depend on the speed of workers, or on the number of times that a job was run.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Reporter, UnitReport, UnitTask
from gensim_tfw2v.options.regimes import Deterministic, Synchronous
from gensim_tfw2v.parameter_server.combining import adasum
from gensim_tfw2v.parameter_server.job_queue import runs_of
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.row_job import StagedJob
from gensim_tfw2v.parameter_server.rows import adder_of_staged
from gensim_tfw2v.parameter_server.text import NOTHING, source_of
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.backup_scheduler import BackupScheduler
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime
from gensim_tfw2v.unit_sizes import ROUND_POWER, ROUND_TIMES


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
        unit_sources = [source_of(task, self.config) for task in tasks]
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
