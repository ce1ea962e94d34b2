"""The Huffman tree of hierarchical softmax, laid out for training.

The nodes near the root are on the paths of most words: they are the *top*, whose rows are
multiplied by all hidden rows of a step at once. What is left of a word's path are its *deep*
nodes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf

#: Bits of codes that are compared: what a float64 holds exactly.
CODE_BITS = 52

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
    top_depth : [], int32
        How many nodes of each path belong to the top.
    code : [V], int64
        The first `CODE_BITS` bits of each word's code, filled up with 0.
    rank : [V], int32
        Place of each word in the order of the codes: neighbours share the most nodes.
    """

    top: tf.Tensor
    signs: tf.Tensor
    leaf: tf.Tensor
    first: tf.Tensor
    deep: tf.Tensor
    top_depth: tf.Tensor
    code: tf.Tensor
    rank: tf.Tensor


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
    nodes, bits = (np.concatenate([[], *x]).astype(np.int64) for x in (points, codes))
    entries = 2 * nodes + bits
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
    bits = np.where(depth < CODE_BITS, bits << np.clip(CODE_BITS - 1 - depth, 0, None), 0)
    running = np.cumsum(np.append(0, bits))  # wraps around, and differences are right
    code = (running[ends] - running[ends - lengths]).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(np.maximum(lengths - top_depth, 0))])
    return Tree(
        top=top.astype(np.int32),
        signs=signs,
        leaf=leaf.astype(np.int32),
        first=first.astype(np.int32),
        deep=entries[~is_top].astype(np.int32),
        top_depth=np.int32(top_depth),
        code=code,
        rank=np.argsort(np.argsort(code, kind="stable")).astype(np.int32),
    )


def no_tree() -> Tree:
    """What takes a tree's place where there is none."""
    nothing = np.zeros(0, np.int32)
    return Tree(
        nothing,
        np.zeros((0, 0), np.float32),
        nothing,
        nothing,
        nothing,
        np.int32(0),
        np.zeros(0, np.int64),
        nothing,
    )
