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
from gensim_tfw2v.parameter_server.job_queue import JobQueue, jobs_of
from gensim_tfw2v.parameter_server.liveness import convert_task_errors
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.threads import defer_interrupts, run_threads
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

logger = logging.getLogger(__name__)

#: Seconds that running jobs may take to finish when training is interrupted.
ENDING_SECONDS = 20.0


class AsynchronousRegime(ParameterServerRegime):
    """Workers draw jobs from a queue, each at its own pace; see `ParameterServerRegime`."""

    def __init__(self, setup: Setup, workers: Workers, options: Any = None) -> None:
        super().__init__(setup, workers, options)
        with workers.scope():
            self._queue = JobQueue(-(-setup.units // self.config.threads), self.config)

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
        alone = self.alone(tasks)
        if alone:
            self.train_jobs(tasks[:alone], report, stop, 1)
        self.train_jobs(tasks[alone:], report, stop, self.workers.number)
        self.end_epoch()

    def train_jobs(
        self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop, replicas: int
    ) -> None:
        """Train some units of an epoch.

        Parameters
        ----------
        replicas : int
            Number of workers that train.
        """
        why = ""  # error of the last worker that failed
        jobs = jobs_of(tasks, self.config.threads)
        files: tf.Tensor
        number = tf.constant(replicas, tf.float32)
        function = self.function

        def work(ended: threading.Event) -> None:
            nonlocal why
            try:
                self.workers.schedule(function, files, number).result()
            except ClusterLost as lost:
                if not self.workers.liveness.intact(self.server.tables):
                    raise
                why = f" (last error: {lost})"
                logger.info("a worker failed, its jobs will be retried: %s", lost)

        def look() -> None:
            with defer_interrupts():
                done = self._queue.collect()
                if stop():
                    self._queue.close()
                self._queue.stage()
            if done:
                self.workers.liveness.progress()
            for job_tasks, packed in done:
                for trained in self.reported(packed, job_tasks):
                    report(trained)

        def end() -> None:
            with contextlib.suppress(ClusterLost), convert_task_errors():
                self._queue.close()

        while jobs and not stop():
            with defer_interrupts():
                files = self._queue.refill(jobs)
            try:
                run_threads(work, replicas, "tfw2v-worker", look, ENDING_SECONDS, end)
            finally:  # also after Ctrl-C: report the jobs that have finished meanwhile
                look()
            # jobs without a result; failed workers may have pushed a part of their changes
            if len(left := self._queue.left()) == len(jobs) and not stop():
                raise ClusterLost(f"no worker could train any of the remaining jobs{why}")
            jobs = left

    @functools.cached_property
    def function(self) -> tf.types.experimental.PolymorphicFunction:
        """Function that each worker runs: it draws and trains jobs until the queue is empty."""
        return self._queue.worker_function(self.job)
