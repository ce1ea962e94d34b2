"""Combining the changes that N concurrent jobs make to a row, so that N workers are as good as one.

A job moves a row by the effective step z = alpha * (number of the row's predictions), along the
gradient. The curvature of the loss in a row v is M = E[sigmoid'(u . v) u u^T], over the rows u that
v is predicted with. Most rows u are negatives, so M is nearly the same for all rows of a table.
Along an eigenvector of M with eigenvalue L, a job moves a row by the fraction
``1 - exp(-z L)`` of the distance to its optimum, and N sequential jobs by ``1 - exp(-N z L)``.
N concurrent jobs start at the same point. They move the row as far as N sequential jobs if the
fraction ``(1 - exp(-N z L)) / (N (1 - exp(-z L)))`` of each change is pushed.

So changes are summed along flat directions, and averaged along steep ones. By far the steepest
direction is the mean vector of a table; words differ in the flat directions. With one fraction for
all directions of a row, either training diverges along the mean vector, or the differences between
words are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.parameter_server.wire import decoded


def rows_per_mean(objective: Objective, pairs: float, documents: bool) -> float:
    """Return the number of input rows whose mean predicts a word.

    In CBOW with means, it is the mean number of words in a window, `pairs`, plus 1 for the tag of a
    document; otherwise it is 1. The curvature of each table is divided by it.
    """
    return float(pairs + documents) if objective.mean else 1.0


def adasum(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Combine two changes of the same rows, both made from the same point: [rows, D].

    The result is ``(1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b`` for each row: the sum if the
    changes are orthogonal, the mean if they are equal. It depends on the changes only.

    Maleki et al. 2021, "Scaling Distributed Training with Adaptive Summation", section 3.
    """
    product = tf.reduce_sum(first * second, 1, keepdims=True)

    def share(change: tf.Tensor) -> tf.Tensor:
        squares = tf.reduce_sum(tf.square(change), 1, keepdims=True)
        return 1.0 - tf.math.divide_no_nan(product, 2.0 * squares)

    return share(first) * first + share(second) * second


#: Number of steepest directions, each with its own pushed fraction. The compiled kernels use the
#: same number. The remaining directions share one fraction: none is much steeper than their mean.
DIRECTIONS = 16

#: Number of pairs of rows from which the curvature is estimated.
SAMPLE = 2048

#: Base-2 logarithm of the smallest effective step z in the table of pushed fractions. Each row uses
#: the nearest tabulated step.
FIRST_OCTAVE = -16

#: Base-2 logarithm of the upper end of the tabulated steps, which is not in the table.
LAST_OCTAVE = 24

#: Number of tabulated steps per factor of 2.
OCTAVE_STEPS = 4


def larger_step_sizes(
    max_growth: float, alphas: tf.Tensor, workers: tf.Tensor | float, power: float = 1 / 4
) -> tf.Tensor:
    """Return the learning rates of N concurrent workers: larger by a power of N.

    Rows start at or near 0. The longer the rows that a row is predicted with, the faster it grows.
    Sequential jobs use each other's longer rows, concurrent jobs do not. A larger learning rate
    compensates for this. Ji et al. 2016, "Parallelizing Word2Vec in Shared and Distributed Memory",
    raise it too. The power is empirical: with 4 and with 32 workers, powers from 1/6 to 1/3 made no
    lasting difference.

    Parameters
    ----------
    max_growth : float
        Maximum factor.
    alphas : Tensor [n, 2]
        Learning rates of a single worker at the start and at the end of each unit.
    workers : Tensor [] or float
        Number of workers N.
    """
    return alphas * tf.minimum(tf.pow(workers, power), max_growth)


