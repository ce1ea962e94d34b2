"""Variables of a worker, created and used inside the functions that it runs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.parameter_server.combining import DirectedShare

#: Returns a new handle to a variable of the worker that runs the function. TensorFlow treats each
#: handle as a different variable, and does not order operations on different handles. Add control
#: dependencies between the uses of one variable.
Handle = Callable[[], Any]  # returns a Tensor; TensorFlow is not imported yet


class WorkerVariables:
    """Variables of a regime's workers.

    The workers of a cluster create them by name. Threads of this process share a function, traced
    once; each call passes it the variables of its thread.

    Parameters
    ----------
    of_threads : bool
        Whether the workers are threads of this process.
    """

    def __init__(self, of_threads: bool = False) -> None:
        self._of_threads = of_threads
        self._names: list[str] = []

    def name(self, purpose: str) -> str:
        """Return a name, unique across processes, of a variable that a process's workers share."""
        self._names.append(f"tfw2v-{purpose}-{uuid.uuid4().hex}")
        return self._names[-1]

    def copies(self, sources: Any) -> Callable[[], Any]:
        """Add cached copies of ps variables, in any structure; return a getter of their values."""
        names = [self.name("copy") for _ in tf.nest.flatten(sources)]
        return lambda: tf.nest.pack_sequence_as(sources, cached(tf.nest.flatten(sources), names))

    def own(
        self,
        purpose: str,
        shape: Sequence[int | None],
        dtype: tf.DType | None = None,
        device: str | None = None,
    ) -> Handle:
        """Add a variable that each worker has a separate instance of.

        Parameters
        ----------
        purpose : str
            Part of its name.
        shape : sequence of int or None
        dtype : DType, optional
            By default float32.
        device : str, optional
            Device of the threads' variables, which are initialized with zeros. Variables of a
            cluster's workers are not initialized, and are placed where they are used.
        """
        dtype = dtype or tf.float32
        if not self._of_threads:
            return named_handle(self.name(purpose), shape, dtype)

        def make() -> tf.Variable:
            with tf.device(device):
                zeros = tf.zeros([size or 0 for size in shape], dtype)
                return tf.Variable(zeros, trainable=False, shape=shape)

        like = make()
        thread_local = threading.local()

        def mine() -> tf.Tensor:
            if not hasattr(thread_local, "variable"):
                thread_local.variable = make()
            return thread_local.variable.handle

        def handle() -> tf.Tensor:
            graph = tf.compat.v1.get_default_graph()
            while getattr(graph, "outer_graph", None) and graph.outer_graph.building_function:
                graph = graph.outer_graph  # from a loop's body up to the function
            with graph.as_default():
                # a call of the function first calls `mine` in its thread, and passes that handle
                captured = graph.capture_call_time_value(mine, like.handle, key=mine)
            return tf.identity(captured)

        return handle

    def free(self) -> None:
        """Free the named variables of workers that are threads of this process."""
        for device in tf.config.list_logical_devices():
            with tf.device(device.name):
                for name in self._names:
                    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name)
                    tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)
        self._names.clear()


def named_handle(name: str, shape: Sequence[int | None], dtype: tf.DType) -> Handle:
    """Return the `Handle` of the variable with this name on the worker."""
    return partial(tf.raw_ops.VarHandleOp, dtype=dtype, shape=shape, shared_name=name, container="")


