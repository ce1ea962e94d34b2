"""What training needs to know of each word of a vocabulary, with its path in a Huffman tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.noise import alias_table


class Tree(NamedTuple):
    """The Huffman tree of a vocabulary, as arrays or tensors of int32; empty where there is none.

    `path` has ``2 * node + code`` of the nodes from the root to each word, path after path. Nodes
    are rows of gensim's ``syn1``.
    """

    first: tf.Tensor  # [V + 1], where in `path` each word's path begins
    path: tf.Tensor


class WordArrays(NamedTuple):
    """Arrays or tensors of a vocabulary.

    Attributes
    ----------
    keep : [V], float32
        Chance of each word to survive subsampling (gensim's ``sample_int / 2**32``).
    noise : [V, 2], int32
        What negatives are drawn from: an `alias_table`. [0, 2] without negative sampling.
    tree : Tree
        Empty without hierarchical softmax.
    lock : [V], float32
        What each input row's update is multiplied by: gensim's ``vectors_lockf``. [0] if none is
        locked.
    """

    keep: tf.Tensor
    noise: tf.Tensor
    tree: Tree
    lock: tf.Tensor

    @classmethod
    def of(
        cls,
        keep: np.ndarray,
        noise_weights: np.ndarray | None = None,
        paths: tuple[Sequence[np.ndarray], Sequence[np.ndarray]] | None = None,
        lock: np.ndarray | None = None,
        negative_shards: int = 1,
    ) -> WordArrays:
        """Make the arrays: negatives are drawn in proportion to weights [V]; see `huffman_tree`."""
        noise = np.zeros((0, 2), np.int32)
        if noise_weights is not None:
            noise = alias_table(noise_weights, negative_shards)
        return cls(
            keep=np.asarray(keep, np.float32),
            noise=noise,
            tree=huffman_tree(*paths or ()),
            lock=np.asarray([] if lock is None else lock, np.float32),
        )

    def tensors(self) -> WordArrays:
        """The same as tensors, on the CPU."""
        with tf.device("CPU"):
            return tf.nest.map_structure(tf.constant, self)

    @staticmethod
    def spec() -> WordArrays:
        """Shapes and dtypes for a program that serves any vocabulary."""
        integers = tf.TensorSpec([None], tf.int32)
        return WordArrays(
            tf.TensorSpec([None], tf.float32),
            tf.TensorSpec([None, 2], tf.int32),
            Tree(integers, integers),
            tf.TensorSpec([None], tf.float32),
        )


def huffman_tree(points: Sequence[np.ndarray] = (), codes: Sequence[np.ndarray] = ()) -> Tree:
    """Lay out gensim's Huffman tree for training, from ``point`` and ``code`` of its words."""
    nodes, bits = (np.concatenate([[], *x]).astype(np.int32) for x in (points, codes))
    first = np.cumsum([0, *map(len, codes)]) if len(codes) else np.zeros(0)
    return Tree(first.astype(np.int32), 2 * nodes + bits)


def paths_of(words: tf.Tensor, tree: Tree) -> tuple[tf.Tensor, tf.Tensor]:
    """Look up the paths of words [..., O], filled up to the longest of them: [..., O * P] each.

    They are the nodes, 0 after a path's end, and signs: 1 where the code is 0, -1 where it is 1,
    and 0 after a path's end.
    """
    paths = tf.RaggedTensor.from_row_splits(tree.path, tree.first, validate=False)
    entries = tf.gather(paths, tf.reshape(words, [-1])).to_tensor(-1)
    # the only word of a vocabulary has no node on its path
    entries = tf.pad(
        entries, [[0, 0], [0, 1 - tf.minimum(1, tf.shape(entries)[1])]], "CONSTANT", -1
    )
    shape = tf.concat([tf.shape(words)[:-1], [words.shape[-1] * tf.shape(entries)[1]]], 0)
    entries = tf.ensure_shape(tf.reshape(entries, shape), [*words.shape[:-1], None])
    signs = tf.where(entries < 0, 0, 1 - 2 * tf.bitwise.bitwise_and(entries, 1))
    return tf.maximum(entries, 0) // 2, tf.cast(signs, tf.float32)
