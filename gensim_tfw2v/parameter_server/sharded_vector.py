"""One vector made of all tables, in shards: what is computed of it is computed where they are.

Of a dot product a number comes from each shard, and to all else nothing but a number goes (Dean et
al. 2012, "Large Scale Distributed Deep Networks", section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.rows import RowLayout

#: One trace serves all vectors of the same shapes on the same devices.
Shards = list[tf.Variable]


class ShardedVector:
    """The rows of some tables as one vector, changed in place.

    It is not locked against pushes to its tables.

    Parameters
    ----------
    tables : sequence of RowLayout
    """

    def __init__(self, tables: Sequence[RowLayout]) -> None:
        self.tables = tuple(tables)
        self._shards = [shard for table in tables if table.rows for shard in table.shards]
        self._devices = tuple(shard.device for shard in self._shards)

    def like(self, size: int | None = None) -> ShardedVector:
        """A vector of zeros, each shard beside this one's; its rows may be of another size."""
        tables = []
        for table in self.tables:
            # a strategy's scope would deal them out in turn, to other devices than the ones before
            devices = [shard.device for shard in table.shards]
            tables.append(RowLayout(table.rows, size or table.size, len(devices), devices=devices))
        return ShardedVector(tables)

    def dot(self, other: ShardedVector, /) -> float:
        """The dot product with another one, summed in float64."""
        return float(_dot(self._devices, self._shards, other._shards))

    def add(self, factor: float, other: ShardedVector, /) -> None:
        """Add so many times another one."""
        self._change("add", other, factor)

    def scale(self, factor: float, /) -> None:
        """Multiply it by a number."""
        self._change("scale", self, factor)

    def weigh(self, weights: ShardedVector, /) -> None:
        """Multiply each row by the number that the weights, of size 1, have for it."""
        self._change("weigh", weights)

    def copy(self, other: ShardedVector, /) -> None:
        """Make it equal to another one."""
        self._change("copy", other)

    def clear(self) -> None:
        """Make it zero, whatever it was."""
        self._change("clear", self)

    def _change(self, how: str, other: ShardedVector, factor: float = 1.0) -> None:
        factor = tf.constant(factor, tf.float32)
        _assign(how, self._devices, self._shards, other._shards, factor)


@tf.function(autograph=False)
def _dot(devices: Sequence[str], ones: Shards, others: Shards) -> tf.Tensor:
    parts = []
    for device, one, other in zip(devices, ones, others, strict=True):
        with tf.device(device):
            of_rows = tf.reduce_sum(one * other, 1)
            parts.append(tf.reduce_sum(tf.cast(of_rows, tf.float64)))
    return tf.add_n(parts)


#: What a shard becomes, from what it is, the other vector's, and a factor.
CHANGES: dict[str, Callable[..., tf.Tensor]] = {
    "add": lambda one, other, factor: one + factor * other,
    "scale": lambda one, other, factor: factor * one,
    "weigh": lambda one, other, factor: other * one,
    "copy": lambda one, other, factor: tf.identity(other),
    "clear": lambda one, other, factor: tf.zeros_like(one),
}


@tf.function(autograph=False)
def _assign(
    how: str, devices: Sequence[str], ones: Shards, others: Shards, factor: tf.Tensor
) -> None:
    for device, one, other in zip(devices, ones, others, strict=True):
        with tf.device(device):
            one.assign(CHANGES[how](one, other, factor), read_value=False)
