"""CBOW as banded blocks."""

from __future__ import annotations

from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objectives.blocks import WindowBand
from gensim_tfw2v.kernel.objectives.objective import Gradients, Step
from gensim_tfw2v.kernel.objectives.predictions import Layer, coefficients, loss, predict, summed
from gensim_tfw2v.kernel.slices import Slices


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
        """True if updates are the negative gradient of the loss."""
        return self.corrected

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step, whose halo holds inputs; see `Objective`.

        A centre without context has a hidden row of zeros and a band of zeros, so whatever its
        coefficients are, nothing is added to any row.
        """
        shape = step.shape
        if shape.halo_side != "inputs":
            raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
        forward = WindowBand(shape, self.mean, step.dtype)
        backward = WindowBand(shape, self.mean == self.corrected, step.dtype)
        hidden = step.input_rows().weighed(step.plan.windows, forward)  # [T/B, B, D]
        used: tf.Tensor | None = None  # for the loss: 1 for a centre that has context, else 0
        if with_loss:
            used = tf.minimum(tf.reduce_sum(step.band(), 2, keepdims=True), 1.0)
        layers = {}
        if self.negative:
            layers["outputs"] = self._sampled(step, hidden, used)
        if self.hierarchical:
            layers["nodes"] = self._in_tree(step, hidden, used)
        updates, lost = summed(layers)
        (d_hidden,) = updates["inputs"]
        d_inputs = d_hidden.cast(step.dtype).weighed(step.plan.windows, backward, transposed=True)
        predictions = tf.constant(0.0) if used is None else tf.reduce_sum(used)
        return Gradients(updates | {"inputs": [d_inputs]}, lost, predictions)

    def _sampled(self, step: Step, hidden: Slices, used: tf.Tensor | None) -> Layer:
        """Predict by negative sampling from the hidden rows."""
        share, real = self.negative / step.shape.shared, tf.float32
        targets, negatives, wide = step.targets(), step.negatives(), hidden.cast(tf.float32)
        scores, noise_scores = wide.dots(targets), tf.cast(negatives.products(hidden), real)
        noise_weights = -share if step.noise is None else -share * step.noise  # [T/B, C - B, B]
        g = coefficients(scores, 0.5)
        noise_g = tf.cast(coefficients(noise_scores, 0.5 * noise_weights), step.dtype)
        d_hidden = targets.scaled(g) + negatives.weighed(noise_g, transposed=True).cast(real)
        lost = tf.constant(0.0)
        if used is not None:
            noise_used = tf.transpose(used, [0, 2, 1])
            lost = loss(scores, used) + loss(noise_scores, noise_used * noise_weights)
        outputs = [wide.scaled(g), hidden.weighed(noise_g).cast(real)]
        return Layer(d_hidden, outputs, lost)

    def _in_tree(self, step: Step, hidden: Slices, used: tf.Tensor | None) -> Layer:
        """The same of hierarchical softmax: each centre is a block of its own, with its path."""
        tokens, blocks = step.shape.tokens, step.shape.blocks

        def regrouped(rows: Slices, groups: int) -> Slices:
            return rows.map(lambda x: tf.reshape(x, [groups, -1, tf.shape(x)[2]]))

        weights = tf.reshape(step.plan.signs, [tokens, -1, 1])
        if used is not None:
            weights *= tf.reshape(used, [tokens, 1, 1])
        layer = predict(
            regrouped(hidden, tokens), regrouped(step.paths(), tokens), weights, used is not None
        )
        d_hidden = regrouped(layer.inputs, blocks)
        return Layer(d_hidden, [regrouped(x, blocks) for x in layer.outputs], layer.loss)
