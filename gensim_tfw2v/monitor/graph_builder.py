"""Builder of TensorFlow graphs that needs TensorBoard's protocol buffers, but not TensorFlow.

Shapes are strings of letters, one per dimension, as in an einsum equation: "bd" is a matrix.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_INT32, DT_INT64

#: Attribute for the type of 32-bit floats.
FLOAT = AttrValue(type=DT_FLOAT)

#: Attributes for the types of 32-bit and 64-bit integers.
INT32 = AttrValue(type=DT_INT32)
INT64 = AttrValue(type=DT_INT64)

#: Shape of a scalar.
SCALAR = ""

#: Version number of the GraphDef format that TensorFlow 2.21 writes.
PRODUCER = 2000

#: Attributes of ops that read or change rows: types of the elements, and of the rows' indices.
_ROWS = {"dtype": FLOAT, "Tindices": INT64}

#: Fixed attributes of each type of op. Types that are not listed here have ``T = float32``.
_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "ConcatV2": {"Tidx": INT32},
    "Const": {},
    "FixedUnigramCandidateSampler": {"num_true": 1, "unique": False},
    "Placeholder": {},
    "Reshape": {"T": FLOAT, "Tshape": INT32},
    "ResourceGather": _ROWS,
    "ResourceScatterAdd": _ROWS,
    "VarHandleOp": {"dtype": FLOAT},
}

#: Names of the fields of `AttrValue` for values of Python's types.
_FIELDS = {bool: "b", int: "i", float: "f", bytes: "s"}


class GraphBuilder:
    """Builder of a ``GraphDef``, its attribute `proto`.

    Each method adds an op and returns the op's name, by which further ops use it as an operand.

    Parameters
    ----------
    sizes : mapping from str to int
        Sizes of dimensions, by letter. Dimensions of other letters have unknown sizes.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.proto = GraphDef()
        self.proto.versions.producer = PRODUCER
        self._sizes = dict(sizes)

    def op(
        self,
        name: str,
        op_type: str,
        operands: Sequence[str],
        *output_shapes: str,
        **attributes: Any,
    ) -> str:
        """Add an op with the names of its operands, the shapes of its outputs, and attributes.

        The shapes are left out if the op has no outputs, or if they have no letters.
        """
        node = self.proto.node.add(name=name, op=op_type, input=operands)
        values = {**attributes, **_ATTRIBUTES.get(op_type, {"T": FLOAT})}
        if output_shapes:
            shapes = AttrValue.ListValue(shape=map(self._shape, output_shapes))
            values["_output_shapes"] = AttrValue(list=shapes)
        for key, value in values.items():
            if not isinstance(value, AttrValue):
                value = AttrValue(**{_FIELDS[type(value)]: value})
            node.attr[key].CopyFrom(value)
        return name

    def einsum(self, name: str, equation: str, *operands: str) -> str:
        """Add the op of an einsum equation, such as "ij,jk->ik"."""
        output_shape = equation.partition("->")[2]
        attributes = {"N": len(operands), "equation": equation.encode()}
        return self.op(name, "Einsum", operands, output_shape, **attributes)

    def sum(self, name: str, operands: Sequence[str], shape: str) -> str:
        """Add the op that sums its operands, which all have this shape."""
        return self.op(name, "AddN", operands, shape, N=len(operands))

    def concatenate(
        self, name: str, operands: Sequence[str], axis: int, shape: str, dtype: AttrValue = FLOAT
    ) -> str:
        """Add the op that concatenates its operands along a dimension, to a tensor of `shape`."""
        axis_op = self._integers(f"{name}/axis", axis)
        return self.op(name, "ConcatV2", (*operands, axis_op), shape, N=len(operands), T=dtype)

    def reshape(self, name: str, operand: str, shape: str) -> str:
        """Add the op that reshapes a tensor. Only one dimension of `shape` may lack a size."""
        shape_op = self._integers(f"{name}/shape", self._list_sizes(shape))
        return self.op(name, "Reshape", (operand, shape_op), shape)

    def feed(self, name: str, shape: str, dtype: AttrValue = FLOAT) -> str:
        """Add a placeholder, for a tensor that is fed to the graph in each step."""
        attributes = {"dtype": dtype, "shape": AttrValue(shape=self._shape(shape))}
        return self.op(name, "Placeholder", (), shape, **attributes)

    def constant(self, name: str, value: float) -> str:
        """Add a constant scalar."""
        tensor = TensorProto(dtype=DT_FLOAT, tensor_shape=self._shape(SCALAR), float_val=[value])
        return self.op(name, "Const", (), SCALAR, dtype=FLOAT, value=AttrValue(tensor=tensor))

    def table(self, name: str, n_rows: int, letter: str) -> str:
        """Add the resource handle of a variable: `n_rows` rows, whose elements have a letter."""
        shape = AttrValue(shape=_shape_of_sizes([n_rows, self._sizes[letter]]))
        return self.op(name, "VarHandleOp", (), SCALAR, shape=shape, shared_name=name.encode())

    def _integers(self, name: str, values: int | list[int]) -> str:
        """Add a constant integer or a constant vector of integers, whose length has no letter."""
        vector = [values] if isinstance(values, int) else values
        dimensions = [] if isinstance(values, int) else [len(vector)]
        tensor = TensorProto(
            dtype=DT_INT32, tensor_shape=_shape_of_sizes(dimensions), int_val=vector
        )
        return self.op(name, "Const", (), dtype=INT32, value=AttrValue(tensor=tensor))

    def _shape(self, letters: str) -> TensorShapeProto:
        """Convert a shape from letters to sizes."""
        return _shape_of_sizes(self._list_sizes(letters))

    def _list_sizes(self, letters: str) -> list[int]:
        """Return the size of each dimension; -1 if it is unknown."""
        return [self._sizes.get(letter, -1) for letter in letters]


def _shape_of_sizes(sizes: Sequence[int]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])
