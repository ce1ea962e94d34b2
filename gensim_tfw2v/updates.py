"""Adding the updates of a step to a table's rows: duplicates summed, then clipped.

A row that occurs often in a step gets the sum of its updates, all computed from the same value
of the row; for a frequent word that sum can overshoot. Limiting its norm keeps every step size
stable, and hardly touches other rows.
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.grouping import EntryGroups, RowGroups


def scale_rows(
    rows: tf.Tensor, norms: tf.Tensor, alpha: tf.Tensor | float, max_norm: float
) -> tf.Tensor:
    """Multiply rows [R, D] of norms [R, 1] by `alpha`, or by less if they exceeded `max_norm`."""
    return rows * tf.minimum(alpha, max_norm / norms)


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


def add_rows(
    table: tf.Variable,
    ids: tf.Tensor,
    sums: tf.Tensor,
    alpha: tf.Tensor | float,
    max_norm: float,
    lock: tf.Tensor | None = None,
) -> tf.Tensor:
    """Take a step of size `alpha`, but of at most `max_norm` a row.

    Parameters
    ----------
    table : Variable [V, D]
    ids : Tensor [U], int32
        Distinct ids.
    sums : Tensor [U, D]
        Summed updates of their rows.
    alpha : Tensor []
        Step size.
    max_norm : float
        The longest that a row's update may be.
    lock : Tensor [V], optional
        What each row's update is multiplied by, last of all: gensim's ``vectors_lockf``.

    Returns
    -------
    Tensor []
        `alpha` times the norms of the summed updates: not finite if any update is not.
    """
    norms = tf.sqrt(tf.reduce_sum(tf.square(sums), 1, keepdims=True))
    clipped = scale_rows(sums, norms, alpha, max_norm)
    if lock is not None:
        clipped *= tf.gather(lock, ids)[:, None]
    # Rows are read again and overwritten, at half the price of scatter_add on a CPU. What another
    # thread adds to the same row in between is lost, so the reading must come last.
    with tf.control_dependencies([clipped]):
        current = tf.gather(table, ids)
    table.scatter_update(tf.IndexedSlices(current + clipped, ids))
    return alpha * tf.reduce_sum(norms)
