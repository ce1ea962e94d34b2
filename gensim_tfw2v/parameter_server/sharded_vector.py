"""All tables as one vector, in shards; each operation runs on the devices of the shards.

A dot product receives one number from each shard. All other operations send at most one number to
each shard (Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.rows import RowLayout

#: Shards of a vector, as an argument of traced functions. One trace serves all vectors with the
#: same shapes and devices.
Shards = list[tf.Variable]


class ShardedVector:
    """Vector that consists of all rows of some tables. Operations change it in place.

    Operations are not synchronized with concurrent pushes to the tables.

    Parameters
    ----------
    tables : sequence of RowLayout
    """

    def __init__(self, tables: Sequence[RowLayout]) -> None:
        self.tables = tuple(tables)
        self._shards = [shard for table in tables if table.n_rows for shard in table.shards]
        self._devices = tuple(shard.device for shard in self._shards)

    def like(self, size: int | None = None) -> ShardedVector:
        """Return a vector of zeros, with shards on the same devices.

        Its tables have the same numbers of rows, and `size` columns if this is set.
        """
        tables = []
        for table in self.tables:
            # Set the devices explicitly: the scope of a strategy would place shards round-robin, on
            # different devices.
            devices = [shard.device for shard in table.shards]
            tables.append(
                RowLayout(table.n_rows, size or table.size, len(devices), devices=devices)
            )
        return ShardedVector(tables)

    def dot(self, vector: ShardedVector, /) -> float:
        """Return the dot product with a vector; float32 within rows, float64 across rows."""
        return float(_dot(self._devices, self._shards, vector._shards))

    def add(self, factor: float, vector: ShardedVector, /) -> None:
        """Add `factor` times a vector."""
        self._change("add", vector, factor)

    def scale(self, factor: float, /) -> None:
        """Multiply the vector by a number."""
        self._change("scale", self, factor)

    def weigh(self, weights: ShardedVector, /) -> None:
        """Multiply each row by its weight; `weights` has one column."""
        self._change("weigh", weights)

    def copy(self, vector: ShardedVector, /) -> None:
        """Copy the elements of a vector."""
        self._change("copy", vector)

    def clear(self) -> None:
        """Set all elements to zero, including non-finite ones."""
        self._change("clear", self)

    def _change(self, change: str, vector: ShardedVector, factor: float = 1.0) -> None:
        factor = tf.constant(factor, tf.float32)
        _assign(change, self._devices, self._shards, vector._shards, factor)


@tf.function(autograph=False)
def _dot(devices: Sequence[str], shards: Shards, operands: Shards) -> tf.Tensor:
    """Return the dot product of two vectors: [], float64."""
    parts = []
    for device, shard, operand in zip(devices, shards, operands, strict=True):
        with tf.device(device):
            row_products = tf.reduce_sum(shard * operand, 1)
            parts.append(tf.reduce_sum(tf.cast(row_products, tf.float64)))
    return tf.add_n(parts)


#: Operations of `ShardedVector`, by name. Each returns the new value of a shard. The arguments are
#: its current value, the corresponding shard of a second vector, and a factor.
CHANGES: dict[str, Callable[..., tf.Tensor]] = {
    "add": lambda shard, operand, factor: shard + factor * operand,
    "scale": lambda shard, operand, factor: factor * shard,
    "weigh": lambda shard, operand, factor: operand * shard,
    "copy": lambda shard, operand, factor: tf.identity(operand),
    "clear": lambda shard, operand, factor: tf.zeros_like(shard),
}


@tf.function(autograph=False)
def _assign(
    change: str, devices: Sequence[str], shards: Shards, operands: Shards, factor: tf.Tensor
) -> None:
    """Apply an operation of `CHANGES` to shards in place; `operands` are the second vector's."""
    for device, shard, operand in zip(devices, shards, operands, strict=True):
        with tf.device(device):
            shard.assign(CHANGES[change](shard, operand, factor), read_value=False)
