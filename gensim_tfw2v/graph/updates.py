"""Adding the updates of a step to a table's rows: grouped by row, summed, then clipped.

Sorting a step's row ids and summing runs of equal ones is several times cheaper on CPUs than
scattering every row, and leaves distinct rows, which can be written without adding in place.

A row that occurs often in a step gets the sum of its updates, all computed from the same value
of the row; for a frequent word that sum can overshoot. Limiting its norm keeps every step size
stable, and hardly touches other rows.

With Adagrad (Duchi et al. 2011), row-wise as in PyTorch-BigGraph (Lerer et al. 2019), a row's step
size is the smaller the more it has been moved so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import Slices, as_is, as_uint16
from gensim_tfw2v.kernel.tables import Tables

#: Added to Adagrad's sums, so that a row's first steps are none of any length.
EPSILON = 1e-6


class RowSplits(NamedTuple):
    """Where a step's entries lie among those of all steps: [1]; or those of each: [steps, 1]."""

    begin: tf.Tensor
    number: tf.Tensor

    @property
    def edges(self) -> tf.Tensor:
        """Where each step's entries begin, and where the last ones end: [steps + 1]."""
        return tf.concat([[0], tf.squeeze(self.begin + self.number, -1)], 0)

    def of(self, values: tf.Tensor) -> tf.Tensor:
        """One step's part of the values of all: [number, ...]."""
        return tf.slice(values, self.begin, self.number)


class RowGroups(NamedTuple):
    """R rows a step, in T/B blocks. Shapes of one step; `group_rows` returns all, [steps, ...]."""

    rank: tf.Tensor  # [T/B, R B/T], of each row in an order that brings equal ids together
    segment: tf.Tensor  # [R], number of the distinct id at each rank, from 0 in each step
    inverse: tf.Tensor  # [T/B, R B/T], number of the distinct id that each row has
    distinct: RowSplits  # where the step's distinct ids lie among those of all steps


def group_rows(
    ids: tf.Tensor, id_bits: int, max_steps: int, max_rows: int
) -> tuple[RowGroups, tf.Tensor]:
    """Group each step's rows by id; give the distinct ids too, ascending in each step.

    The ids are int32 [steps, T/B, R B/T], below ``2 ** id_bits``; `max_rows` is R's limit.
    """
    shape = tf.shape(ids)
    rows = ids.shape[1:].num_elements() or shape[1] * shape[2]  # known, or only when it runs
    first_row = (tf.range(shape[0]) * rows)[:, None]
    order, in_order = _sorted(
        tf.reshape(ids, [shape[0], rows]),
        (id_bits, (max_steps - 1).bit_length(), max(1, (max_rows - 1).bit_length())),
    )
    order = tf.reshape(order + first_row, [-1])
    new = tf.concat(
        [tf.ones_like(in_order[:, :1], tf.bool), in_order[:, 1:] != in_order[:, :-1]], 1
    )
    # one running count over all steps: sums along rows are slower
    new = tf.reshape(new, [-1])
    count = running_sum(tf.cast(new, tf.int32))
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
    """Sort each step's ids [steps, R]: where each was in its step, and the ids: [steps, R] each.

    A radix sort of a whole unit, made of stable partitions, costs about half of sorting each step
    by comparison. An id, its step and its position there are packed into one integer, with so many
    `bits`, so that no pass needs a gather.
    """
    of_id, of_step, of_position = bits
    steps = tf.range(tf.shape(ids)[0])[:, None]
    above = of_step + of_position
    low = steps * (1 << of_position) + tf.range(tf.shape(ids)[1])
    packed = tf.reshape(tf.cast(ids, tf.int64) * (1 << above) + tf.cast(low, tf.int64), [-1])
    half = (of_id + 1) // 2
    # each digit's first bit and its number of bits, the least important first
    for first, number in ((above, half), (above + half, of_id - half), (of_position, of_step)):
        if number:
            digit = tf.cast(_bits(packed, first, number), tf.int32)
            packed = tf.concat(tf.dynamic_partition(packed, digit, 1 << number), 0)
    packed = tf.reshape(packed, tf.shape(ids))
    positions = tf.cast(_bits(packed, 0, of_position), tf.int32)
    return positions, tf.cast(tf.bitwise.right_shift(packed, above), tf.int32)


