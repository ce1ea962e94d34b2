"""Rates at which rows are pulled, and Adasum, which needs no such knowledge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables


def averaged_words(unit: Program) -> float:
    """Words whose mean predicts: those of CBOW's window on average, or one.

    A prediction pulls each of them, and what they predict, by so much less.
    """
    if not unit.objective.mean:
        return 1.0
    window = unit.shape.window
    return window + 1.0 if unit.shrink_windows else 2.0 * window


def adasum(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Combine two changes of the same rows, both made from the same point: [rows, D].

    ``(1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b`` of each row: the sum where they are
    orthogonal, the mean where they are the same. Nothing has to be known of the rows.

    Maleki et al. 2021, "Scaling Distributed Training with Adaptive Summation", section 3.
    """
    product = tf.reduce_sum(one * other, 1, keepdims=True)

    def share(change: tf.Tensor) -> tf.Tensor:
        squares = tf.reduce_sum(tf.square(change), 1, keepdims=True)
        return 1.0 - tf.math.divide_no_nan(product, 2.0 * squares)

    return share(one) * one + share(other) * other


def pair_rates(
    frequency: np.ndarray,
    pairs: float,
    skipgram: bool,
    negative: int,
    noise: np.ndarray | None,
    paths: Sequence[np.ndarray] | None,
) -> Tables:
    """In how many predictions each row takes part, for each token trained on.

    Parameters
    ----------
    frequency : ndarray [V]
        Of the words after subsampling; their sum is 1.
    pairs : float
        Words in a window, on average.
    skipgram : bool
    negative : int
        gensim's parameter.
    noise : ndarray [V], optional
        In what proportion negatives are drawn.
    paths : sequence of ndarray, optional
        The nodes of each word's path, in hierarchical softmax.

    Returns
    -------
    Tables of ndarray [V], float32
        [0] for a table without use.
    """
    predictions = pairs if skipgram else 1.0
    targets = 0.0
    outputs: np.ndarray = np.zeros(0)
    nodes: np.ndarray = np.zeros(0)
    if negative:
        assert noise is not None
        targets += 1 + negative
        outputs = predictions * (frequency + negative * noise / noise.sum())
    if paths is not None:
        lengths = np.fromiter(map(len, paths), np.int64, len(paths))
        targets += float(frequency @ lengths)
        of_paths = np.repeat(frequency, lengths)
        nodes = predictions * np.bincount(np.concatenate(paths), of_paths, minlength=len(frequency))
    inputs = frequency * pairs * targets
    return Tables(*(rate.astype(np.float32) for rate in (inputs, outputs, nodes)))
