"""Skip-gram as banded blocks."""

from dataclasses import dataclass
from typing import ClassVar

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.base import Gradients, Step
from gensim_tfw2v.objectives.blocks import Everything, InBand
from gensim_tfw2v.objectives.hierarchical_softmax import predict_from_window
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss
from gensim_tfw2v.slices import Slices, added


@dataclass(frozen=True)
class SkipGram:
    """Every word of the window is an input that predicts the centre word.

    As in gensim, the window is the centre's: an input and a centre make a pair when the input
    lies in the centre's (reduced) window. A negative n of the block takes part in as many pairs
    of an input as there are centres that reach it (and are other words than n).

    A step of negative sampling is three batched products: scores ``Y Xᵀ``, then ``Gᵀ Y`` and
    ``G X``.

    Parameters
    ----------
    negative : int
        Negatives a pair; 0 for none.
    hierarchical : bool
        Whether hierarchical softmax is trained.
    """

    negative: int
    hierarchical: bool = False
    mean: ClassVar[bool] = False
    tree_block: ClassVar[None] = None

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step; see `Objective`."""
        inputs, pairs = step.input_rows(), step.band()
        updates: list[Slices] = []
        outputs: list[Slices] = []
        tree, total = None, tf.constant(0.0)
        if self.negative:
            weights = self._weights(step, pairs)
            columns = step.columns()
            # what is outside the bands does not travel
            band = InBand(step.shape) if inputs.link else Everything()
            scores = columns.total(
                lambda y, x: band.pack(tf.matmul(y, x, transpose_b=True)), inputs
            )
            scores = tf.cast(band.unpack(scores), tf.float32)
            g = band.pack(tf.cast(coefficients(scores, 0.5 * weights), step.dtype))
            updates.append(
                columns.map(lambda y, g: tf.matmul(band.unpack(g), y, transpose_a=True), sent=[g])
            )
            outputs.append(inputs.map(lambda x, g: tf.matmul(band.unpack(g), x), sent=[g]))
            total += loss(scores, weights) if with_loss else 0.0
        if step.tree is not None:
            tree = predict_from_window(step.tree, inputs, pairs, with_loss)
            updates.append(tree.hidden)
            total += tree.loss
        predictions = tf.reduce_sum(pairs) if with_loss else tf.constant(0.0)
        return Gradients(added(updates), outputs, tree, total, predictions)

    def _weights(self, step: Step, pairs: tf.Tensor) -> tf.Tensor:
        """How often each pair counts, below 0 for negatives: [T/B, C, I]."""
        share = self.negative / step.shape.shared
        if step.noise is None:
            # repeated by concat: broadcasting to all negatives costs twice as much
            noise = [tf.reduce_sum(pairs, 1, keepdims=True) * -share] * step.shape.shared
        else:
            noise = [tf.matmul(step.noise, pairs) * -share]
        return tf.concat([pairs, *noise], 1)
