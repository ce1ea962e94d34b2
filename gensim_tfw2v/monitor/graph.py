"""The mathematics of a training step as a TensorFlow graph, for TensorBoard's graph page.

The compiled kernels train without a graph, so this graph only shows what they compute. TensorFlow
could run it.

Shapes are strings of letters, one letter per dimension:

- b: elements of the batch, each with one hidden row, from which output rows are predicted;
- w: words of a window;
- n: n-grams of a word;
- d: elements of a vector;
- c: centre words of an element, always one; TensorFlow's candidate sampler needs this dimension;
- s: negative samples, which all elements of the batch share;
- p: nodes of a path in the Huffman tree.
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
    """Combination of several rows into one: of a window's words, or of a word's n-grams.

    Attributes
    ----------
    letter : str
        Letter of the dimension along which rows are combined.
    scope : str
        Prefix of the names of the pool's ops.
    is_mean : bool
        Whether the pooled row is the mean of the rows, rather than their sum.
    divides_updates : bool
        Whether the update of the pooled row is divided by the number of rows before it is added to
        each row.
    """

    letter: str
    scope: str
    is_mean: bool
    divides_updates: bool


@dataclass(frozen=True)
class Factor:
    """Factor by which the update of a pooled row is multiplied, to get the updates of its rows.

    Attributes
    ----------
    equation : str
        Equation of the einsum of the update and the factor.
    op : str
        Name of the factor's op.
    """

    equation: str
    op: str


@dataclass(frozen=True)
class Prediction:
    """Logistic regression with labels 1 and -1, on pairs of a hidden row and an output row.

    Attributes
    ----------
    name : str
        Part of the names of the prediction's ops.
    table : str
        Op of the table of output rows.
    ids : str
        Op of the indices of the output rows in the table.
    ids_shape : str
        Shape of `ids`.
    label : str
        Op of the labels of the pairs.
    weight : str
        Op of the factors of the pairs' losses and updates.
    """

    name: str
    table: str
    ids: str
    ids_shape: str
    label: str
    weight: str


def objective_graph(
    objective: Any,
    n_words: int,
    n_rows: int,
    vector_size: int,
    n_shared: int,
    ns_exponent: float,
) -> bytes:
    """Return the graph of a step of skip-gram or CBOW, as a serialized ``GraphDef``.

    Parameters
    ----------
    objective : gensim_tfw2v.kernel.objective.Objective
    n_words, n_rows, vector_size : int
        Vocabulary size V, number of input rows (more than V with n-grams), and vector size D.
    n_shared : int
        Number of negative samples that all elements of the batch share.
    ns_exponent : float
        gensim's `ns_exponent`: the power of word counts that negative samples are drawn by.
    """
    graph = GraphBuilder({"d": vector_size, "c": 1, "s": n_shared})
    pools = []
    if not objective.skipgram:
        # gensim divides the updates of the words of a sum, but not those of a mean. The gradient of
        # the loss (`corrected`) is the other way round: it divides only those of a mean.
        divides_updates = objective.mean == objective.corrected
        pools.append(Pool("w", "hidden/window", objective.mean, divides_updates))
    if n_rows > n_words:
        pools.append(Pool("n", "hidden/ngrams", is_mean=True, divides_updates=False))
    shape = "b" + "".join(pool.letter for pool in pools)
    graph.feed(ALPHA, SCALAR)
    graph.feed(INPUT_IDS, shape, INT64)
    graph.table(VECTORS.name, n_rows)
    operands = (VECTORS.name, INPUT_IDS)
    hidden = graph.op("embedding_lookup", "ResourceGather", operands, f"{shape}d")
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
        names += _add_negative_sampling(
            graph, hidden, n_words, objective.negative, n_shared, exponent
        )
    if objective.hierarchical:
        names += _add_hierarchical_softmax(graph, hidden, n_words)
    graph.sum("loss/sum", [f"loss/{name}/sum" for name in names], SCALAR)
    # Ops in "gradients/" are minus the gradients of the loss, so that the update adds them.
    gradient = graph.sum(HIDDEN_GRADIENT, [f"gradients/{name}/hidden" for name in names], "bd")
    for index, factor in enumerate(reversed(factors)):
        gradient = graph.einsum(f"gradients/inputs/{index}", factor.equation, gradient, factor.op)
    _add_update(graph, "inputs", VECTORS.name, INPUT_IDS, shape, gradient)
    return graph.proto.SerializeToString()


def _add_pool(graph: GraphBuilder, pool: Pool, shape: str, rows: str) -> tuple[str, list[Factor]]:
    """Add the ops of a pool, which combines rows along the last dimension of `shape`.

    `rows` is the op of the rows, of the shape `shape` plus d. Returns the op of the pooled rows,
    and the factors by which the pooled rows' updates become those of the rows.
    """
    pooled_shape = shape.removesuffix(pool.letter)
    are_real = graph.feed(f"batch/are_real_{pool.letter}", shape)  # 1 for a row, 0 for padding
    pooled = graph.einsum(f"{pool.scope}/sum", f"{shape}d,{shape}->{pooled_shape}d", rows, are_real)
    factors = [Factor(f"{pooled_shape}d,{shape}->{shape}d", are_real)]
    if pool.is_mean or pool.divides_updates:
        numerator = graph.constant(f"{pool.scope}/one", 1.0)
        n_rows = graph.einsum(f"{pool.scope}/number", f"{shape}->{pooled_shape}", are_real)
        share = graph.op(f"{pool.scope}/share", "DivNoNan", (numerator, n_rows), pooled_shape)
        if pool.is_mean:
            equation = f"{pooled_shape}d,{pooled_shape}->{pooled_shape}d"
            pooled = graph.einsum(f"{pool.scope}/mean", equation, pooled, share)
        if pool.divides_updates:
            factors.append(Factor(f"{pooled_shape}d,{pooled_shape}->{pooled_shape}d", share))
    return pooled, factors


def _add_negative_sampling(
    graph: GraphBuilder, hidden: str, n_words: int, negative: int, n_shared: int, exponent: float
) -> list[str]:
    """Add the predictions of centres and of shared negatives; return the predictions' names."""
    table = graph.table(OUTPUTS.name, n_words)
    centres = graph.feed("batch/centres", "bc", INT64)
    _add_prediction(graph, Prediction("centre", table, centres, "bc", ONE, ONE), hidden)
    samples = graph.op(
        "negative_samples/sampled",
        "FixedUnigramCandidateSampler",
        (centres,),
        "s",
        "bc",
        "s",
        num_sampled=n_shared,
        range_max=n_words,
        distortion=exponent,
    )
    weight = graph.constant("negative_samples/weight", negative / n_shared)
    label = graph.constant("sigmoid/minus_one", -1.0)
    _add_prediction(graph, Prediction("negatives", table, samples, "s", label, weight), hidden)
    return ["centre", "negatives"]


