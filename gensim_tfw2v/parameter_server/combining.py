"""Combination of the changes of N concurrent jobs, so that N workers are as good as one.

A job moves a row along the gradient by the effective step z, which is the learning rate alpha times
the number of predictions that the row takes part in. The curvature of the loss in a row v is
M = E[sigmoid'(u . v) u u^T], over the rows u that v is predicted with. Most rows u are negatives,
so M is nearly the same for all rows of a table.

Along an eigenvector of M with eigenvalue L, a job moves the row by the fraction ``1 - exp(-z L)``
of the distance to its optimum, and N sequential jobs by ``1 - exp(-N z L)``. N concurrent jobs all
start from the same row. Their summed changes move it as far as N sequential jobs would if only the
fraction ``(1 - exp(-N z L)) / (N (1 - exp(-z L)))`` of each change is pushed.

So changes are in effect summed along flat directions (small L), and averaged along steep
directions (large L). By far the steepest direction is the mean vector of a table. Words differ in
the flat directions. With the same fraction for all directions of a row, either training would
diverge along the mean vector, or differences between words would be lost.

Asynchronous jobs do not start from the same row. When a job pushes its changes, about N - 1 other
jobs have changed the row since the job fetched it. Such delayed steps can overshoot even if their
sum does not: if N jobs together move a row by a fraction g of the distance to its optimum, it
approaches the optimum without oscillating only if g is at most 1 / e (Györi and Ladas 1991,
"Oscillation Theory of Delay Differential Equations", chapter 2), or half of that if both rows of a
prediction move equally fast. So each of the other jobs counts as several (`concurrent_jobs`), which
limits g along steep directions to the reciprocal of that number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.parameter_server.wire import decode_rows


def rows_per_mean(objective: Objective, pairs: float, documents: bool) -> float:
    """Return the number of input rows whose mean predicts a word.

    In CBOW with means, the number is `pairs`, the mean number of words in a window, plus 1 for the
    tag of a document if there are documents. Otherwise the number is 1. Callers divide the
    curvature of each table by it.
    """
    return float(pairs + documents) if objective.mean else 1.0


def adasum(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Combine two changes [rows, D] of the same rows, both computed from the same values.

    For the changes a and b of a row, the result is ``(1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b))
    b``: their sum if they are orthogonal, their mean if they are equal (Maleki et al. 2021,
    "Scaling Distributed Training with Adaptive Summation", section 3).
    """
    product = tf.reduce_sum(first * second, 1, keepdims=True)

    def share(change: tf.Tensor) -> tf.Tensor:
        squares = tf.reduce_sum(tf.square(change), 1, keepdims=True)
        return 1.0 - tf.math.divide_no_nan(product, 2.0 * squares)

    return share(first) * first + share(second) * second


#: Number of steepest directions of a table. Each has its own pushed fraction. The remaining
#: directions share one fraction, because none of them is much steeper than their mean. The compiled
#: kernels use the same number.
DIRECTIONS = 16

#: Number of pairs of rows from which the curvature of a table is estimated.
SAMPLE_SIZE = 2048

#: Base-2 logarithm of the smallest effective step z for which pushed fractions are tabulated. A row
#: gets the fractions of the tabulated step that is nearest to its own.
FIRST_OCTAVE = -16

#: Base-2 logarithm of the upper limit of the tabulated steps, which is itself not tabulated.
LAST_OCTAVE = 24

#: Number of tabulated steps per factor of 2.
STEPS_PER_OCTAVE = 4


def larger_step_sizes(
    max_growth: float, alphas: tf.Tensor, workers: tf.Tensor | float, power: float = 1 / 4
) -> tf.Tensor:
    """Return the learning rates of N concurrent workers, which are larger by a power of N.

    Rows start at or near 0. A row grows faster if the rows that it is predicted with are longer. Of
    N sequential jobs, each would start from the longer rows of the previous job. Concurrent jobs
    all start from the same short rows. A larger learning rate compensates for this. Ji et al. 2016,
    "Parallelizing Word2Vec in Shared and Distributed Memory", raise the learning rate, too. The
    power is empirical: with 4 and with 32 workers, powers from 1/6 to 1/3 made no lasting
    difference.

    Parameters
    ----------
    max_growth : float
        Maximum factor of the learning rates.
    alphas : Tensor [n, 2]
        Learning rates of a single worker at the start and at the end of each unit.
    workers : Tensor [] or float
        Number of workers N.
    power : float
        Power of N.
    """
    return alphas * tf.minimum(tf.pow(workers, power), max_growth)


def concurrent_jobs(jobs: tf.Tensor, weight: float) -> tf.Tensor:
    """Return the number of concurrent jobs that combine with a job, if other jobs are delayed.

    Parameters
    ----------
    jobs : Tensor []
        Number of jobs that are trained at the same time, at least 1.
    weight : float
        Number of concurrent jobs that each of the other jobs counts as; 1 without delays.
    """
    return 1.0 + weight * (jobs - 1.0)


