"""Adding the updates of a step to a table's rows: duplicates summed, then clipped.

A row that occurs often in a step gets the sum of its updates, all computed from the same value
of the row; for a frequent word that sum can overshoot. Limiting its norm keeps every step size
stable, and hardly touches other rows.

With Adagrad (Duchi et al. 2011), row-wise as in PyTorch-BigGraph (Lerer et al. 2019), a row's step
size is the smaller the more it has been moved so far.
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.grouping import EntryGroups, RowGroups

#: Added to Adagrad's sums, so that a row's first steps are none of any length.
EPSILON = 1e-6


def sum_rows(groups: RowGroups, updates: list[tf.Tensor]) -> tf.Tensor:
    """Sum a step's updates by row.

    Parameters
    ----------
    groups : RowGroups
        Of the step.
    updates : list of Tensor [T/B, r, D]
        Parts of the updates of a step's R rows, laid out as T/B blocks; the r add up to R B/T.

    Returns
    -------
    Tensor [U, D], float32
    """
    widths = [part.shape[1] for part in updates]
    ranks = tf.split(groups.rank, widths, 1) if len(widths) > 1 else [groups.rank]
    # copies row by row, and joins the parts on the way
    in_order = tf.dynamic_stitch(ranks, updates)
    return tf.math.segment_sum(tf.cast(in_order, tf.float32), groups.segment)


def sum_entries(groups: EntryGroups, updates: tf.Tensor) -> tf.Tensor:
    """Sum a step's updates [slots, D] by row: [U, D], float32."""
    in_order = tf.gather(updates, groups.slot)
    return tf.math.segment_sum(tf.cast(in_order, tf.float32), groups.segment)


def clipped(
    sums: tf.Tensor, alpha: tf.Tensor | float, max_norm: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Steps of size `alpha` along summed updates, none longer than `max_norm`.

    Parameters
    ----------
    sums : Tensor [U, D]
        Summed updates of U rows.
    alpha : Tensor [] or [U, 1], or float

    Returns
    -------
    changes : Tensor [U, D]
    magnitude : Tensor []
        `alpha` times the norms of the sums: not finite if any update is not.
    """
    norms = tf.sqrt(tf.reduce_sum(tf.square(sums), 1, keepdims=True))
    return sums * tf.minimum(alpha, max_norm / norms), tf.reduce_sum(alpha * norms)


def adagrad(
    sums: tf.Tensor, squares: tf.Tensor, alpha: tf.Tensor | float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Step sizes of rows that are to go along summed updates, and what those add to the squares.

    Parameters
    ----------
    sums : Tensor [U, D]
        Summed updates of U rows.
    squares : Tensor [U, 1]
        Of each row, its squared updates so far: the mean of the D, summed over steps.
    alpha : Tensor [] or float

    Returns
    -------
    sizes, growth : Tensor [U, 1]
    """
    growth = tf.reduce_mean(tf.square(sums), 1, keepdims=True)
    return adagrad_sizes(squares + growth, alpha), growth


def adagrad_sizes(squares: tf.Tensor, alpha: tf.Tensor | float) -> tf.Tensor:
    """Step sizes of rows with these squares."""
    return alpha * tf.math.rsqrt(squares + EPSILON)


def add_rows(
    table: tf.Tensor, ids: tf.Tensor, changes: tf.Tensor, lock: tf.Tensor | None = None
) -> None:
    """Add changes to a table's rows.

    Parameters
    ----------
    table : Tensor [], resource
        Handle of a variable [V, D].
    ids : Tensor [U], int32
        Distinct ids.
    changes : Tensor [U, D]
    lock : Tensor [V], optional
        What each row's change is multiplied by: gensim's ``vectors_lockf``.
    """
    if lock is not None:
        changes *= tf.gather(lock, ids)[:, None]
    # Rows are read again and overwritten, at half the price of adding to them on a CPU. What
    # another thread adds to the same row in between is lost, so the reading must come last.
    with tf.control_dependencies([changes]):
        current = read_rows(table, ids)
    tf.raw_ops.ResourceScatterUpdate(resource=table, indices=ids, updates=current + changes)


def read_rows(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Rows of the variable with this handle: [ids, D], float32."""
    return tf.raw_ops.ResourceGather(resource=table, indices=ids, dtype=tf.float32)
