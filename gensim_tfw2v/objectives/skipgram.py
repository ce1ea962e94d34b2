"""Skip-gram with negative sampling as banded blocks."""

from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients, Step
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss


@dataclass(frozen=True)
class SkipGram:
    """Every word of the window is an input that predicts the centre word.

    As in gensim, the window is the centre's: an input and a centre make a pair when the input
    lies in the centre's (reduced) window. A negative n of the block takes part in as many pairs
    of an input as there are centres that reach it (and are other words than n).

    The step is three batched products: scores ``Y Xᵀ``, then ``Gᵀ Y`` and ``G X``.

    Parameters
    ----------
    negative : int
        Negatives a pair.
    """

    negative: int

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step; see `Objective`."""
        shape = step.shape
        share = self.negative / shape.shared
        pairs = step.band()
        if step.noise is None:
            # repeated by concat: broadcasting to all negatives costs twice as much
            noise = [tf.reduce_sum(pairs, 1, keepdims=True) * -share] * shape.shared
        else:
            noise = [tf.matmul(step.noise, pairs) * -share]
        weights = tf.concat([pairs, *noise], 1)  # [T/B, C, I]: how often each pair counts

        inputs, outputs = step.input_rows(), step.columns()
        scores = tf.cast(tf.matmul(outputs, inputs, transpose_b=True), tf.float32)  # like weights
        g = tf.cast(coefficients(scores, 0.5 * weights), step.dtype)
        return Gradients(
            inputs=tf.matmul(g, outputs, transpose_a=True),
            outputs=[tf.matmul(g, inputs)],
            loss=loss(scores, weights) if with_loss else tf.constant(0.0),
        )
