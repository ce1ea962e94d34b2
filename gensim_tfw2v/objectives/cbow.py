"""CBOW with negative sampling as banded blocks."""

from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients, Step
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

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step; see `Objective`."""
        shape = step.shape
        band = step.band(shape.block)
        count = tf.reduce_sum(band, 2, keepdims=True)  # [T/B, B, 1]
        used = tf.minimum(count, 1.0)  # 0 for a centre without context
        mean_band = band * tf.math.reciprocal(tf.maximum(count, 1.0))
        forward, backward = (mean_band, band) if self.mean else (band, mean_band)
        inputs, targets, negatives = step.halo(), step.targets(), step.negatives()
        dtype = inputs.dtype

        hidden = tf.matmul(tf.cast(forward, dtype), inputs)  # [T/B, B, D]
        scores = tf.reduce_sum(tf.cast(hidden * targets, tf.float32), 2, keepdims=True)
        noise_scores = tf.cast(tf.matmul(negatives, hidden, transpose_b=True), tf.float32)
        noise_weights = tf.transpose(used, [0, 2, 1]) * (self.negative / shape.shared)
        if step.noise is not None:
            noise_weights *= step.noise  # [T/B, C - B, B]

        half = 0.5 * step.alpha
        g = tf.cast(coefficients(scores, 1.0, used * half), dtype)
        noise_g = tf.cast(coefficients(noise_scores, -1.0, noise_weights * half), dtype)
        d_hidden = g * targets + tf.matmul(noise_g, negatives, transpose_a=True)
        return Gradients(
            inputs=tf.matmul(tf.cast(backward, dtype), d_hidden, transpose_a=True),
            outputs=[g * hidden, tf.matmul(noise_g, hidden)],
            loss=(
                loss(scores, 1.0, used) + loss(noise_scores, -1.0, noise_weights)
                if with_loss
                else tf.constant(0.0)
            ),
        )
