"""Combining changes of one row by N workers, so that N workers are as good as one.

A job takes a row through z = alpha * (its predictions) steps. Each pulls it by the curvature
M = E[sigmoid'(u . v) u u^T], over the rows u that it is predicted with. Most of them are negatives,
so M is nearly the same for all rows of a table. Along an eigenvector of M with the eigenvalue L, a
job takes a row the way ``1 - exp(-z L)`` to its optimum, and N jobs one after the other
``1 - exp(-N z L)``. N jobs that overlap begin at the same point. If of each the share
``(1 - exp(-N z L)) / (N (1 - exp(-z L)))`` is pushed, they go as far.

So along flat directions changes add up, and along steep ones their mean is taken. By far the
steepest is the mean vector of a table; what tells words apart is in the flat directions. With one
share for all directions of a row, either training diverges along the first, or the second is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.kernel_config import KernelConfig


def averaged_words(unit: KernelConfig) -> float:
    """Words whose mean predicts: those of CBOW's window on average, with a tag, or one.

    A prediction pulls each of them, and what they predict, by so much less.
    """
    if not unit.objective.mean:
        return 1.0
    window = unit.shape.window
    return (window + 1.0 if unit.shrink_windows else 2.0 * window) + unit.documents


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


#: Steepest directions that have a share of their own; compiled kernels have as many. The others,
#: of which none is much steeper than their mean, have one together.
DIRECTIONS = 16

#: Pairs of rows by which the curvature is measured.
SAMPLE = 2048

#: Shares are computed for these steps z, and the nearest is taken: by octaves of 2, from the first
#: to the last, so many each.
FIRST_OCTAVE = -16
LAST_OCTAVE = 24
OF_OCTAVE = 4


def larger_step_sizes(
    largest_growth: float, alphas: tf.Tensor, workers: tf.Tensor | float
) -> tf.Tensor:
    """Step sizes of N workers that train at the same time: larger by the fourth root of N.

    Rows that begin at 0 grow with what they are predicted with, which grows itself: jobs one after
    the other have this of each other, and jobs that overlap lack it. Larger steps make up for it.
    Ji et al. 2016, "Parallelizing Word2Vec in Shared and Distributed Memory", raise them too. The
    exponent is a trial's: from 1/6 to 1/3, with 4 and with 32 workers, nothing lasting differs.

    Parameters
    ----------
    largest_growth : float
        At most by this factor.
    alphas : Tensor [n, 2]
        Of one worker, at the beginning and at the end of each unit.
    workers : Tensor [] or float
        N.
    """
    return alphas * tf.minimum(tf.pow(workers, 1 / 4), largest_growth)


class DirectedShare(NamedTuple):
    """Share of each row's change that is pushed.

    Attributes
    ----------
    basis : Tensor [DIRECTIONS, D]
        Orthonormal, or zeros.
    shares : Tensor [L, 1 + DIRECTIONS]
        By levels: of what is in none of these directions, and along each.
    levels : Tensor [n], int32
        Of each row.
    """

    basis: tf.Tensor
    shares: tf.Tensor
    levels: tf.Tensor

    def of(self, changes: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """The share of changes [m, D] that these rows, [m], have made."""
        shares = tf.gather(self.shares, tf.gather(self.levels, rows))
        rest = shares[:, :1]
        along = shares[:, 1:]
        parts = tf.matmul(changes, self.basis, transpose_b=True)
        return rest * changes + tf.matmul(parts * (along - rest), self.basis)


class Directions(NamedTuple):
    """The steepest directions of a table, and by levels what share counts along each."""

    basis: tf.Tensor
    shares: tf.Tensor

    @classmethod
    def of(cls, matrix: tf.Tensor, workers: tf.Tensor) -> Directions:
        """Those of a curvature [D, D], for N jobs that are trained at the same time."""
        size = matrix.shape[0]
        # of rows that are not finite training is refused later, and says so
        matrix = tf.where(tf.reduce_all(tf.math.is_finite(matrix)), matrix, tf.zeros_like(matrix))
        values, vectors = tf.linalg.eigh(matrix)
        own = min(DIRECTIONS, size)
        rest = tf.reduce_mean(values[: size - own]) if size > own else tf.constant(0.0)
        steep = tf.pad(tf.concat([rest[None], values[size - own :]], 0), [[0, DIRECTIONS - own]])
        basis = tf.pad(tf.transpose(vectors[:, size - own :]), [[0, DIRECTIONS - own], [0, 0]])
        octaves = tf.range(FIRST_OCTAVE, LAST_OCTAVE, 1 / OF_OCTAVE)
        x = tf.maximum(tf.pow(2.0, octaves)[:, None] * steep, 1e-6)
        return cls(basis, -tf.math.expm1(-workers * x) / (workers * -tf.math.expm1(-x)))

    def of_rows(self, steps: tf.Tensor) -> DirectedShare:
        """The shares of rows by the steps z that a job takes them through, [n]; 1 below 0."""
        level = (tf.math.log(tf.maximum(steps, 0.0)) / tf.math.log(2.0) - FIRST_OCTAVE) * OF_OCTAVE
        last = tf.cast(tf.shape(self.shares)[0] - 1, tf.float32)
        level = tf.cast(tf.round(tf.clip_by_value(level, 0.0, last)), tf.int32)
        return DirectedShare(self.basis, self.shares, level)


def directions(
    rows: Mapping[str, tf.Tensor],
    rates: Mapping[str, tf.Tensor],
    key: tf.Tensor,
    workers: tf.Tensor,
    averaged: float = 1.0,
) -> dict[str, Directions]:
    """The steepest directions of each table, measured on the rows of a job.

    Parameters
    ----------
    rows : dict of str to Tensor [n, D]
        By the names of tables, in the order of their ids.
    rates : dict of str to Tensor [n]
        In how many predictions each takes part.
    key : Tensor [2], int32
        Of the job's first unit: draws follow from it.
    workers : Tensor []
        N: jobs that are trained at the same time.
    averaged : float
        See `averaged_words`.
    """
    drawn = {name: draw_rows(rows[name], rates[name], key + [0, i]) for i, name in enumerate(rows)}
    targets = {name: tf.reduce_sum(rates[name]) for name in rows if name != "inputs"}
    total = tf.add_n(list(targets.values()))
    found = {}
    for name in rows:
        others = {"inputs": total} if name in targets else targets
        pairs = [
            (tf.math.divide_no_nan(part, total), drawn[other]) for other, part in others.items()
        ]
        found[name] = Directions.of(curvature(drawn[name], pairs) / averaged, workers)
    return found


def draw_rows(rows: tf.Tensor, rates: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Rows drawn by how often they are in a prediction: [SAMPLE, D], float32; zeros of none."""

    def drawn() -> tf.Tensor:
        logits = tf.math.log(tf.maximum(tf.abs(rates), 1e-30))
        at = tf.random.stateless_categorical(logits[None], SAMPLE, seed)[0]
        return tf.cast(tf.gather(rows, at), tf.float32)

    return tf.cond(tf.size(rates) > 0, drawn, lambda: tf.zeros([SAMPLE, rows.shape[1]]))


def curvature(own: tf.Tensor, others: list[tuple[tf.Tensor, tf.Tensor]]) -> tf.Tensor:
    """M of a table.

    Parameters
    ----------
    own : Tensor [S, D]
        Its rows, drawn by how often they are in a prediction.
    others : list of (Tensor [], Tensor [S, D])
        Tables that these are predicted with: their parts of the predictions, which sum to 1, and
        rows, drawn likewise.

    Returns
    -------
    Tensor [D, D]
    """
    found = []
    for part, rows in others:
        product = tf.sigmoid(tf.reduce_sum(own * rows, 1, keepdims=True))
        weighted = product * (1 - product) * rows
        found.append(part * tf.matmul(weighted, rows, transpose_a=True))
    return tf.add_n(found) / tf.cast(tf.shape(own)[0], tf.float32)
