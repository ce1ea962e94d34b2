"""Updates of a table's rows in a step: grouped by row, summed, clipped and added.

The row ids of a step are sorted, and the updates of equal ids are summed, which is several times
cheaper on CPUs than scattering every update. Each row then has a single update, so the row can be
overwritten with its new value, which is cheaper than adding in place.

All updates of a row in a step are computed from the same value of the row. For the row of a
frequent word, their sum can overshoot. Limiting the norm of the sum keeps training stable with any
learning rate, and affects few rows.

With Adagrad (Duchi et al. 2011), row-wise as in PyTorch-BigGraph (Lerer et al. 2019), a row's
learning rate decreases with the sum of its squared updates so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import Slices, as_is, as_uint16
from gensim_tfw2v.kernel.tables import Tables

#: Constant that is added to Adagrad's sums of squares, so that a row's first update is bounded.
EPSILON = 1e-6


class RowSplits(NamedTuple):
    """Slice of one step, or slices of all steps, in a concatenation of arrays over all steps.

    The fields are [1] for one step, or [steps, 1] for all steps.
    """

    begin: tf.Tensor  # index of the slice's first row
    length: tf.Tensor  # number of rows

    @property
    def edges(self) -> tf.Tensor:
        """Index at which each step's slice begins, and end of the last slice: [steps + 1]."""
        return tf.concat([[0], tf.squeeze(self.begin + self.length, -1)], 0)

    def of(self, values: tf.Tensor) -> tf.Tensor:
        """Return the slice of one step from a concatenation: [length, ...]."""
        return tf.slice(values, self.begin, self.length)


class RowGroups(NamedTuple):
    """Indices that group the R rows of a step, R B/T in each of its T/B blocks, by row id.

    Shapes are for one step; `group_rows` returns fields with a leading dimension for the step.
    """

    rank: tf.Tensor  # [T/B, R B/T], index of each row when the step's rows are sorted by id
    segment: tf.Tensor  # [R], index of the distinct id at each rank, from 0 in each step
    inverse: tf.Tensor  # [T/B, R B/T], index of the distinct id of each row
    distinct: RowSplits  # slice of the step's distinct ids in the ids that `group_rows` returns


def group_rows(
    ids: tf.Tensor, id_bits: int, max_steps: int, max_rows: int
) -> tuple[RowGroups, tf.Tensor]:
    """Group each step's rows by id.

    Parameters
    ----------
    ids : Tensor [steps, T/B, R B/T], int32
        Row ids, below ``2 ** id_bits``.
    id_bits, max_steps, max_rows : int
        Number of bits of an id, and maxima of the number of steps and of R.

    Returns
    -------
    RowGroups
        Groups of all steps.
    Tensor [n], int32
        Distinct ids of each step, ascending within a step, concatenated over all steps.
    """
    shape = tf.shape(ids)
    n_rows = ids.shape[1:].num_elements() or shape[1] * shape[2]  # R, static if possible
    first_row = (tf.range(shape[0]) * n_rows)[:, None]
    order, in_order = _sort_ids(
        tf.reshape(ids, [shape[0], n_rows]),
        (id_bits, (max_steps - 1).bit_length(), max(1, (max_rows - 1).bit_length())),
    )
    order = tf.reshape(order + first_row, [-1])
    is_first = tf.concat(
        [tf.ones_like(in_order[:, :1], tf.bool), in_order[:, 1:] != in_order[:, :-1]], 1
    )
    # A single running sum over all steps counts the distinct ids, because sums along an axis are
    # slower.
    is_first = tf.reshape(is_first, [-1])
    n_distinct = tf.cumsum(tf.cast(is_first, tf.int32))
    n_distinct = tf.reshape(n_distinct, tf.shape(in_order))
    ends = n_distinct[:, -1:]
    begin = tf.concat([[[0]], ends], 0)[:-1]
    segment = n_distinct - 1 - begin
    rank = tf.reshape(tf.math.invert_permutation(order), [shape[0], n_rows]) - first_row
    groups = RowGroups(
        rank=tf.reshape(rank, shape),
        segment=segment,
        inverse=tf.reshape(tf.dynamic_stitch([order], [tf.reshape(segment, [-1])]), shape),
        distinct=RowSplits(begin, ends - begin),
    )
    return groups, tf.gather(tf.reshape(in_order, [-1]), tf.squeeze(tf.where(is_first), 1))


def _sort_ids(ids: tf.Tensor, bits: tuple[int, int, int]) -> tuple[tf.Tensor, tf.Tensor]:
    """Sort each step's ids [steps, R]; return their former positions and the ids: [steps, R] each.

    A radix sort of the whole unit, by three stable partitions, costs about half as much as sorting
    each step by comparison. An id, the index of its step and its position in the step are packed
    into one integer, so that no partition needs a gather. `bits` are the numbers of bits of an id,
    of a step's index and of a position.
    """
    id_bits, step_bits, position_bits = bits
    steps, positions = (tf.range(tf.cast(size, tf.int64)) for size in tf.unstack(tf.shape(ids)))
    id_shift = step_bits + position_bits
    step_positions = steps[:, None] * (1 << position_bits) + positions
    packed = tf.reshape(tf.cast(ids, tf.int64) * (1 << id_shift) + step_positions, [-1])
    half = (id_bits + 1) // 2
    # Sort by the lower half of the id, by its upper half, then by the step. Each sort keeps the
    # order of the previous one.
    for first_bit, n_bits in (
        (id_shift, half),
        (id_shift + half, id_bits - half),
        (position_bits, step_bits),
    ):
        if n_bits:
            digit = tf.cast(_bits(packed, first_bit, n_bits), tf.int32)
            packed = tf.concat(tf.dynamic_partition(packed, digit, 1 << n_bits), 0)
    packed = tf.reshape(packed, tf.shape(ids))
    positions = tf.cast(_bits(packed, 0, position_bits), tf.int32)
    return positions, tf.cast(tf.bitwise.right_shift(packed, id_shift), tf.int32)


