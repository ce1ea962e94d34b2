"""The mathematics of a training step as a TensorFlow graph, for TensorBoard's graph page.

The compiled kernels train without a graph, so this graph only shows what they compute. TensorFlow
could run it. For simplicity, all elements of the batch share negative samples, lock factors are 1,
and all updates are computed from the rows at the start of the step.

Shapes are strings of letters, one letter per dimension:

- b: elements of the batch, each with one hidden row, from which output rows are predicted;
- w: words of a window;
- t: tags of a document;
- r: tags of a document and words of a window, t + w rows;
- n: rows of a word, its own and those of its n-grams;
- d: elements of an input row, D;
- h: elements of a hidden row and of an output row: D, or r times D if input rows are concatenated;
- c: centre words of an element, always one; TensorFlow's candidate sampler needs this dimension;
- s: negative samples, which all elements of the batch share;
- p: nodes of a path in the Huffman tree.
"""

from dataclasses import dataclass
from typing import Any

from gensim_tfw2v.monitor.graph_builder import INT64, SCALAR, GraphBuilder
from gensim_tfw2v.monitor.graph_inputs import InputLayer, add_input_ids, choose_combination
from gensim_tfw2v.weight_tables import NODES, OUTPUTS

# Names of ops that several functions use.
ALPHA = "batch/alpha"
ONE = "sigmoid/one"
HIDDEN_GRADIENT = "gradients/hidden"


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
    input_layer: InputLayer,
    n_words: int,
    vector_size: int,
    n_shared: int,
    ns_exponent: float,
) -> bytes:
    """Return the graph of a step of skip-gram or CBOW, as a serialized ``GraphDef``.

    Parameters
    ----------
    objective : gensim_tfw2v.kernel.objective.Objective
    input_layer : InputLayer
        Rows that hidden rows consist of.
    n_words, vector_size : int
        Vocabulary size V, and vector size D.
    n_shared : int
        Number of negative samples that all elements of the batch share.
    ns_exponent : float
        gensim's `ns_exponent`: the power of word counts that negative samples are drawn by.
    """
    n_concatenated = input_layer.n_concatenated
    sizes = {"d": vector_size, "h": vector_size, "c": 1, "s": n_shared}
    if n_concatenated:
        sizes |= {"r": n_concatenated, "h": n_concatenated * vector_size}
    graph = GraphBuilder(sizes)
    graph.feed(ALPHA, SCALAR)
    combination = choose_combination(objective, input_layer)
    rows_shape = f"{combination.shape}d"
    ids = add_input_ids(graph, objective, input_layer, combination.shape)
    table = graph.table(input_layer.table_name, input_layer.n_rows, "d")
    rows = graph.op("embedding_lookup", "ResourceGather", (table, ids), rows_shape)
    hidden = combination.combine(graph, rows)
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
    gradient = graph.sum(HIDDEN_GRADIENT, [f"gradients/{name}/hidden" for name in names], "bh")
    change = combination.distribute(graph, gradient)
    _add_update(graph, "inputs", table, ids, change, rows_shape)
    return graph.proto.SerializeToString()


def _add_negative_sampling(
    graph: GraphBuilder, hidden: str, n_words: int, negative: int, n_shared: int, exponent: float
) -> list[str]:
    """Add the predictions of centres and of shared negatives; return the predictions' names."""
    table = graph.table(OUTPUTS.name, n_words, "h")
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
    table = graph.table(NODES.name, n_words, "h")
    path = graph.feed("batch/path", "bp", INT64)
    turns = graph.feed("batch/turns", "bp")
    # The turn at a node is 1 or -1, the label of the prediction. In the padding of a path, it is 0.
    are_real = graph.op("batch/are_real_nodes", "Abs", (turns,), "bp")
    _add_prediction(graph, Prediction("nodes", table, path, "bp", turns, are_real), hidden)
    return ["nodes"]


def _add_prediction(graph: GraphBuilder, prediction: Prediction, hidden: str) -> None:
    """Add the loss of a prediction, the update of its output rows, and that of the hidden rows.

    The ops in "gradients/" are minus the gradients of the loss: weight * label * error, where the
    error is ``sigmoid(-label * score)``, times the opposite row.
    """
    name = prediction.name
    rows_shape = f"{prediction.ids_shape}h"
    pairs = "b" + prediction.ids_shape.removeprefix("b")
    operands = (prediction.table, prediction.ids)
    rows = graph.op(f"output_lookup/{name}", "ResourceGather", operands, rows_shape)
    scores = graph.einsum(f"scores/{name}", f"bh,{rows_shape}->{pairs}", hidden, rows)
    signed = graph.op(f"sigmoid/{name}/signed", "Mul", (scores, prediction.label), pairs)
    negated = graph.op(f"sigmoid/{name}/negated", "Neg", (signed,), pairs)
    error = graph.op(f"sigmoid/{name}/error", "Sigmoid", (negated,), pairs)
    losses = graph.op(f"loss/{name}/each", "Softplus", (negated,), pairs)
    weighted = graph.op(f"loss/{name}/weighted", "Mul", (losses, prediction.weight), pairs)
    graph.einsum(f"loss/{name}/sum", f"{pairs}->", weighted)
    scope = f"gradients/{name}"
    signed_error = graph.op(f"{scope}/signed", "Mul", (error, prediction.label), pairs)
    gradient = graph.op(f"{scope}/weighted", "Mul", (signed_error, prediction.weight), pairs)
    graph.einsum(f"{scope}/hidden", f"{pairs},{rows_shape}->bh", gradient, rows)
    change = graph.einsum(f"{scope}/rows", f"{pairs},bh->{rows_shape}", gradient, hidden)
    _add_update(graph, name, prediction.table, prediction.ids, change, rows_shape)


def _add_update(
    graph: GraphBuilder, name: str, table: str, ids: str, change: str, rows_shape: str
) -> None:
    """Add the update of a table's rows: `change` times the learning rate.

    `ids` is the op of the rows' indices, and `rows_shape` the shape of `change`. The update has a
    control dependency ("^") on the op `HIDDEN_GRADIENT`, which depends on all reads of rows. So no
    row is changed before it is read.
    """
    step = graph.op(f"update/{name}/step", "Mul", (change, ALPHA), rows_shape)
    operands = (table, ids, step, f"^{HIDDEN_GRADIENT}")
    graph.op(f"update/{name}/add", "ResourceScatterAdd", operands)
