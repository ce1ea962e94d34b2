"""Relay of workers that train one at a time: a slow worker hands over to the next one.

A worker that trains alone takes jobs until the queue is closed. Its turn then ends with its current
job. TensorFlow starts the next turn on the worker that has waited longest.
"""

import logging
import math
import time
from collections.abc import Sequence

logger = logging.getLogger(__name__)

#: Number of jobs of the first turn. With two turns, the speeds of two workers are known.
FIRST_JOBS = 2

#: A turn ends if its jobs take this many times as long as those of the fastest earlier turn. A
#: handover costs little, so the number may be low, but speeds differ from one job to the next.
SLOW_TIMES = 2.0

#: Minimum number of seconds that a turn must have taken longer than the fastest earlier turn would
#: have for the same number of jobs. Busy machines stop their processes for about as long.
MIN_LOST_SECONDS = 0.3


class Relay:
    """Decides when the worker that trains alone hands over to the next worker.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._fastest_mean = math.inf  # mean seconds per job in the fastest earlier turn
        self._durations: list[float] = []  # of the jobs of this turn, in seconds
        self._result_time = 0.0  # time.monotonic() of the last result

    def begin_turn(self) -> None:
        """Start the turn of the next worker."""
        if self._durations:
            mean = sum(self._durations) / len(self._durations)
            self._fastest_mean = min(self._fastest_mean, mean)
        self._durations = []

    def must_hand_over(self, durations: Sequence[float]) -> bool:
        """Return whether the turn must end.

        The first job of a turn is always waited for, because a worker first loads the function.

        Parameters
        ----------
        durations : sequence of float
            Seconds of each of the jobs that have finished since the last call.
        """
        now = time.monotonic()
        if durations:
            self._durations.extend(durations)
            self._result_time = now
        n_jobs = len(self._durations)
        if self._n_workers == 1 or not n_jobs:
            return False
        if math.isinf(self._fastest_mean):
            return n_jobs >= FIRST_JOBS
        seconds = sum(self._durations)
        running_seconds = now - self._result_time  # minimum duration of the running job
        if running_seconds > self._fastest_mean:
            seconds += running_seconds
            n_jobs += 1
        fast_seconds = n_jobs * self._fastest_mean
        if seconds < max(SLOW_TIMES * fast_seconds, fast_seconds + MIN_LOST_SECONDS):
            return False
        logger.info(
            "a slow worker hands over: %d jobs took %.2f s, %.2f s on a faster one",
            n_jobs,
            seconds,
            fast_seconds,
        )
        return True
