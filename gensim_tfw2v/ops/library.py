"""Library of the compiled ops: loading it, and checking what it contains.

If the library is missing or does not load, the TensorFlow fallback (`gensim_tfw2v.graph`) trains on
clusters, several times slower.
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

#: The library for TensorFlow.
OPS = compiled_library.KERNELS.with_name("ops.so")

logger = logging.getLogger(__name__)


@functools.cache
def load_ops() -> Any:
    """Return TensorFlow's module of the ops; if they cannot be loaded, log why and return None.

    Raises a `StaleLibrary` if they were built from other sources.
    """
    try:
        _share_symbols()
        ops = tf.load_op_library(str(OPS))
    except tf.errors.NotFoundError as error:
        slower = "training is several times slower"
        if compiled_library.KERNELS.exists():  # threads that share rows need no ops
            slower = "training on a cluster or by a regime is several times slower"
        logger.warning("%s: %s (%s)", slower, why_not(), error)
        return None
    compiled_library.check_layout(OPS)
    logger.info("training with the compiled kernels for %s", by_ctypes.variant())
    return ops


def ops_hash() -> str:
    """Return a hash of the ops' names, signatures and structs; empty if there are no ops."""
    if (ops := load_ops()) is None:
        return ""
    graph = tf.compat.v1.get_default_graph()
    names = sorted(name for name in vars(ops) if name.startswith("Tfw2v"))
    signatures = b"".join(graph.op_def_for_type(name).SerializeToString() for name in names)
    layout = compiled_library.layout_in(OPS)
    return hashlib.sha256(signatures + layout.encode()).hexdigest()[:12]


def why_not() -> str:
    """Return why the ops cannot be loaded, and what to do."""
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
    """Make TensorFlow's symbols visible to the ops, which TensorFlow 2.22 no longer does itself."""
    for path in Path(tf.sysconfig.get_lib()).glob("libtensorflow_framework*"):
        with contextlib.suppress(OSError):  # TensorFlow itself has not loaded this one
            ctypes.CDLL(str(path), os.RTLD_GLOBAL | os.RTLD_NOLOAD)


def allow_parallel() -> None:
    """Let compiled ops in the function being traced run in parallel, except as it orders them.

    They are stateful, and TensorFlow runs stateful ops sequentially, in the order of the trace.
    """
    graph = tf.compat.v1.get_default_graph()
    for op in graph.get_operations():
        if op.type.startswith("Tfw2v"):
            graph.experimental_acd_manager.run_independently(op)
