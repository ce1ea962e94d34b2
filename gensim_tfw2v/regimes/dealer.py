"""A batch dealt out in portions, each to the next worker that is free: a pass, or a round.

When none is left to hand out, workers that would be idle are given copies of those that are not
done, and what is done first counts (Dean et al. 2012, "Large Scale Distributed Deep Networks",
section 4.2). So neither a slow worker nor one that stands still holds up a batch.
"""

import itertools
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.parameter_server.workers import LOOK_SECONDS

#: Of a patient dealer: a portion is copied, once, when it takes this many times as long as the
#: median of its batch, and at least so many seconds.
STRAGGLER_TIMES, STRAGGLER_SECONDS = 3.0, 1.0

P = TypeVar("P")
R = TypeVar("R")


@dataclass(eq=False)
class Portion(Generic[P]):
    """A part of a batch."""

    what: P
    attempts: int = 0  # that run now
    is_done: bool = False


class Dealer(Generic[P, R]):
    """Deals out portions, one batch after another.

    What a worker still does of a batch that has been done keeps it from being given more.

    Parameters
    ----------
    workers : int
        Attempts that run at a time.
    run : function (P, number) -> R
        Runs an attempt under a number that no other has, and waits for it; in threads.
    take : function (P, number, R) -> None
        Given each portion once, with the attempt that counts.
    repeated : function (P, R) -> None
        Given what the others have done.
    intact : function () -> bool
        Whether what the attempts before have left is there, when one has failed.
    patient : bool
        Whether only stragglers are copied. Else all that idle workers have time for.
    """

    def __init__(
        self,
        workers: int,
        run: Callable[[P, int], R],
        take: Callable[[P, int, R], None],
        repeated: Callable[[P, R], None],
        intact: Callable[[], bool],
        patient: bool = False,
    ) -> None:
        self._workers, self._run, self._take, self._repeated = workers, run, take, repeated
        self._intact, self._patient = intact, patient
        self._numbers = itertools.count(1)
        self._running: dict[Future[R], tuple[int, Portion[P]]] = {}
        self._threads = ThreadPoolExecutor(workers, "tfw2v-portion")

    def deal(self, parts: Iterable[P], stop: Callable[[], bool]) -> bool:
        """Have all of a batch done.

        Parameters
        ----------
        parts : iterable of P
        stop : callable
            Whether to hand out no more of them; those that are out are waited for.

        Returns
        -------
        bool
            Whether all were handed out.

        Raises
        ------
        ClusterLost
            If an attempt failed, and what others have left is gone.
        """
        waiting = deque(Portion(part) for part in parts)
        out: list[Portion[P]] = []
        total, began, took = len(waiting), time.monotonic(), list[float]()
        is_stopped = False
        while True:
            is_stopped = is_stopped or stop()
            passed, before = time.monotonic() - began, len(out)
            out = [portion for portion in out if not portion.is_done]
            took += [passed] * (before - len(out))
            while len(self._running) < self._workers:
                if waiting and not is_stopped:
                    out.append(waiting.popleft())
                    self._begin(out[-1])
                    continue
                again = min(out, key=lambda portion: portion.attempts, default=None)
                if again is None or again.attempts and not self._copies(again, passed, took, total):
                    break
                self._begin(again)
            if not out and (is_stopped or not waiting):
                return not waiting
            done, _ = wait(self._running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                self._end(future)

    def _copies(self, portion: Portion[P], passed: float, took: list[float], total: int) -> bool:
        """Return whether a copy is dealt out too; `took` are the seconds of what is done."""
        if not self._patient:
            return True
        if portion.attempts > 1 or 2 * len(took) < total:
            return False
        return passed > max(STRAGGLER_SECONDS, STRAGGLER_TIMES * statistics.median(took))

    def _begin(self, portion: Portion[P]) -> None:
        number = next(self._numbers)
        portion.attempts += 1
        self._running[self._threads.submit(self._run, portion.what, number)] = number, portion

    def _end(self, future: "Future[R]") -> None:
        number, portion = self._running.pop(future)
        portion.attempts -= 1
        try:
            result = future.result()
        except ClusterLost:
            if not self._intact():
                raise
            return
        if portion.is_done:
            self._repeated(portion.what, result)
        else:
            portion.is_done = True
            self._take(portion.what, number, result)

    def close(self) -> None:
        """Wait for nothing that still runs."""
        self._threads.shutdown(wait=False, cancel_futures=True)
