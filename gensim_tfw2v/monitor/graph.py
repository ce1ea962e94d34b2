"""The mathematics of a training step as a TensorFlow graph, for TensorBoard's graph page.

The compiled kernels compute the same step without a graph, and on one machine without TensorFlow.
So the graph is built here, and TensorFlow can run it.

Letters of dimensions: b predictions, w words of a window, n n-grams of a word, d vector size, c
centre word (one), s negative samples shared by the predictions, p nodes of a path.
"""

from dataclasses import dataclass
from typing import Any

from gensim_tfw2v.monitor.graph_builder import INT64, SCALAR, GraphBuilder
from gensim_tfw2v.weight_tables import NODES, OUTPUTS, VECTORS

# Names of ops that several functions use.
ALPHA = "batch/alpha"
INPUT_IDS = "batch/inputs"
ONE = "sigmoid/one"
HIDDEN_GRADIENT = "gradients/hidden"


@dataclass(frozen=True)
class Pool:
    """Rows that are combined into one row, such as a window's words.

    Attributes
    ----------
    letter : str
        Letter of the dimension of the rows.
    scope : str
        Scope of the names of ops.
    by_mean : bool
        Whether rows are averaged, or summed.
    divides_updates : bool
        Whether the update of each row is divided by the number of rows.
    """

    letter: str
    scope: str
    by_mean: bool
    divides_updates: bool


@dataclass(frozen=True)
class Factor:
    """Factor of the gradient of a pooled row, from which the gradients of its rows follow."""

    equation: str
    op: str


@dataclass(frozen=True)
class Prediction:
    """Logistic regression with labels 1 and -1, on pairs of a hidden row and a row of a table.

    Attributes
    ----------
    name : str
        Name of ops in each scope.
    table : str
        Op of the table.
    ids : str
        Op of the indices of the rows.
    rows : str
        Letters of the dimensions of `ids`.
    label, weight : str
        Ops of the labels, and of the weights of the losses and gradients of pairs.
    """

    name: str
    table: str
    ids: str
    rows: str
    label: str
    weight: str


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
    graph = GraphBuilder({"d": vector_size, "c": 1, "s": shared})
    pools = []
    if not objective.skipgram:
        corrects = objective.mean == objective.corrected
        pools.append(Pool("w", "hidden/window", objective.mean, divides_updates=corrects))
    if rows > words:
        pools.append(Pool("n", "hidden/ngrams", by_mean=True, divides_updates=False))
    shape = "b" + "".join(pool.letter for pool in pools)
    graph.feed(ALPHA, SCALAR)
    graph.feed(INPUT_IDS, shape, INT64)
    graph.table(VECTORS.name, rows)
    inputs = (VECTORS.name, INPUT_IDS)
    hidden = graph.op("embedding_lookup", "ResourceGather", inputs, f"{shape}d")
    factors: list[Factor] = []
    pooled_shape = shape
    for pool in reversed(pools):
        hidden, pool_factors = _add_pool(graph, pool, pooled_shape, hidden)
        factors += pool_factors
        pooled_shape = pooled_shape.removesuffix(pool.letter)
    graph.constant(ONE, 1.0)
    names = []
    if objective.negative:
        exponent = float(ns_exponent)
        names += _add_negative_sampling(graph, hidden, words, objective.negative, shared, exponent)
    if objective.hierarchical:
        names += _add_hierarchical_softmax(graph, hidden, words)
    graph.sum("loss/sum", [f"loss/{name}/sum" for name in names], SCALAR)
    gradient = graph.sum(HIDDEN_GRADIENT, [f"gradients/{name}/hidden" for name in names], "bd")
    for index, factor in enumerate(reversed(factors)):
        gradient = graph.einsum(f"gradients/inputs/{index}", factor.equation, gradient, factor.op)
    _add_update(graph, "inputs", VECTORS.name, INPUT_IDS, shape, gradient)
    return graph.proto.SerializeToString()


