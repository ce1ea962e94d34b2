"""Deep nodes of hierarchical softmax as columns of blocks.

A word has 6 deep nodes on average, but from none to 16: blocks have as many columns as the
fullest of their step, and only used slots are sorted, summed and written.

Where each centre is predicted from one row (CBOW), centres may stand in any order: sorted by
their codes, neighbours share most of their nodes, and a block has each node once.
"""

import functools
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.tree import CODE_BITS, Tree
from gensim_tfw2v.ragged import Span, spans
from gensim_tfw2v.sums import running_sum


class DeepNodes(NamedTuple):
    """Deep nodes of all steps of a unit: E entries in S slots.

    Attributes
    ----------
    nodes : Tensor [E], int32
        Rows of ``syn1``, centre after centre.
    steps : Tensor [E], int32
        Ascending: each entry's step.
    slots : Tensor [E], int32
        ``block * columns + column`` of each entry in its step.
    entries : Span
        Of each step's entries.
    sources : Tensor [S], int32
        Which row of the step's weights each slot has: see `deep_nodes` and `shared_nodes`.
    used : Span
        Of each step's slots.
    """

    nodes: tf.Tensor
    steps: tf.Tensor
    slots: tf.Tensor
    entries: Span
    sources: tf.Tensor
    used: Span

    def in_slots(self, values: tf.Tensor, slots: tf.Tensor, padding: int) -> tf.Tensor:
        """Put values [E] of entries into their slots: [S]."""
        number = tf.reduce_sum(self.used.number)
        places = slots + tf.gather(self.used.begin[:, 0], self.steps)
        empty = tf.fill([number], padding)
        return tf.dynamic_stitch([tf.range(number), places], [empty, values])


def deep_nodes(centres: tf.Tensor, tree: Tree) -> DeepNodes:
    """Lay out the deep nodes of every block's centres.

    A slot's source is its centre's place in the block, plus the number of centres where the code
    is 1; twice that number for a slot without use.

    Parameters
    ----------
    centres : Tensor [steps, blocks, O], int32
        Word ids.
    """
    width = centres.shape[2]
    words = tf.reshape(centres, [-1])
    begin, end = tf.gather(tree.first, words), tf.gather(tree.first, words + 1)
    nodes, centre, place = _lay_out(begin, end, centres.shape, tree)
    _, own = _divided(centre, width)
    sources = own + _codes(tree, place) * width
    return nodes._replace(sources=nodes.in_slots(sources, nodes.slots, padding=2 * width))


def shared_nodes(centres: tf.Tensor, tree: Tree) -> DeepNodes:
    """Lay out the deep nodes of blocks of centres in the order of their codes, each node once.

    The centres that have a node on their path stand side by side, those with the code 0 first.
    A slot's source says where they begin, where the code 1 begins and where they end: see
    `run_weights`.

    Parameters
    ----------
    centres : Tensor [steps, blocks, O], int32
        Word ids, whose ``tree.rank`` ascends in each step.
    """
    width = centres.shape[2]
    words = tf.reshape(centres, [-1])
    alike = _equal_bits(tf.reshape(tf.gather(tree.code, words), [-1, width]))
    first, end = tf.gather(tree.first, words), tf.gather(tree.first, words + 1)
    # nodes of which the centre before it has all bits that lead there are that centre's
    before = tf.reshape(tf.pad(alike[0], [[0, 0], [1, 0]], constant_values=-1), [-1])
    begin = tf.minimum(end, first + tf.maximum(0, before + 1 - tree.top_depth))
    nodes, centre, place = _lay_out(begin, end, centres.shape, tree)

    depth = place - tf.gather(first, centre) + tree.top_depth
    _, own = _divided(centre, width)
    ones, stop = own + 1, own + 1
    for further in range(1, width):  # centres of the block after the node's first
        common = tf.pad(alike[further - 1], [[0, 0], [0, further]], constant_values=-1)
        common = tf.gather(tf.reshape(common, [-1]), centre)
        stop += tf.cast(common >= depth, tf.int32)
        ones += tf.cast(common > depth, tf.int32)
    ones = tf.where(_codes(tree, place) > 0, own, ones)
    limits = width + 1
    sources = (own * limits + ones) * limits + stop
    return nodes._replace(sources=nodes.in_slots(sources, nodes.slots, padding=0))


