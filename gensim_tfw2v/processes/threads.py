"""Threads: some that work until nothing is left, or results in order; and cores for them."""

import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from itertools import islice, takewhile
from typing import TypeVar

from gensim_tfw2v.processes.process_guards import defer_interrupts

#: Seconds between two reports.
PAUSE = 0.2

S = TypeVar("S")
T = TypeVar("T")

#: Seconds between two looks: a wait without a limit cannot be interrupted on every platform.
LOOK_SECONDS = 0.25


def usable_cores() -> list[int]:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores_each(processes: int) -> int:
    """Cores for each of so many processes that share this machine; one at least."""
    return max(1, len(usable_cores()) // processes)


def run_threads(
    work: Callable[[threading.Event], None],
    number: int,
    name: str,
    check: Callable[[], None] = lambda: None,
    ending_seconds: float = float("inf"),
    end: Callable[[], None] = lambda: None,
) -> None:
    """Run a function in threads, and wait for all.

    An error in one of them, or an exception in this thread (Ctrl-C), ends the others.

    Parameters
    ----------
    work : function (ended) -> None
        Returns when nothing is left to do, or soon after the event is set.
    number : int
        Of threads.
    name : str
        They are called by it and a number.
    check : callable
        Called while they are waited for; raises what is wrong.
    ending_seconds : float
        How long threads have to end, once they should.
    end : callable
        Called when they should.

    Raises
    ------
    BaseException
        The first error of a thread, or what `check` raises.
    """
    ended = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work(ended)
        except BaseException as error:
            errors.append(error)
            ended.set()

    threads = [
        threading.Thread(target=run, name=f"{name}-{place}", daemon=True) for place in range(number)
    ]
    try:
        with defer_interrupts():  # which would leave those that have started
            for thread in threads:
                thread.start()
        for thread in threads:
            while thread.is_alive() and not errors:
                thread.join(LOOK_SECONDS)
                check()
    finally:
        ended.set()
        end()
        deadline = time.monotonic() + ending_seconds
        for thread in filter(threading.Thread.is_alive, threads):
            thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
    if errors:
        raise errors[0]


def taken(items: deque[T], is_over: Callable[[], bool]) -> Iterator[T]:
    """Take items, which threads may share, until none is left or it is over."""
    while items and not is_over():
        with contextlib.suppress(IndexError):  # another thread has taken the last
            yield items.popleft()


def in_threads(
    work: Callable[[S, threading.Event], T],
    items: Iterable[S],
    report: Callable[[], object] = lambda: None,
    threads: int | None = None,
    ahead: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[T, None, None]:
    """Do work on items by threads, one for each core by default; results are in order.

    `work` is given an item, and what is set when nobody waits for it any more. `report` is called
    in this thread meanwhile, and at the end. At most `ahead` items are begun, or done, whose
    results have not been asked for; by default all. `stop` is asked before each whether to leave
    the rest.
    """
    stopped = threading.Event()
    left = takewhile(lambda _: not stop(), items)
    most = sys.maxsize if ahead is None else min(ahead, sys.maxsize)
    waiting = deque[Future[T]]()
    with ThreadPoolExecutor(threads or len(usable_cores()), "tfw2v-thread") as pool:
        try:
            while True:
                for item in islice(left, most - len(waiting)):
                    with defer_interrupts():  # which would leave a thread that has just started
                        waiting.append(pool.submit(work, item, stopped))
                if not waiting:
                    break
                try:
                    done = waiting[0].result(PAUSE)
                except TimeoutError:
                    report()
                    continue
                waiting.popleft()
                yield done
            report()
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
