"""The mathematics of a training step as a TensorFlow graph, for TensorBoard's graph page.

The compiled kernels compute the same step without a graph, and on one machine without TensorFlow.
So the graph is built here from TensorBoard's own protocol buffers. TensorFlow can run it.

Letters of dimensions: b predictions, w words of a window, n n-grams of a word, d vector size, c
centre word (one), s negative samples shared by the predictions, p nodes of a path.
"""

from collections import defaultdict
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_INT64

FLOAT = AttrValue(type=DT_FLOAT)
INT64 = AttrValue(type=DT_INT64)
_ROWS = {"dtype": FLOAT, "Tindices": INT64}

#: Attributes by op type. Ops that are not listed here have a single attribute, T = float32.
TYPES: dict[str, dict[str, Any]] = {
    "Const": {"dtype": FLOAT},
    "FixedUnigramCandidateSampler": {"num_true": 1, "unique": False},
    "Placeholder": {},
    "ResourceGather": _ROWS,
    "ResourceScatterAdd": _ROWS,
    "VarHandleOp": {"dtype": FLOAT},
}

#: The version of GraphDef that TensorFlow 2.21 writes.
PRODUCER = 2000

# One op per line: its name, op type, letters of the output's dimensions (or einsum equation; - for
# a scalar or no output), and inputs.

#: Sum of a pool of rows, such as a window's words; {real} is 1 for rows, and 0 for padding.
POOL = """
{scope}/sum     Einsum    {each}d,{each}->{rest}d  {hidden} {real}
"""

#: Reciprocal of the number of rows in a pool.
SHARE = """
{scope}/number  Einsum    {each}->{rest}           {real}
{scope}/share   DivNoNan  {rest}                   {scope}/one {scope}/number
"""

#: Mean of a pool.
MEAN = """
{scope}/mean    Einsum    {rest}d,{rest}->{rest}d  {scope}/sum {scope}/share
"""

#: Logistic regression with labels 1 and -1: loss and gradients, multiplied by a weight per pair.
PREDICTION = """
output_lookup/{name}       ResourceGather  {rows}d             {table} {ids}
scores/{name}              Einsum          bd,{rows}d->{pairs} {hidden} output_lookup/{name}
sigmoid/{name}/signed      Mul             {pairs}             scores/{name} {label}
sigmoid/{name}/negated     Neg             {pairs}             sigmoid/{name}/signed
sigmoid/{name}/error       Sigmoid         {pairs}             sigmoid/{name}/negated
loss/{name}/each           Softplus        {pairs}             sigmoid/{name}/negated
loss/{name}/weighted       Mul             {pairs}             loss/{name}/each {weight}
loss/{name}/sum            Einsum          {pairs}->           loss/{name}/weighted
gradients/{name}/signed    Mul             {pairs}             sigmoid/{name}/error {label}
gradients/{name}/weighted  Mul             {pairs}             gradients/{name}/signed {weight}
gradients/{name}/hidden    Einsum          {pairs},{rows}d->bd {delta} output_lookup/{name}
gradients/{name}/rows      Einsum          {pairs},bd->{rows}d {delta} {hidden}
"""

#: Update of rows. It waits for the gradient of the hidden row (^), and so for all reads of rows.
UPDATE = """
update/{name}/step  Mul                 {rows}d  {change} batch/alpha
update/{name}/add   ResourceScatterAdd  -        {table} {ids} update/{name}/step ^gradients/hidden
"""


