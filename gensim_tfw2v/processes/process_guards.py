"""Guards against what large imports, Ctrl-C, forks and closed streams would break.

Python calls a signal's handler between any two of its instructions. TensorFlow, while it is
imported and while it traces a function, is called back from C++, which has no use for the exception
that a handler raises there: it is printed and forgotten, or comes out as another one.
"""

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any


def open_standard_files() -> None:
    """Put the null device in place of each standard file, 0 to 2, that is closed.

    The next file or socket would get the number, and with it what C++ prints as an error.
    """
    with contextlib.suppress(OSError):  # without /dev
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(descriptor, True)
        os.close(descriptor)


def flush_streams() -> None:
    """Write out what Python holds of standard output and error, if there is anybody to read it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, closed, or unread
            stream.flush()


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until this ends, if they have a handler in Python; one of each.

    For a few seconds at most: nothing can be interrupted meanwhile. Threads other than the main one
    are not concerned: no signal reaches them. It may be nested, and decorates functions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: dict[int, Any] = {}
    before: dict[int, Any] = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(handler := signal.getsignal(number))
    }
    try:
        for number in before:
            signal.signal(number, came.__setitem__)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in came.items():
            before[number](number, frame)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Keep Python from looking for garbage while TensorFlow is imported: an eighth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def prepare_environment() -> None:
    """Set what TensorFlow reads in a process of a cluster, whatever the user has set for others."""
    # a call to a task that is gone fails at once, instead of waiting for it to come back
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    # for it has TensorFlow refuse to tell the time
    os.environ.pop("TF_DETERMINISTIC_OPS", None)


_is_lost = False


def _note_fork() -> None:
    global _is_lost
    # nothing public says whether TensorFlow has run without letting it run, or look for GPUs
    module = sys.modules.get("tensorflow.python.eager.context")
    running = None if module is None else module.context_safe()
    _is_lost = _is_lost or getattr(running, "_context_handle", None) is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def tensorflow_is_lost() -> bool:
    """Return whether this process was forked after TensorFlow had run: its operations never end."""
    return _is_lost
