"""Errors of predictions, their loss, and the updates that follow.

A prediction's score is the dot product s of an input and an output row, and its label is 1 or 0.
Its loss is ``-log sigmoid(±s)``, and its update is ``alpha * (label - sigmoid(s))`` times the other
row (Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.2).
"""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.slices import AS_THEY_ARE, Slices, Weights


class Layer(NamedTuple):
    """Updates of a layer's input rows [blocks, I, D] and, in parts, output rows; and its loss."""

    inputs: Slices
    outputs: list[Slices]
    loss: tf.Tensor


def summed(layers: dict[str, Layer]) -> tuple[dict[str, list[Slices]], tf.Tensor]:
    """Updates and loss of layers on the same inputs, each by the name of its output rows' table."""
    inputs = [layer.inputs for layer in layers.values()]
    if len({rows.dtype for rows in inputs}) > 1:
        inputs = [rows.cast(tf.float32) for rows in inputs]
    updates = {name: layer.outputs for name, layer in layers.items()}
    lost = tf.add_n([layer.loss for layer in layers.values()])
    return {"inputs": [functools.reduce(operator.add, inputs)], **updates}, lost


def predict(
    inputs: Slices,
    outputs: Slices,
    weights: tf.Tensor,
    with_loss: bool,
    pairs: Weights = AS_THEY_ARE,
) -> Layer:
    """Predict every output row of a block from every input row of it, by three batched products.

    Each counts as often as `weights` [blocks, C, I] say: below 0 with the label 0. `pairs` says
    which products are needed.
    """
    scores = tf.cast(outputs.products(inputs, pairs), tf.float32)
    g = pairs.pack(tf.cast(coefficients(scores, 0.5 * weights), inputs.dtype))
    return Layer(
        outputs.weighed(g, pairs, transposed=True),
        [inputs.weighed(g, pairs)],
        loss(scores, weights) if with_loss else tf.constant(0.0),
    )


@scoped("coefficients")
def coefficients(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Twice ``|weights| * (label - sigmoid(scores))``, where weights below 0 have the label 0.

    Written with tanh, which costs less than a sigmoid: ``sigmoid(s) = (1 + tanh(s / 2)) / 2``. And
    with signed weights: to spread signs over a matrix costs more than all the rest.
    """
    return weights - tf.abs(weights) * tf.tanh(0.5 * scores)


@scoped("loss")
def loss(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Sum of ``-|weights| * log(sigmoid(±scores))``, minus where weights are below 0."""
    return tf.reduce_sum(tf.abs(weights) * tf.nn.softplus(-tf.sign(weights) * scores))
