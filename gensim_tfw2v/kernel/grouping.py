"""Which rows of a step are the same row of a table.

Sorting a step's row ids and summing runs of equal ones is several times cheaper on CPUs than
scattering every row, and leaves distinct rows, which can be written without adding in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf


class RowSplits(NamedTuple):
    """Where a row lies.

    Attributes
    ----------
    begin, number : Tensor [1], int32
        Of one row; [rows, 1] of all.
    """

    begin: tf.Tensor
    number: tf.Tensor

    @property
    def end(self) -> tf.Tensor:
        """Where each of the rows ends: [rows]."""
        return tf.squeeze(self.begin + self.number, -1)

    @property
    def edges(self) -> tf.Tensor:
        """Where each of the rows of all begins, and where the last ends: [rows + 1]."""
        return tf.concat([[0], self.end], 0)

    def of(self, values: tf.Tensor) -> tf.Tensor:
        """The row's part of the values of all: [number, ...]."""
        return tf.slice(values, self.begin, self.number)


def spans(ends: tf.Tensor) -> RowSplits:
    """Spans of consecutive rows, from where each ends [rows]."""
    begin = tf.concat([[0], ends], 0)[:-1]
    return RowSplits(begin[:, None], (ends - begin)[:, None])


_WIDTH = 64
_TRIANGLE = np.triu(np.ones((_WIDTH, _WIDTH), np.float32))


def running_sum(x: tf.Tensor) -> tf.Tensor:
    """``tf.cumsum`` as a matrix product: ``tf.cumsum`` takes ten times as long for an entry.

    Parameters
    ----------
    x : Tensor [n], int32
        Sums of 64 entries must be exact in float32, that is at most ``2**24``.

    Returns
    -------
    Tensor [n], int32
    """
    number = tf.size(x)
    rows = tf.pad(tf.cast(x, tf.float32), [[0, tf.math.floormod(-number, _WIDTH)]])
    sums = tf.cast(tf.matmul(tf.reshape(rows, [-1, _WIDTH]), _TRIANGLE), tf.int32)
    before = tf.cumsum(sums[:, -1], exclusive=True)
    return tf.reshape(sums + before[:, None], [-1])[:number]


class RowGroups(NamedTuple):
    """R rows a step, in T/B blocks. Shapes of one step; `group_rows` returns all, [steps, ...].

    Attributes
    ----------
    rank : Tensor [T/B, R B/T], int32
        Place of each row in an order of its step that brings equal ids together.
    segment : Tensor [R], int32
        Number of the distinct id at each place of that order; starts at 0 in each step.
    place : Tensor [T/B, R B/T], int32
        The same numbers in the rows' own order: which distinct id each row has.
    distinct : RowSplits
        Where the step's distinct ids lie among those of all steps.
    """

    rank: tf.Tensor
    segment: tf.Tensor
    place: tf.Tensor
    distinct: RowSplits


def group_rows(
    ids: tf.Tensor, id_bits: int, max_steps: int, max_rows: int
) -> tuple[RowGroups, tf.Tensor]:
    """Group each step's rows by id.

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
    rows = ids.shape[1:].num_elements() or shape[1] * shape[2]  # known, or only when it runs
    first_row = (tf.range(shape[0]) * rows)[:, None]
    fields = Fields(id_bits, (max_steps - 1).bit_length(), max(1, (max_rows - 1).bit_length()))
    order, in_order = fields.sorted(
        tf.reshape(ids, [shape[0], rows]), tf.range(shape[0])[:, None], tf.range(rows)
    )
    order = tf.reshape(tf.reshape(order, [shape[0], rows]) + first_row, [-1])
    in_order = tf.reshape(in_order, [shape[0], rows])
    new = tf.concat(
        [tf.ones_like(in_order[:, :1], tf.bool), in_order[:, 1:] != in_order[:, :-1]], 1
    )
    # one running count over all steps: sums along rows are slower
    count = running_sum(tf.cast(tf.reshape(new, [-1]), tf.int32))
    count = tf.reshape(count, tf.shape(in_order))
    distinct = spans(count[:, -1])
    segment = count - 1 - distinct.begin
    rank = tf.reshape(tf.math.invert_permutation(order), [shape[0], rows]) - first_row
    groups = RowGroups(
        rank=tf.reshape(rank, shape),
        segment=segment,
        place=tf.reshape(tf.dynamic_stitch([order], [tf.reshape(segment, [-1])]), shape),
        distinct=distinct,
    )
    return groups, tf.boolean_mask(in_order, new)


class Fields(NamedTuple):
    """Bits of an id, a step and a slot, packed into one integer."""

    id: int
    step: int
    slot: int

    def sorted(
        self, ids: tf.Tensor, steps: tf.Tensor, slots: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Sort entries, given in the order of their steps, by step and then by id.

        A radix sort of a whole unit made of stable partitions: about half the price of sorting
        each step by comparison. The integers hold all that is asked for later, so that no pass
        needs a gather.

        Parameters
        ----------
        ids, steps, slots : Tensor of int32
            Of shapes that broadcast to that of `ids`.

        Returns
        -------
        slots, ids : Tensor [entries], int32
        """
        low = steps * (1 << self.slot) + slots
        above = self.step + self.slot
        packed = tf.cast(ids, tf.int64) * (1 << above) + tf.cast(low, tf.int64)
        half = (self.id + 1) // 2
        packed = _partitioned(
            tf.reshape(packed, [-1]),
            [(above, half), (above + half, self.id - half), (self.slot, self.step)],
        )
        slots = tf.cast(_bits(packed, 0, self.slot), tf.int32)
        return slots, tf.cast(tf.bitwise.right_shift(packed, above), tf.int32)


def _partitioned(packed: tf.Tensor, digits: Iterable[tuple[int, int]]) -> tf.Tensor:
    """Sort integers by digits, each (first bit, number of bits), the least important first."""
    for first_bit, bits in digits:
        if bits:
            digit = tf.cast(_bits(packed, first_bit, bits), tf.int32)
            packed = tf.concat(tf.dynamic_partition(packed, digit, 1 << bits), 0)
    return packed


def _bits(x: tf.Tensor, first: int, number: int) -> tf.Tensor:
    return tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, first), (1 << number) - 1)
