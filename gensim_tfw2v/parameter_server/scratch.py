"""Variables of a worker, which are created and used inside the functions that the worker runs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.files.array_file import ArrayFile
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.ops.arrays import map_array
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.parameter_server.combining import DirectedShare

#: Function that returns a new handle, a resource tensor, of a variable of the worker that runs it.
#: TensorFlow does not order the operations on different handles, as if they were handles of
#: different variables. So add control dependencies between the uses of one variable.
HandleMaker = Callable[[], Any]


class WorkerVariables:
    """Collection of the variables that the workers of a regime use.

    Each task of a cluster creates its variables by their names. Threads of this process share one
    traced function, and each call of the function captures the variables of its thread.

    Parameters
    ----------
    are_threads : bool
        Whether the workers are threads of this process.
    """

    def __init__(self, are_threads: bool = False) -> None:
        self._are_threads = are_threads
        self._names: list[str] = []

    def name(self, purpose: str) -> str:
        """Return a new name for a variable, which is unique across processes.

        Workers in the same process share the variable of this name.
        """
        self._names.append(f"tfw2v-{purpose}-{uuid.uuid4().hex}")
        return self._names[-1]

    def constants(self, sources: Any) -> Callable[[], Any]:
        """Return a function that returns constants on a worker.

        `sources` is any structure of ps variables, whose values workers cache, or of files, which
        workers map. The function returns the same structure of tensors.
        """
        if isinstance(tf.nest.flatten(sources)[0], ArrayFile):
            return lambda: tf.nest.map_structure(map_array, sources)
        names = [self.name("copy") for _ in tf.nest.flatten(sources)]
        return lambda: tf.nest.pack_sequence_as(
            sources, cached_values(tf.nest.flatten(sources), names)
        )

    def own(
        self,
        purpose: str,
        shape: Sequence[int | None],
        dtype: tf.DType | None = None,
        device: str | None = None,
    ) -> HandleMaker:
        """Add a variable that exists separately on each worker.

        Parameters
        ----------
        purpose : str
            Part of the variable's name.
        shape : sequence of int or None
        dtype : DType, optional
            By default float32.
        device : str, optional
            Device of the variables of threads, which are initialized with zeros. Variables of
            cluster tasks are not initialized, and are placed on the device that uses them.

        Returns
        -------
        HandleMaker
        """
        dtype = dtype or tf.float32
        if not self._are_threads:
            return named_handle_maker(self.name(purpose), shape, dtype)

        def make_variable() -> tf.Variable:
            with tf.device(device):
                zeros = tf.zeros([size or 0 for size in shape], dtype)
                return tf.Variable(zeros, trainable=False, shape=shape)

        example = make_variable()
        thread_local = threading.local()

        def get_thread_handle() -> tf.Tensor:
            if not hasattr(thread_local, "variable"):
                thread_local.variable = make_variable()
            return thread_local.variable.handle

        def make_handle() -> tf.Tensor:
            graph = tf.compat.v1.get_default_graph()
            while getattr(graph, "outer_graph", None) and graph.outer_graph.building_function:
                graph = graph.outer_graph  # from the body of a loop to the traced function
            with graph.as_default():
                # Each call of the traced function first calls `get_thread_handle` in its thread,
                # and passes the result to the graph.
                thread_handle = graph.capture_call_time_value(
                    get_thread_handle, example.handle, key=get_thread_handle
                )
            return tf.identity(thread_handle)

        return make_handle

    def free(self) -> None:
        """Free the named variables in this process, which exist if its threads are workers."""
        for device in tf.config.list_logical_devices():
            with tf.device(device.name):
                for name in self._names:
                    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name)
                    tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)
        self._names.clear()


def named_handle_maker(name: str, shape: Sequence[int | None], dtype: tf.DType) -> HandleMaker:
    """Return the `HandleMaker` of the variable with this name on the worker."""
    return partial(tf.raw_ops.VarHandleOp, dtype=dtype, shape=shape, shared_name=name, container="")


class Scratch:
    """Float32 variable [n, D] of the worker that runs a function, for rows that units train.

    The rows persist between the worker's calls of functions.

    Parameters
    ----------
    variables : WorkerVariables
        Collection to which the variable is added.
    name : str
        Part of the variable's name.
    size : int
        Number of columns D.
    row_size : int, optional
        Number of floats of a row in memory, if rows are padded; D by default.
    device : str, optional
        Device of the variable, if workers are threads; see `WorkerVariables.own`.

    Attributes
    ----------
    make_handle : HandleMaker
        Returns a new handle of the variable.
    """

    def __init__(
        self,
        variables: WorkerVariables,
        name: str,
        size: int,
        row_size: int | None = None,
        device: str | None = None,
    ) -> None:
        self._size = size
        self._shape = tf.TensorShape([None, row_size or size])
        self.make_handle = variables.own(name, [*self._shape], device=device)

    def assign(self, rows: tf.Tensor) -> tf.Operation:
        """Set the rows [n, D]; not for rows with padding."""
        return tf.raw_ops.AssignVariableOp(resource=self.make_handle(), value=rows)

    def read(self) -> tf.Tensor:
        """Return all rows [n, D]."""
        return tf.ensure_shape(table_memory(self.make_handle()), self._shape)[:, : self._size]

    def place(self, indices: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Operation:
        """Set the rows [n, D] from parts of any dtype.

        `indices` contains the indices of each part's rows.
        """
        return self.assign(tf.cast(join_parts(indices, parts), tf.float32))

    def changes(
        self,
        indices: list[tf.Tensor],
        fetched: list[tf.Tensor],
        share: DirectedShare | None,
        key: tf.Tensor,
    ) -> list[tf.Tensor]:
        """Return the changes of the rows since `place`, or only the fraction `share` of each.

        The arguments `indices` and `fetched` are those of `place`, and the result has the same
        parts and dtype as `fetched`. `key` [2], int32, seeds random rounding to int8.
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
        """Allocate memory for `n_rows` rows; with `init`, set them to zeros."""
        # `tf.zeros` would not do: TensorFlow merges equal constants, so all tables would share one
        # buffer.
        shape = tf.stack([n_rows, self._shape[1]])
        rows = tf.raw_ops.Empty(shape=shape, dtype=tf.float32, init=init)
        return tf.raw_ops.AssignVariableOp(resource=self.make_handle(), value=rows)

    def write_part(self, first: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Set n rows, from index `first`, to `rows` [n, D]."""
        return self._write(first + tf.range(tf.shape(rows)[0]), rows)

    def read_part(self, first: tf.Tensor, max_rows: int) -> tf.Tensor:
        """Return at most `max_rows` rows, from index `first` (int64): [n, D]."""
        n_rows = tf.raw_ops.VariableShape(input=self.make_handle(), out_type=tf.int64)[0]
        last = tf.minimum(n_rows, first + max_rows)
        return self._gather(tf.cast(tf.range(first, tf.maximum(first, last)), tf.int32))

    def _write(self, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.ResourceScatterUpdate(
            resource=self.make_handle(), indices=ids, updates=rows
        )

    def _gather(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.ResourceGather(resource=self.make_handle(), indices=ids, dtype=tf.float32)


class PaddedScratch(Scratch):
    """`Scratch` for the compiled kernels: its rows are padded to the kernels' stride.

    Compiled ops read and change the variable in place.
    """

    def __init__(self, variables: WorkerVariables, name: str, size: int) -> None:
        super().__init__(variables, name, size, row_size=stride(size), device="CPU")

    def place(self, indices: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Operation:
        """Set the rows [n, D]; see `Scratch.place`."""
        n_rows = tf.add_n([tf.size(part) for part in indices])
        with tf.device("CPU"):
            with tf.control_dependencies([self.allocate(n_rows, init=False)]):
                memory = table_memory(self.make_handle())
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
            memory = table_memory(self.make_handle())
            return [
                tf.ensure_shape(
                    load_ops().tfw2v_change(memory, part_indices, part, *fractions, key), part.shape
                )
                for part_indices, part in zip(indices, fetched, strict=True)
            ]

    def _write(self, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU"):
            return load_ops().tfw2v_scatter(table_memory(self.make_handle()), ids, rows)

    def _gather(self, ids: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU"):
            memory = table_memory(self.make_handle())
            return load_ops().tfw2v_fetch(memory, ids, self._size, dtype=tf.float32)


def join_parts(indices: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Tensor:
    """Join parts of rows; `indices` contains the indices of each part's rows in the result."""
    return parts[0] if len(parts) == 1 else tf.dynamic_stitch(indices, parts)


def cached_values(sources: Sequence[tf.Variable], names: Sequence[str]) -> list[tf.Tensor]:
    """Return the values of constant ps variables, which the worker caches under these names.

    The values are sent when a worker needs them for the first time, and again after a restart.
    """
    handle_makers = [
        named_handle_maker(name, [None] * source.shape.rank, source.dtype)
        for source, name in zip(sources, names, strict=True)
    ]

    def fetch() -> tf.Tensor:
        values = [source.read_value() for source in sources]
        with tf.control_dependencies(
            [
                tf.raw_ops.AssignVariableOp(resource=make_handle(), value=value)
                for make_handle, value in zip(handle_makers, values, strict=True)
            ]
        ):
            return tf.constant(True)

    # A concurrent call of `fetch` may have set some variables, but not all. So check each of them.
    are_set = [
        tf.raw_ops.VarIsInitializedOp(resource=make_handle()) for make_handle in handle_makers
    ]
    with tf.control_dependencies(
        [tf.cond(tf.reduce_all(are_set), lambda: tf.constant(True), fetch)]
    ):
        return [
            tf.ensure_shape(
                tf.raw_ops.ReadVariableOp(resource=make_handle(), dtype=source.dtype), source.shape
            )
            for make_handle, source in zip(handle_makers, sources, strict=True)
        ]
