"""CBOW with negative sampling as banded blocks."""

from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss


@dataclass(frozen=True)
class Cbow:
    """The sum or mean of the window's input rows predicts the centre word.

    The hidden rows are the band matrix times the halo's input rows: a matrix product too. As in
    gensim, the gradient of the hidden row goes whole to each input row when the hidden row is a
    mean, and divided by their number when it is a sum.

    Parameters
    ----------
    negative : int
        Negatives a centre word.
    mean : bool
        gensim's `cbow_mean`.
    """

    negative: int
    mean: bool = True

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
        block = outputs.shape[1] - shared
        count = tf.reduce_sum(band, 2, keepdims=True)  # [N, B, 1]
        share = tf.math.reciprocal(tf.maximum(count, 1.0))
        used = tf.minimum(count, 1.0)  # 0 for a centre without context
        targets, negatives = outputs[:, :block], outputs[:, block:]

        hidden = tf.matmul(band * share if self.mean else band, inputs)  # [N, B, D]
        positive_scores = tf.reduce_sum(hidden * targets, 2, keepdims=True)  # [N, B, 1]
        negative_scores = tf.matmul(negatives, hidden, transpose_b=True)  # [N, C - B, B]
        negative_weights = tf.transpose(used, [0, 2, 1]) * (self.negative / shared)
        if noise is not None:
            negative_weights *= noise

        g_targets = coefficients(positive_scores, 1.0, used * (0.5 * alpha))
        g_negatives = coefficients(negative_scores, -1.0, negative_weights * (0.5 * alpha))
        d_hidden = g_targets * targets + tf.matmul(g_negatives, negatives, transpose_a=True)
        return Gradients(
            inputs=tf.matmul(band if self.mean else band * share, d_hidden, transpose_a=True),
            outputs=tf.concat([g_targets * hidden, tf.matmul(g_negatives, hidden)], 1),
            loss=(
                loss(positive_scores, 1.0, used) + loss(negative_scores, -1.0, negative_weights)
                if with_loss
                else tf.constant(0.0)
            ),
        )
