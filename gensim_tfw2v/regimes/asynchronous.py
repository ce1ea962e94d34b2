"""Workers that fetch rows, train work units and push changes, each at its own time.

Parameters stand on ps tasks, under TensorFlow's ``ParameterServerStrategy`` (Li et al. 2014,
"Scaling Distributed Machine Learning with the Parameter Server"): workers neither wait for nor
know of each other.
"""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.kernel.task import UnitReport, UnitTask
from gensim_tfw2v.parameter_server.turns import Turns, in_turn, most_in_turn, runs_of
from gensim_tfw2v.parameter_server.workers import run_threads
from gensim_tfw2v.regimes.base import never
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

#: Seconds that jobs have to end when training is interrupted.
ENDING_SECONDS = 20.0

#: Turns that wait at the coordinator for each worker, beside the one that it trains.
AHEAD = 1


class AsynchronousRegime(ParameterServerRegime):
    """A turn of jobs for each worker, and one that waits; see `ParameterServerRegime`."""

    def train_epoch(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once, and again if its worker ended; see `Regime`.

        Raises
        ------
        ClusterLost
            If a ps has ended, or no worker is left.
        """
        self.begin_epoch()
        alone = self.alone(tasks)
        if alone:
            self.train_jobs(tasks[:alone], report, stop, replicas=1)
        self.train_jobs(tasks[alone:], report, stop)
        self.end_epoch()

    def alone(self, tasks: Sequence[UnitTask]) -> int:
        """How many of an epoch's units that are left one worker trains before the others begin."""
        return 0

    def train_jobs(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool],
        replicas: int = 0,
    ) -> None:
        """Train some of the units.

        Parameters
        ----------
        replicas : int
            How many workers train; 0 for all.
        """
        waiting = 1 if replicas else (1 + AHEAD) * self.workers.number
        replicas = replicas or self.workers.number
        turns = Turns(tasks, self.program.threads, replicas, self._most)
        in_order = threading.Lock()

        def work(ended: threading.Event) -> None:
            while not (ended.is_set() or stop()):
                with in_order:  # so that one worker trains units in their order
                    if ended.is_set() or stop() or (taken := turns.take()) is None:
                        return
                    jobs = runs_of(taken, self.program.threads)
                    arguments = [self.arguments(of_job, replicas) for of_job in jobs]
                    turn = self.workers.schedule(
                        self._function_of,
                        *(tf.constant(np.stack(each)) for each in zip(*arguments, strict=True)),
                    )
                try:
                    results = turn.fetch()
                except ClusterLost:
                    # it may have been pushed in part, and is trained again
                    turns.again(taken)
                    if not self.workers.intact(self.server.tables):
                        raise
                    continue
                for of_job, packed in zip(jobs, results, strict=True):
                    for trained in self.reported(packed, of_job):
                        report(trained)

        # also after Ctrl-C, what workers are training is pushed, and has to be reported
        run_threads(work, waiting, "tfw2v-job", self.workers.check, ENDING_SECONDS)

    def _function(self, worker: int) -> tf.types.experimental.PolymorphicFunction:
        return in_turn(self._job_function(), self.program.threads, self._most)

    def _job_function(self) -> tf.types.experimental.PolymorphicFunction:
        """The function of a job."""
        return super()._function(0)

    @property
    def _most(self) -> int:
        """Jobs of a turn, at most."""
        entries = self.program.threads * self.program.unit.max_entries
        return most_in_turn(entries, self.workers.number)