def _bits(x: tf.Tensor, first_bit: int, n_bits: int) -> tf.Tensor:
    """Return the integers that `n_bits` bits of `x` represent, from bit `first_bit` upwards."""
    return tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, first_bit), (1 << n_bits) - 1)


def sum_rows(groups: RowGroups, updates: list[Slices]) -> Slices:
    """Sum a step's updates of each distinct row: [U, D], float32.

    `updates` are parts [T/B, r, D] of the updates of the step's R rows. Their numbers of rows r add
    up to R B/T.
    """

    def sum_part(*tensors: tf.Tensor) -> tf.Tensor:
        *parts, rank, segment = tensors
        widths = [part.shape[1] for part in parts]
        ranks = tf.split(rank, widths, 1) if len(widths) > 1 else [rank]
        # A single pass of dynamic_stitch concatenates the parts and sorts the updates by row id.
        in_order = tf.dynamic_stitch(ranks, parts)
        return tf.math.segment_sum(tf.cast(in_order, tf.float32), segment)

    part, *parts = updates
    return part.map(sum_part, *parts, tensors=[as_uint16(groups.rank), as_uint16(groups.segment)])


def clip_changes(
    sums: Slices, alpha: tf.Tensor | float, max_norm: float
) -> tuple[Slices, tf.Tensor]:
    """Return row changes: summed updates times the learning rate, with norms of at most `max_norm`.

    `alpha` is the learning rate, or the learning rates of the rows [U, 1]. Also returns the sum of
    the changes' norms before clipping, which is NaN or infinite if any update is.
    """
    norms = tf.sqrt(sums.total(_sum_squares, keep_dtype=True))
    factors = tf.minimum(alpha, max_norm / norms)
    return sums.map(tf.multiply, tensors=[as_is(factors)]), tf.reduce_sum(alpha * norms)


def adagrad(
    sums: Slices, squares: tf.Tensor, alpha: tf.Tensor | float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the learning rates of Adagrad, and the increments of `squares`: [U, 1] each.

    `sums` are the summed updates of U rows. `squares` [U, 1] are Adagrad's sums for these rows. In
    each step, the sum of a row grows by the mean of the squares of its update's D elements.
    """
    n_columns = sum(part.shape[1] for part in sums.parts)
    growth = sums.total(_sum_squares, keep_dtype=True) / n_columns
    return adagrad_sizes(squares + growth, alpha), growth


def adagrad_sizes(squares: tf.Tensor, alpha: tf.Tensor | float) -> tf.Tensor:
    """Return the learning rates of rows: ``alpha / sqrt(squares + EPSILON)``."""
    return alpha * tf.math.rsqrt(squares + EPSILON)


def _sum_squares(rows: tf.Tensor) -> tf.Tensor:
    """Return the sum of the squares of each row: [U, 1]."""
    return tf.reduce_sum(tf.square(rows), 1, keepdims=True)


def whole_rows(handles: Iterable[Any]) -> Tables:
    """Return `Tables` of `WholeRows`, which access the variables with these handles."""
    return Tables(*map(WholeRows, handles))


class WholeRows:
    """Rows of a variable [V, D] on the worker's own device, which a step reads and changes.

    `handle` is the resource handle of the variable.
    """

    link = None

    def __init__(self, handle: tf.Tensor) -> None:
        self._handle = handle

    def read(self, ids: tf.Tensor) -> Slices:
        """Return the rows of ids: [ids, D], float32."""
        return Slices([read_rows(self._handle, ids)])

    def add(self, ids: tf.Tensor, changes: Slices, lock: tf.Tensor | None = None) -> None:
        """Add changes [U, D] to the rows of distinct ids [U]; for `lock`, see `add_rows`."""
        add_rows(self._handle, ids, changes.parts[0], lock)


def add_rows(
    table: tf.Tensor, ids: tf.Tensor, changes: tf.Tensor, lock: tf.Tensor | None = None
) -> None:
    """Add changes [U, D] to the rows of distinct ids [U] of a variable [V, D].

    `table` is the handle of the variable. Each change is multiplied by its row's factor in `lock`
    [V], gensim's ``vectors_lockf``, if there is a `lock`.
    """
    if lock is not None:
        changes *= tf.gather(lock, ids)[:, None]
    # Rows are read again and overwritten, which costs half as much on a CPU as adding in place. A
    # change that a concurrent thread makes between the read and the write is lost. So the rows are
    # read as late as possible: after the changes have been computed.
    with tf.control_dependencies([changes]):
        current = read_rows(table, ids)
    write_rows(table, ids, current + changes)


def read_rows(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Return rows of the variable with this handle: [ids, D], float32."""
    return tf.raw_ops.ResourceGather(resource=table, indices=ids, dtype=tf.float32)


def write_rows(table: tf.Tensor, ids: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    """Set rows of the variable with this handle."""
    return tf.raw_ops.ResourceScatterUpdate(resource=table, indices=ids, updates=rows)
