"""Batches of work items on workers, with backup copies of items that are not finished in time.

A batch is a round of synchronous training, or a pass of Sandblaster. The next free worker runs the
next item. When no items are left, idle workers run backup copies of unfinished items, and an item's
first result counts (Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.2). So
neither slow nor hanging workers delay a batch.
"""

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.processes.threads import LOOK_SECONDS
from gensim_tfw2v.regimes import Stop
from gensim_tfw2v.regimes.job_durations import JobDurations


@dataclass(eq=False)
class WorkItem:
    """A work item of a batch, and the state of its attempts."""

    content: Any
    n_attempts: int = 0  # number of running attempts
    start_time: float = 0.0  # time.monotonic() at the start of the last attempt
    is_done: bool = False


class BackupScheduler:
    """Runs batches of work items on workers, with backup copies of unfinished items.

    Batches are run sequentially. A worker that still runs an obsolete copy, even of an earlier
    batch, gets no new item.

    Parameters
    ----------
    workers : int
        Maximum number of concurrent attempts.
    run : function (item, attempt) -> result
        Runs an item, and waits for its result; called in threads. `attempt` is a unique number.
    intact : function () -> bool
        Called after a failed attempt. Returns whether the results of earlier attempts still exist.
    is_patient : bool
        Copy only items that are late, once each; see `JobDurations`. Otherwise any idle worker
        copies an unfinished item.
    """

    def __init__(
        self,
        workers: int,
        run: Callable[[Any, int], Any],
        intact: Callable[[], bool],
        is_patient: bool = False,
    ) -> None:
        self._n_workers = workers
        self._run = run
        self._intact = intact
        self._is_patient = is_patient
        self._durations = JobDurations(workers)
        self._attempts = itertools.count(1)
        # (attempt, item) of all running attempts, including obsolete ones of earlier batches
        self._running: dict[Future[tuple[Any, float]], tuple[int, WorkItem]] = {}
        self._threads = ThreadPoolExecutor(workers, "tfw2v-item")

    def run_batch(self, items: Iterable[Any], stop: Stop) -> Iterator[tuple[Any, int, Any, bool]]:
        """Run all items of a batch.

        Parameters
        ----------
        items : iterable
        stop : callable
            Once it returns True, no more items are started, but items that run are waited for.

        Yields
        ------
        (item, attempt, result, bool)
            For each successful attempt, including attempts of earlier batches: the item, the number
            of the attempt, the result, and whether it is the first result of the item. Only the
            first one counts.

        Raises
        ------
        ClusterLost
            If an attempt failed, and the results of earlier attempts are lost.
        """
        waiting_items = deque(map(WorkItem, items))
        running_items: list[WorkItem] = []
        n_items = len(waiting_items)
        durations = list[float]()  # of the finished items of this batch, in seconds
        is_stopped = False
        while True:
            is_stopped = is_stopped or stop()
            running_items = [item for item in running_items if not item.is_done]
            late_seconds = self._durations.late_seconds(durations, n_items)
            while len(self._running) < self._n_workers:
                if waiting_items and not is_stopped:
                    running_items.append(waiting_items.popleft())
                    self._begin(running_items[-1])
                    continue
                # the item with the fewest attempts; of these, the one that was started first
                item = min(
                    running_items, key=lambda item: (item.n_attempts, item.start_time), default=None
                )
                if item is None or not self._may_begin(item, late_seconds):
                    break
                self._begin(item)
            if not running_items and (is_stopped or not waiting_items):
                return
            seconds = self._seconds_to_look(running_items, late_seconds)
            futures, _ = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
            for future in futures:
                attempt, item = self._running.pop(future)
                item.n_attempts -= 1
                try:
                    result, seconds = future.result()
                except ClusterLost:
                    if not self._intact():
                        raise
                    continue
                self._durations.add(seconds)
                is_first = not item.is_done
                if is_first:
                    item.is_done = True
                    durations.append(seconds)
                yield item.content, attempt, result, is_first

    def _may_begin(self, item: WorkItem, late_seconds: float) -> bool:
        """Return whether to start another attempt of an item that is not done."""
        if not self._is_patient or not item.n_attempts:
            return True
        return item.n_attempts == 1 and time.monotonic() >= item.start_time + late_seconds

    def _seconds_to_look(self, running_items: list[WorkItem], late_seconds: float) -> float:
        """Return the number of seconds until a copy may have to be started."""
        if len(self._running) == self._n_workers:
            return LOOK_SECONDS
        now = time.monotonic()
        delays = [
            item.start_time + late_seconds - now for item in running_items if item.n_attempts == 1
        ]
        return max(0.0, min([LOOK_SECONDS, *delays]))

    def _begin(self, item: WorkItem) -> None:
        attempt = next(self._attempts)
        item.n_attempts += 1
        item.start_time = time.monotonic()
        future = self._threads.submit(self._run_timed, item.content, attempt)
        self._running[future] = attempt, item

    def _run_timed(self, content: Any, attempt: int) -> tuple[Any, float]:
        """Return the result of an item, and the number of seconds that it took."""
        start_time = time.monotonic()
        result = self._run(content, attempt)
        return result, time.monotonic() - start_time

    def close(self) -> None:
        """Stop without waiting for running attempts."""
        self._threads.shutdown(wait=False, cancel_futures=True)