def _add_hierarchical_softmax(graph: GraphBuilder, hidden: str, n_words: int) -> list[str]:
    """Add the prediction of the turns on the centres' Huffman paths; return its name."""
    table = graph.table(NODES.name, n_words)
    path = graph.feed("batch/path", "bp", INT64)
    turns = graph.feed("batch/turns", "bp")
    # The turn at a node is 1 or -1, the label of the prediction. In the padding of a path, it is 0.
    are_real = graph.op("batch/are_real_p", "Abs", (turns,), "bp")
    _add_prediction(graph, Prediction("nodes", table, path, "bp", turns, are_real), hidden)
    return ["nodes"]


def _add_prediction(graph: GraphBuilder, prediction: Prediction, hidden: str) -> None:
    """Add the loss of a prediction, the update of its output rows, and that of the hidden rows.

    The ops in "gradients/" are minus the gradients of the loss: weight * label * error, where the
    error is ``sigmoid(-label * score)``, times the opposite row.
    """
    name = prediction.name
    rows_shape = f"{prediction.ids_shape}d"
    pairs = "b" + prediction.ids_shape.removeprefix("b")
    operands = (prediction.table, prediction.ids)
    rows = graph.op(f"output_lookup/{name}", "ResourceGather", operands, rows_shape)
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
    _add_update(graph, name, prediction.table, prediction.ids, prediction.ids_shape, change)


def _add_update(
    graph: GraphBuilder, name: str, table: str, ids: str, shape: str, change: str
) -> None:
    """Add the update of a table's rows: `change` times the learning rate.

    `ids` is the op of the rows' indices, and `shape` its shape. The update has a control dependency
    ("^") on the op `HIDDEN_GRADIENT`, which depends on all reads of rows. So no row is changed
    before it is read.
    """
    step = graph.op(f"update/{name}/step", "Mul", (change, ALPHA), f"{shape}d")
    operands = (table, ids, step, f"^{HIDDEN_GRADIENT}")
    graph.op(f"update/{name}/add", "ResourceScatterAdd", operands)
