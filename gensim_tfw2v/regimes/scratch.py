"""Variables of a worker, made and used inside the functions that it is sent."""

import itertools
import uuid

from gensim_tfw2v._tensorflow import tf

_process, _number = uuid.uuid4().hex[:12], itertools.count()


def unique_name(what: str) -> str:
    """A name that no other variable of a worker has, whatever process asks for it."""
    return f"tfw2v-{what}-{_process}-{next(_number)}"


class Scratch:
    """A float32 variable [n, D] of the worker that runs the function.

    Parameters
    ----------
    name : str
        Shared by all calls: each call of a worker finds what the last one has left.
    size : int
        D.
    """

    def __init__(self, name: str, size: int) -> None:
        self._name, self._shape = name, tf.TensorShape([None, size])

    def handle(self) -> tf.Tensor:
        """A handle, which TensorFlow holds for that of a variable of its own.

        So what uses another handle is neither ordered nor delayed by it: order the use of the
        handles of one variable by control dependencies.
        """
        return tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=self._shape, shared_name=self._name, container=""
        )

    def assign(self, rows: tf.Tensor) -> tf.Operation:
        """Set the rows."""
        return tf.raw_ops.AssignVariableOp(resource=self.handle(), value=rows)

    def read(self) -> tf.Tensor:
        """All rows: [n, D]."""
        return tf.ensure_shape(
            tf.raw_ops.ReadVariableOp(resource=self.handle(), dtype=tf.float32), self._shape
        )


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
