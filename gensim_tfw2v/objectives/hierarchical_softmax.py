"""Hierarchical softmax in blocks.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.1: a word is
predicted by walking down a Huffman tree, and at each node on its path a score says left or right,
at ``-log sigmoid(±score)`` each. The rows of the nodes of the tree's top are multiplied by all
hidden rows of a step at once; the deep nodes are columns of the block that the word stands in.
"""

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.deep_nodes import run_weights
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss


class TreeStep(NamedTuple):
    """What one step of hierarchical softmax is computed from.

    Attributes
    ----------
    top : Tensor [N, D]
        Rows of the top.
    signs : Tensor [leaves, N]
        See `Tree`.
    leaves : Tensor [T/B, O], int32
        By which way the path of each centre leaves the top.
    deep : Tensor [U, D]
        The distinct rows of the deep nodes.
    columns : Tensor [T/B, C], int32
        Which of `deep` each column has.
    sources : Tensor [T/B, C], int32
        See `DeepNodes`.
    order, place : Tensor [T], int32, optional
        Where blocks differ from the step's: which centre stands at each place of these blocks,
        and at which place of them each centre stands.
    """

    top: tf.Tensor
    signs: tf.Tensor
    leaves: tf.Tensor
    deep: tf.Tensor
    columns: tf.Tensor
    sources: tf.Tensor
    order: tf.Tensor | None = None
    place: tf.Tensor | None = None


class TreeGradients(NamedTuple):
    """Directions in which one step wants rows to go, and what it lost.

    Attributes
    ----------
    hidden : Tensor [T/B, J, D]
    top : Tensor [N, D]
    deep : Tensor [T/B, C, D]
    loss : Tensor []
    """

    hidden: tf.Tensor
    top: tf.Tensor
    deep: tf.Tensor
    loss: tf.Tensor


class TreeWeights(NamedTuple):
    """How often each hidden row predicts at each node.

    Attributes
    ----------
    number : Tensor [T/B, J, N], float32
        At the nodes of the top.
    balance : Tensor [T/B, J, N], float32
        How often the code is 0, less how often it is 1.
    deep : Tensor [T/B, C, J], float32
        Halves, at the deep nodes: below 0 where the code is 1.
    """

    number: tf.Tensor
    balance: tf.Tensor
    deep: tf.Tensor


def predict_from_window(
    step: TreeStep, hidden: tf.Tensor, pairs: tf.Tensor, with_loss: bool
) -> TreeGradients:
    """Predict centres from several hidden rows each.

    Parameters
    ----------
    step : TreeStep
    hidden : Tensor [T/B, J, D]
        Rows that predict; their dtype is that of the products.
    pairs : Tensor [T/B, O, J], float32
        How often each centre is predicted from each hidden row.
    """
    centres = step.leaves.shape[1]
    balance = tf.gather(step.signs, step.leaves)  # [T/B, O, N]
    number, balance = (
        tf.matmul(pairs, x, transpose_a=True) for x in (tf.abs(balance), balance)
    )  # [T/B, J, N]
    halves = 0.5 * pairs
    rows = tf.concat([halves, -halves, tf.zeros_like(halves[:, :1])], 1)
    first = np.arange(pairs.shape[0], dtype=np.int32)[:, None] * (2 * centres + 1)
    deep = tf.gather(tf.reshape(rows, [-1, pairs.shape[2]]), step.sources + first)
    return _predict(step, hidden, TreeWeights(number, balance, deep), with_loss)


def predict_from_one(
    step: TreeStep, hidden: tf.Tensor, used: tf.Tensor | None, with_loss: bool
) -> TreeGradients:
    """Predict each centre from the hidden row at its own place.

    Parameters
    ----------
    step : TreeStep
        With an order of its own.
    hidden : Tensor [T/B, B, D]
        Rows that predict; their dtype is that of the products.
    used : Tensor [T/B, B, 1], float32, optional
        1 for centres that count in the loss, else 0.
    """
    centres, size = step.leaves.shape[1], hidden.shape[2]

    def reordered(x: tf.Tensor, order: tf.Tensor) -> tf.Tensor:
        return tf.gather(tf.reshape(x, [-1, x.shape[2]]), order)

    rows = tf.reshape(reordered(hidden, step.order), [-1, centres, size])
    balance = tf.gather(step.signs, step.leaves)
    deep = tf.gather(0.5 * run_weights(centres), step.sources)
    weights = TreeWeights(tf.abs(balance), balance, deep)
    if used is not None:
        used = tf.reshape(reordered(used, step.order), [-1, centres, 1])
        weights = TreeWeights(
            weights.number * used, balance * used, deep * tf.transpose(used, [0, 2, 1])
        )
    gradients = _predict(step, rows, weights, with_loss)
    d_hidden = tf.reshape(reordered(gradients.hidden, step.place), tf.shape(hidden))
    return gradients._replace(hidden=d_hidden)


def _predict(
    step: TreeStep, hidden: tf.Tensor, weights: TreeWeights, with_loss: bool
) -> TreeGradients:
    dtype, real = hidden.dtype, tf.float32
    flat = tf.reshape(hidden, [-1, hidden.shape[2]])  # [T/B * J, D]
    number, balance, halves = weights

    top = tf.cast(step.top, dtype)
    scores = tf.cast(tf.matmul(flat, top, transpose_b=True), real)
    scores = tf.reshape(scores, tf.shape(balance))
    g = 0.5 * (balance - number * tf.tanh(0.5 * scores))
    flat_g = tf.reshape(tf.cast(g, dtype), [-1, tf.shape(top)[0]])
    d_top = tf.cast(tf.matmul(flat_g, flat, transpose_a=True), real)
    d_hidden = tf.reshape(tf.matmul(flat_g, top), tf.shape(hidden))

    deep = tf.gather(tf.cast(step.deep, dtype), step.columns)  # [T/B, C, D]
    deep_scores = tf.cast(tf.matmul(deep, hidden, transpose_b=True), real)
    deep_g = tf.cast(coefficients(deep_scores, halves), dtype)
    d_hidden += tf.matmul(deep_g, deep, transpose_a=True)

    total = tf.constant(0.0)
    if with_loss:
        zeros, ones = 0.5 * (number + balance), 0.5 * (balance - number)
        total = loss(deep_scores, 2.0 * halves) + loss(scores, zeros) + loss(scores, ones)
    return TreeGradients(d_hidden, d_top, tf.matmul(deep_g, hidden), total)
