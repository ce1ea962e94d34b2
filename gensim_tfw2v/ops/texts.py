"""Code in which the entries of a text are sent to workers: frequent words take one byte.

The function ``pack`` in ``kernel/native/src/text/text.h`` defines the code.
"""

from __future__ import annotations

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops


def pack(entries: np.ndarray) -> bytes:
    """Encode entries: word ids [n], int32, with -1 after each sentence."""
    with tf.device("CPU"):
        return bytes(load_ops().tfw2v_pack(entries.astype(np.int32)).numpy())


def unpack(text: tf.Tensor) -> tf.Tensor:
    """Decode entries from `pack`, a string []: [n], int32."""
    with tf.device("CPU"):
        return tf.ensure_shape(load_ops().tfw2v_unpack(tf.io.decode_raw(text, tf.uint8)), [None])
