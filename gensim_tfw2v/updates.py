"""Adding the updates of a step to a table's rows: duplicates summed, then clipped.

A row that occurs often in a step gets the sum of its updates, all computed from the same value
of the row; for a frequent word that sum can overshoot. Limiting its norm keeps every step size
stable, and hardly touches other rows.

Sorting a step's row ids and summing runs of equal ones is several times cheaper on CPUs than
scattering every row, and leaves distinct rows, which can be written without adding in place.
"""

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.sums import running_sum


class RowGroups(NamedTuple):
    """Which rows of a step are the same row of a table. R rows a step, in T/B blocks.

    The shapes are those of one step; `group_rows` returns them for all, [steps, ...].

    Attributes
    ----------
    rank : Tensor [T/B, R B/T], int32
        Place of each row in an order of its step that brings equal ids together.
    segment : Tensor [R], int32
        Number of the distinct id at each place of that order; starts at 0 in each step.
    place : Tensor [T/B, R B/T], int32
        The same numbers in the rows' own order: which distinct id each row has.
    begin, number : Tensor [1], int32
        Where the step's distinct ids lie among those of all steps.
    """

    rank: tf.Tensor
    segment: tf.Tensor
    place: tf.Tensor
    begin: tf.Tensor
    number: tf.Tensor


def group_rows(
    ids: tf.Tensor, id_bits: int, max_steps: int, max_rows: int
) -> tuple[RowGroups, tf.Tensor]:
    """Group each step's rows by id.

    A radix sort of the whole unit made of stable partitions (two digits of the id, then the
    step): about half the price of sorting each step by comparison. What is sorted are integers
    that hold id, step and position, so that no pass needs a gather.

    Parameters
    ----------
    ids : Tensor [steps, T/B, R B/T], int32
        Row ids below ``2 ** id_bits``.
    id_bits, max_steps, max_rows : int
        Limits of the ids, of the number of steps, and of R.

    Returns
    -------
    groups : RowGroups
        Of all steps.
    distinct : Tensor [sum of the steps' distinct ids], int32
        The distinct ids of each step in ascending order, step after step.
    """
    shape = tf.shape(ids)
    steps = shape[0]
    rows = ids.shape[1:].num_elements() or shape[1] * shape[2]  # known, or only when it runs
    row_bits, step_bits = max(1, (max_rows - 1).bit_length()), (max_steps - 1).bit_length()
    low_bits = (id_bits + 1) // 2
    place = (tf.range(steps) * (1 << row_bits))[:, None] + tf.range(rows)  # [steps, R]
    packed = tf.cast(tf.reshape(ids, [steps, rows]), tf.int64) * (
        1 << (row_bits + step_bits)
    ) + tf.cast(place, tf.int64)
    packed = tf.reshape(packed, [-1])
    for first_bit, bits in (
        (row_bits + step_bits, low_bits),
        (row_bits + step_bits + low_bits, id_bits - low_bits),
        (row_bits, step_bits),
    ):
        if bits:
            digit = tf.cast(_bits(packed, first_bit, bits), tf.int32)
            packed = tf.concat(tf.dynamic_partition(packed, digit, 1 << bits), 0)
    packed = tf.reshape(packed, [steps, rows])
    in_order = tf.cast(tf.bitwise.right_shift(packed, row_bits + step_bits), tf.int32)
    new = tf.concat(
        [tf.ones_like(in_order[:, :1], tf.bool), in_order[:, 1:] != in_order[:, :-1]], 1
    )
    # one running count over all steps: sums along rows are slower
    count = tf.reshape(running_sum(tf.cast(tf.reshape(new, [-1]), tf.int32)), [steps, rows])
    begin = tf.concat([[0], count[:, -1]], 0)[:-1, None]
    segment = count - 1 - begin
    first_row = (tf.range(steps) * rows)[:, None]
    order = tf.reshape(tf.cast(_bits(packed, 0, row_bits), tf.int32) + first_row, [-1])
    rank = tf.math.invert_permutation(order)
    groups = RowGroups(
        rank=tf.reshape(tf.reshape(rank, [steps, rows]) - first_row, shape),
        segment=segment,
        place=tf.reshape(tf.dynamic_stitch([order], [tf.reshape(segment, [-1])]), shape),
        begin=begin,
        number=count[:, -1:] - begin,
    )
    return groups, tf.boolean_mask(in_order, new)


def _bits(x: tf.Tensor, first: int, number: int) -> tf.Tensor:
    return tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, first), (1 << number) - 1)


def scale_rows(
    rows: tf.Tensor, norms: tf.Tensor, alpha: tf.Tensor | float, max_norm: float
) -> tf.Tensor:
    """Multiply rows [R, D] of norms [R, 1] by `alpha`, or by less if they exceeded `max_norm`."""
    return rows * tf.minimum(alpha, max_norm / norms)


def add_updates(
    table: tf.Variable,
    ids: tf.Tensor,
    groups: RowGroups,
    updates: list[tf.Tensor],
    alpha: tf.Tensor | float,
    max_norm: float,
    lock: tf.Tensor | None = None,
) -> tf.Tensor:
    """Sum a step's updates by row, and add the sums as `add_rows` does.

    Parameters
    ----------
    table, ids, alpha, max_norm, lock
        See `add_rows`.
    groups : RowGroups
        Of the step.
    updates : list of Tensor [T/B, r, D]
        Parts of the updates of a step's R rows, laid out as T/B blocks; the r add up to R B/T.
    """
    widths = [part.shape[1] for part in updates]
    ranks = tf.split(groups.rank, widths, 1) if len(widths) > 1 else [groups.rank]
    # copies row by row, and joins the parts on the way
    in_order = tf.cast(tf.dynamic_stitch(ranks, updates), tf.float32)
    sums = tf.math.segment_sum(in_order, groups.segment)
    return add_rows(table, ids, sums, alpha, max_norm, lock)


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
