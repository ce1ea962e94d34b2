"""Updates of a table's rows in a step: grouped by row, summed, clipped and added.

Sorting a step's row ids and summing runs of equal ids is several times cheaper on CPUs than
scattering every row. The resulting rows are distinct, so each can be overwritten with its new
value, which is cheaper than adding in place.

A row that occurs often in a step gets the sum of its updates, all computed from the same value of
the row. For a frequent word, that sum can overshoot. Limiting its norm keeps training stable with
any learning rate, and affects few rows.

With Adagrad (Duchi et al. 2011), row-wise as in PyTorch-BigGraph (Lerer et al. 2019), a row's
learning rate decreases with the sum of its squared updates so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import Slices, as_is, as_uint16
from gensim_tfw2v.kernel.tables import Tables

#: Constant added to Adagrad's sums, so that a row's first update is bounded.
EPSILON = 1e-6


class RowSplits(NamedTuple):
    """Slice of a step in a concatenation over all steps.

    The fields are [1] for one step, or [steps, 1] for all steps.
    """

    begin: tf.Tensor
    number: tf.Tensor

    @property
    def edges(self) -> tf.Tensor:
        """Start of each step's slice, and end of the last one: [steps + 1]."""
        return tf.concat([[0], tf.squeeze(self.begin + self.number, -1)], 0)

    def of(self, values: tf.Tensor) -> tf.Tensor:
        """Return the slice of one step: [number, ...]."""
        return tf.slice(values, self.begin, self.number)


class RowGroups(NamedTuple):
    """R rows per step, in T/B blocks, grouped by id.

    Shapes are for one step; `group_rows` returns [steps, ...].
    """

    rank: tf.Tensor  # [T/B, R B/T], index of each row when the step's rows are sorted by id
    segment: tf.Tensor  # [R], index of the distinct id at each rank, from 0 in each step
    inverse: tf.Tensor  # [T/B, R B/T], index of the distinct id of each row
    distinct: RowSplits  # slice of the step's distinct ids in the ids that `group_rows` returns


def group_rows(
    ids: tf.Tensor, id_bits: int, max_steps: int, max_rows: int
) -> tuple[RowGroups, tf.Tensor]:
    """Group each step's rows by id; also return the distinct ids, ascending within each step.

    `ids` are int32 [steps, T/B, R B/T], below ``2 ** id_bits``. `max_rows` is the maximum of R.
    """
    shape = tf.shape(ids)
    rows = ids.shape[1:].num_elements() or shape[1] * shape[2]  # R: static if possible
    first_row = (tf.range(shape[0]) * rows)[:, None]
    order, in_order = _sorted(
        tf.reshape(ids, [shape[0], rows]),
        (id_bits, (max_steps - 1).bit_length(), max(1, (max_rows - 1).bit_length())),
    )
    order = tf.reshape(order + first_row, [-1])
    new = tf.concat(
        [tf.ones_like(in_order[:, :1], tf.bool), in_order[:, 1:] != in_order[:, :-1]], 1
    )
    # one running sum over all steps, because sums along an axis are slower
    new = tf.reshape(new, [-1])
    count = tf.cumsum(tf.cast(new, tf.int32))
    count = tf.reshape(count, tf.shape(in_order))
    ends = count[:, -1:]
    begin = tf.concat([[[0]], ends], 0)[:-1]
    segment = count - 1 - begin
    rank = tf.reshape(tf.math.invert_permutation(order), [shape[0], rows]) - first_row
    groups = RowGroups(
        rank=tf.reshape(rank, shape),
        segment=segment,
        inverse=tf.reshape(tf.dynamic_stitch([order], [tf.reshape(segment, [-1])]), shape),
        distinct=RowSplits(begin, ends - begin),
    )
    return groups, tf.gather(tf.reshape(in_order, [-1]), tf.squeeze(tf.where(new), 1))


def _sorted(ids: tf.Tensor, bits: tuple[int, int, int]) -> tuple[tf.Tensor, tf.Tensor]:
    """Sort each step's ids [steps, R]; return their former positions and the ids: [steps, R] each.

    A radix sort of the whole unit by stable partitions costs about half of sorting each step by
    comparison. An id, its step and its position in the step are packed into one integer, with
    `bits` bits each, so that no pass needs a gather.
    """
    id_bits, step_bits, position_bits = bits
    steps = tf.range(tf.shape(ids)[0])[:, None]
    above = step_bits + position_bits
    low = steps * (1 << position_bits) + tf.range(tf.shape(ids)[1])
    packed = tf.reshape(tf.cast(ids, tf.int64) * (1 << above) + tf.cast(low, tf.int64), [-1])
    half = (id_bits + 1) // 2
    # first bit and number of bits of each digit, the least significant first
    for first, n_bits in (
        (above, half),
        (above + half, id_bits - half),
        (position_bits, step_bits),
    ):
        if n_bits:
            digit = tf.cast(_bits(packed, first, n_bits), tf.int32)
            packed = tf.concat(tf.dynamic_partition(packed, digit, 1 << n_bits), 0)
    packed = tf.reshape(packed, tf.shape(ids))
    positions = tf.cast(_bits(packed, 0, position_bits), tf.int32)
    return positions, tf.cast(tf.bitwise.right_shift(packed, above), tf.int32)


