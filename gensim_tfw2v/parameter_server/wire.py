"""Types in which rows are sent between workers and ps tasks.

A row in int8 is D elements q and the four bytes of a float32 scale s, and stands for s q. Only the
compiled ops convert rows to int8. Fetched rows are rounded to the nearest integers q. Pushed
changes are rounded up or down at random, so that their expectation is exact (Alistarh et al. 2017,
"QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding", section 3.1).
"""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf

#: Size in bytes of the scale that is sent with each row in int8.
SCALE_BYTES = 4


def columns(size: int, dtype: tf.DType) -> int:
    """Return the number of columns of a row of D elements when it is sent in `dtype`."""
    return size + SCALE_BYTES if dtype == tf.int8 else size


def decoded(rows: tf.Tensor) -> tf.Tensor:
    """Return received rows, of any type, as float32 [n, D]."""
    if rows.dtype != tf.int8:
        return tf.cast(rows, tf.float32)
    scale = tf.bitcast(rows[:, -SCALE_BYTES:], tf.float32)
    return tf.cast(rows[:, :-SCALE_BYTES], tf.float32) * scale[:, None]


def row_bytes(size: int, wire_dtype: str) -> int:
    """Return the bytes that are sent per row of D elements, including its scale."""
    scale = SCALE_BYTES if wire_dtype == "int8" else 0
    return int(size * tf.as_dtype(wire_dtype).size + scale)
