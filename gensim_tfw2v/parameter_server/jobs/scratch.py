"""Variables of a worker, made and used inside the functions that it is sent."""

from __future__ import annotations

import uuid
from functools import partial

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import load_ops, stride
from gensim_tfw2v.parameter_server.curvature import DirectedShare


def unique_name(what: str) -> str:
    """A name that no other variable of a worker has, whatever process asks for it."""
    return f"tfw2v-{what}-{uuid.uuid4().hex}"


class WorkerVariables:
    """Names of the variables that a regime's workers make, by which they are freed."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def name(self, what: str) -> str:
        """Give a `unique_name` for one more."""
        self._names.append(unique_name(what))
        return self._names[-1]

    def free(self) -> None:
        """Free those of workers that are threads of this process."""
        for device in tf.config.list_logical_devices():
            with tf.device(device.name):
                for name in self._names:
                    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name)
                    tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)
        self._names.clear()


class Scratch:
    """A float32 variable [n, D] of the worker that runs the function.

    Parameters
    ----------
    name : str
        Shared by all calls: each call of a worker finds what the last one has left.
    size : int
        D.
    native : bool
        Whether compiled kernels train it: its rows are then filled up to their stride.
    """

    def __init__(self, name: str, size: int, native: bool = False) -> None:
        self._name, self._size, self._native = name, size, native
        self._shape = tf.TensorShape([None, stride(size) if native else size])

    def handle(self) -> tf.Tensor:
        """A handle, which TensorFlow holds for that of a variable of its own.

        So what uses another handle is neither ordered nor delayed by it: order the use of the
        handles of one variable by control dependencies.
        """
        return tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=self._shape, shared_name=self._name, container=""
        )

    def assign(self, rows: tf.Tensor) -> tf.Operation:
        """Set the rows [n, D]."""
        if self._native:
            with tf.device("CPU"):
                rows = load_ops().tfw2v_pad(rows)
        return tf.raw_ops.AssignVariableOp(resource=self.handle(), value=rows)

    def read(self) -> tf.Tensor:
        """All rows: [n, D]."""
        rows = tf.raw_ops.ReadVariableOp(resource=self.handle(), dtype=tf.float32)
        return tf.ensure_shape(rows, self._shape)[:, : self._size]

    def place(self, places: list[tf.Tensor], parts: list[tf.Tensor]) -> tf.Operation:
        """Set the rows [n, D], given by parts of any dtype, and where the rows of each part go."""
        if not self._native:
            rows = parts[0] if len(parts) == 1 else tf.dynamic_stitch(places, parts)
            return self.assign(tf.cast(rows, tf.float32))
        number = tf.add_n([tf.size(part) for part in places])
        with tf.device("CPU"):
            memory = tf.raw_ops.Empty(shape=tf.stack([number, self._shape[1]]), dtype=tf.float32)
            with tf.control_dependencies(
                [tf.raw_ops.AssignVariableOp(resource=self.handle(), value=memory)]
            ):
                whole = self._whole()
            return tf.group(*map(partial(load_ops().tfw2v_place, whole), places, parts))

    def changes(
        self, places: list[tf.Tensor], known: list[tf.Tensor], share: DirectedShare | None
    ) -> list[tf.Tensor]:
        """By how much rows differ from what was placed, in its dtype, or a share of it."""
        if self._native:
            of_rows = share or (tf.zeros([0]), tf.zeros([0]), tf.zeros([0], tf.int32))
            with tf.device("CPU"):
                whole = self._whole()
                return [
                    tf.ensure_shape(load_ops().tfw2v_change(whole, at, part, *of_rows), part.shape)
                    for at, part in zip(places, known, strict=True)
                ]
        rows, changes = self.read(), []
        for at, part in zip(places, known, strict=True):
            change = tf.gather(rows, at) - tf.cast(part, tf.float32)
            if share is not None:
                change = share.of(change, at)
            changes.append(tf.cast(change, part.dtype))
        return changes

    def _whole(self) -> tf.Tensor:
        """The memory of all rows, with what they are filled up with."""
        return tf.raw_ops.ReadVariableOp(resource=self.handle(), dtype=tf.float32)

    def zeros(self, number: tf.Tensor) -> tf.Operation:
        """Have so many rows of zeros."""
        # not tf.zeros: of equal ones TensorFlow makes one, and kernels would train all tables in it
        shape = tf.stack([number, self._shape[1]])
        rows = tf.raw_ops.Empty(shape=shape, dtype=tf.float32, init=True)
        return tf.raw_ops.AssignVariableOp(resource=self.handle(), value=rows)

    def write_part(self, first: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Set rows [n, D] from `first` on."""
        handle = self.handle()
        if self._native:
            with tf.device("CPU"):
                whole = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
                return load_ops().tfw2v_write(whole, tf.cast(first, tf.int64), rows)
        ids = first + tf.range(tf.shape(rows)[0])
        return tf.raw_ops.ResourceScatterUpdate(resource=handle, indices=ids, updates=rows)

    def read_part(self, first: tf.Tensor, most: int) -> tf.Tensor:
        """Rows from `first`, int64, on, or what there are of them: [n, D]."""
        handle = self.handle()
        rows = tf.raw_ops.VariableShape(input=handle, out_type=tf.int64)[0]
        last = tf.minimum(rows, first + most)
        if self._native:
            with tf.device("CPU"):
                whole = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
                number = tf.maximum(tf.zeros([], tf.int64), last - first)
                return load_ops().tfw2v_read(whole, tf.minimum(first, rows), number, self._size)
        ids = tf.range(first, last)
        return tf.raw_ops.ResourceGather(resource=handle, indices=ids, dtype=tf.float32)


def cached(source: tf.Variable, name: str) -> tf.Tensor:
    """The value of a variable of another task that never changes, kept by the worker.

    It travels when a worker asks for the first time: also one that was started anew.
    """
    shape = tf.TensorShape([None] * source.shape.rank)

    def handle() -> tf.Tensor:
        return tf.raw_ops.VarHandleOp(
            dtype=source.dtype, shape=shape, shared_name=name, container=""
        )

    def fetch() -> tf.Tensor:
        with tf.control_dependencies(
            [tf.raw_ops.AssignVariableOp(resource=handle(), value=source.read_value())]
        ):
            return tf.constant(True)

    known = tf.raw_ops.VarIsInitializedOp(resource=handle())
    with tf.control_dependencies([tf.cond(known, lambda: tf.constant(True), fetch)]):
        value = tf.raw_ops.ReadVariableOp(resource=handle(), dtype=source.dtype)
    return tf.ensure_shape(value, source.shape)
