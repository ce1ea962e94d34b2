"""A table whose rows are dealt out to ps tasks: row r is row ``r // P`` of shard ``r % P``.

gensim numbers words by their frequency: dealt out, each of P tasks holds as many frequent ones.
(TensorFlow's ``ShardedVariable`` gives each a run of rows, and so the first task nearly all of
the work.)
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.layouts.access import Access
from gensim_tfw2v.parameter_server.layouts.layout import Layout, pieces_of


class Split(NamedTuple):
    """Ids in parts: the shards' first ones, the shards' second ones, and so on.

    Attributes
    ----------
    rows : list of Tensor, int32
        Which rows of its shard each part is.
    places : list of Tensor, int32
        At which places of the ids these stand.
    """

    rows: list[tf.Tensor]
    places: list[tf.Tensor]


class RowLayout(Layout):
    """Rows spread over shards, one on each ps task.

    Parameters
    ----------
    rows, size : int
        V and D.
    shards : int
        P.
    variable : callable, optional
        Makes each shard's variable; by default ``tf.Variable``, which a strategy's scope places.
    access : Access, optional
        See `Layout`.
    """

    def __init__(
        self,
        rows: int,
        size: int,
        shards: int,
        variable: Callable[..., tf.Variable] | None = None,
        access: Access | None = None,
    ) -> None:
        shapes = [(len(range(number, rows, shards)), size) for number in range(shards)]
        super().__init__(rows, size, shapes, variable, access)
        # for each shard one, since several may be on one device
        stage = f"tfw2v-stage-{uuid.uuid4().hex}"
        self._stages = [f"{stage}-{number}" for number in range(shards)]

    def split(self, ids: tf.Tensor, parts: int = 1) -> Split:
        """Say where rows are, in so many parts of each shard; for `fetch` and `push`."""
        number = len(self.shards)
        places = tf.range(tf.size(ids))
        if number * parts == 1:
            return Split([ids], [places])
        # dealt out, so that the parts of a shard are alike
        part = ids % number + places % parts * number
        return Split(
            tf.dynamic_partition(ids // number, part, number * parts),
            tf.dynamic_partition(places, part, number * parts),
        )

    def fetch(self, split: Split, dtype: tf.DType) -> tf.Tensor:
        """Give rows: [ids, D], in the dtype given, in which they travel."""
        return stitched(split, self.fetch_parts(split, dtype))

    def fetch_parts(self, split: Split, dtype: tf.DType) -> list[tf.Tensor]:
        """Give the rows of each part."""
        parts = []
        for shard, rows in zip(itertools.cycle(self.shards), split.rows, strict=False):
            with tf.device(shard.device):
                parts.append(self._access.read(shard, rows, dtype))
        return parts

    def push(self, split: Split, changes: tf.Tensor, dtype: tf.DType) -> tf.Operation:
        """Add changes [ids, D] to rows of different ids; they travel in the dtype given."""
        return self.push_parts(split, parts_of(split, tf.cast(changes, dtype)))

    def push_parts(self, split: Split, parts: list[tf.Tensor]) -> tf.Operation:
        """Add the changes of each part's rows."""
        done = []
        shards = itertools.cycle(self.shards)
        for shard, rows, part in zip(shards, split.rows, parts, strict=False):
            with tf.device(shard.device):
                done.append(self._access.add(shard, rows, part))
        return tf.group(done)

    def stage(self, split: Split, parts: list[tf.Tensor], number: tf.Tensor) -> tf.Operation:
        """Lay the changes of each shard's rows down there, under a number, for `add_staged`."""
        done = []
        for stage, shard, rows, part in zip(
            self._stages, self.shards, split.rows, parts, strict=True
        ):
            with tf.device(shard.device):
                done.append(
                    tf.raw_ops.MapStage(
                        key=number,
                        indices=[0, 1],
                        values=[tf.identity(rows), tf.identity(part)],
                        dtypes=[tf.int32, part.dtype],
                        shared_name=stage,
                    )
                )
        return tf.group(done)

    def add_staged(
        self,
        numbers: tf.Tensor,
        dtype: tf.DType,
        combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        drop_others: bool = True,
    ) -> tf.Operation:
        """Add the changes that were laid down under these numbers.

        Parameters
        ----------
        numbers : Tensor [n], int64
            With n known.
        dtype : DType
            That they were laid down in.
        combine : function (Tensor [u, D], Tensor [u, D]) -> Tensor [u, D]
            Makes one change of two, row by row; zeros are no change.
        drop_others : bool
            Whether what was laid down under other numbers is dropped, as by `drop_staged`.
        """
        done = []
        for stage, shard in zip(self._stages, self.shards, strict=True):
            with tf.device(shard.device):
                rows, changes = self._staged(stage, tf.unstack(numbers), dtype)
                while len(changes) > 1:  # by pairs, so that each counts alike
                    pairs = zip(changes[::2], changes[1::2], strict=False)
                    changes = [combine(*pair) for pair in pairs] + changes[len(changes) // 2 * 2 :]
                added = self._access.add(shard, rows, changes[0])
                with tf.control_dependencies([added]):
                    done.append(_drop(stage, dtype) if drop_others else added)
        return tf.group(done)

    def drop_staged(self, dtype: tf.DType) -> tf.Operation:
        """Drop all changes that were laid down, in this dtype."""
        done = []
        for stage, shard in zip(self._stages, self.shards, strict=True):
            with tf.device(shard.device):
                done.append(_drop(stage, dtype))
        return tf.group(done)

    def _staged(
        self, stage: str, numbers: list[tf.Tensor], dtype: tf.DType
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Take changes out: all their rows, and for each number the changes of these [u, D]."""
        taken = [
            tf.raw_ops.MapUnstage(
                key=number, indices=[0, 1], dtypes=[tf.int32, dtype], shared_name=stage
            )
            for number in numbers
        ]
        rows = [tf.ensure_shape(rows, [None]) for rows, _ in taken]
        distinct, places = tf.unique(tf.concat(rows, 0))
        own_places = tf.split(places, [tf.size(own) for own in rows], num=len(rows))
        shape = [tf.size(distinct), self.size]
        return distinct, [
            tf.scatter_nd(own[:, None], tf.cast(changes, tf.float32), shape)
            for own, (_, changes) in zip(own_places, taken, strict=True)
        ]

    def _pieces(self) -> Iterator[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]:
        number = len(self.shards)
        for first, shard in enumerate(self.shards):
            for rows in pieces_of(int(shard.shape[0])):
                ids = slice(first + rows.start * number, first + rows[-1] * number + 1, number)
                yield shard, np.asarray(rows, np.int32), (ids, slice(None))


def adder_of_staged(
    tables: Sequence[RowLayout],
    dtype: tf.DType,
    combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    drop_others: bool = True,
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` of job numbers that calls `add_staged` of all tables in use."""

    @tf.function(autograph=False)  # traced for each number of jobs, of which there are few
    def add_staged(numbers):  # type: ignore[no-untyped-def]
        added = [t.add_staged(numbers, dtype, combine, drop_others) for t in tables if t.rows]
        with tf.control_dependencies(added):
            return tf.size(numbers)

    return add_staged


def stitched(split: Split, parts: list[tf.Tensor]) -> tf.Tensor:
    """The rows of all shards, in the order of the ids."""
    return parts[0] if len(parts) == 1 else tf.dynamic_stitch(split.places, parts)


def parts_of(split: Split, rows: tf.Tensor) -> list[tf.Tensor]:
    """Split rows, given in the order of the ids, into each shard's."""
    return [rows] if len(split.places) == 1 else [tf.gather(rows, at) for at in split.places]


def _drop(stage: str, dtype: tf.DType) -> tf.Operation:
    return tf.raw_ops.MapClear(dtypes=[tf.int32, dtype], shared_name=stage)
