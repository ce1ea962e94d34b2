"""Memory of variables, which the compiled ops read and change in place."""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf


def table_memory(handle: tf.Tensor) -> tf.Tensor:
    """Return all rows of a float32 variable, in its own memory, by the variable's handle.

    If TensorFlow's own ops have gathered or scattered single rows of the variable before, this is
    a copy, and changes to it are lost.
    """
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
