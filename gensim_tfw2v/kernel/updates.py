"""Adding the updates of a step to a table's rows: duplicates summed, then clipped.

A row that occurs often in a step gets the sum of its updates, all computed from the same value
of the row; for a frequent word that sum can overshoot. Limiting its norm keeps every step size
stable, and hardly touches other rows.

With Adagrad (Duchi et al. 2011), row-wise as in PyTorch-BigGraph (Lerer et al. 2019), a row's step
size is the smaller the more it has been moved so far.
"""

from __future__ import annotations

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.grouping import RowGroups
from gensim_tfw2v.kernel.slices import Slices, exact, small

#: Added to Adagrad's sums, so that a row's first steps are none of any length.
EPSILON = 1e-6


def sum_rows(groups: RowGroups, updates: list[Slices]) -> Slices:
    """Sum a step's updates by row: [U, D], float32.

    Parameters
    ----------
    groups : RowGroups
        Of the step.
    updates : list of Slices [T/B, r, D]
        Parts of the updates of a step's R rows, laid out as T/B blocks; the r add up to R B/T.
    """

    def of_part(*given: tf.Tensor) -> tf.Tensor:
        *parts, rank, segment = given
        widths = [part.shape[1] for part in parts]
        ranks = tf.split(rank, widths, 1) if len(widths) > 1 else [rank]
        # copies row by row, and joins the parts on the way
        in_order = tf.dynamic_stitch(ranks, parts)
        return tf.math.segment_sum(tf.cast(in_order, tf.float32), segment)

    first, *others = updates
    return first.map(of_part, *others, sent=[small(groups.rank), small(groups.segment)])


@scoped("clip")
def clipped(sums: Slices, alpha: tf.Tensor | float, max_norm: float) -> tuple[Slices, tf.Tensor]:
    """Steps of size `alpha`, [] or [U, 1], along summed updates; none is longer than `max_norm`.

    Returns
    -------
    changes : Slices [U, D]
    magnitude : Tensor []
        `alpha` times the norms of the sums: not finite if any update is not.
    """
    norms = tf.sqrt(sums.total(_squares, exact=True))
    sizes = tf.minimum(alpha, max_norm / norms)
    return sums.map(tf.multiply, sent=[exact(sizes)]), tf.reduce_sum(alpha * norms)


@scoped("adagrad")
def adagrad(
    sums: Slices, squares: tf.Tensor, alpha: tf.Tensor | float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Step sizes [U, 1] of rows that go along summed updates [U, D], and growth of `squares`.

    `squares` [U, 1] are each row's squared updates so far: the mean of the D, summed over steps.
    """
    columns = sum(part.shape[1] for part in sums.parts)
    growth = sums.total(_squares, exact=True) / columns
    return adagrad_sizes(squares + growth, alpha), growth


def adagrad_sizes(squares: tf.Tensor, alpha: tf.Tensor | float) -> tf.Tensor:
    """Step sizes of rows with these squares."""
    return alpha * tf.math.rsqrt(squares + EPSILON)


def _squares(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(rows), 1, keepdims=True)
