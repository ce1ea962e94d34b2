"""Whether TensorFlow can run in this process: its threads do not survive a fork."""

import os
import sys

_is_lost = False


def _note() -> None:
    global _is_lost
    # nothing public says whether TensorFlow has run without letting it run, or look for GPUs
    module = sys.modules.get("tensorflow.python.eager.context")
    running = None if module is None else module.context_safe()
    _is_lost = _is_lost or getattr(running, "_context_handle", None) is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note)


def tensorflow_is_lost() -> bool:
    """Whether this process was forked after TensorFlow had run: an operation would never end."""
    return _is_lost