def _bits(x: tf.Tensor, first: int, n_bits: int) -> tf.Tensor:
    return tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, first), (1 << n_bits) - 1)


def sum_rows(groups: RowGroups, updates: list[Slices]) -> Slices:
    """Sum a step's updates by row: [U, D], float32.

    The parts of the updates are [T/B, r, D]. Their r add up to R B/T.
    """

    def sum_part(*tensors: tf.Tensor) -> tf.Tensor:
        *parts, rank, segment = tensors
        widths = [part.shape[1] for part in parts]
        ranks = tf.split(rank, widths, 1) if len(widths) > 1 else [rank]
        # dynamic_stitch copies row by row, and concatenates the parts in the same pass
        in_order = tf.dynamic_stitch(ranks, parts)
        return tf.math.segment_sum(tf.cast(in_order, tf.float32), segment)

    part, *parts = updates
    return part.map(sum_part, *parts, sent=[as_uint16(groups.rank), as_uint16(groups.segment)])


def clipped(sums: Slices, alpha: tf.Tensor | float, max_norm: float) -> tuple[Slices, tf.Tensor]:
    """Multiply summed updates by the learning rate, [] or [U, 1], and clip norms to `max_norm`.

    Also returns the sum of the norms before clipping, which is not finite if any update is not.
    """
    norms = tf.sqrt(sums.total(_squares, exact=True))
    sizes = tf.minimum(alpha, max_norm / norms)
    return sums.map(tf.multiply, sent=[as_is(sizes)]), tf.reduce_sum(alpha * norms)


def adagrad(
    sums: Slices, squares: tf.Tensor, alpha: tf.Tensor | float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return learning rates [U, 1] for summed updates [U, D], and the increments of `squares`.

    `squares` [U, 1] are sums over past steps of the mean of a row's D squared updates.
    """
    n_columns = sum(part.shape[1] for part in sums.parts)
    growth = sums.total(_squares, exact=True) / n_columns
    return adagrad_sizes(squares + growth, alpha), growth


def adagrad_sizes(squares: tf.Tensor, alpha: tf.Tensor | float) -> tf.Tensor:
    """Return the learning rates of rows: ``alpha / sqrt(squares + EPSILON)``."""
    return alpha * tf.math.rsqrt(squares + EPSILON)


def _squares(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(rows), 1, keepdims=True)


def whole_rows(handles: Iterable[Any]) -> Tables:
    """Return `Tables` of `WholeRows` from the handles of variables."""
    return Tables(*map(WholeRows, handles))


class WholeRows:
    """Access of a step to a variable [V, D] on the worker's own device, by its handle."""

    link = None

    def __init__(self, handle: tf.Tensor) -> None:
        self._handle = handle

    def read(self, ids: tf.Tensor) -> Slices:
        """Return the rows of ids: [ids, D], float32."""
        return Slices([read_rows(self._handle, ids)])

    def add(self, ids: tf.Tensor, changes: Slices, lock: tf.Tensor | None = None) -> None:
        """Add changes [U, D] to rows of distinct ids; see `add_rows`."""
        add_rows(self._handle, ids, changes.parts[0], lock)


def add_rows(
    table: tf.Tensor, ids: tf.Tensor, changes: tf.Tensor, lock: tf.Tensor | None = None
) -> None:
    """Add changes [U, D] to rows of distinct ids of a variable [V, D]; `table` is its handle.

    With `lock` [V], gensim's ``vectors_lockf``, each row's change is multiplied by its factor.
    """
    if lock is not None:
        changes *= tf.gather(lock, ids)[:, None]
    # Rows are reread and overwritten, which costs half as much as adding to them on a CPU. An
    # update by a concurrent thread in between is lost, so rows must be read as late as possible.
    with tf.control_dependencies([changes]):
        current = read_rows(table, ids)
    write_rows(table, ids, current + changes)


def read_rows(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Return rows of the variable with this handle: [ids, D], float32."""
    return tf.raw_ops.ResourceGather(resource=table, indices=ids, dtype=tf.float32)


def write_rows(table: tf.Tensor, ids: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    """Set rows of the variable with this handle."""
    return tf.raw_ops.ResourceScatterUpdate(resource=table, indices=ids, updates=rows)
