"""Lazy import of TensorFlow, without its start-up messages, after a check of its version.

Every module that needs TensorFlow uses ``from gensim_tfw2v._tensorflow import tf``. A module that
is also imported for training without TensorFlow must use `tf` only inside functions.
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
    flush_streams,
    tensorflow_is_lost,
    without_collection,
)
from gensim_tfw2v.processes.threads import defer_interrupts

MIN_VERSIONS = {"tensorflow": (2, 21), "gensim": (4, 4)}


def require(package: str) -> None:
    """Raise an ImportError, with the pip command to run, if the installed version is too old."""
    min_version = MIN_VERSIONS[package]
    min_version_text = ".".join(map(str, min_version))
    # the package may come from a distribution of a different name, whose version is not checked
    for distribution in (package, f"{package}-cpu", f"{package}-intel"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(distribution)
            if tuple(int(part) for part in version.split(".")[:2]) < min_version:
                raise ImportError(
                    f"gensim-tfw2v needs {package} {min_version_text} or later, but {package} "
                    f"{version} is installed. Run: pip install --upgrade "
                    f"'{package}>={min_version_text}'"
                )


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Discard the messages that TensorFlow's C++ code writes before it reads its log level."""
    flush_streams()
    try:
        stderr_copy = os.dup(2)
    except OSError:
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)


@contextlib.contextmanager
def _without_keras() -> Iterator[None]:
    """Postpone the import of Keras until ``tf.keras`` is used.

    TensorFlow's import ends with ``import keras.src.optimizers``, which registers classes that
    saved models may contain. TensorFlow ignores a failure of that import. Importing Keras takes a
    sixth of the time. It takes two fifths if scikit-learn and matplotlib are installed, because
    Keras imports them, too.
    """
    if "keras.src" in sys.modules or "tensorflow" in sys.modules:
        yield
        return
    sys.modules["keras.src"] = types.ModuleType("keras.src")  # without submodules to import
    try:
        yield
    finally:
        del sys.modules["keras.src"]


@functools.cache
def _load() -> Any:
    # Level 3 hides C++ log lines below "fatal": without a GPU, TensorFlow logs an error about CUDA.
    # Failures still raise Python exceptions. A level that the user has set is kept.
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
    """Stand-in for the module ``tensorflow``, which is imported at the first attribute access."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(_load(), name)
        setattr(self, name, value)
        return value


for _package in MIN_VERSIONS:
    require(_package)

if TYPE_CHECKING:
    import tensorflow as tf
else:
    tf = _LazyTensorFlow()


def why_elsewhere() -> str:
    """Return the reason why this process cannot run TensorFlow; empty if it can."""
    if tensorflow_is_lost():
        return "this one was forked after TensorFlow had started"
    if not tf.executing_eagerly():
        return "this one is building a TensorFlow graph"
    if tf.distribute.has_strategy():
        return "a TensorFlow distribution strategy is active in this one"
    from tensorflow.python.framework import config  # no public function for this

    if config.is_op_determinism_enabled():
        return "op determinism is enabled in this one, which forbids TensorFlow to read the clock"
    return ""


__all__ = ["tf", "why_elsewhere"]
