"""Hierarchical softmax in blocks.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.1: a word is
predicted by walking down a Huffman tree, and at each node on its path a score says left or right,
at ``-log sigmoid(±score)`` each. The rows of the nodes of the tree's top are multiplied by all
hidden rows of a step at once; the deep nodes are columns of the block that the word stands in.
"""

import math
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.deep_nodes import run_weights
from gensim_tfw2v.objectives.negative_sampling import loss
from gensim_tfw2v.scopes import scoped
from gensim_tfw2v.slices import Slices, concat
from gensim_tfw2v.updates import adagrad, clipped

#: Centres after which the rows of the top are updated. They are on every path: the sum of a long
#: step's updates, all computed from the same rows, costs accuracy.
TOP_CENTRES = 128


class TreeStep(NamedTuple):
    """What one step of hierarchical softmax is computed from.

    Attributes
    ----------
    top : Slices [N, D]
        Rows of the top.
    signs : Tensor [leaves, N]
        See `Tree`.
    leaves : Tensor [T/B, O], int32
        By which way the path of each centre leaves the top.
    deep : Slices [U, D]
        The distinct rows of the deep nodes.
    columns : Tensor [T/B, C], int32
        Which of `deep` each column has.
    sources : Tensor [T/B, C], int32
        See `DeepNodes`.
    alpha : Tensor []
    max_norm : float
        Step size and limit for the rows of the top: see `clipped`.
    order, place : Tensor [T], int32, optional
        Where the blocks of `columns` are not the step's: which centre stands at each place of
        these blocks, and at which place of them each centre stands.
    squares : Tensor [N, 1], optional
        Of the top's rows, for `adagrad`.
    """

    top: Slices
    signs: tf.Tensor
    leaves: tf.Tensor
    deep: Slices
    columns: tf.Tensor
    sources: tf.Tensor
    alpha: tf.Tensor
    max_norm: float
    order: tf.Tensor | None = None
    place: tf.Tensor | None = None
    squares: tf.Tensor | None = None

    @property
    def block(self) -> int:
        """Centres a block of `columns`."""
        return int(self.leaves.shape.num_elements() // self.columns.shape[0])

    @property
    def parts(self) -> int:
        """Parts of the step, of whole blocks, after which the rows of the top are updated."""
        blocks, centres = self.leaves.shape
        return int(blocks // math.gcd(blocks, max(1, TOP_CENTRES // centres)))


class TreeGradients(NamedTuple):
    """Directions in which one step wants rows to go, and what it lost.

    Attributes
    ----------
    hidden : Slices [T/B, J, D]
    top : Slices [N, D]
        Not a direction, but the change itself.
    deep : Slices [T/B, C, D]
    loss : Tensor []
    growth : Tensor [N, 1], optional
        Of the squares of the top's rows; see `adagrad`.
    """

    hidden: Slices
    top: Slices
    deep: Slices
    loss: tf.Tensor
    growth: tf.Tensor | None = None


@scoped("hierarchical_softmax")
def predict_from_window(
    step: TreeStep, hidden: Slices, pairs: tf.Tensor, with_loss: bool
) -> TreeGradients:
    """Predict centres from several hidden rows each.

    Parameters
    ----------
    step : TreeStep
    hidden : Slices [T/B, J, D]
        Rows that predict; their dtype is that of the products.
    pairs : Tensor [T/B, O, J], float32
        1 where a centre is predicted from a hidden row, else 0.
    """
    centres, inputs = step.leaves.shape[1], pairs.shape[2]
    balance = tf.gather(0.5 * step.signs, step.leaves)  # [T/B, O, N]
    number, balance = (
        tf.split(_rows(tf.matmul(pairs, x, transpose_a=True)), step.parts)
        for x in (tf.abs(balance), balance)
    )
    d_flat, change, top_loss, growth = _top(step, hidden.map(_rows), number, balance, with_loss)

    halves = 0.5 * pairs
    weights = tf.concat([halves, -halves, tf.zeros_like(halves[:, :1])], 1)
    first = np.arange(pairs.shape[0], dtype=np.int32)[:, None] * (2 * centres + 1)
    weights = tf.gather(tf.reshape(weights, [-1, inputs]), step.sources + first)
    d_hidden, d_deep, deep_loss = _deep(step, hidden, weights, with_loss)
    d_hidden = d_hidden.map(lambda x, flat: x + _in_blocks(flat, inputs), d_flat)
    return TreeGradients(d_hidden, change, d_deep, top_loss + deep_loss, growth)


@scoped("hierarchical_softmax")
def predict_from_one(
    step: TreeStep, hidden: Slices, used: tf.Tensor | None, with_loss: bool
) -> TreeGradients:
    """Predict each centre from the hidden row at its own place.

    Parameters
    ----------
    step : TreeStep
        With an order of its own.
    hidden : Slices [T/B, B, D]
        Rows that predict; their dtype is that of the products.
    used : Tensor [T/B, B, 1], float32, optional
        1 for centres that count in the loss, else 0.
    """
    width, flat = step.block, hidden.map(_rows)
    halves, leaves = 0.5 * step.signs, tf.reshape(step.leaves, [-1])
    weights = tf.gather(0.5 * run_weights(width), step.sources)
    if used is not None:
        # the others leave the top by a way that no node is on
        leaves = tf.where(tf.squeeze(_rows(used), 1) > 0, leaves, tf.shape(halves)[0])
        halves = tf.pad(halves, [[0, 1], [0, 0]])
        weights *= tf.reshape(tf.gather(_rows(used), step.order), [-1, 1, width])
    of_parts = tf.split(leaves, step.parts)
    number, balance = ([tf.gather(x, part) for part in of_parts] for x in (tf.abs(halves), halves))
    d_flat, change, top_loss, growth = _top(step, flat, number, balance, with_loss)

    in_order = flat.map(lambda h, order: _in_blocks(tf.gather(h, order), width), sent=[step.order])
    d_in_order, d_deep, deep_loss = _deep(step, in_order, weights, with_loss)
    positions = step.leaves.shape[1]
    d_hidden = d_flat.map(
        lambda x, own, place: _in_blocks(x + tf.gather(_rows(own), place), positions),
        d_in_order,
        sent=[step.place],
    )
    return TreeGradients(d_hidden, change, d_deep, top_loss + deep_loss, growth)


def _rows(x: tf.Tensor) -> tf.Tensor:
    return tf.reshape(x, [-1, tf.shape(x)[2] if x.shape[2] is None else x.shape[2]])


def _in_blocks(rows: tf.Tensor, number: int) -> tf.Tensor:
    return tf.reshape(rows, [-1, number, rows.shape[1]])


@scoped("top")
def _top(
    step: TreeStep,
    hidden: Slices,
    number: list[tf.Tensor],
    balance: list[tf.Tensor],
    with_loss: bool,
) -> tuple[Slices, Slices, tf.Tensor, tf.Tensor | None]:
    """Predict at the nodes of the top, one part of the hidden rows after the other.

    Parameters
    ----------
    hidden : Slices [n, D]
    number, balance : lists of Tensor [n / parts, N], float32
        Half of how often each row predicts at each node, and of how often 0 less how often 1.

    Returns
    -------
    d_hidden : Slices [n, D]
    change : Slices [N, D]
        Of the top's rows.
    loss : Tensor []
    growth : Tensor [N, 1]
        Of their squares; None without Adagrad.
    """
    rows, updates, total = step.top, [], tf.constant(0.0)
    sizes, growth = step.alpha, None
    for h, count, difference in zip(hidden.split(step.parts), number, balance, strict=True):
        dtype = h.parts[0].dtype
        top = rows.map(lambda x, dtype=dtype: tf.cast(x, dtype))
        scores = h.total(lambda x, y: tf.matmul(x, y, transpose_b=True), top)
        scores = tf.cast(scores, tf.float32)
        g = tf.cast(difference - count * tf.tanh(0.5 * scores), dtype)
        updates.append(top.map(lambda y, g: tf.matmul(g, y), sent=[g]))
        sums = h.map(lambda x, g: tf.cast(tf.matmul(g, x, transpose_a=True), tf.float32), sent=[g])
        if step.squares is not None:
            before = 0.0 if growth is None else growth
            sizes, of_part = adagrad(sums, step.squares + before, step.alpha)
            growth = before + of_part
        rows = rows.map(tf.add, clipped(sums, sizes, step.max_norm)[0])
        if with_loss:
            total += loss(scores, count + difference) + loss(scores, difference - count)
    return concat(updates), rows.map(tf.subtract, step.top), total, growth


@scoped("deep_nodes")
def _deep(
    step: TreeStep, hidden: Slices, halves: tf.Tensor, with_loss: bool
) -> tuple[Slices, Slices, tf.Tensor]:
    """Predict at the deep nodes.

    Parameters
    ----------
    hidden : Slices [blocks, J, D]
    halves : Tensor [blocks, C, J], float32
        1/2 where a row predicts at a node and the code is 0, -1/2 where it is 1, else 0.

    Returns
    -------
    d_hidden : Slices [blocks, J, D]
    d_deep : Slices [blocks, C, D]
    loss : Tensor []
    """
    dtype = hidden.parts[0].dtype
    deep = step.deep.map(  # [blocks, C, D]
        lambda y, columns: tf.gather(tf.cast(y, dtype), columns), sent=[step.columns]
    )
    scores = deep.total(lambda y, x: tf.matmul(y, x, transpose_b=True), hidden)
    scores = tf.cast(scores, tf.float32)
    # as `coefficients` of weights of no other size; a matrix less
    g = tf.cast(halves * (1.0 - tf.tanh(halves * scores)), dtype)
    total = loss(scores, 2.0 * halves) if with_loss else tf.constant(0.0)
    return (
        deep.map(lambda y, g: tf.matmul(g, y, transpose_a=True), sent=[g]),
        hidden.map(lambda x, g: tf.matmul(g, x), sent=[g]),
        total,
    )
