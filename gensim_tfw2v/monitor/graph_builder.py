"""TensorFlow graphs that are built without TensorFlow, from TensorBoard's own protocol buffers.

Shapes are strings of letters, one per dimension, as in an einsum equation: "bd" is a matrix.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_INT64

FLOAT = AttrValue(type=DT_FLOAT)
INT64 = AttrValue(type=DT_INT64)

#: Shape of a scalar.
SCALAR = ""

#: The version of GraphDef that TensorFlow 2.21 writes.
PRODUCER = 2000

#: Types of the elements and indices of ops that use the rows of a table.
_ROWS = {"dtype": FLOAT, "Tindices": INT64}

#: Attributes of each op type except ``T = float32``, the only attribute of types not listed here.
_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Const": {"dtype": FLOAT},
    "FixedUnigramCandidateSampler": {"num_true": 1, "unique": False},
    "Placeholder": {},
    "ResourceGather": _ROWS,
    "ResourceScatterAdd": _ROWS,
    "VarHandleOp": {"dtype": FLOAT},
}

#: Fields of `AttrValue` for Python's types.
_FIELDS = {bool: "b", int: "i", float: "f", bytes: "s"}


class GraphBuilder:
    """A ``GraphDef`` under construction.

    Each method adds an op and returns its name, which is an input of further ops.

    Parameters
    ----------
    sizes : mapping from str to int
        Sizes of dimensions, by letter; the remaining ones are unknown.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.proto = GraphDef()
        self.proto.versions.producer = PRODUCER
        self._sizes = dict(sizes)

    def op(
        self,
        name: str,
        op_type: str,
        inputs: Sequence[str],
        *output_shapes: str,
        **attributes: Any,
    ) -> str:
        """Add an op with these inputs, shapes of outputs and attributes."""
        node = self.proto.node.add(name=name, op=op_type, input=inputs)
        shapes = AttrValue.ListValue(shape=map(self._shape, output_shapes))
        values = {**attributes, **_ATTRIBUTES.get(op_type, {"T": FLOAT})}
        for key, value in (values | {"_output_shapes": AttrValue(list=shapes)}).items():
            if not isinstance(value, AttrValue):
                value = AttrValue(**{_FIELDS[type(value)]: value})
            node.attr[key].CopyFrom(value)
        return name

    def einsum(self, name: str, equation: str, *inputs: str) -> str:
        """Add the op of an einsum equation, such as "ij,jk->ik"."""
        output_shape = equation.partition("->")[2]
        attributes = {"N": len(inputs), "equation": equation.encode()}
        return self.op(name, "Einsum", inputs, output_shape, **attributes)

    def sum(self, name: str, inputs: Sequence[str], shape: str) -> str:
        """Add the op that sums its inputs, all of this shape."""
        return self.op(name, "AddN", inputs, shape, N=len(inputs))

    def feed(self, name: str, shape: str, dtype: AttrValue = FLOAT) -> str:
        """Add a placeholder for an element of the batch."""
        attributes = {"dtype": dtype, "shape": AttrValue(shape=self._shape(shape))}
        return self.op(name, "Placeholder", (), shape, **attributes)

    def constant(self, name: str, value: float) -> str:
        """Add a scalar."""
        tensor = TensorProto(dtype=DT_FLOAT, tensor_shape=self._shape(SCALAR), float_val=[value])
        return self.op(name, "Const", (), SCALAR, value=AttrValue(tensor=tensor))

    def table(self, name: str, n_rows: int) -> str:
        """Add the handle of a variable with `n_rows` rows of size d."""
        dimensions = [TensorShapeProto.Dim(size=size) for size in (n_rows, self._sizes["d"])]
        shape = AttrValue(shape=TensorShapeProto(dim=dimensions))
        return self.op(name, "VarHandleOp", (), SCALAR, shape=shape, shared_name=name.encode())

    def _shape(self, letters: str) -> TensorShapeProto:
        sizes = [self._sizes.get(letter, -1) for letter in letters]
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])