class DirectedShare(NamedTuple):
    """Fractions of the changes of a table's rows that are pushed, by row and direction.

    Attributes
    ----------
    basis : Tensor [DIRECTIONS, D]
        Orthonormal directions. If D is smaller than DIRECTIONS, the last rows are zeros.
    shares : Tensor [L, 1 + DIRECTIONS]
        Fractions for each of L levels, the tabulated effective steps. The first fraction applies to
        all directions outside `basis`, the following ones to the directions in it.
    levels : Tensor [n], int32
        Index of the level of each row.
    """

    basis: tf.Tensor
    shares: tf.Tensor
    levels: tf.Tensor

    def apply(self, changes: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Return the pushed parts of changes [m, D]; `rows` [m] are indices into `levels`."""
        shares = tf.gather(self.shares, tf.gather(self.levels, rows))
        flat_share = shares[:, :1]
        steep_shares = shares[:, 1:]
        components = tf.matmul(changes, self.basis, transpose_b=True)
        steep_parts = tf.matmul(components * (steep_shares - flat_share), self.basis)
        return flat_share * changes + steep_parts


class Directions(NamedTuple):
    """Steepest directions of a table, and the fractions of changes that are pushed along them.

    Attributes
    ----------
    basis, fractions : Tensor
        `basis` and `shares` of each `DirectedShare` of the table.
    """

    basis: tf.Tensor
    fractions: tf.Tensor

    @classmethod
    def of(cls, matrix: tf.Tensor, workers: tf.Tensor) -> Directions:
        """Compute the steepest directions of a curvature `matrix` [D, D], for N concurrent jobs."""
        size = matrix.shape[0]
        # If rows are NaN or infinite, so is the matrix. Replace it, because `eigh` would fail. The
        # rows are reported later, as a divergence.
        matrix = tf.where(tf.reduce_all(tf.math.is_finite(matrix)), matrix, tf.zeros_like(matrix))
        values, vectors = tf.linalg.eigh(matrix)
        n_steep = min(DIRECTIONS, size)
        # mean of the smaller eigenvalues, then each of the larger ones: [1 + DIRECTIONS]
        mean = tf.reduce_mean(values[: size - n_steep]) if size > n_steep else tf.constant(0.0)
        eigenvalues = tf.pad(
            tf.concat([mean[None], values[size - n_steep :]], 0), [[0, DIRECTIONS - n_steep]]
        )
        basis = tf.pad(
            tf.transpose(vectors[:, size - n_steep :]), [[0, DIRECTIONS - n_steep], [0, 0]]
        )
        # z L for each level and eigenvalue: [levels, 1 + DIRECTIONS]. The minimum of 1e-6 prevents
        # the quotient 0 / 0.
        octaves = tf.range(FIRST_OCTAVE, LAST_OCTAVE, 1 / STEPS_PER_OCTAVE)
        x = tf.maximum(tf.pow(2.0, octaves)[:, None] * eigenvalues, 1e-6)
        return cls(basis, -tf.math.expm1(-workers * x) / (workers * -tf.math.expm1(-x)))

    def shares(self, steps: tf.Tensor) -> DirectedShare:
        """Return the fractions for rows with effective steps z [n] per job.

        If z is negative, the fractions are about 1.
        """
        levels = (
            tf.math.log(tf.maximum(steps, 0.0)) / tf.math.log(2.0) - FIRST_OCTAVE
        ) * STEPS_PER_OCTAVE
        last_level = tf.cast(tf.shape(self.fractions)[0] - 1, tf.float32)
        levels = tf.cast(tf.round(tf.clip_by_value(levels, 0.0, last_level)), tf.int32)
        return DirectedShare(self.basis, self.fractions, levels)


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
        Rows by table name, in the order of the job's ids. Their dtype is one in which rows are
        sent.
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
    # total rate of the predictions of each output table
    output_rates = {name: tf.reduce_sum(rates[name]) for name in rows if name != "inputs"}
    total = tf.add_n(list(output_rates.values()))
    table_directions = {}
    for name in rows:
        # A prediction is of an input row and an output row. So rows of an output table are
        # predicted with inputs only, and inputs with each output table, in proportion to its rate.
        partners = {"inputs": total} if name in output_rates else output_rates
        row_pairs = [
            (tf.math.divide_no_nan(rate, total), samples[partner])
            for partner, rate in partners.items()
        ]
        table_directions[name] = Directions.of(
            curvature(samples[name], row_pairs) / mean_rows, workers
        )
    return table_directions


def draw_rows(rows: tf.Tensor, rates: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw rows in proportion to their rates: [SAMPLE_SIZE, D], float32.

    If there are no rows to draw from, the result is zeros.
    """

    def draw() -> tf.Tensor:
        logits = tf.math.log(tf.maximum(tf.abs(rates), 1e-30))
        indices = tf.random.stateless_categorical(logits[None], SAMPLE_SIZE, seed)[0]
        return tf.gather(rows, indices)

    shape = [SAMPLE_SIZE, rows.shape[1]]
    return decode_rows(tf.cond(tf.size(rates) > 0, draw, lambda: tf.zeros(shape, rows.dtype)))


def curvature(rows: tf.Tensor, partners: list[tuple[tf.Tensor, tf.Tensor]]) -> tf.Tensor:
    """Estimate the curvature M of a table.

    Parameters
    ----------
    rows : Tensor [S, D]
        Rows of the table, drawn in proportion to their rates.
    partners : list of (Tensor [], Tensor [S, D])
        For each table that these rows are predicted with: the fraction of the predictions that are
        with this table, and rows of the table, drawn in proportion to their rates. The fractions
        sum to 1.

    Returns
    -------
    Tensor [D, D]
    """
    terms = []
    for fraction, partner_rows in partners:
        probability = tf.sigmoid(tf.reduce_sum(rows * partner_rows, 1, keepdims=True))
        weighted_rows = probability * (1 - probability) * partner_rows
        terms.append(fraction * tf.matmul(weighted_rows, partner_rows, transpose_a=True))
    return tf.add_n(terms) / tf.cast(tf.shape(rows)[0], tf.float32)
