"""Rows of different lengths, one after the other in one tensor."""

from typing import NamedTuple

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
