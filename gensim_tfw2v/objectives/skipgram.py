"""Skip-gram with negative sampling as banded blocks."""

from dataclasses import dataclass

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients, Step
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss


@dataclass(frozen=True)
class SkipGram:
    """Every word of the window is an input that predicts the centre word.

    As in gensim, the window is the centre's: input position h and output position b make a pair
    when h lies in the (reduced) window of b. A negative n of the block takes part in as many
    pairs of input h as there are centres in reach of h (that are other words than n).

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
        is_noise = np.repeat([0.0, 1.0], [shape.block, shape.shared])[:, None].astype(np.float32)
        share = self.negative / shape.shared
        pairs = step.band(shape.columns)  # [T/B, C, H]: how often each pair counts
        if step.noise is None:
            pairs += tf.reduce_sum(pairs, 1, keepdims=True) * (share * is_noise)
        else:
            pairs += tf.pad(
                tf.matmul(step.noise * share, pairs[:, : shape.block]),
                [[0, 0], [shape.block, 0], [0, 0]],
            )
        inputs, outputs = step.halo(), step.columns()
        sign = tf.constant(1.0 - 2.0 * is_noise)
        scores = tf.cast(tf.matmul(outputs, inputs, transpose_b=True), tf.float32)  # like pairs
        g = coefficients(scores, sign, pairs * (0.5 * step.alpha))
        g = tf.cast(g, inputs.dtype)
        return Gradients(
            inputs=tf.matmul(g, outputs, transpose_a=True),
            outputs=[tf.matmul(g, inputs)],
            loss=loss(scores, sign, pairs) if with_loss else tf.constant(0.0),
        )
