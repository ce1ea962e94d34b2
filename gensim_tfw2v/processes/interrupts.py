"""Ctrl-C that waits for the end of what it would break.

Python calls a signal's handler between any two of its instructions. TensorFlow, while it is
imported and while it traces a function, is called back from C++, which has no use for the exception
that a handler raises there: it is printed and forgotten, or comes out as another one.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

#: Ctrl-C, and what ends a command like it.
HELD = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def holding_interrupts() -> Iterator[None]:
    """Let signals that have a handler in Python wait until this ends; one of each kind.

    For a few seconds at most: nothing can be interrupted meanwhile. In threads other than the
    main one, which no signal reaches, nothing is done. It may be nested, and decorates functions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: dict[int, Any] = {}
    before = {number: handler for number in HELD if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, came.__setitem__)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for held, frame in came.items():
            before[signal.Signals(held)](held, frame)


def ignore_interrupts() -> None:
    """Let Ctrl-C do nothing from now on: this process is ending."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
