"""Running sums, several times faster than ``tf.cumsum`` on a CPU."""

import numpy as np

from gensim_tfw2v._tensorflow import tf

_WIDTH = 64
_TRIANGLE = np.triu(np.ones((_WIDTH, _WIDTH), np.float32))


def running_sum(x: tf.Tensor) -> tf.Tensor:
    """``tf.cumsum`` as a matrix product: ``tf.cumsum`` takes ten times as long for an entry.

    Parameters
    ----------
    x : Tensor [n], int32
        Sums of 64 entries must be exact in float32, that is at most ``2**24``.

    Returns
    -------
    Tensor [n], int32
    """
    number = tf.size(x)
    rows = tf.pad(tf.cast(x, tf.float32), [[0, tf.math.floormod(-number, _WIDTH)]])
    sums = tf.cast(tf.matmul(tf.reshape(rows, [-1, _WIDTH]), _TRIANGLE), tf.int32)
    before = tf.cumsum(sums[:, -1], exclusive=True)
    return tf.reshape(sums + before[:, None], [-1])[:number]
