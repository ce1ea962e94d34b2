"""The mathematics of a step as a TensorFlow graph, for TensorBoard's page of graphs.

Compiled kernels compute the same without a graph, and on one machine without TensorFlow. So it is
put together here from TensorBoard's own protocol buffers; TensorFlow can run it.

Letters of its equations: b predictions, w words of a window, n n-grams of a word, d dimensions, c
the centre word (one), s negative samples shared by the predictions, p nodes of a path.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_INT64

FLOAT = AttrValue(type=DT_FLOAT)
INT64 = AttrValue(type=DT_INT64)

#: The version of GraphDef that TensorFlow 2.21 writes.
PRODUCER = 2000


def objective_graph(
    objective: Any, words: int, rows: int, vector_size: int, shared: int, ns_exponent: float
) -> bytes:
    """Return the graph of a step of skip-gram or CBOW, a serialized ``GraphDef``.

    Parameters
    ----------
    objective : Objective
    words, rows, vector_size : int
        V, the rows that inputs are made of (more than V with n-grams), and D.
    shared : int
        Negative samples that predictions share.
    ns_exponent : float
    """
    graph = _Graph(vector_size)
    pools = []  # of rows into the hidden row: letter, whether by the mean, and updates by shares
    if not objective.skipgram:
        pools.append(("w", objective.mean, objective.mean == objective.corrected))
    if rows > words:
        pools.append(("n", True, False))
    letters = "".join(["b", *(letter for letter, *_ in pools)])
    inputs = graph.fed("batch/inputs", letters, INT64)
    vectors = graph.table("wv.vectors", rows)
    hidden = graph.read("embedding_lookup", vectors, inputs, letters)
    spread = []
    for letter, by_mean, by_shares in reversed(pools):
        each = letters
        letters = letters[:-1]
        scope = {"w": "hidden/window", "n": "hidden/ngrams"}[letter]
        real = graph.fed(f"batch/are_real_{letter}", each)  # 1, or 0 of what fills up
        hidden = graph.einsum(f"{scope}/sum", f"{each}d,{each}->{letters}d", hidden, real)
        spread.append((f"{letters}d,{each}->{each}d", real))
        if by_mean or by_shares:
            number = graph.einsum(f"{scope}/number", f"{each}->{letters}", real)
            one = graph.constant(f"{scope}/one", 1.0)
            share = graph.add(f"{scope}/share", "DivNoNan", letters, one, number)
            mean = f"{letters}d,{letters}->{letters}d", share
            if by_mean:
                hidden = graph.einsum(f"{scope}/mean", mean[0], hidden, share)
            if by_shares:
                spread.append(mean)

    gains = []
    losses = []

    def predict(name: str, table: str, ids: str, letters: str, label: str, weight: str) -> None:
        """Logistic regression of labels 1 and -1, each counted as often as its weight."""
        pairs = "b" + letters.removeprefix("b")
        rows = graph.read(f"output_lookup/{name}", table, ids, letters)
        scores = graph.einsum(f"scores/{name}", f"bd,{letters}d->{pairs}", hidden, rows)
        signed = graph.add(f"sigmoid/{name}/signed", "Mul", pairs, scores, label)
        wrong = graph.add(f"sigmoid/{name}/negated", "Neg", pairs, signed)
        error = graph.add(f"sigmoid/{name}/error", "Sigmoid", pairs, wrong)
        lost = graph.add(f"loss/{name}/each", "Softplus", pairs, wrong)
        lost = graph.add(f"loss/{name}/weighted", "Mul", pairs, lost, weight)
        losses.append(graph.einsum(f"loss/{name}/sum", f"{pairs}->", lost))
        gain = graph.add(f"gradients/{name}/signed", "Mul", pairs, error, label)
        gain = graph.add(f"gradients/{name}/weighted", "Mul", pairs, gain, weight)
        gains.append(
            graph.einsum(f"gradients/{name}/hidden", f"{pairs},{letters}d->bd", gain, rows)
        )
        change = graph.einsum(f"gradients/{name}/rows", f"{pairs},bd->{letters}d", gain, hidden)
        graph.update(f"update/{name}", table, ids, change, letters)

    one = graph.constant("sigmoid/one", 1.0)
    if objective.negative:
        syn1neg = graph.table("syn1neg", words)
        centres = graph.fed("batch/centres", "bc", INT64)
        predict("centre", syn1neg, centres, "bc", one, one)
        samples = graph.samples("negative_samples/sampled", centres, shared, words, ns_exponent)
        share = graph.constant("negative_samples/weight", objective.negative / shared)
        minus = graph.constant("sigmoid/minus_one", -1.0)
        predict("negatives", syn1neg, samples, "s", minus, share)
    if objective.hierarchical:
        path = graph.fed("batch/path", "bp", INT64)
        turns = graph.fed("batch/turns", "bp")
        # 1 or -1 at a node, 0 where a path is filled up
        real = graph.add("batch/are_real_p", "Abs", "bp", turns)
        predict("nodes", graph.table("syn1", words), path, "bp", turns, real)
    graph.add("loss/sum", "AddN", "", *losses, N=len(losses))
    gain = graph.add("gradients/hidden", "AddN", "bd", *gains, N=len(gains))
    for place, (equation, factor) in enumerate(reversed(spread)):
        gain = graph.einsum(f"gradients/inputs/{place}", equation, gain, factor)
    graph.update("update/inputs", vectors, inputs, gain, "".join(["b", *(x for x, *_ in pools)]))
    return bytes(graph.proto.SerializeToString())


class _Graph:
    """A ``GraphDef`` that grows: methods add an op and return its name.

    The shape of what it gives is told by the letters of the dimensions.
    """

    def __init__(self, vector_size: int) -> None:
        self.proto = GraphDef()
        self._sizes = defaultdict(lambda: -1, d=vector_size, c=1)  # by letters; -1: any
        self.proto.versions.producer = PRODUCER
        self._alpha = self.fed("batch/alpha", "")

    def add(self, name: str, op: str, letters: str, *inputs: str, **attributes: Any) -> str:
        """Add an op on float32, unless its attributes say on what."""
        node = self.proto.node.add(name=name, op=op, input=inputs)
        outputs = [] if op == "ResourceScatterAdd" else letters.split(",")
        shapes = AttrValue.ListValue(
            shape=[_shape(map(self._sizes.__getitem__, each)) for each in outputs]
        )
        typed = attributes if "dtype" in attributes or "range_max" in attributes else {"T": FLOAT}
        for key, value in (typed | attributes | {"_output_shapes": AttrValue(list=shapes)}).items():
            if not isinstance(value, AttrValue):
                kinds = {bool: "b", int: "i", float: "f", bytes: "s"}
                value = AttrValue(**{kinds[type(value)]: value})
            node.attr[key].CopyFrom(value)
        return name

    def fed(self, name: str, letters: str, dtype: AttrValue = FLOAT) -> str:
        shape = AttrValue(shape=_shape(map(self._sizes.__getitem__, letters)))
        return self.add(name, "Placeholder", letters, dtype=dtype, shape=shape)

    def constant(self, name: str, value: float) -> str:
        tensor = TensorProto(dtype=DT_FLOAT, tensor_shape=_shape([]), float_val=[value])
        return self.add(name, "Const", "", dtype=FLOAT, value=AttrValue(tensor=tensor))

    def table(self, name: str, rows: int) -> str:
        shape = AttrValue(shape=_shape([rows, self._sizes["d"]]))
        return self.add(
            name, "VarHandleOp", "", dtype=FLOAT, shape=shape, shared_name=name.encode()
        )

    def read(self, name: str, table: str, ids: str, letters: str) -> str:
        types = {"dtype": FLOAT, "Tindices": INT64}
        return self.add(name, "ResourceGather", f"{letters}d", table, ids, **types)

    def update(self, name: str, table: str, ids: str, change: str, letters: str) -> None:
        step = self.add(f"{name}/step", "Mul", f"{letters}d", change, self._alpha)
        # after all reading, which what the hidden row gains has waited for
        inputs = (table, ids, step, "^gradients/hidden")
        types = {"dtype": FLOAT, "Tindices": INT64}
        self.add(f"{name}/add", "ResourceScatterAdd", "", *inputs, **types)

    def einsum(self, name: str, equation: str, *inputs: str) -> str:
        letters = equation.partition("->")[2]
        given = {"equation": equation.encode(), "N": len(inputs)}
        return self.add(name, "Einsum", letters, *inputs, **given)

    def samples(self, name: str, targets: str, number: int, words: int, exponent: float) -> str:
        """Words drawn by their counts to the power of the exponent."""
        self._sizes["s"] = number
        given = {"num_true": 1, "num_sampled": number, "unique": False, "range_max": words}
        sampler = "FixedUnigramCandidateSampler"
        return self.add(name, sampler, "s,bc,s", targets, distortion=float(exponent), **given)


def _shape(sizes: Iterable[int]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])