def _add_pool(graph: GraphBuilder, pool: Pool, shape: str, rows: str) -> tuple[str, list[Factor]]:
    """Add the sum or mean of a pool's rows, which have the op `rows` and the shape [*shape, d].

    Returns the op of the pooled row, and the factors of its gradient.
    """
    pooled_shape = shape.removesuffix(pool.letter)
    are_real = graph.feed(f"batch/are_real_{pool.letter}", shape)  # 1 for rows, 0 for padding
    pooled = graph.einsum(f"{pool.scope}/sum", f"{shape}d,{shape}->{pooled_shape}d", rows, are_real)
    factors = [Factor(f"{pooled_shape}d,{shape}->{shape}d", are_real)]
    if pool.by_mean or pool.divides_updates:
        unit = graph.constant(f"{pool.scope}/one", 1.0)
        n_rows = graph.einsum(f"{pool.scope}/number", f"{shape}->{pooled_shape}", are_real)
        share = graph.op(f"{pool.scope}/share", "DivNoNan", (unit, n_rows), pooled_shape)
        if pool.by_mean:
            equation = f"{pooled_shape}d,{pooled_shape}->{pooled_shape}d"
            pooled = graph.einsum(f"{pool.scope}/mean", equation, pooled, share)
        if pool.divides_updates:
            factors.append(Factor(f"{pooled_shape}d,{pooled_shape}->{pooled_shape}d", share))
    return pooled, factors


def _add_negative_sampling(
    graph: GraphBuilder, hidden: str, words: int, negative: int, shared: int, exponent: float
) -> list[str]:
    """Add the predictions of centres and of shared negatives; return their names."""
    table = graph.table(OUTPUTS.name, words)
    centres = graph.feed("batch/centres", "bc", INT64)
    _add_prediction(graph, Prediction("centre", table, centres, "bc", ONE, ONE), hidden)
    samples = graph.op(
        "negative_samples/sampled",
        "FixedUnigramCandidateSampler",
        (centres,),
        "s",
        "bc",
        "s",
        num_sampled=shared,
        range_max=words,
        distortion=exponent,
    )
    weight = graph.constant("negative_samples/weight", negative / shared)
    label = graph.constant("sigmoid/minus_one", -1.0)
    _add_prediction(graph, Prediction("negatives", table, samples, "s", label, weight), hidden)
    return ["centre", "negatives"]


def _add_hierarchical_softmax(graph: GraphBuilder, hidden: str, words: int) -> list[str]:
    """Add the prediction of the turns on paths in the Huffman tree; return its name."""
    table = graph.table(NODES.name, words)
    path = graph.feed("batch/path", "bp", INT64)
    turns = graph.feed("batch/turns", "bp")
    # a turn is 1 or -1 at a node, and 0 in the padding of a path
    are_real = graph.op("batch/are_real_p", "Abs", (turns,), "bp")
    _add_prediction(graph, Prediction("nodes", table, path, "bp", turns, are_real), hidden)
    return ["nodes"]


def _add_prediction(graph: GraphBuilder, prediction: Prediction, hidden: str) -> None:
    """Add the loss and the gradients of a prediction, and the update of its rows."""
    name = prediction.name
    rows_shape = f"{prediction.rows}d"
    pairs = "b" + prediction.rows.removeprefix("b")
    lookup = (prediction.table, prediction.ids)
    rows = graph.op(f"output_lookup/{name}", "ResourceGather", lookup, rows_shape)
    scores = graph.einsum(f"scores/{name}", f"bd,{rows_shape}->{pairs}", hidden, rows)
    signed = graph.op(f"sigmoid/{name}/signed", "Mul", (scores, prediction.label), pairs)
    negated = graph.op(f"sigmoid/{name}/negated", "Neg", (signed,), pairs)
    error = graph.op(f"sigmoid/{name}/error", "Sigmoid", (negated,), pairs)
    losses = graph.op(f"loss/{name}/each", "Softplus", (negated,), pairs)
    weighted = graph.op(f"loss/{name}/weighted", "Mul", (losses, prediction.weight), pairs)
    graph.einsum(f"loss/{name}/sum", f"{pairs}->", weighted)
    scope = f"gradients/{name}"
    signed_error = graph.op(f"{scope}/signed", "Mul", (error, prediction.label), pairs)
    gradient = graph.op(f"{scope}/weighted", "Mul", (signed_error, prediction.weight), pairs)
    graph.einsum(f"{scope}/hidden", f"{pairs},{rows_shape}->bd", gradient, rows)
    change = graph.einsum(f"{scope}/rows", f"{pairs},bd->{rows_shape}", gradient, hidden)
    _add_update(graph, name, prediction.table, prediction.ids, prediction.rows, change)


def _add_update(
    graph: GraphBuilder, name: str, table: str, ids: str, shape: str, change: str
) -> None:
    """Add the update of rows; `shape` is that of `ids`.

    It waits for the gradient of the hidden row (^), and so for all reads of rows.
    """
    step = graph.op(f"update/{name}/step", "Mul", (change, ALPHA), f"{shape}d")
    inputs = (table, ids, step, f"^{HIDDEN_GRADIENT}")
    graph.op(f"update/{name}/add", "ResourceScatterAdd", inputs)