class DirectedShare(NamedTuple):
    """Fraction of each row's change that is pushed, by direction.

    Attributes
    ----------
    basis : Tensor [DIRECTIONS, D]
        Orthonormal directions. If D is smaller than DIRECTIONS, the last rows are zeros.
    shares : Tensor [L, 1 + DIRECTIONS]
        Fractions for each of L levels (tabulated effective steps): first the fraction outside of
        these directions, then the fraction along each.
    levels : Tensor [n], int32
        Level of each row.
    """

    basis: tf.Tensor
    shares: tf.Tensor
    levels: tf.Tensor

    def apply(self, changes: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Return the pushed fraction of changes [m, D]; `rows` [m] are indices into `levels`."""
        shares = tf.gather(self.shares, tf.gather(self.levels, rows))
        flat = shares[:, :1]
        along = shares[:, 1:]
        parts = tf.matmul(changes, self.basis, transpose_b=True)
        return flat * changes + tf.matmul(parts * (along - flat), self.basis)


class Directions(NamedTuple):
    """Steepest directions of a table, and the pushed fraction by level; see `DirectedShare`."""

    basis: tf.Tensor
    fractions: tf.Tensor

    @classmethod
    def of(cls, matrix: tf.Tensor, workers: tf.Tensor) -> Directions:
        """Compute the steepest directions of a curvature [D, D], for N concurrent jobs."""
        size = matrix.shape[0]
        # non-finite rows are reported later, as a divergence
        matrix = tf.where(tf.reduce_all(tf.math.is_finite(matrix)), matrix, tf.zeros_like(matrix))
        values, vectors = tf.linalg.eigh(matrix)
        n_steep = min(DIRECTIONS, size)
        flat = tf.reduce_mean(values[: size - n_steep]) if size > n_steep else tf.constant(0.0)
        steep = tf.pad(
            tf.concat([flat[None], values[size - n_steep :]], 0), [[0, DIRECTIONS - n_steep]]
        )
        basis = tf.pad(
            tf.transpose(vectors[:, size - n_steep :]), [[0, DIRECTIONS - n_steep], [0, 0]]
        )
        # x = z L, [levels, 1 + DIRECTIONS]; the lower bound keeps the quotient from being 0 / 0
        octaves = tf.range(FIRST_OCTAVE, LAST_OCTAVE, 1 / OCTAVE_STEPS)
        x = tf.maximum(tf.pow(2.0, octaves)[:, None] * steep, 1e-6)
        return cls(basis, -tf.math.expm1(-workers * x) / (workers * -tf.math.expm1(-x)))

    def shares(self, steps: tf.Tensor) -> DirectedShare:
        """Return the fractions for rows with effective steps z [n] per job; about 1 for z < 0."""
        level = (
            tf.math.log(tf.maximum(steps, 0.0)) / tf.math.log(2.0) - FIRST_OCTAVE
        ) * OCTAVE_STEPS
        last = tf.cast(tf.shape(self.fractions)[0] - 1, tf.float32)
        level = tf.cast(tf.round(tf.clip_by_value(level, 0.0, last)), tf.int32)
        return DirectedShare(self.basis, self.fractions, level)


def directions(
    rows: Mapping[str, tf.Tensor],
    rates: Mapping[str, tf.Tensor],
    key: tf.Tensor,
    workers: tf.Tensor,
    mean_rows: float = 1.0,
) -> dict[str, Directions]:
    """Estimate the steepest directions of each table from the rows of a job.

    Parameters
    ----------
    rows : dict of str to Tensor [n, D]
        Rows by table name, in the order of the job's ids; of any type in which they are sent.
    rates : dict of str to Tensor [n]
        Mean number of predictions per token that each row takes part in.
    key : Tensor [2], int32
        Key of the job's first unit, which seeds the random draws.
    workers : Tensor []
        Number of concurrent jobs N.
    mean_rows : float
        See `rows_per_mean`.
    """
    samples = {
        name: draw_rows(rows[name], rates[name], key + [0, i]) for i, name in enumerate(rows)
    }
    targets = {name: tf.reduce_sum(rates[name]) for name in rows if name != "inputs"}
    total = tf.add_n(list(targets.values()))
    table_directions = {}
    for name in rows:
        # inputs are predicted with each other table, in proportion to the table's targets; the
        # other tables are predicted with inputs only
        partners = {"inputs": total} if name in targets else targets
        pairs = [
            (tf.math.divide_no_nan(part, total), samples[partner])
            for partner, part in partners.items()
        ]
        table_directions[name] = Directions.of(curvature(samples[name], pairs) / mean_rows, workers)
    return table_directions


def draw_rows(rows: tf.Tensor, rates: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw rows in proportion to their rates: [SAMPLE, D], float32; zeros if there are no rows."""

    def draw() -> tf.Tensor:
        logits = tf.math.log(tf.maximum(tf.abs(rates), 1e-30))
        indices = tf.random.stateless_categorical(logits[None], SAMPLE, seed)[0]
        return tf.gather(rows, indices)

    shape = [SAMPLE, rows.shape[1]]
    return decoded(tf.cond(tf.size(rates) > 0, draw, lambda: tf.zeros(shape, rows.dtype)))


def curvature(rows: tf.Tensor, partners: list[tuple[tf.Tensor, tf.Tensor]]) -> tf.Tensor:
    """Estimate the curvature M of a table.

    Parameters
    ----------
    rows : Tensor [S, D]
        Rows of the table, drawn in proportion to their rates.
    partners : list of (Tensor [], Tensor [S, D])
        For each table that these rows are predicted with: its fraction of the predictions (the
        fractions sum to 1), and rows drawn in the same way.

    Returns
    -------
    Tensor [D, D]
    """
    terms = []
    for part, partner_rows in partners:
        product = tf.sigmoid(tf.reduce_sum(rows * partner_rows, 1, keepdims=True))
        weighted = product * (1 - product) * partner_rows
        terms.append(part * tf.matmul(weighted, partner_rows, transpose_a=True))
    return tf.add_n(terms) / tf.cast(tf.shape(rows)[0], tf.float32)
