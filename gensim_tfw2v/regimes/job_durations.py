"""Durations of recent jobs, and the duration from which a running job is late.

Jobs are of similar size, so workers of equal speed need similar times for them. A job that takes
several times as long runs on a slow worker, whose machine is throttled, shared, or hangs.
"""

import statistics
from collections import deque
from collections.abc import Sequence

from gensim_tfw2v.parameter_server.liveness import PROBE_AFTER_SECONDS

#: A job is late after this multiple of the typical duration. Without a slow worker, the durations
#: of similar jobs rarely differ by more.
LATE_TIMES = 3.0

#: Minimum number of seconds from the typical duration until a job is late. Busy machines stop
#: their processes for about as long. And a copy of a job costs some time itself.
MIN_DELAY_SECONDS = 0.2

#: Maximum number of seconds from the typical duration until a job is late, and the number for the
#: first job. Half of the time after which `Liveness` probes the tasks remains for a copy
#: of the job, so that a hanging worker does not end the training.
MAX_DELAY_SECONDS = PROBE_AFTER_SECONDS / 2

#: Number of recent jobs per worker from which the typical duration follows. Fewer would depend on
#: chance, more would miss that jobs become longer.
RECENT_JOBS = 8

#: Minimum number of jobs per worker until the typical duration is known. The first job of each
#: worker takes longer, because the worker loads the function. Until then, the longest duration
#: counts as typical.
MIN_JOBS = 2


class JobDurations:
    """Durations of the recent jobs of all workers, and the duration from which a job is late.

    The typical duration is the lower quartile, because up to half of the jobs are those of a slow
    worker if there are two workers.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_required = MIN_JOBS * n_workers
        self._seconds = deque[float](maxlen=RECENT_JOBS * n_workers)

    def add(self, seconds: float) -> None:
        """Add the duration of a finished job."""
        self._seconds.append(seconds)

    def late_seconds(self, batch_seconds: Sequence[float] = (), n_batch: int = 1) -> float:
        """Return the duration from which a running job is late.

        If jobs become longer from one batch to the next, recent jobs mislead. So the median of the
        job's own batch counts, too, once half of the batch has finished.

        Parameters
        ----------
        batch_seconds : sequence of float
            Durations of the finished jobs of the same batch.
        n_batch : int
            Number of jobs of the batch.
        """
        n_jobs = len(self._seconds)
        typical_seconds = 0.0
        if n_jobs >= self._n_required:
            typical_seconds = sorted(self._seconds)[n_jobs // 4]
        elif n_jobs:
            typical_seconds = max(self._seconds)
        if batch_seconds and 2 * len(batch_seconds) >= n_batch:
            typical_seconds = max(typical_seconds, statistics.median_low(batch_seconds))
        if not typical_seconds:
            return MAX_DELAY_SECONDS
        delay = max(MIN_DELAY_SECONDS, (LATE_TIMES - 1) * typical_seconds)
        return typical_seconds + min(delay, MAX_DELAY_SECONDS)