@functools.lru_cache(maxsize=8)
def run_weights(width: int) -> np.ndarray:
    """For each source of `shared_nodes` 1 where the code is 0, -1 where it is 1, else 0.

    Returns
    -------
    ndarray [(O + 1)**3, O], float32
    """
    begin, ones, end, place = np.ogrid[: width + 1, : width + 1, : width + 1, :width]
    zero = (begin <= place) & (place < np.minimum(ones, end))
    one = (np.maximum(begin, ones) <= place) & (place < end)
    return (zero.astype(np.float32) - one).reshape(-1, width)


def _lay_out(
    begin: tf.Tensor, end: tf.Tensor, shape: tf.TensorShape, tree: Tree
) -> tuple[DeepNodes, tf.Tensor, tf.Tensor]:
    """Give slots to parts of ``tree.deep``, of one centre after the other.

    Returns
    -------
    nodes : DeepNodes
        Without sources.
    centre : Tensor [E], int32
        To which centre of the unit each entry belongs.
    place : Tensor [E], int32
        Where in ``tree.deep`` it stands.
    """
    blocks, width = shape[1:]
    ranges = tf.raw_ops.RaggedRange(starts=begin, limits=end, deltas=1, Tsplits=tf.int32)
    splits, place = ranges.rt_nested_splits, ranges.rt_dense_values
    number = tf.size(place)
    # which centre each entry is of: how many later centres' entries have begun
    begun = tf.math.bincount(splits[1:-1], minlength=number + 1)
    centre = running_sum(begun)[:number]

    block_begin = splits[:-1:width]  # [steps * blocks]
    counts = tf.reshape(splits[width::width] - block_begin, [-1, blocks])
    columns = tf.reduce_max(counts, 1)  # [steps]
    first_slot = tf.reshape(tf.range(blocks) * columns[:, None], [-1]) - block_begin
    nodes = DeepNodes(
        nodes=tf.bitwise.right_shift(tf.gather(tree.deep, place), 1),
        steps=_divided(centre, blocks * width)[0],
        slots=tf.range(number) + tf.gather(first_slot, _divided(centre, width)[0]),
        entries=spans(splits[blocks * width :: blocks * width]),
        sources=tf.zeros([0], tf.int32),
        used=spans(tf.cumsum(columns * blocks)),
    )
    return nodes, centre, place


def _codes(tree: Tree, place: tf.Tensor) -> tf.Tensor:
    """The codes at these places of ``tree.deep``: 0 or 1."""
    return tf.bitwise.bitwise_and(tf.gather(tree.deep, place), 1)


def _divided(x: tf.Tensor, by: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Quotient and remainder of integers from 0 on."""
    bits = by.bit_length() - 1
    if by == 1 << bits:  # a third of the price
        return tf.bitwise.right_shift(x, bits), tf.bitwise.bitwise_and(x, by - 1)
    return x // by, x % by


def _equal_bits(codes: tf.Tensor) -> list[tf.Tensor]:
    """How many leading bits the codes [blocks, O] of ascending centres have in common.

    Returns
    -------
    list of Tensor [blocks, O - k], int32, for k = 1 to O - 1
        Common to each centre and the k-th after it.
    """
    different = tf.bitwise.bitwise_xor(codes[:, 1:], codes[:, :-1])
    # a float's exponent is the number of its bits, less one; that of 0 is far below 0
    exponent = tf.bitwise.right_shift(tf.bitcast(tf.cast(different, tf.float64), tf.int64), 52)
    following = CODE_BITS - tf.maximum(tf.cast(exponent, tf.int32) - 1022, 0)
    alike = [following]
    for further in range(1, codes.shape[1] - 1):
        alike.append(tf.minimum(alike[-1][:, :-1], following[:, further:]))
    return alike