def objective_graph(
    objective: Any, words: int, rows: int, vector_size: int, shared: int, ns_exponent: float
) -> bytes:
    """Return the graph of a step of skip-gram or CBOW, a serialized ``GraphDef``.

    Parameters
    ----------
    objective : Objective
    words, rows, vector_size : int
        Vocabulary size V, number of input rows (more than V with n-grams), and vector size D.
    shared : int
        Number of negative samples that the predictions share.
    ns_exponent : float
    """
    graph = _Graph(vector_size, shared)
    # Pools of rows that form the hidden row. Elements: the letter of the pool's dimension; True for
    # the mean of its rows, False for the sum; and True if the update of each row is divided by the
    # number of rows in the pool.
    pools = []
    if not objective.skipgram:
        pools.append(("w", objective.mean, objective.mean == objective.corrected))
    if rows > words:
        pools.append(("n", True, False))
    all_letters = letters = "".join(["b", *(letter for letter, *_ in pools)])
    graph.feed("batch/alpha", "-")
    graph.feed("batch/inputs", letters, INT64)
    graph.table("wv.vectors", rows)
    hidden = "embedding_lookup"
    graph.add(f"{hidden} ResourceGather {letters}d wv.vectors batch/inputs")
    spread = []
    for letter, by_mean, by_shares in reversed(pools):
        each = letters
        letters = letters[:-1]
        scope = {"w": "hidden/window", "n": "hidden/ngrams"}[letter]
        real = f"batch/are_real_{letter}"
        graph.feed(real, each)  # 1 for rows, 0 for padding
        named = {"scope": scope, "each": each, "rest": letters, "real": real}
        graph.add(POOL.format(**named, hidden=hidden))
        hidden = f"{scope}/sum"
        spread.append((f"{letters}d,{each}->{each}d", real))
        if by_mean or by_shares:
            graph.constant(f"{scope}/one", 1.0)
            graph.add(SHARE.format(**named))
        if by_mean:
            graph.add(MEAN.format(**named))
            hidden = f"{scope}/mean"
        if by_shares:
            spread.append((f"{letters}d,{letters}->{letters}d", f"{scope}/share"))

    predicted = []

    def predict(name: str, table: str, ids: str, rows: str, label: str, weight: str) -> None:
        delta = f"gradients/{name}/weighted"
        named = {"name": name, "table": table, "ids": ids, "rows": rows, "hidden": hidden}
        pairs = "b" + rows.removeprefix("b")
        graph.add(PREDICTION.format(**named, pairs=pairs, label=label, weight=weight, delta=delta))
        graph.add(UPDATE.format(**named, change=f"gradients/{name}/rows"))
        predicted.append(name)

    one = "sigmoid/one"
    graph.constant(one, 1.0)
    if objective.negative:
        graph.table("syn1neg", words)
        graph.feed("batch/centres", "bc", INT64)
        predict("centre", "syn1neg", "batch/centres", "bc", one, one)
        samples = "negative_samples/sampled"
        weight = "negative_samples/weight"
        sampler = f"{samples} FixedUnigramCandidateSampler s,bc,s batch/centres"
        exponent = float(ns_exponent)
        graph.add(sampler, num_sampled=shared, range_max=words, distortion=exponent)
        graph.constant(weight, objective.negative / shared)
        graph.constant("sigmoid/minus_one", -1.0)
        predict("negatives", "syn1neg", samples, "s", "sigmoid/minus_one", weight)
    if objective.hierarchical:
        graph.table("syn1", words)
        graph.feed("batch/path", "bp", INT64)
        graph.feed("batch/turns", "bp")
        # a turn is 1 or -1 at a node, and 0 in the padding of a path
        graph.add("batch/are_real_p Abs bp batch/turns")
        predict("nodes", "syn1", "batch/path", "bp", "batch/turns", "batch/are_real_p")
    graph.add("loss/sum AddN - " + " ".join(f"loss/{name}/sum" for name in predicted))
    delta = "gradients/hidden"
    graph.add(f"{delta} AddN bd " + " ".join(f"gradients/{name}/hidden" for name in predicted))
    for place, (equation, factor) in enumerate(reversed(spread)):
        graph.add(f"gradients/inputs/{place} Einsum {equation} {delta} {factor}")
        delta = f"gradients/inputs/{place}"
    inputs = {"table": "wv.vectors", "ids": "batch/inputs", "rows": all_letters}
    graph.add(UPDATE.format(name="inputs", change=delta, **inputs))
    return graph.proto.SerializeToString()


class _Graph:
    """A ``GraphDef`` under construction; letters of dimensions define the shapes of outputs."""

    def __init__(self, vector_size: int, shared: int) -> None:
        self.proto = GraphDef()
        # sizes by letter; -1 for unknown sizes
        self._sizes = defaultdict(lambda: -1, d=vector_size, c=1, s=shared)
        self.proto.versions.producer = PRODUCER

    def add(self, ops: str, **attributes: Any) -> None:
        """Add the ops of a text, one per line; `attributes` are for texts with a single op."""
        for line in ops.strip().splitlines():
            name, op, letters, *inputs = line.split()
            node = self.proto.node.add(name=name, op=op, input=inputs)
            given = attributes | TYPES.get(op, {"T": FLOAT})
            if op in ("Einsum", "AddN"):
                given["N"] = len(inputs)
            if op == "Einsum":
                given["equation"] = letters.encode()
                letters = letters.partition("->")[2]
            outputs = [] if op == "ResourceScatterAdd" else letters.split(",")
            shapes = AttrValue.ListValue(shape=map(self._shape, outputs))
            for key, value in (given | {"_output_shapes": AttrValue(list=shapes)}).items():
                if not isinstance(value, AttrValue):
                    kinds = {bool: "b", int: "i", float: "f", bytes: "s"}
                    value = AttrValue(**{kinds[type(value)]: value})
                node.attr[key].CopyFrom(value)

    def _shape(self, letters: str) -> TensorShapeProto:
        sizes = map(self._sizes.__getitem__, letters.removeprefix("-"))
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])

    def feed(self, name: str, letters: str, dtype: AttrValue = FLOAT) -> None:
        shape = AttrValue(shape=self._shape(letters))
        self.add(f"{name} Placeholder {letters}", dtype=dtype, shape=shape)

    def constant(self, name: str, value: float) -> None:
        tensor = TensorProto(dtype=DT_FLOAT, tensor_shape=self._shape("-"), float_val=[value])
        self.add(f"{name} Const -", value=AttrValue(tensor=tensor))

    def table(self, name: str, rows: int) -> None:
        self._sizes["V"] = rows
        shape = AttrValue(shape=self._shape("Vd"))
        self.add(f"{name} VarHandleOp -", shape=shape, shared_name=name.encode())