def _bits(x: tf.Tensor, first: int, number: int) -> tf.Tensor:
    return tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, first), (1 << number) - 1)


_WIDTH = 64
_TRIANGLE = np.triu(np.ones((_WIDTH, _WIDTH), np.float32))


def running_sum(x: tf.Tensor) -> tf.Tensor:
    """``tf.cumsum`` of int32 [n] as a matrix product, in a tenth of its time.

    Sums of 64 entries must be exact in float32, that is at most ``2**24``.
    """
    number = tf.size(x)
    rows = tf.pad(tf.cast(x, tf.float32), [[0, tf.math.floormod(-number, _WIDTH)]])
    sums = tf.cast(tf.matmul(tf.reshape(rows, [-1, _WIDTH]), _TRIANGLE), tf.int32)
    before = tf.cumsum(sums[:, -1], exclusive=True)
    return tf.reshape(sums + before[:, None], [-1])[:number]


def sum_rows(groups: RowGroups, updates: list[Slices]) -> Slices:
    """Sum a step's updates by row: [U, D], float32.

    Each part of the updates is [T/B, r, D]; the r add up to R B/T.
    """

    def of_part(*tensors: tf.Tensor) -> tf.Tensor:
        *parts, rank, segment = tensors
        widths = [part.shape[1] for part in parts]
        ranks = tf.split(rank, widths, 1) if len(widths) > 1 else [rank]
        # copies row by row, and joins the parts on the way
        in_order = tf.dynamic_stitch(ranks, parts)
        return tf.math.segment_sum(tf.cast(in_order, tf.float32), segment)

    first, *others = updates
    return first.map(of_part, *others, sent=[as_uint16(groups.rank), as_uint16(groups.segment)])


def clipped(sums: Slices, alpha: tf.Tensor | float, max_norm: float) -> tuple[Slices, tf.Tensor]:
    """Steps of size `alpha`, [] or [U, 1], along summed updates; none is longer than `max_norm`.

    Their summed lengths before clipping come with them: not finite if any update is not.
    """
    norms = tf.sqrt(sums.total(_squares, exact=True))
    sizes = tf.minimum(alpha, max_norm / norms)
    return sums.map(tf.multiply, sent=[as_is(sizes)]), tf.reduce_sum(alpha * norms)


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


def whole_rows(handles: Iterable[Any]) -> Tables:
    """Tables of `WholeRows`: what a step reads and updates on the worker's own device."""
    return Tables(*map(WholeRows, handles))


class WholeRows:
    """A variable [V, D] on the worker's own device, by its handle, as a step uses it."""

    link = None

    def __init__(self, handle: tf.Tensor) -> None:
        self._handle = handle

    def whole(self) -> tf.Tensor:
        """All rows, [V, D]: the variable's own memory, for what changes it in place.

        A variable whose rows were gathered or scattered gives a copy instead.
        """
        return tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=tf.float32)

    def read(self, ids: tf.Tensor) -> Slices:
        """Rows [ids, D], float32."""
        return Slices([read_rows(self._handle, ids)])

    def add(self, ids: tf.Tensor, changes: Slices, lock: tf.Tensor | None = None) -> None:
        """Add changes [U, D] to rows of distinct ids; see `add_rows`."""
        add_rows(self._handle, ids, changes.parts[0], lock)


def add_rows(
    table: tf.Tensor, ids: tf.Tensor, changes: tf.Tensor, lock: tf.Tensor | None = None
) -> None:
    """Add changes [U, D] to a table's rows of distinct ids, by the handle of the variable [V, D].

    With `lock` [V], gensim's ``vectors_lockf``, each row's change is multiplied by its factor.
    """
    if lock is not None:
        changes *= tf.gather(lock, ids)[:, None]
    # Rows are read again and overwritten, at half the price of adding to them on a CPU. What
    # another thread adds to the same row in between is lost, so the reading must come last.
    with tf.control_dependencies([changes]):
        current = read_rows(table, ids)
    write_rows(table, ids, current + changes)


def read_rows(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Rows of the variable with this handle: [ids, D], float32."""
    return tf.raw_ops.ResourceGather(resource=table, indices=ids, dtype=tf.float32)


def write_rows(table: tf.Tensor, ids: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    """Set rows of the variable with this handle."""
    return tf.raw_ops.ResourceScatterUpdate(resource=table, indices=ids, updates=rows)
