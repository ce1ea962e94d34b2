"""Threads that each take from what is to be done, until it is done or one of them fails."""

import threading
import time
from collections.abc import Callable

#: Seconds between two looks: a wait without a limit cannot be interrupted on every platform.
LOOK_SECONDS = 0.1


def run_threads(
    work: Callable[[threading.Event], None],
    number: int,
    name: str,
    check: Callable[[], None] = lambda: None,
    ending_seconds: float = float("inf"),
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
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive() and not errors:
                thread.join(LOOK_SECONDS)
                check()
    finally:
        ended.set()
        deadline = time.monotonic() + ending_seconds
        for thread in threads:
            thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
    if errors:
        raise errors[0]
