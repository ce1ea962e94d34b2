"""Hierarchical softmax in blocks.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.1: a word is
predicted by walking down a Huffman tree, and at each node on its path a score says left or right,
at ``-log sigmoid(±score)`` each. The nodes near the root are on the paths of most words, so their
rows are multiplied by all hidden rows of a step at once (the *top*); the rest of a path is short,
and its nodes are columns of the block that the word stands in (the *deep* nodes).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.blocks import StepShape
from gensim_tfw2v.objectives.negative_sampling import coefficients, loss
from gensim_tfw2v.sums import running_sum

#: Nodes closer to the root than this are the top of the tree.
TOP_DEPTH = 6


class Tree(NamedTuple):
    """The Huffman tree of a vocabulary, as arrays or tensors.

    Attributes
    ----------
    top : [N], int32
        The nodes of the top: rows of gensim's ``syn1``.
    signs : [leaves, N], float32
        For each way out of the top, 1 at the nodes on it where the code is 0, -1 where it is 1.
    leaf : [V], int32
        By which way each word's path leaves the top.
    first : [V + 1], int32
        Where in `deep` the rest of each word's path begins.
    deep : [all], int32
        ``2 * node + code``, path after path.
    """

    top: tf.Tensor
    signs: tf.Tensor
    leaf: tf.Tensor
    first: tf.Tensor
    deep: tf.Tensor


class DeepNodes(NamedTuple):
    """The deep nodes of all steps of a unit. C columns: the most that any block has.

    Attributes
    ----------
    nodes : Tensor [steps, T/B, C], int32
        Rows of ``syn1``; 0 for padding.
    sources : Tensor [steps, T/B, C], int32
        Which row of the step's weights each column has: its centre's, with the sign of its code.
    """

    nodes: tf.Tensor
    sources: tf.Tensor


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
    place : Tensor [T/B, C], int32
        Which of `deep` each column has.
    sources : Tensor [T/B, C], int32
        See `DeepNodes`.
    """

    top: tf.Tensor
    signs: tf.Tensor
    leaves: tf.Tensor
    deep: tf.Tensor
    place: tf.Tensor
    sources: tf.Tensor


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


