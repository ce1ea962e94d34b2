"""TensorFlow, imported when it is needed: quietly, and only if it is new enough.

Every module that needs TensorFlow writes ``from gensim_tfw2v._tensorflow import tf``, and, if it is
imported where short trainings do without, nothing of `tf` outside of functions.
"""

import contextlib
import functools
import importlib.metadata
import logging
import os
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.processes.process_guards import (
    defer_interrupts,
    flush_streams,
    tensorflow_is_lost,
    without_collection,
)

MINIMUM = {"tensorflow": (2, 21), "gensim": (4, 4)}


def require(package: str) -> None:
    """Raise an ImportError, with the cure, if a package is installed in too old a version."""
    needed = MINIMUM[package]
    wanted = ".".join(map(str, needed))
    found = None
    for distribution in (package, f"{package}-cpu", f"{package}-intel"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.version(distribution)
            break
    if found is None:
        return  # a build under another name: importing it will tell
    if tuple(int(part) for part in found.split(".")[:2]) < needed:
        raise ImportError(
            f"gensim-tfw2v needs {package} {wanted} or later, but {package} {found} is installed. "
            f"Run: pip install --upgrade '{package}>={wanted}'"
        )


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Keep away what TensorFlow's C++ side writes before its log level is read."""
    flush_streams()
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def _without_keras() -> Iterator[None]:
    """Keep Keras for when ``tf.keras`` is asked for.

    TensorFlow's last act of being imported is to import ``keras.src.optimizers``, for its registry
    of what saved models may hold, and it goes on where that fails. It takes a sixth of the time;
    where scikit-learn and matplotlib are installed, which Keras imports too, two fifths.
    """
    if "keras.src" in sys.modules or "tensorflow" in sys.modules:
        yield
        return
    sys.modules["keras.src"] = types.ModuleType("keras.src")  # no package: nothing is found in it
    try:
        yield
    finally:
        del sys.modules["keras.src"]


@functools.cache
def _load() -> Any:
    # 3 hides C++ log lines below "fatal": machines without a GPU get an "error" line about CUDA.
    # What goes wrong still comes as a Python exception. What the user has set stays as it is.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    noisy = os.environ["TF_CPP_MIN_LOG_LEVEL"] in {"0", "1"}
    quiet = contextlib.nullcontext() if noisy else _quiet_stderr()
    with quiet, without_collection(), defer_interrupts(), _without_keras():
        import tensorflow
    if not noisy:
        logger = logging.getLogger("tensorflow")
        logger.setLevel(max(logging.ERROR, logger.level))
    return tensorflow


class _LazyTensorFlow:
    """The module, imported when something of it is asked for: it takes seconds."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(_load(), name)
        setattr(self, name, value)
        return value


for _package in MINIMUM:
    require(_package)

if TYPE_CHECKING:
    import tensorflow as tf
else:
    tf = _LazyTensorFlow()


def why_elsewhere() -> str:
    """Why another process has to run TensorFlow for this one; empty if this one can."""
    if tensorflow_is_lost():
        return "this one was forked after TensorFlow had run"
    if not tf.executing_eagerly():
        return "TensorFlow builds a graph in this one"
    if tf.distribute.has_strategy():
        return "a strategy of TensorFlow places the variables of this one"
    from tensorflow.python.framework import config  # nothing public tells

    if config.is_op_determinism_enabled():
        return "TensorFlow refuses to tell the time in this one, as its ops are deterministic"
    return ""


__all__ = ["tf", "why_elsewhere"]
