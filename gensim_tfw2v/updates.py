"""Adding the updates of a step to a table's rows: duplicates summed, then clipped.

A row that occurs often in a step gets the sum of its updates, all computed from the same value
of the row; for a frequent word that sum can overshoot. Limiting its norm keeps every step size
stable, and hardly touches other rows.

Sorting a step's row ids and summing runs of equal ones is several times cheaper on CPUs than
scattering every row, and leaves distinct rows, which can be written without adding in place.
"""

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf


class RowGroups(NamedTuple):
    """Which rows of a step are the same row of a table. R rows a step.

    Attributes
    ----------
    rank : Tensor [steps, R], int32
        Place of each row in an order of its step that brings equal ids together.
    segment : Tensor [steps, R], int32
        Number of the distinct id at each place of that order; starts at 0 in each step.
    place : Tensor [steps, R], int32
        The same numbers in the rows' own order: which distinct id each row has.
    distinct : Tensor [sum of distinct ids of the steps], int32
        The distinct ids, step after step.
    splits : Tensor [steps + 1], int32
        Where each step's distinct ids begin.
    """

    rank: tf.Tensor
    segment: tf.Tensor
    place: tf.Tensor
    distinct: tf.Tensor
    splits: tf.Tensor

    def distinct_ids(self, step: tf.Tensor) -> tf.Tensor:
        """Distinct ids of a step, in ascending order: [U]."""
        begin = tf.gather(self.splits, [step])
        return tf.slice(self.distinct, begin, tf.gather(self.splits, [step + 1]) - begin)


def group_rows(ids: tf.Tensor, id_bits: int, max_steps: int) -> RowGroups:
    """Group each step's rows by id.

    A radix sort of the whole unit made of stable partitions (two digits of the id, then the
    step): about half the price of sorting each step by comparison. What is sorted are integers
    that hold id, step and position, so that no pass needs a gather.

    Parameters
    ----------
    ids : Tensor [steps, R], int32
        Row ids below ``2 ** id_bits``.
    id_bits, max_steps : int
        Static limits of the ids and of the number of steps.
    """
    steps, rows = tf.shape(ids)[0], int(ids.shape[1])
    row_bits, step_bits = max(1, (rows - 1).bit_length()), (max_steps - 1).bit_length()
    low_bits = (id_bits + 1) // 2
    place = (tf.range(steps) * (1 << row_bits))[:, None] + tf.range(rows)  # [steps, R]
    packed = tf.cast(ids, tf.int64) * (1 << (row_bits + step_bits)) + tf.cast(place, tf.int64)
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
    # one running count over all steps: a cumsum along rows is slower
    count = tf.reshape(tf.cumsum(tf.cast(tf.reshape(new, [-1]), tf.int32)), [steps, rows])
    splits = tf.concat([[0], count[:, -1]], 0)
    segment = count - 1 - splits[:-1, None]
    first_row = (tf.range(steps) * rows)[:, None]
    order = tf.cast(_bits(packed, 0, row_bits), tf.int32) + first_row
    rank = tf.math.invert_permutation(tf.reshape(order, [-1]))
    return RowGroups(
        rank=tf.reshape(rank, [steps, rows]) - first_row,
        segment=segment,
        place=tf.reshape(tf.gather(tf.reshape(segment, [-1]), rank), [steps, rows]),
        distinct=tf.boolean_mask(in_order, new),
        splits=splits,
    )


def _bits(x: tf.Tensor, first: int, number: int) -> tf.Tensor:
    return tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, first), (1 << number) - 1)


def clip_rows(rows: tf.Tensor, squared_norms: tf.Tensor, max_norm: float) -> tf.Tensor:
    """Scale rows [R, D] of squared norms [R, 1] down to at most `max_norm`."""
    return rows * tf.minimum(1.0, max_norm * tf.math.rsqrt(squared_norms + 1e-12))


def add_updates(
    table: tf.Variable,
    groups: RowGroups,
    step: tf.Tensor,
    updates: list[tf.Tensor],
    max_norm: float,
) -> tf.Tensor:
    """Sum a step's updates by row, clip each sum, and add it to the table.

    Parameters
    ----------
    table : Variable [V, D]
    groups : RowGroups
        Of the whole unit.
    step : Tensor [], int32
    updates : list of Tensor [T/B, r, D]
        Parts of the updates of a step's R rows, laid out as T/B blocks; the r add up to R B/T.
    max_norm : float
        The longest that a row's summed update may be.

    Returns
    -------
    Tensor []
        Sum of the squared norms before clipping: not finite if any update is not.
    """
    rank = tf.reshape(tf.gather(groups.rank, step), [updates[0].shape[0], -1])
    ranks = tf.split(rank, [part.shape[1] for part in updates], 1)
    # copies row by row, and joins the parts on the way
    in_order = tf.cast(tf.dynamic_stitch(ranks, updates), tf.float32)
    sums = tf.math.segment_sum(in_order, tf.gather(groups.segment, step))
    squared_norms = tf.reduce_sum(tf.square(sums), 1, keepdims=True)
    clipped = clip_rows(sums, squared_norms, max_norm)
    distinct = groups.distinct_ids(step)
    # Rows are read again and overwritten, at half the price of scatter_add on a CPU. What another
    # thread adds to the same row in between is lost, so the reading must come last.
    with tf.control_dependencies([clipped]):
        current = tf.gather(table, distinct)
    table.scatter_update(tf.IndexedSlices(current + clipped, distinct))
    return tf.reduce_sum(squared_norms)