def huffman_tree(
    points: Sequence[np.ndarray], codes: Sequence[np.ndarray], top_depth: int = TOP_DEPTH
) -> Tree:
    """Lay out gensim's Huffman tree for training.

    Parameters
    ----------
    points, codes : sequences of arrays
        gensim's ``wv`` attributes ``point`` and ``code``: for each word the nodes on its path
        from the root, and 0 or 1 at each.
    top_depth : int
        How many nodes of each path belong to the top.
    """
    lengths = np.fromiter(map(len, codes), np.int64, len(codes))
    ends = np.cumsum(lengths)
    entries = 2 * np.concatenate([[], *points]).astype(np.int64) + np.concatenate([[], *codes])
    depth = np.arange(len(entries)) - np.repeat(ends - lengths, lengths)
    is_top = depth < top_depth
    # a way out of the top is named by its last edge
    last = ends - lengths + np.minimum(lengths, top_depth) - 1
    edge = np.where(lengths > 0, np.append(entries, -1)[last], -1)
    _, examples, leaf = np.unique(edge, return_index=True, return_inverse=True)
    top = np.unique(entries[is_top] // 2)
    signs = np.zeros((len(examples), len(top)), np.float32)
    for number, word in enumerate(examples):
        path = entries[ends[word] - lengths[word] :][: min(lengths[word], top_depth)]
        signs[number, np.searchsorted(top, path // 2)] = 1.0 - 2.0 * (path % 2)
    first = np.concatenate([[0], np.cumsum(np.maximum(lengths - top_depth, 0))])
    return Tree(
        top=top.astype(np.int32),
        signs=signs,
        leaf=leaf.astype(np.int32),
        first=first.astype(np.int32),
        deep=entries[~is_top].astype(np.int32),
    )


def no_tree() -> Tree:
    """What takes a tree's place where there is none."""
    nothing = np.zeros(0, np.int32)
    return Tree(nothing, np.zeros((0, 0), np.float32), nothing, nothing, nothing)


def deep_nodes(centres: tf.Tensor, tree: Tree, shape: StepShape) -> DeepNodes:
    """Lay out the deep nodes of every block's centres.

    Parameters
    ----------
    centres : Tensor [steps, T/B, O], int32
        Word ids.
    """
    words = tf.reshape(centres, [-1])
    begin, end = tf.gather(tree.first, words), tf.gather(tree.first, words + 1)
    ranges = tf.raw_ops.RaggedRange(starts=begin, limits=end, deltas=1, Tsplits=tf.int32)
    entries = tf.gather(tree.deep, ranges.rt_dense_values)  # [all]
    number = tf.size(entries)
    # which centre each entry is of: how many later centres' entries have begun
    begun = tf.math.bincount(ranges.rt_nested_splits[1:-1], minlength=number + 1)
    centre = tf.math.floormod(running_sum(begun)[:number], shape.centres)
    sources = centre + (entries % 2) * shape.centres
    splits = ranges.rt_nested_splits[:: shape.centres]  # of the blocks
    counts = splits[1:] - splits[:-1]
    column = tf.range(tf.reduce_max(tf.concat([[1], counts], 0)))
    place = tf.where(column < counts[:, None], splits[:-1, None] + column, number)

    def in_columns(x: tf.Tensor, padding: int) -> tf.Tensor:
        padded = tf.gather(tf.concat([x, [padding]], 0), place)
        return tf.reshape(padded, [-1, shape.blocks, tf.size(column)])

    return DeepNodes(in_columns(entries // 2, 0), in_columns(sources, 2 * shape.centres))


def hierarchical_softmax(
    step: TreeStep, hidden: tf.Tensor, pairs: tf.Tensor | None, with_loss: bool
) -> TreeGradients:
    """Predict centres from hidden rows.

    Parameters
    ----------
    step : TreeStep
    hidden : Tensor [T/B, J, D]
        Rows that predict; their dtype is that of the products.
    pairs : Tensor [T/B, O, J], float32, optional
        How often each centre is predicted from each hidden row; without it each centre from the
        row at its own place.
    """
    dtype, real = hidden.dtype, tf.float32
    flat = tf.reshape(hidden, [-1, hidden.shape[2]])  # [T/B * J, D]

    balance = tf.gather(step.signs, step.leaves)  # [T/B, O, N]
    number = tf.abs(balance)
    if pairs is not None:  # [T/B, J, N]: zeros and ones on the paths, and zeros less ones
        balance, number = (tf.matmul(pairs, x, transpose_a=True) for x in (balance, number))
    top = tf.cast(step.top, dtype)
    scores = tf.cast(tf.matmul(flat, top, transpose_b=True), real)
    scores = tf.reshape(scores, tf.shape(balance))
    g = 0.5 * (balance - number * tf.tanh(0.5 * scores))
    flat_g = tf.reshape(tf.cast(g, dtype), [-1, tf.shape(top)[0]])
    d_top = tf.cast(tf.matmul(flat_g, flat, transpose_a=True), real)
    d_hidden = tf.reshape(tf.matmul(flat_g, top), tf.shape(hidden))

    deep = tf.gather(tf.cast(step.deep, dtype), step.place)  # [T/B, C, D]
    weights = _deep_weights(step.sources, pairs, step.leaves.shape[1])  # [T/B, C, J]
    deep_scores = tf.cast(tf.matmul(deep, hidden, transpose_b=True), real)
    deep_g = tf.cast(coefficients(deep_scores, 0.5 * weights), dtype)
    d_hidden += tf.matmul(deep_g, deep, transpose_a=True)

    total = tf.constant(0.0)
    if with_loss:
        zeros, ones = 0.5 * (number + balance), 0.5 * (balance - number)
        total = loss(deep_scores, weights) + loss(scores, zeros) + loss(scores, ones)
    return TreeGradients(d_hidden, d_top, tf.matmul(deep_g, hidden), total)


def _deep_weights(sources: tf.Tensor, pairs: tf.Tensor | None, centres: int) -> tf.Tensor:
    """The row of `pairs` of each column's centre, with the sign of the column: [T/B, C, J]."""
    if pairs is None:
        itself = np.eye(centres, dtype=np.float32)
        return tf.gather(np.concatenate([itself, -itself, np.zeros_like(itself[:1])]), sources)
    signed = tf.concat([pairs, -pairs, tf.zeros_like(pairs[:, :1])], 1)
    first = np.arange(pairs.shape[0], dtype=np.int32)[:, None] * (2 * centres + 1)
    return tf.gather(tf.reshape(signed, [-1, pairs.shape[2]]), sources + first)
