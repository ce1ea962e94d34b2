"""The compiled kernels, of which the sources are in `src`, with two doors to them.

Programs with TensorFlow draw and train units by the ops that `load_ops` gives, others by the
functions of `plain`: both libraries are made of the same objects.

They are made when the package is installed, if there is a C++ compiler. Where they are missing, or
do not apply, the graph of `gensim_tfw2v.kernel.objectives` trains, several times slower.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import logging
import os
from pathlib import Path
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf

#: Floats: rows of the tables that kernels train are filled up to a multiple of them.
STRIDE = 16


class Options(NamedTuple):
    """A program's options, in the order of the kernels' struct of int32."""

    skipgram: int
    negative: int
    hierarchical: int
    mean: int
    corrected: int
    skip_targets: int
    shards: int
    shrink: int
    window: int
    widest: int
    block: int
    shared: int
    span: int
    windows: int
    group: int
    documents: int = 0
    train_words: int = 1
    concatenated: int = 0
    padding: int = 0


def library(name: str) -> Path:
    """Where a compiled library is: `kernels` for programs without TensorFlow, or `ops`."""
    return Path(__file__).with_name(f"{name}.so")


def stride(size: int) -> int:
    """Floats that a row of D numbers takes in a table that kernels train."""
    return -(-size // STRIDE) * STRIDE


logger = logging.getLogger(__name__)


@functools.cache
def load_ops() -> Any:
    """TensorFlow's module of the ops; None, with a line in the log, where there is none."""
    path = str(library("ops"))
    try:
        _share_symbols()
        ops = tf.load_op_library(path)
    except tf.errors.NotFoundError as error:
        slower = "training is several times slower"
        if library("kernels").exists():  # threads of programs that share rows need no ops
            slower = "training on a cluster or by a regime is several times slower"
        logger.warning("%s: %s (%s)", slower, why_not(), error)
        return None
    kernels = ctypes.CDLL(path)
    check_isa(kernels)
    variant = kernels.tfw2v_variant
    variant.restype = ctypes.c_char_p
    logger.info("compiled kernels train, those for %s", variant().decode())
    return ops


def ops_hash() -> str:
    """Return a hash of the ops' names and signatures; empty if there are no ops."""
    if (ops := load_ops()) is None:
        return ""
    graph = tf.compat.v1.get_default_graph()
    names = sorted(name for name in vars(ops) if name.startswith("Tfw2v"))
    signatures = b"".join(graph.op_def_for_type(name).SerializeToString() for name in names)
    return hashlib.sha256(signatures).hexdigest()[:12]


def check_isa(kernels: ctypes.CDLL) -> None:
    """Raise a ValueError if ``TFW2V_ISA`` names no kernel of a library that runs here."""
    kernels.tfw2v_unknown_isa.restype = ctypes.c_char_p
    if names := kernels.tfw2v_unknown_isa():
        raise ValueError(
            f"TFW2V_ISA={os.environ.get('TFW2V_ISA')!r} is no kernel for this processor: set it to "
            f"one of {names.decode()}, or unset it for the fastest"
        )


def why_not() -> str:
    """Why `load_ops` gives none, with the cure."""
    if not library("ops").exists():
        return (
            "the compiled kernels are missing. Install a C++ compiler (Debian: apt-get install "
            "g++). Then run, in a checkout: pip install -v --force-reinstall --no-deps ."
        )
    return (
        f"the compiled kernels cannot be loaded into TensorFlow {tf.version.VERSION} on this "
        "system. Install the package again here, or another release of TensorFlow"
    )


def _share_symbols() -> None:
    """Let the ops find the functions of TensorFlow, which 2.22 no longer shows to all libraries."""
    for path in Path(tf.sysconfig.get_lib()).glob("libtensorflow_framework*"):
        with contextlib.suppress(OSError):  # of one that TensorFlow has not loaded itself
            ctypes.CDLL(str(path), os.RTLD_GLOBAL | os.RTLD_NOLOAD)


def let_run_together() -> None:
    """Let compiled ops of the function that is traced run side by side, unless it orders them.

    They are stateful, of which TensorFlow runs one after the other in the order of the trace.
    """
    graph = tf.compat.v1.get_default_graph()
    for op in graph.get_operations():
        if op.type.startswith("Tfw2v"):
            graph.experimental_acd_manager.run_independently(op)
