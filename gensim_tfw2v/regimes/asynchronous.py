"""Workers that fetch rows, train work units and push changes, each at its own time.

Parameters stand on ps tasks, under TensorFlow's ``ParameterServerStrategy`` (Li et al. 2014,
"Scaling Distributed Machine Learning with the Parameter Server"): workers neither wait for nor
know of each other.
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
from gensim_tfw2v.processes.process_guards import defer_interrupts
from gensim_tfw2v.processes.threads import run_threads
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

logger = logging.getLogger(__name__)

#: Seconds that jobs have to end when training is interrupted.
ENDING_SECONDS = 20.0


class AsynchronousRegime(ParameterServerRegime):
    """Workers draw jobs, each as it has time; see `ParameterServerRegime`."""

    def __init__(self, setup: Setup, workers: Workers, options: Any = None) -> None:
        super().__init__(setup, workers, options)
        threads = self.config.threads
        with workers.scope():
            self._queue = JobQueue(-(-setup.units // threads), threads, self.config.shared_corpus)

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, and again if its worker ended; see `Regime`.

        Raises
        ------
        ClusterLost
            If a ps has ended, or no worker is left.
        BlockedPaths
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
        """Train some of the units.

        Parameters
        ----------
        replicas : int
            How many workers train.
        """
        why = ""  # the last job that failed has done so
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
                why = f" (one said: {lost})"
                logger.info("a worker has failed; its jobs are trained again: %s", lost)

        def look() -> None:
            with defer_interrupts():
                done = self._queue.collect()
                if stop():
                    self._queue.close()
                self._queue.stage()
            if done:
                self.workers.liveness.progress()
            for of_job, packed in done:
                for trained in self.reported(packed, of_job):
                    report(trained)

        def end() -> None:
            with contextlib.suppress(ClusterLost), convert_task_errors():
                self._queue.close()

        while jobs and not stop():
            with defer_interrupts():
                files = self._queue.refill(jobs)
            try:
                run_threads(work, replicas, "tfw2v-worker", look, ENDING_SECONDS, end)
            finally:  # also after Ctrl-C, what workers were training has been pushed
                look()
            # what workers that ended have drawn; it may have been pushed in part
            if len(left := self._queue.left()) == len(jobs) and not stop():
                raise ClusterLost(f"no worker has trained any of the jobs that are left{why}")
            jobs = left

    @functools.cached_property
    def function(self) -> tf.types.experimental.PolymorphicFunction:
        """The function that all workers run: it draws jobs until none is left."""
        return self._queue.worker_function(self.job)
