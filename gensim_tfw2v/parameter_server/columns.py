"""A table whose columns are distributed over ps tasks: each task stores a slice of every row.

The method is that of Ordentlich et al. 2016, "Network-Efficient Distributed Word2vec Training
System for Large Vocabularies", section 4. Each ps task computes partial dot products of rows, over
its own columns, and updates its columns (see `gensim_tfw2v.graph.slices`). The worker draws and
plans its units, sums the partial products, and computes from them the coefficients that rows are
multiplied by. Partial products and coefficients are sent in each step, rows never.

The threads of a worker train their units in parallel, so that one thread computes while another
thread waits for the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import MAX_ROWS, Link, Slices, as_is
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.layout import Block, Layout
from gensim_tfw2v.parameter_server.shard_ops import ShardOps


class ShardHandle(NamedTuple):
    """Handle of a shard, in place of the variable, for `TensorFlowShardOps`."""

    handle: tf.Tensor
    shape: tf.TensorShape


class ColumnLayout(Layout):
    """Layout of a table whose columns are distributed evenly over shards, one on each ps task.

    Parameters
    ----------
    n_rows, size : int
        Number of rows V, and of columns D.
    n_shards : int
        Number of shards S, at most D.
    shard_ops : ShardOps, optional
        See `Layout`.

    Raises
    ------
    ValueError
        If there are more shards than columns.
    """

    def __init__(
        self, n_rows: int, size: int, n_shards: int, shard_ops: ShardOps | None = None
    ) -> None:
        if n_shards > size:
            raise ValueError(
                f"layout='columns' cannot distribute vector_size={size} columns to {n_shards} ps "
                "tasks: use at most one ps task per column"
            )
        self._edges = np.linspace(0, size, n_shards + 1).astype(int).tolist()
        shapes = [(n_rows, int(width)) for width in np.diff(self._edges)]
        super().__init__(n_rows, size, shapes, shard_ops)

    def link(self, wire: tf.DType) -> Link:
        """Return a link to the shards' devices, for all tables that are on the same ps tasks."""
        return Link([shard.device for shard in self.shards], wire)

    def new_handles(self) -> list[ShardHandle]:
        """Return a new handle of each shard.

        TensorFlow would run operations on the same handle sequentially.
        """

        def new_handle(shard: tf.Variable, _: int) -> ShardHandle:
            # not `tf.identity`, which TensorFlow takes for the same handle
            (handle,) = tf.raw_ops.IdentityN(input=[shard.handle])
            return ShardHandle(handle, shard.shape)

        return self.on_shards(new_handle, range(len(self.shards)))

    def _blocks(self) -> Iterator[Block]:
        columns = list(map(slice, self._edges, self._edges[1:]))
        for start in range(0, self.n_rows, self._rows_per_block):
            stop = min(self.n_rows, start + self._rows_per_block)
            rows = np.arange(start, stop, dtype=np.int32)
            parts = [
                (shard, rows, (slice(None), part))
                for shard, part in zip(self.shards, columns, strict=True)
            ]
            yield Block(slice(start, stop), parts)


class SlicedRows:
    """Access of a step to a table in columns, with the methods of `WholeRows`.

    Parameters
    ----------
    layout : ColumnLayout
    link : Link
    """

    def __init__(self, layout: ColumnLayout, link: Link) -> None:
        self._layout = layout
        self._handles = layout.new_handles()
        self.link = link

    def read(self, ids: tf.Tensor) -> Slices:
        """Return the rows of ids: [ids, D], float32."""

        def read_rows(_: tf.Variable, handle: ShardHandle, rows: tf.Tensor) -> tf.Tensor:
            return self._layout.shard_ops.read(handle, rows, tf.float32)

        copies = self.link.send(ids, tf.int32)
        return Slices(self._layout.on_shards(read_rows, self._handles, copies), self.link)

    def add(self, ids: tf.Tensor, changes: Slices, lock: tf.Tensor | None = None) -> None:
        """Add changes [U, D] to the rows of distinct ids [U].

        Each change is multiplied by its row's factor in `lock` [V], if there is a `lock`.
        """
        if lock is not None:
            factors = as_is(tf.gather(lock, ids)[:, None])
            changes = changes.map(tf.multiply, tensors=[factors])

        def add_rows(_: tf.Variable, *arguments: Any) -> tf.Operation:
            return self._layout.shard_ops.add(*arguments)

        copies = self.link.send(ids, tf.int32)
        self._layout.on_shards(add_rows, self._handles, copies, changes.parts)


class ColumnJob(WorkerJob):
    """Job that trains on tables in columns (`ColumnLayout`); see `WorkerJob`.

    The engine is the TensorFlow fallback. Only drawing and planning are measured as fetching. All
    communication with the ps tasks is measured as training.

    Raises
    ------
    ValueError
        If steps have too many rows.
    """

    fetches_rows = False

    def __init__(self, config: JobConfig, server: ParameterServer) -> None:
        shape = config.engine.shape
        n_rows = shape.blocks * max(shape.columns, shape.inputs)
        if n_rows >= MAX_ROWS:
            raise ValueError(
                f"layout='columns' needs fewer than {MAX_ROWS} rows per step, but a step has "
                f"{n_rows}: reduce negative (now {config.objective.negative}), or set layout='rows'"
            )
        super().__init__(config, server)

    def fetch(self) -> list[tf.Tensor]:
        """Return the units' numbers of steps, which are known when all units are planned.

        No rows are fetched.
        """
        return [unit.steps for unit in self.job.units]

    def train(self) -> list[UnitResult]:
        """Train the units. The columns are changed in place, on the ps tasks."""
        results = []
        self._traffic = []
        for unit in self.job.units:
            link = self.server.tables.inputs.link(self.wire)
            tables = Tables(*(SlicedRows(table, link) for table in self.server.tables))
            *sums, traffic = unit.train_steps(
                self.config.engine.options,
                tables,
                self.job.words,
                0,
                unit.steps,
                unit.begin(tables),
            )
            results.append(UnitResult(unit.kept, *sums))
            self._traffic.append(traffic)
        return results

    def push(self) -> list[tf.Operation]:
        """Push nothing: training has updated the columns in place."""
        return []

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the bytes received from the ps tasks (products), and sent (coefficients, ids)."""
        fetched_bytes, pushed_bytes = tf.unstack(tf.add_n(self._traffic))
        return fetched_bytes, pushed_bytes
