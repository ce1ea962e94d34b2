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

#: Minimum number of seconds by which the mean duration of jobs must exceed that of the fastest
#: earlier turn. Busy machines stop their processes for about as long.
MIN_EXCESS_SECONDS = 0.1


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
        total_seconds = sum(self._durations)
        running_seconds = now - self._result_time  # time that the next job has taken at least
        mean = max(total_seconds / n_jobs, (total_seconds + running_seconds) / (n_jobs + 1))
        if mean < max(SLOW_TIMES * self._fastest_mean, self._fastest_mean + MIN_EXCESS_SECONDS):
            return False
        logger.info(
            "a slow worker hands over: its jobs take %.2f s, those of a faster one %.2f s",
            mean,
            self._fastest_mean,
        )
        return True
