"""Arrays that tasks map from files by a compiled op."""

from __future__ import annotations

import os

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.files.array_file import ArrayFile
from gensim_tfw2v.ops.library import load_ops


def map_array(file: ArrayFile) -> tf.Tensor:
    """Return the array of a file, which the processes of a machine share: float32 or int32."""
    dtype = tf.as_dtype(file.dtype)
    if not np.prod(file.shape):
        return tf.zeros(file.shape, dtype)
    path = tf.constant(np.frombuffer(os.fsencode(file.path), np.uint8))
    with tf.device("CPU"):
        values = load_ops().tfw2v_map_array(path, dtype=dtype)
        return tf.ensure_shape(tf.reshape(values, file.shape), file.shape)
