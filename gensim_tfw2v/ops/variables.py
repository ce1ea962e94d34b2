"""Access to the memory of variables, which the compiled ops read and change in place."""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf


def table_memory(handle: tf.Tensor) -> tf.Tensor:
    """Return a tensor that shares its memory with the float32 variable of this handle.

    The tensor is a copy if TensorFlow's own ops have gathered or scattered single rows of the
    variable before. Changes to a copy are lost, so don't use these ops on such variables.
    """
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
