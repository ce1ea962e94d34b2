"""Rows in the types in which they travel between workers and ps tasks.

A row of int8 has D elements q and the four bytes of a float32 s: it stands for s q. The compiled
ops make and read such rows; they round what is fetched to nearest, and what is pushed up or down at
random, so that its mean is right (QSGD, Alistarh et al. 2017).
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.kernel_config import SCALE_BYTES


def columns(size: int, dtype: tf.DType) -> int:
    """Return the columns of a row of D elements that travels."""
    return size + SCALE_BYTES if dtype == tf.int8 else size


def decoded(rows: tf.Tensor) -> tf.Tensor:
    """Return rows that have travelled, of any type, as float32 [n, D]."""
    if rows.dtype != tf.int8:
        return tf.cast(rows, tf.float32)
    elements, scale = tf.split(rows, [rows.shape[1] - SCALE_BYTES, SCALE_BYTES], axis=1)
    return tf.cast(elements, tf.float32) * tf.bitcast(scale, tf.float32)[:, None]
