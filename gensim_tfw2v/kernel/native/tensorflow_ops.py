"""The compiled kernels as ops of TensorFlow."""

from __future__ import annotations

import ctypes
import functools
import logging
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import library

logger = logging.getLogger(__name__)


@functools.cache
def load_ops() -> Any:
    """TensorFlow's module of the ops; None, with a line in the log, where there is none."""
    path = str(library("ops"))
    try:
        ops = tf.load_op_library(path)
    except tf.errors.NotFoundError as error:  # also where it needs a newer system than this
        logger.warning(
            "the compiled kernels are missing, so training is several times slower: install a C++ "
            "compiler (Debian: apt-get install g++), and the package again by `pip install -v`, "
            "which shows what fails (%s)",
            error,
        )
        return None
    variant = ctypes.CDLL(path).tfw2v_variant
    variant.restype = ctypes.c_char_p
    logger.info("compiled kernels train, those for %s", variant().decode())
    return ops
