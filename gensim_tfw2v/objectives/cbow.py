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
        """Row updates of one step, whose halo holds inputs; see `Objective`.

        A centre without context has a hidden row of zeros and a band of zeros, so whatever its
        coefficients are, nothing is added to any row.
        """
        shape = step.shape
        if shape.halo_side != "inputs":
            raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
        share = self.negative / shape.shared
        dtype, real = step.dtype, tf.float32
        inputs, targets, negatives = step.input_rows(), step.targets(), step.negatives()

        hidden = tf.matmul(step.band(self.mean, dtype), inputs)  # [T/B, B, D]
        noise_scores = tf.cast(tf.matmul(negatives, hidden, transpose_b=True), real)
        wide_hidden = tf.cast(hidden, real)
        scores = tf.reduce_sum(wide_hidden * targets, 2, keepdims=True)
        noise_weights = -share if step.noise is None else -share * step.noise  # [T/B, C - B, B]

        g = coefficients(scores, 0.5)
        noise_g = tf.cast(coefficients(noise_scores, 0.5 * noise_weights), dtype)
        d_hidden = g * targets + tf.cast(tf.matmul(noise_g, negatives, transpose_a=True), real)
        backward = step.band(not self.mean, dtype)
        total = tf.constant(0.0)
        if with_loss:
            used = tf.minimum(tf.reduce_sum(step.band(), 2, keepdims=True), 1.0)  # has it context?
            total = loss(scores, used) + loss(
                noise_scores, tf.transpose(used, [0, 2, 1]) * noise_weights
            )
        return Gradients(
            inputs=tf.matmul(backward, tf.cast(d_hidden, dtype), transpose_a=True),
            outputs=[g * wide_hidden, tf.cast(tf.matmul(noise_g, hidden), real)],
            loss=total,
        )
