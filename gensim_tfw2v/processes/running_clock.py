"""Clock of the time in which this process runs, for limits of waits."""

import threading
import time

#: Maximum number of seconds from one reading to the next that count as running.
MAX_STEP_SECONDS = 10.0


class RunningClock:
    """Clock that stands while this process is stopped, as by Ctrl-Z or ``docker pause``.

    A process does not notice that it was stopped. So if the time between two readings exceeds
    `MAX_STEP_SECONDS`, only this number of seconds counts. Read the clock more often than that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = 0.0
        self._reading_time = time.monotonic()

    def read(self) -> float:
        """Return the seconds in which this process has run since the clock was created."""
        with self._lock:
            now = time.monotonic()
            self._seconds += min(now - self._reading_time, MAX_STEP_SECONDS)
            self._reading_time = now
            return self._seconds
