"""Types in which rows and their changes are sent between workers and ps tasks.

A row in int8 consists of D integers q and the four bytes of a float32 scale s. The elements of the
row are s q. Only the compiled ops can convert rows to int8. Elements of fetched rows are rounded to
the nearest integers q. Elements of pushed changes are rounded up or down at random, so that their
expectation is exact (Alistarh et al. 2017,
"QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding", section 3.1).
"""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf

#: Size in bytes of the scale that is sent with each row in int8.
SCALE_BYTES = 4


def columns(size: int, dtype: tf.DType) -> int:
    """Return the number of columns in which a row of D = `size` elements is sent in `dtype`."""
    return size + SCALE_BYTES if dtype == tf.int8 else size


def decode_rows(rows: tf.Tensor) -> tf.Tensor:
    """Convert received rows, of any of the types, to float32 [n, D]."""
    if rows.dtype != tf.int8:
        return tf.cast(rows, tf.float32)
    scale = tf.bitcast(rows[:, -SCALE_BYTES:], tf.float32)
    return tf.cast(rows[:, :-SCALE_BYTES], tf.float32) * scale[:, None]


def row_bytes(size: int, wire_dtype: str) -> int:
    """Return the number of bytes that are sent per row of D = `size` elements."""
    scale = SCALE_BYTES if wire_dtype == "int8" else 0
    return int(size * tf.as_dtype(wire_dtype).size + scale)
