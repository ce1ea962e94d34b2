"""Workers that fetch rows, train work units and push changes, each at its own time.

Parameters stand on ps tasks, under TensorFlow's ``ParameterServerStrategy`` (Li et al. 2014,
"Scaling Distributed Machine Learning with the Parameter Server"): workers neither wait for nor
know of each other.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from gensim_tfw2v.corpus.units import WorkUnit
from gensim_tfw2v.regimes.base import ClusterLost, UnitReport, never
from gensim_tfw2v.regimes.served import ServedRegime

#: Seconds that jobs have to end when training is interrupted.
ENDING_SECONDS = 20.0

#: Jobs that wait at the coordinator for each worker, beside the one that it trains.
AHEAD = 1


class AsynchronousRegime(ServedRegime):
    """A job a worker, and one that waits; see `ServedRegime`."""

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
        self.begin_epoch()
        self.train_jobs(units, range(len(units)), epoch, alphas, report, stop)
        self.end_epoch()

    def train_jobs(
        self,
        units: Sequence[WorkUnit],
        which: range,
        epoch: int,
        alphas: Sequence[tuple[float, float]],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool],
        replicas: int = 0,
    ) -> None:
        """Train some of the units.

        Parameters
        ----------
        which : range
            Their places.
        replicas : int
            How many jobs are trained at a time; 0 for one a worker.
        """
        waiting = 1 if replicas else (1 + AHEAD) * self.workers.number
        replicas = replicas or self.workers.number
        jobs: queue.SimpleQueue[range] = queue.SimpleQueue()
        for first in range(which.start, which.stop, self.program.threads):
            jobs.put(range(first, min(first + self.program.threads, which.stop)))
        ended, in_order = threading.Event(), threading.Lock()
        errors: list[BaseException] = []

        def work() -> None:
            while not (ended.is_set() or stop()):
                try:
                    with in_order:  # so that one worker trains units in their order
                        places = jobs.get_nowait()
                        job = self.schedule(units, epoch, alphas, places, replicas)
                except queue.Empty:
                    return
                except BaseException as error:
                    errors.append(error)
                    ended.set()
                    return
                try:
                    for trained in self.reports(job, units, epoch, alphas, places):
                        report(trained)
                except ClusterLost as lost:
                    # it may have been pushed in part, and is trained again
                    jobs.put(places)
                    if not self.workers.stand(self.served.tables):
                        errors.append(lost)
                        ended.set()
                except BaseException as error:
                    errors.append(error)
                    ended.set()

        threads = [
            threading.Thread(target=work, name=f"tfw2v-job-{number}", daemon=True)
            for number in range(waiting)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive() and not errors:
                    thread.join(0.1)
                    self.workers.check()
        finally:
            # also after Ctrl-C: what workers are training is pushed, and has to be reported
            ended.set()
            deadline = time.monotonic() + ENDING_SECONDS
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
        if errors:
            raise errors[0]
