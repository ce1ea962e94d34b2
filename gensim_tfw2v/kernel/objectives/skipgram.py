"""Skip-gram as banded blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objectives.objective import Gradients, Step
from gensim_tfw2v.kernel.objectives.predictions import predict, summed


@dataclass(frozen=True)
class SkipGram:
    """Every word of the window is an input that predicts the centre word.

    As in gensim, the window is the centre's: an input and a centre make a pair when the input
    lies in the centre's (reduced) window. A negative n of the block takes part in as many pairs
    of an input as there are centres that reach it (and are other words than n).

    Negatives are shared by the pairs of a block (Ji et al. 2016, "Parallelizing Word2Vec in Shared
    and Distributed Memory", section 4): each counts ``negative / (C - B)`` times for each pair, so
    the expectation is `negative` draws a pair.

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
    follows_gradient: ClassVar[bool] = True

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Row updates of one step; see `Objective`."""
        inputs, pairs = step.input_rows(), step.band()
        layers = {}
        if self.negative:
            weights = self._weights(step, pairs)
            layers["outputs"] = predict(inputs, step.columns(), weights, with_loss, step.near)
        if self.hierarchical:
            signs = step.plan.signs
            path_length = tf.shape(signs)[1] // step.shape.centres
            weights = signs[..., None] * tf.repeat(pairs, path_length, 1)
            layers["nodes"] = predict(inputs, step.paths(), weights, with_loss)
        updates, lost = summed(layers)
        return Gradients(updates, lost, tf.reduce_sum(pairs) if with_loss else tf.constant(0.0))

    def _weights(self, step: Step, pairs: tf.Tensor) -> tf.Tensor:
        """Weight of each pair, below 0 for negatives: [T/B, C, I]."""
        share = self.negative / step.shape.shared
        if step.noise is None:
            # repeated by concat: broadcasting to all negatives costs twice as much
            noise = [tf.reduce_sum(pairs, 1, keepdims=True) * -share] * step.shape.shared
        else:
            noise = [tf.matmul(step.noise, pairs) * -share]
        return tf.concat([pairs, *noise], 1)
