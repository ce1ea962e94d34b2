"""Loading and checking of the library that contains the compiled ops.

If the library is missing or does not load, clusters train by the TensorFlow fallback
(`gensim_tfw2v.graph`), which is several times slower.
"""

import contextlib
import ctypes
import functools
import hashlib
import logging
import os
from pathlib import Path
from typing import Any

from gensim_tfw2v import compiled_library
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import by_ctypes

#: Path of the library with the compiled ops.
OPS = compiled_library.OPS

logger = logging.getLogger(__name__)


@functools.cache
def load_ops() -> Any:
    """Load the ops, and return TensorFlow's module of them.

    If they cannot be loaded, a warning with the reason is logged, and None is returned. Raises
    `StaleLibrary` if they were built from different sources than this package's.
    """
    try:
        _share_symbols()
        ops = tf.load_op_library(str(OPS))
    except tf.errors.NotFoundError as error:
        slower = "training is several times slower"
        if compiled_library.KERNELS.exists():  # threads that share rows train without ops
            slower = "training on a cluster or by a regime is several times slower"
        logger.warning("%s: %s (%s)", slower, why_not(), error)
        return None
    compiled_library.check_layout(OPS)
    logger.info("training with the compiled kernels for %s", by_ctypes.variant())
    return ops


def ops_hash() -> str:
    """Return a hash of the ops' signatures and C structs; "" if the ops cannot be loaded."""
    if (ops := load_ops()) is None:
        return ""
    graph = tf.compat.v1.get_default_graph()
    names = sorted(name for name in vars(ops) if name.startswith("Tfw2v"))
    signatures = b"".join(graph.op_def_for_type(name).SerializeToString() for name in names)
    layout = compiled_library.layout_in(OPS)
    return hashlib.sha256(signatures + layout.encode()).hexdigest()[:12]


def why_not() -> str:
    """Return the reason why the ops cannot be loaded, with advice."""
    if not OPS.exists():
        return (
            "the compiled kernels are missing. Install a C++ compiler (Debian: apt-get install "
            "g++). Then run, in a checkout: pip install -v --force-reinstall --no-deps ."
        )
    return (
        f"the compiled kernels cannot be loaded into TensorFlow {tf.version.VERSION} on this "
        "system. Install the package again here, or another release of TensorFlow"
    )


def _share_symbols() -> None:
    """Make TensorFlow's symbols visible to the ops, as TensorFlow does itself before 2.22."""
    for path in Path(tf.sysconfig.get_lib()).glob("libtensorflow_framework*"):
        with contextlib.suppress(OSError):  # a file that TensorFlow has not loaded
            ctypes.CDLL(str(path), os.RTLD_GLOBAL | os.RTLD_NOLOAD)


def allow_parallel() -> None:
    """Allow the compiled ops of the function that is being traced to run in parallel.

    By default, TensorFlow runs stateful ops, such as these, sequentially in the order of the trace.
    After this call, only data and explicit control dependencies order them.
    """
    graph = tf.compat.v1.get_default_graph()
    for op in graph.get_operations():
        if op.type.startswith("Tfw2v"):
            graph.experimental_acd_manager.run_independently(op)
