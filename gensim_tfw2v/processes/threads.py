"""Functions that run in threads, the cores that are usable, and interrupts that are deferred."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice, takewhile
from typing import Any, TypeVar

#: Seconds between two calls of `report` by `in_threads`.
REPORT_SECONDS = 0.2

S = TypeVar("S")
T = TypeVar("T")

#: Timeout of a wait in seconds: on some platforms, a wait without a timeout cannot be interrupted.
LOOK_SECONDS = 0.25


def usable_cores() -> list[int]:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores_per_process(n_processes: int) -> int:
    """Return the number of cores for each of n processes that share the machine; at least 1."""
    return max(1, len(usable_cores()) // n_processes)


@contextlib.contextmanager
def defer_interrupts() -> Iterator[Mapping[int, Any]]:
    """Defer Ctrl-C and SIGTERM, if they have handlers in Python, until the context ends.

    The value of the context is a mapping of the signals that have been deferred so far. Each
    handler is called at most once. Work in the context cannot be interrupted, so if it may take
    more than a few seconds, it must end soon after the mapping has a signal. Functions that are
    called in the context ask `interrupt_is_pending` instead. In threads other than the main one,
    which signals do not reach, the context does nothing. Contexts may be nested. The function can
    also be used as a decorator.

    Python calls signal handlers between any two of its instructions. While TensorFlow is imported
    or traces a function, its C++ code calls Python code. An exception that a handler raises there
    is printed and ignored, or replaced by a different one.
    """
    deferred: dict[int, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        yield deferred
        return
    # SIGINT is restored last: if it were restored first, Ctrl-C could leave SIGTERM deferred
    handlers: dict[int, Any] = {
        signal_number: handler
        for signal_number in (signal.SIGTERM, signal.SIGINT)
        if callable(handler := signal.getsignal(signal_number))
    }
    try:
        _deferred_signals.append(deferred)
        for signal_number in handlers:
            signal.signal(signal_number, deferred.__setitem__)
        yield deferred
    finally:
        # removed by identity, because all empty dicts are equal
        _deferred_signals[:] = [signals for signals in _deferred_signals if signals is not deferred]
        for signal_number, handler in handlers.items():
            signal.signal(signal_number, handler)
        for signal_number, frame in deferred.items():
            handlers[signal_number](signal_number, frame)


#: For each active context of `defer_interrupts`, its deferred signals: frames by signal number.
_deferred_signals: list[dict[int, Any]] = []


def interrupt_is_pending() -> bool:
    """Return whether `defer_interrupts` has deferred a signal; may be called from any thread."""
    return any(_deferred_signals)


def run_threads(
    work: Callable[[threading.Event], None],
    n_threads: int,
    name: str,
    check: Callable[[], None] = lambda: None,
    ending_seconds: float = float("inf"),
    end: Callable[[], None] = lambda: None,
) -> None:
    """Run a function in several threads, and wait until all of them have returned.

    An error in one of the threads, or an exception in this thread (Ctrl-C), stops all threads.

    Parameters
    ----------
    work : function (stop) -> None
        Returns when nothing is left to do, or soon after the event is set.
    n_threads : int
        Number of threads.
    name : str
        Prefix of the threads' names.
    check : callable
        Called repeatedly while the threads run; may raise an exception.
    ending_seconds : float
        Time limit for the threads to return after the event is set.
    end : callable
        Called after the event is set.

    Raises
    ------
    BaseException
        The first error of a thread, or the exception of `check`.
    """
    stop = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work(stop)
        except BaseException as error:
            errors.append(error)
            stop.set()

    worker_threads = [
        threading.Thread(target=run, name=f"{name}-{index}", daemon=True)
        for index in range(n_threads)
    ]
    try:
        with defer_interrupts():  # an interrupt here would leave started threads running
            for thread in worker_threads:
                thread.start()
        for thread in worker_threads:
            while thread.is_alive() and not errors:
                thread.join(LOOK_SECONDS)
                check()
    finally:
        stop.set()
        end()
        deadline = time.monotonic() + ending_seconds
        for thread in filter(threading.Thread.is_alive, worker_threads):
            thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
    if errors:
        raise errors[0]


def in_threads(
    work: Callable[[S, threading.Event], T],
    items: Iterable[S],
    report: Callable[[], object] = lambda: None,
    threads: int | None = None,
    ahead: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[T, None, None]:
    """Process items in threads, by default one per core; yield the results in order.

    `work` is called with an item, and with an event that is set when results are no longer
    needed. `report` is called in this thread while waiting, and at the end. At most `ahead` items
    are in progress, or have results that have not been yielded; by default, all items are started
    immediately. `stop` is called before each item; once it returns True, the remaining items are
    skipped.
    """
    stop_event = threading.Event()
    remaining_items = takewhile(lambda _: not stop(), items)
    max_futures = sys.maxsize if ahead is None else min(ahead, sys.maxsize)
    futures = deque[Future[T]]()
    with ThreadPoolExecutor(threads or len(usable_cores()), "tfw2v-thread") as pool:
        try:
            while True:
                for item in islice(remaining_items, max_futures - len(futures)):
                    with defer_interrupts():  # an interrupt would leave a started thread running
                        futures.append(pool.submit(work, item, stop_event))
                if not futures:
                    break
                if wait([futures[0]], REPORT_SECONDS).done:
                    yield futures.popleft().result()
                else:
                    report()
            report()
        finally:
            stop_event.set()
            pool.shutdown(wait=False, cancel_futures=True)
