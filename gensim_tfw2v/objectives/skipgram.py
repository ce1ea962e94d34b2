"""Skip-gram with negative sampling as banded blocks."""

from dataclasses import dataclass

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss


@dataclass(frozen=True)
class SkipGram:
    """Every word of the window is an input that predicts the centre word.

    As in gensim, the window is the centre's: input position h and output position b make a pair
    when h lies in the (reduced) window of b. A negative n of the block takes part in as many
    pairs of input h as there are centres in reach of h that are other words than n.

    The step is three batched products: scores ``Y Xᵀ``, then ``Gᵀ Y`` and ``G X``.

    Parameters
    ----------
    negative : int
        Negatives a pair.
    """

    negative: int

    def __call__(
        self,
        inputs: tf.Tensor,
        outputs: tf.Tensor,
        band: tf.Tensor,
        noise: tf.Tensor | None,
        shared: int,
        alpha: tf.Tensor,
        with_loss: bool,
    ) -> Gradients:
        """Row updates of one step; see `Objective`."""
        block, share = outputs.shape[1] - shared, self.negative / shared
        sign = tf.constant(np.repeat([1.0, -1.0], [block, shared])[:, None], tf.float32)
        if noise is None:
            inputs_pairs = tf.reduce_sum(band, 1, keepdims=True)  # [N, 1, H]
            negatives = tf.tile(inputs_pairs * share, [1, shared, 1])
        else:
            negatives = tf.matmul(noise * share, band)
        pairs = tf.concat([band, negatives], 1)  # [N, C, H]: how often each pair counts
        scores = tf.matmul(outputs, inputs, transpose_b=True)  # [N, C, H]
        g = coefficients(scores, sign, pairs * (0.5 * alpha))
        return Gradients(
            inputs=tf.matmul(g, outputs, transpose_a=True),
            outputs=tf.matmul(g, inputs),
            loss=loss(scores, sign, pairs) if with_loss else tf.constant(0.0),
        )
