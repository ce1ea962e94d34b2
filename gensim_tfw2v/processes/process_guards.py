"""Guards against problems with large imports, forks and closed streams."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterator


def open_standard_files() -> None:
    """Open the null device as each standard file, 0 to 2, that is closed.

    Otherwise the next file or socket would get that number, and C++ would print errors to it.
    """
    with contextlib.suppress(OSError):  # no /dev
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(descriptor, True)
        os.close(descriptor)


def flush_streams() -> None:
    """Flush standard output and error, unless they are missing, closed or not read."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, closed, or unread
            stream.flush()


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Disable garbage collection, to save an eighth of the time in which TensorFlow is imported."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def prepare_environment() -> None:
    """Set TensorFlow's environment variables for a process of a cluster, overriding the user's."""
    # calls to a lost task fail immediately, instead of waiting for it to come back
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    # if this variable is set, TensorFlow refuses to run `tf.timestamp`
    os.environ.pop("TF_DETERMINISTIC_OPS", None)


_is_lost = False


def _note_fork() -> None:
    global _is_lost
    # a private attribute is read, since public functions would initialize TensorFlow or its GPUs
    module = sys.modules.get("tensorflow.python.eager.context")
    context = None if module is None else module.context_safe()
    _is_lost = _is_lost or getattr(context, "_context_handle", None) is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def tensorflow_is_lost() -> bool:
    """Return whether this process was forked after TensorFlow had run.

    TensorFlow's operations hang in such a process.
    """
    return _is_lost
