"""All integers of a step side by side, so that two ops take them out of a unit instead of many.

A step is short, and running an op costs about as much as copying a thousand integers.
"""

from collections.abc import Callable
from typing import TypeVar

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.scopes import scoped

Structure = TypeVar("Structure")


def pack_steps(structure: Structure) -> Callable[[tf.Tensor], Structure]:
    """Pack tensors that hold something for each step.

    Parameters
    ----------
    structure : nested tuples of Tensor [steps, ...], int32 or float32
        Dimensions that are known when the program is built are known after unpacking as well.

    Returns
    -------
    function (step : Tensor []) -> the same structure of Tensor [...]
    """
    tensors = tf.nest.flatten(structure)
    shapes = [
        tensor.shape[1:] if tensor.shape[1:].is_fully_defined() else tf.shape(tensor)[1:]
        for tensor in tensors
    ]
    sizes = [
        shape.num_elements() if isinstance(shape, tf.TensorShape) else tf.reduce_prod(shape)
        for shape in shapes
    ]
    table = tf.concat(
        [
            tf.reshape(tf.bitcast(tensor, tf.int32), [-1, size])
            for tensor, size in zip(tensors, sizes, strict=True)
        ],
        1,
    )

    @scoped("plan")
    def unpack(step: tf.Tensor) -> Structure:
        parts = tf.split(tf.gather(table, step), sizes)
        return tf.nest.pack_sequence_as(
            structure,
            [
                tf.bitcast(tf.reshape(part, shape), tensor.dtype)
                for part, shape, tensor in zip(parts, shapes, tensors, strict=True)
            ],
        )

    return unpack
