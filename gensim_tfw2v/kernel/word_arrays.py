"""What training needs to know of each word of a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.noise import alias_table
from gensim_tfw2v.kernel.objectives.tree import Tree, huffman_tree


class WordArrays(NamedTuple):
    """Arrays or tensors of a vocabulary.

    Attributes
    ----------
    keep : [V], float32
        Chance of each word to survive subsampling.
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
        """Make the arrays.

        Parameters
        ----------
        keep : ndarray [V]
        noise_weights : ndarray [V], optional
            In what proportion negatives are drawn.
        paths : (points, codes), optional
            See `huffman_tree`.
        lock : ndarray [V], optional
        negative_shards : int
            Shards of the noise.
        """
        return cls(
            keep=np.asarray(keep, np.float32),
            noise=(
                np.zeros((0, 2), np.int32)
                if noise_weights is None
                else alias_table(noise_weights, negative_shards)
            ),
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
