"""CBOW as banded blocks."""

from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients, Step
from gensim_tfw2v.objectives.hierarchical_softmax import predict_from_one
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss


@dataclass(frozen=True)
class Cbow:
    """The sum or mean of the window's input rows predicts the centre word.

    The hidden rows are the band matrix times the halo's input rows: a matrix product too. As in
    gensim, the gradient of the hidden row goes whole to each input row when the hidden row is a
    mean, and divided by their number when it is a sum. That is not the gradient of the loss: it
    would be the other way round (Irsoy, Benton and Stratos 2021, "Corrected CBOW Performs as well
    as Skip-gram", section 2).

    Parameters
    ----------
    negative : int
        Negatives a centre word; 0 for none.
    mean : bool
        gensim's `cbow_mean`.
    hierarchical : bool
        Whether hierarchical softmax is trained.
    corrected : bool
        Whether each input row gets the gradient of the loss instead.
    tree_block : int
        Centres a block of hierarchical softmax: few, since each has nodes of its own that the
        others' hidden rows are multiplied with for nothing.
    """

    negative: int
    mean: bool = True
    hierarchical: bool = False
    corrected: bool = False
    tree_block: int = 8

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step, whose halo holds inputs; see `Objective`.

        A centre without context has a hidden row of zeros and a band of zeros, so whatever its
        coefficients are, nothing is added to any row.
        """
        shape, real = step.shape, tf.float32
        if shape.halo_side != "inputs":
            raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
        hidden = tf.matmul(step.band(self.mean, step.dtype), step.input_rows())  # [T/B, B, D]
        used: tf.Tensor | None = None  # for the loss: 1 for a centre that has context, else 0
        if with_loss:
            used = tf.minimum(tf.reduce_sum(step.band(), 2, keepdims=True), 1.0)
        updates: list[tf.Tensor] = []
        outputs: list[tf.Tensor] = []
        tree, total = None, tf.constant(0.0)
        if self.negative:
            d_hidden, outputs, lost = self._sampled(step, hidden, used)
            updates.append(d_hidden)
            total += lost
        if step.tree is not None:
            tree = predict_from_one(step.tree, hidden, used, with_loss)
            updates.append(tf.cast(tree.hidden, real))
            total += tree.loss
        backward = step.band(self.mean == self.corrected, step.dtype)
        d_hidden = tf.cast(tf.add_n(updates), step.dtype)
        d_inputs = tf.matmul(backward, d_hidden, transpose_a=True)
        predictions = tf.constant(0.0) if used is None else tf.reduce_sum(used)
        return Gradients(d_inputs, outputs, tree, total, predictions)

    def _sampled(
        self, step: Step, hidden: tf.Tensor, used: tf.Tensor | None
    ) -> tuple[tf.Tensor, list[tf.Tensor], tf.Tensor]:
        """Updates of the hidden rows [T/B, B, D] and of the output rows, and the loss."""
        share, real = self.negative / step.shape.shared, tf.float32
        targets, negatives = step.targets(), step.negatives()
        noise_scores = tf.cast(tf.matmul(negatives, hidden, transpose_b=True), real)
        wide_hidden = tf.cast(hidden, real)
        scores = tf.reduce_sum(wide_hidden * targets, 2, keepdims=True)
        noise_weights = -share if step.noise is None else -share * step.noise  # [T/B, C - B, B]

        g = coefficients(scores, 0.5)
        noise_g = tf.cast(coefficients(noise_scores, 0.5 * noise_weights), step.dtype)
        d_hidden = g * targets + tf.cast(tf.matmul(noise_g, negatives, transpose_a=True), real)
        lost = tf.constant(0.0)
        if used is not None:
            noise_used = tf.transpose(used, [0, 2, 1])
            lost = loss(scores, used) + loss(noise_scores, noise_used * noise_weights)
        return d_hidden, [g * wide_hidden, tf.cast(tf.matmul(noise_g, hidden), real)], lost
