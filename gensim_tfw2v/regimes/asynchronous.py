"""Asynchronous training: workers fetch, train and push without waiting for each other.

The parameters are on ps tasks, under TensorFlow's ``ParameterServerStrategy`` (Li et al. 2014,
"Scaling Distributed Machine Learning with the Parameter Server"). Workers do not communicate with
each other.
"""

import contextlib
import functools
import logging
import threading
from collections.abc import Sequence
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.kernel.tables import Reporter, UnitTask
from gensim_tfw2v.parameter_server.job import WorkerJob
from gensim_tfw2v.parameter_server.job_queue import JobQueue, jobs_of
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.threads import defer_interrupts, run_threads
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime
from gensim_tfw2v.unit_sizes import DELAY_WEIGHT

logger = logging.getLogger(__name__)

#: Seconds that running jobs may take to finish when training is interrupted.
GRACE_SECONDS = 20.0


class AsynchronousRegime(ParameterServerRegime):
    """Lets workers take jobs from a queue, each at its own pace; see `ParameterServerRegime`."""

    def __init__(self, setup: Setup, workers: Workers, options: Any = None) -> None:
        super().__init__(setup, workers, options)
        with workers.scope():
            self._queue = JobQueue(-(-setup.n_units // self.config.threads), self.config)

    def _make_job(self) -> WorkerJob:
        job = super()._make_job()
        if self.config.has_single_inputs:
            job.delay_weight = DELAY_WEIGHT
        return job

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, and again if its worker failed; see `Regime`.

        Raises
        ------
        ClusterLost
            If a ps is lost, or no worker is left.
        BlockedPaths
            If a worker runs but cannot reach a ps.
        """
        self.begin_epoch()
        n_warm = self.count_warm_tasks(tasks)
        if n_warm:
            self.train_jobs(tasks[:n_warm], report, stop, 1)
        self.train_jobs(tasks[n_warm:], report, stop, self.workers.number)
        self.end_epoch()

    def train_jobs(
        self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop, n_replicas: int
    ) -> None:
        """Train some units of an epoch.

        Parameters
        ----------
        n_replicas : int
            Number of workers that train.
        """
        failure = ""  # error of the last worker that failed
        jobs = jobs_of(tasks, self.config.threads)
        files: tf.Tensor
        concurrent_jobs = tf.constant(n_replicas, tf.float32)
        function = self.function

        def work(_: threading.Event) -> None:
            nonlocal failure
            try:
                self.workers.schedule(function, files, concurrent_jobs).result()
            except ClusterLost as error:
                if not self.workers.liveness.intact(self.server.tables):
                    raise
                failure = f" (last error: {error})"
                logger.info("a worker failed, its jobs will be retried: %s", error)

        def process_results() -> None:
            with defer_interrupts():
                results = self._queue.collect()
                if stop():
                    self._queue.close()
                self._queue.stage()
            for job_tasks, packed in results:
                for unit_report in self.make_reports(packed, job_tasks):
                    report(unit_report)

        def end() -> None:
            with contextlib.suppress(ClusterLost), self.workers.liveness.convert_errors():
                self._queue.close()

        while jobs and not stop():
            with defer_interrupts():
                files = self._queue.refill(jobs)
            try:
                run_threads(work, n_replicas, "tfw2v-worker", process_results, GRACE_SECONDS, end)
            finally:  # also after Ctrl-C: report the jobs that have finished meanwhile
                process_results()
            # the remaining jobs have no result, but some of their changes may have been pushed
            remaining_jobs = self._queue.remaining_jobs()
            if len(remaining_jobs) == len(jobs) and not stop():
                raise ClusterLost(f"no worker could train any of the remaining jobs{failure}")
            jobs = remaining_jobs

    @functools.cached_property
    def function(self) -> tf.types.experimental.PolymorphicFunction:
        """Function that each worker runs: it takes and trains jobs until the queue is empty."""
        return self._queue.worker_function(self.job)
