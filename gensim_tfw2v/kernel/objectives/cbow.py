"""CBOW as banded blocks."""

from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objectives.base import Gradients, Step
from gensim_tfw2v.kernel.objectives.blocks import band
from gensim_tfw2v.kernel.objectives.predictions import coefficients, loss, predict
from gensim_tfw2v.kernel.slices import Slices, added


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
    """

    negative: int
    mean: bool = True
    hierarchical: bool = False
    corrected: bool = False

    @property
    def follows_gradient(self) -> bool:
        """Whether updates are the negative gradient of the loss."""
        return self.corrected

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step, whose halo holds inputs; see `Objective`.

        A centre without context has a hidden row of zeros and a band of zeros, so whatever its
        coefficients are, nothing is added to any row.
        """
        shape, real = step.shape, tf.float32
        if shape.halo_side != "inputs":
            raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
        hidden = step.input_rows().map(  # [T/B, B, D]
            lambda x, windows: tf.matmul(band(windows, shape, self.mean, step.dtype), x),
            sent=[step.windows],
        )
        used: tf.Tensor | None = None  # for the loss: 1 for a centre that has context, else 0
        if with_loss:
            used = tf.minimum(tf.reduce_sum(step.band(), 2, keepdims=True), 1.0)
        updates: list[Slices] = []
        outputs: list[Slices] = []
        nodes, total = None, tf.constant(0.0)
        if self.negative:
            d_hidden, outputs, lost = self._sampled(step, hidden, used)
            updates.append(d_hidden)
            total += lost
        if self.hierarchical:
            d_hidden, nodes, lost = self._in_tree(step, hidden, used)
            updates.append(d_hidden)
            total += lost
        if len(updates) > 1:  # of both layers, in two dtypes
            updates = [rows.map(lambda x: tf.cast(x, real)) for rows in updates]

        def backward(d_hidden: tf.Tensor, windows: tf.Tensor) -> tf.Tensor:
            weights = band(windows, shape, self.mean == self.corrected, step.dtype)
            return tf.matmul(weights, tf.cast(d_hidden, step.dtype), transpose_a=True)

        d_inputs = added(updates).map(backward, sent=[step.windows])
        predictions = tf.constant(0.0) if used is None else tf.reduce_sum(used)
        return Gradients(d_inputs, outputs, nodes, total, predictions)

    def _sampled(
        self, step: Step, hidden: Slices, used: tf.Tensor | None
    ) -> tuple[Slices, list[Slices], tf.Tensor]:
        """Updates of the hidden rows [T/B, B, D] and of the output rows, and the loss."""
        share, real = self.negative / step.shape.shared, tf.float32
        targets, negatives = step.targets(), step.negatives()
        noise_scores = negatives.total(lambda y, h: tf.matmul(y, h, transpose_b=True), hidden)
        noise_scores = tf.cast(noise_scores, real)
        wide_hidden = hidden.map(lambda h: tf.cast(h, real))
        scores = wide_hidden.total(lambda h, y: tf.reduce_sum(h * y, 2, keepdims=True), targets)
        noise_weights = -share if step.noise is None else -share * step.noise  # [T/B, C - B, B]

        g = coefficients(scores, 0.5)
        noise_g = tf.cast(coefficients(noise_scores, 0.5 * noise_weights), step.dtype)
        d_hidden = targets.map(
            lambda y, n, g, noise_g: g * y + tf.cast(tf.matmul(noise_g, n, transpose_a=True), real),
            negatives,
            sent=[g, noise_g],
        )
        outputs = [
            wide_hidden.map(lambda h, g: g * h, sent=[g]),
            hidden.map(lambda h, g: tf.cast(tf.matmul(g, h), real), sent=[noise_g]),
        ]
        lost = tf.constant(0.0)
        if used is not None:
            noise_used = tf.transpose(used, [0, 2, 1])
            lost = loss(scores, used) + loss(noise_scores, noise_used * noise_weights)
        return d_hidden, outputs, lost

    def _in_tree(
        self, step: Step, hidden: Slices, used: tf.Tensor | None
    ) -> tuple[Slices, Slices, tf.Tensor]:
        """The same of hierarchical softmax: each centre is a block of its own, with its path."""
        tokens, blocks = step.shape.tokens, step.shape.blocks

        def regrouped(rows: Slices, groups: int) -> Slices:
            return rows.map(lambda x: tf.reshape(x, [groups, -1, tf.shape(x)[2]]))

        weights = tf.reshape(step.signs, [tokens, -1, 1])
        if used is not None:
            weights *= tf.reshape(used, [tokens, 1, 1])
        d_hidden, d_nodes, lost = predict(
            regrouped(hidden, tokens), regrouped(step.paths(), tokens), weights, used is not None
        )
        return regrouped(d_hidden, blocks), regrouped(d_nodes, blocks), lost
