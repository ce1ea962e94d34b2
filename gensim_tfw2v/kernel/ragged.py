"""Rows of different lengths, one after the other in one tensor, and running sums of lengths."""

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf


class RowSplits(NamedTuple):
    """Where a row lies.

    Attributes
    ----------
    begin, number : Tensor [1], int32
        Of one row; [rows, 1] of all.
    """

    begin: tf.Tensor
    number: tf.Tensor

    @property
    def end(self) -> tf.Tensor:
        """Where each of the rows ends: [rows]."""
        return tf.squeeze(self.begin + self.number, -1)

    @property
    def edges(self) -> tf.Tensor:
        """Where each of the rows of all begins, and where the last ends: [rows + 1]."""
        return tf.concat([[0], self.end], 0)

    def of(self, values: tf.Tensor) -> tf.Tensor:
        """The row's part of the values of all: [number, ...]."""
        return tf.slice(values, self.begin, self.number)


def spans(ends: tf.Tensor) -> RowSplits:
    """Spans of consecutive rows, from where each ends [rows]."""
    begin = tf.concat([[0], ends], 0)[:-1]
    return RowSplits(begin[:, None], (ends - begin)[:, None])


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
