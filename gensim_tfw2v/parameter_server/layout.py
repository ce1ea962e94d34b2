"""Base class of layouts: a table in shards, one on each ps task, and access to the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.files.row_file import RowFile
from gensim_tfw2v.files.sharded_rows import ShardedRows
from gensim_tfw2v.initial_rows import InitialRows, initial_block
from gensim_tfw2v.parameter_server.shard_ops import ShardOps, TensorFlowShardOps
from gensim_tfw2v.processes.threads import in_threads

#: Size of the blocks in which a whole table is copied to or from the ps tasks.
BLOCK_BYTES = 1 << 22

#: Number of blocks that are copied concurrently.
COPY_THREADS = 4

#: Rows of a whole table: an array, or files of rows.
Rows = np.ndarray | RowFile | ShardedRows


class Block(NamedTuple):
    """Consecutive rows of a table that are copied together.

    Attributes
    ----------
    rows : slice
        Rows of the table, without a step.
    parts : list of (Variable, ndarray, (slice, slice))
        For each shard, the indices of the block's rows in the shard, int32, and the slices, of rows
        and of columns, that select the shard's part from the block.
    """

    rows: slice
    parts: list[tuple[tf.Variable, np.ndarray, tuple[slice, slice]]]


class Layout:
    """Table [V, D] that is stored in shards.

    Parameters
    ----------
    n_rows, size : int
        Number of rows V, and of columns D.
    shapes : sequence of (int, int)
        Shape of each shard.
    shard_ops : ShardOps, optional
        Ops that read and change rows; by default TensorFlow's own.
    devices : sequence of str, optional
        Device of each shard. By default, the current strategy scope chooses the devices.
    """

    def __init__(
        self,
        n_rows: int,
        size: int,
        shapes: Sequence[tuple[int, int]],
        shard_ops: ShardOps | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        self.n_rows = n_rows
        self.size = size
        self.shard_ops = shard_ops or TensorFlowShardOps()
        self.shards = []
        for shape, device in itertools.zip_longest(shapes, devices):
            with tf.device(device):
                # The initial value is a function, so that each task allocates zeros itself.
                zeros = partial(tf.raw_ops.Empty, shape=shape, dtype=tf.float32, init=True)
                self.shards.append(tf.Variable(zeros, trainable=False))
        self._is_new = True  # until rows are loaded, all elements are zeros
        #: Called while a whole table is copied.
        self.progress: Callable[[], object] = lambda: None

    def on_shards(self, run: Callable[..., Any], *parts: Iterable[Any]) -> list[Any]:
        """Call a function on each shard's device, with the shard and its element of each list.

        Returns the results of all calls. The lists `parts` may be longer than the number S of
        shards: element i then belongs to shard i % S, and the function is called for each element.
        """
        results = []
        for shard, *arguments in zip(itertools.cycle(self.shards), *parts, strict=False):
            with tf.device(shard.device):
                results.append(run(shard, *arguments))
        return results

    def _blocks(self) -> Iterator[Block]:
        """Yield the blocks of the table, in order."""
        raise NotImplementedError

    def load(self, array: Rows, initial: Sequence[InitialRows] = ()) -> None:
        """Set the rows to this array [V, D].

        Parameters
        ----------
        array : ndarray, RowFile or ShardedRows
        initial : sequence of InitialRows, optional
            Rows that the array probably starts with, while the remaining rows are zeros. In a new
            table, the shards draw these rows themselves, and only rows that differ are sent.
        """
        is_drawn = self._is_new and self._draw(initial)
        self._is_new = False

        def load_block(block: Block, _: object) -> None:
            rows = array[block.rows]
            is_different: Any = slice(None)
            if is_drawn:
                is_different = np.any(rows != initial_block(initial, block.rows, self.size), axis=1)
                if not is_different.any():
                    return
            for shard, shard_rows, part in block.parts:
                selected = is_different[part[0]] if is_drawn else is_different
                values = rows[part][selected]
                if len(values):
                    self.shard_ops.write(
                        shard, shard_rows[selected], tf.constant(values, tf.float32)
                    )

        self._for_blocks(load_block)

    def save(self, folder: Path, name: str) -> ShardedRows | None:
        """Let each task write its shard to a file in a folder; return None if it cannot do so.

        Raises
        ------
        OSError
            If a task cannot write its file.
        """
        return None

    def restore(self, rows: ShardedRows) -> bool:
        """Let each task read its shard from its file; return whether that is possible.

        Raises
        ------
        OSError
            If a task cannot read its file, or a checksum is wrong.
        """
        return False

    def export(self, array: np.ndarray | RowFile) -> None:
        """Copy the rows into this array [V, D], which is an ndarray or a `RowFile`."""

        def export_block(block: Block, _: object) -> None:
            n_rows = block.rows.stop - block.rows.start
            rows = np.empty((n_rows, self.size), np.float32)
            for shard, shard_rows, part in block.parts:
                rows[part] = self._read(shard, shard_rows)
            array[block.rows] = rows

        self._for_blocks(export_block)

    def _draw(self, initial: Sequence[InitialRows]) -> bool:
        """Draw initial rows on the shards, and return whether the shards can do so."""
        return False

    def _for_blocks(self, run: Callable[[Block, Any], Any]) -> list[Any]:
        """Call a function for each block, in threads, and return the results."""
        results = []
        for result in in_threads(run, self._blocks(), threads=COPY_THREADS, ahead=2 * COPY_THREADS):
            results.append(result)
            self.progress()
        return results

    def check(self) -> None:
        """Read a row from each shard. TensorFlow raises an error if a shard's ps task is lost."""
        for shard in self.shards:
            self._read(shard, np.zeros(min(1, int(shard.shape[0])), np.int32))

    def close(self) -> None:
        """Free the resources of `shard_ops`. The shards are freed when this object is."""
        for shard in self.shards:
            with tf.device(shard.device):
                self.shard_ops.free()

    def finite(self) -> bool:
        """Return whether every row is finite. The shards' tasks compute it."""

        def is_finite(block: Block, _: object) -> bool:
            return all(
                bool(tf.reduce_all(tf.math.is_finite(self._read(shard, rows))))
                for shard, rows, _ in block.parts
            )

        return all(self._for_blocks(is_finite))

    def _read(self, shard: tf.Variable, rows: np.ndarray) -> tf.Tensor:
        with tf.device(shard.device):
            return self.shard_ops.read(shard, tf.constant(rows), tf.float32)

    @property
    def _rows_per_block(self) -> int:
        """Number of rows of a block."""
        return max(1, BLOCK_BYTES // (4 * self.size))