class Scratch:
    """A float32 variable [n, D] of the worker that runs the function.

    Its rows persist between the function calls of a worker.

    Parameters
    ----------
    variables : WorkerVariables
        Collection to which the variable is added.
    name : str
        Part of its name.
    size : int
        Number of columns D.

    Attributes
    ----------
    handle : Handle
    """

    def __init__(self, variables: WorkerVariables, name: str, size: int) -> None:
        self._size = size
        self._shape = tf.TensorShape([None, size])
        self.handle = variables.own(name, [*self._shape])

    def assign(self, rows: tf.Tensor) -> tf.Operation:
        """Set the rows [n, D]."""
        return tf.raw_ops.AssignVariableOp(resource=self.handle(), value=rows)

    def read(self) -> tf.Tensor:
        """Return all rows [n, D]."""
        return tf.ensure_shape(table_memory(self.handle()), self._shape)[:, : self._size]

    def place(self, indices: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Operation:
        """Set the rows [n, D] from parts of any dtype; `indices` are each part's row indices."""
        return self.assign(tf.cast(join_parts(indices, parts), tf.float32))

    def changes(
        self,
        indices: list[tf.Tensor],
        fetched: list[tf.Tensor],
        share: DirectedShare | None,
        key: tf.Tensor,
    ) -> list[tf.Tensor]:
        """Return the rows minus `fetched`, or the fraction `share` of the difference.

        `fetched` contains the parts that `place` has set; the result has the same parts and dtype.
        `key` [2], int32, seeds the rounding to int8.
        """
        rows = self.read()
        changes = []
        for part_indices, part in zip(indices, fetched, strict=True):
            change = tf.gather(rows, part_indices) - tf.cast(part, tf.float32)
            if share is not None:
                change = share.apply(change, part_indices)
            changes.append(tf.cast(change, part.dtype))
        return changes

    def allocate(self, n_rows: tf.Tensor, init: bool = True) -> tf.Operation:
        """Allocate memory for `n_rows` rows, of zeros if `init`."""
        # not tf.zeros: TensorFlow merges equal constants, so all tables would share one buffer
        shape = tf.stack([n_rows, self._shape[1]])
        rows = tf.raw_ops.Empty(shape=shape, dtype=tf.float32, init=init)
        return tf.raw_ops.AssignVariableOp(resource=self.handle(), value=rows)

    def write_part(self, first: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Set the rows [n, D] that start at index `first`."""
        return self._write(first + tf.range(tf.shape(rows)[0]), rows)

    def read_part(self, first: tf.Tensor, max_rows: int) -> tf.Tensor:
        """Return at most `max_rows` rows [n, D], starting at index `first`, int64."""
        n_rows = tf.raw_ops.VariableShape(input=self.handle(), out_type=tf.int64)[0]
        last = tf.minimum(n_rows, first + max_rows)
        return self._gather(tf.cast(tf.range(first, tf.maximum(first, last)), tf.int32))

    def _write(self, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.ResourceScatterUpdate(resource=self.handle(), indices=ids, updates=rows)

    def _gather(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.ResourceGather(resource=self.handle(), indices=ids, dtype=tf.float32)


class PaddedScratch(Scratch):
    """A variable on which compiled kernels train: its rows are padded to the kernels' stride.

    Compiled ops read and change it in place; see `Scratch`.
    """

    def __init__(self, variables: WorkerVariables, name: str, size: int) -> None:
        self._size = size
        self._shape = tf.TensorShape([None, stride(size)])
        self.handle = variables.own(name, [*self._shape], device="CPU")

    def place(self, indices: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Operation:
        """Set the rows [n, D]; see `Scratch.place`."""
        n_rows = tf.add_n([tf.size(part) for part in indices])
        with tf.device("CPU"):
            with tf.control_dependencies([self.allocate(n_rows, init=False)]):
                memory = table_memory(self.handle())
            return tf.group(*map(partial(load_ops().tfw2v_scatter, memory), indices, parts))

    def changes(
        self,
        indices: list[tf.Tensor],
        fetched: list[tf.Tensor],
        share: DirectedShare | None,
        key: tf.Tensor,
    ) -> list[tf.Tensor]:
        """Return the changes of the rows; see `Scratch.changes`."""
        fractions = share or (tf.zeros([0]), tf.zeros([0]), tf.zeros([0], tf.int32))
        with tf.device("CPU"):
            memory = table_memory(self.handle())
            return [
                tf.ensure_shape(
                    load_ops().tfw2v_change(memory, part_indices, part, *fractions, key), part.shape
                )
                for part_indices, part in zip(indices, fetched, strict=True)
            ]

    def _write(self, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU"):
            return load_ops().tfw2v_scatter(table_memory(self.handle()), ids, rows)

    def _gather(self, ids: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU"):
            memory = table_memory(self.handle())
            return load_ops().tfw2v_fetch(memory, ids, self._size, dtype=tf.float32)


def join_parts(indices: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Tensor:
    """Join parts of rows; `indices` are each part's row indices in the result."""
    return parts[0] if len(parts) == 1 else tf.dynamic_stitch(indices, parts)


def cached(sources: Sequence[tf.Variable], names: Sequence[str]) -> list[tf.Tensor]:
    """Return the values of constant ps variables, which the worker caches under these names.

    They are sent when a worker needs them for the first time, and again after it was restarted.
    """
    handles = [
        named_handle(name, [None] * source.shape.rank, source.dtype)
        for source, name in zip(sources, names, strict=True)
    ]

    def fetch() -> tf.Tensor:
        values = [source.read_value() for source in sources]
        with tf.control_dependencies(
            [
                tf.raw_ops.AssignVariableOp(resource=handle(), value=value)
                for handle, value in zip(handles, values, strict=True)
            ]
        ):
            return tf.constant(True)

    # `fetch` sets all variables, but not atomically: check each
    are_set = [tf.raw_ops.VarIsInitializedOp(resource=handle()) for handle in handles]
    with tf.control_dependencies(
        [tf.cond(tf.reduce_all(are_set), lambda: tf.constant(True), fetch)]
    ):
        return [
            tf.ensure_shape(
                tf.raw_ops.ReadVariableOp(resource=handle(), dtype=source.dtype), source.shape
            )
            for handle, source in zip(handles, sources, strict=True)
        ]
