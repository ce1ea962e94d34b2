"""How changes of one row, made by several workers at the same time, are combined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.config import KernelConfig
from gensim_tfw2v.kernel.tables import Tables

#: By how much a pair pulls a row to its optimum: the mean of ``sigmoid'(s) * norm(other row)**2``
#: over pairs, as far as it acts along the change. Found by trial: the first for up to four workers,
#: 4 / N of it for more, and the second at least.
CURVATURE_OF_FEW, CURVATURE_OF_MANY, FEW_WORKERS = 0.3, 0.1, 4


def concurrent_step_sizes(alphas: tf.Tensor, workers: tf.Tensor | float) -> tf.Tensor:
    """Step sizes of N workers that train at the same time.

    They are larger: by the root of N for up to four, twice as large for four to eight, N ** (1/3)
    for more. `saturating_share` gives frequent rows the mean of the workers' changes, which has
    less noise than each, and bears larger steps; rare rows, which a worker moves from where the
    others have not yet moved them, need them. Ji et al. 2016, "Parallelizing Word2Vec in Shared
    and Distributed Memory", raise them too. By how much was found by trial.

    Parameters
    ----------
    alphas : Tensor [n, 2]
        Of one worker, at the beginning and at the end of each unit.
    workers : Tensor [] or float
        N.

    Returns
    -------
    Tensor [n, 2]
    """
    few, many = tf.pow(workers, 1 / 2), tf.pow(workers, 1 / 3)
    return alphas * tf.maximum(many, tf.minimum(few, FEW_WORKERS ** (1 / 2)))


def averaged_words(unit: KernelConfig) -> float:
    """How many words' mean predicts: CBOW's window on average, or one.

    A prediction pulls each of them, and what they predict, by so much less.
    """
    if not unit.objective.mean:
        return 1.0
    window = unit.shape.window
    return window + 1.0 if unit.shrink_windows else 2.0 * window


def saturating_share(
    rates: tf.Tensor,
    tokens: tf.Tensor,
    alpha: tf.Tensor,
    workers: tf.Tensor | float,
    averaged: float = 1.0,
) -> tf.Tensor:
    """What share of a job's change of each row is pushed, [rows].

    N workers whose jobs overlap each move a row by what it lacked at the same moment. Rare rows
    are moved a little by each: their changes add up. A frequent row is moved by each alone to
    where it is to go: of its changes the mean is right. Between the two, a row that relaxes to
    its optimum at the rate x in a job would, after N jobs one after the other, have gone the way
    ``1 - exp(-N x)`` of which one job goes ``1 - exp(-x)``.

    Parameters
    ----------
    rates : Tensor [rows], float32
        In how many pairs and negatives each row takes part, for each token trained on.
    tokens : Tensor [], float32
        Of the job.
    alpha : Tensor []
        Step size of each.
    workers : Tensor [] or float
        N: jobs that are trained at the same time.
    averaged : float
        See `averaged_words`.
    """
    of_few = CURVATURE_OF_FEW * tf.minimum(1.0, FEW_WORKERS / workers)
    curvature = tf.maximum(of_few, CURVATURE_OF_MANY) / averaged
    x = tf.maximum(tf.cast(curvature, tf.float32) * alpha * tokens * rates, 1e-6)
    return -tf.math.expm1(-workers * x) / (workers * -tf.math.expm1(-x))


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
