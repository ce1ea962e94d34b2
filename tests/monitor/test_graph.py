"""The graph shown in TensorBoard: TensorFlow runs it, and gets the results of loops and kernels."""

import subprocess
import sys
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.monitor.graph import objective_graph
from gensim_tfw2v.monitor.graph_inputs import InputLayer
from tests.kernel.native.units import DEFAULTS, Case, unit_of
from tests.monitor.runs import Runs

V, ROWS, D, S, B, PATH = 7, 12, 3, 4, 5, 3
#: Maximum number of words of a window, of tags of a document, and of rows of a word.
WINDOW, TAGS, WORD_ROWS = 4, 2, 3
ALPHA = 0.1
OBJECTIVES = {
    "skip-gram": Objective(True, 5),
    "skip-gram, hs": Objective(True, 0, hierarchical=True),
    "skip-gram, both": Objective(True, 2, hierarchical=True),
    "cbow": Objective(False, 5, mean=True),
    "cbow, sum, hs": Objective(False, 0, hierarchical=True),
    "cbow, corrected": Objective(False, 5, mean=True, corrected=True),
    "cbow, corrected sum": Objective(False, 5, corrected=True),
}
LAYERS = {
    "Word2Vec": InputLayer(V),
    "FastText": InputLayer(ROWS, has_ngrams=True),
    "Doc2Vec": InputLayer(ROWS, has_tags=True),
    "Doc2Vec, dbow_words": InputLayer(ROWS, has_tags=True, trains_words=True),
    "Doc2Vec, dm_concat": InputLayer(ROWS, has_tags=True, n_concatenated=TAGS + WINDOW),
}
CASES = [
    (name, layer)
    for name, objective in OBJECTIVES.items()
    for layer in LAYERS
    if layer != ("Doc2Vec, dm_concat" if objective.skipgram else "Doc2Vec, dbow_words")
]
#: Rows of each word of FastText: its own, and those of its n-grams. Word 0 has no n-grams.
SUBWORDS = [[0], [1, 7], [2, 8, 9], [3, 7], [4, 10, 11], [5, 11, 11], [6, 9]]
#: Number of gensim's rows that are merged into each row of FastText.
WEIGHTS = np.array([1, 2, 1, 1, 3, 1, 1, 2, 1, 1, 3, 1], np.float32)


class Element(NamedTuple):
    """Element of the batch.

    In skip-gram, its input is a word or, in PV-DBOW, a tag. In CBOW, it has a window of words and,
    in PV-DM, tags.
    """

    words: list  # word ids
    tags: list  # rows of tags
    centre: int
    path: np.ndarray  # [PATH] different nodes
    turns: np.ndarray  # [PATH] 1 or -1; 0 for padding


@pytest.mark.parametrize("field", [field.name for field in fields(Objective)])
def test_each_field_of_an_objective_differs_between_cases(field):
    """The cases must show what a new field changes in the graph."""
    assert len({getattr(objective, field) for objective in OBJECTIVES.values()}) > 1


@pytest.mark.parametrize("field", [field.name for field in fields(InputLayer)])
def test_each_field_of_an_input_layer_differs_between_cases(field):
    assert len({getattr(layer, field) for layer in LAYERS.values()}) > 1


def draw_elements(objective, layer, rng):
    """Draw the elements of a batch; with dbow_words, inputs of the first three are tags."""
    elements = []
    for index in range(B):
        n_words, n_tags = rng.integers(1, WINDOW + 1), rng.integers(TAGS + 1) * layer.has_tags
        if layer.n_concatenated:
            n_words, n_tags = WINDOW, TAGS
        elif objective.skipgram:
            n_tags = int(layer.has_tags and (index < 3 or not layer.trains_words))
            n_words = 1 - n_tags
        words = rng.integers(V, size=n_words).tolist()
        if index == 0 and words:
            words[0] = 0  # without n-grams
        tags = rng.integers(V, ROWS, size=n_tags).tolist()
        turns = rng.choice(np.float32([-1, 0, 1]), size=PATH)
        elements.append(Element(words, tags, rng.integers(V), rng.permutation(V)[:PATH], turns))
    return elements


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def input_rows(layer, element):
    """Return the input rows of an element, and their weights."""
    rows = [*element.tags, *element.words]
    if not layer.has_ngrams:
        return rows, np.ones(len(rows))
    rows = [row for word in element.words for row in SUBWORDS[word]]
    return rows, WEIGHTS[rows]


def combine_in_loop(objective, layer, element, vectors):
    """Return the hidden layer, and a function from its update to the updates of the input rows.

    The means and divisions are gensim's, in fasttext_inner.pyx and doc2vec_inner.pyx.
    """
    rows, weights = input_rows(layer, element)
    if layer.n_concatenated:
        return vectors[rows].ravel(), lambda update: update.reshape(-1, D)
    number = weights.sum()
    if objective.skipgram:
        divisor = max(1, number - 1) if layer.has_ngrams else 1
        divides_updates = False
    else:
        divisor = number if objective.mean else 1
        divides_updates = objective.mean == objective.corrected
    scales = weights / (number if divides_updates else 1)
    return vectors[rows].sum(0) / divisor, lambda update: np.outer(scales, update)


def train_in_loop(objective, layer, tables, elements, negatives):
    """Return the loss and the tables after a step, by a loop over predictions."""
    vectors, syn1neg, syn1 = tables
    after, loss = [table.copy() for table in tables], 0.0
    for element in elements:
        hidden, distribute = combine_in_loop(objective, layer, element, vectors)
        predicted = []
        if objective.negative:
            weight = objective.negative / len(negatives)
            predicted.append((1, syn1neg, element.centre, 1, 1.0))
            predicted += [(1, syn1neg, row, -1, weight) for row in negatives]
        if objective.hierarchical:
            path = zip(element.path, element.turns, strict=True)
            predicted += [(2, syn1, row, label, 1.0) for row, label in path if label]
        update = np.zeros_like(hidden)
        for table, rows, row, label, weight in predicted:
            score = label * hidden @ rows[row]
            loss -= weight * np.log(sigmoid(score))
            g = weight * label * sigmoid(-score)
            update += g * rows[row]
            after[table][row] += ALPHA * g * hidden
        rows, _ = input_rows(layer, element)
        np.add.at(after[0], rows, ALPHA * distribute(update))
    return loss, after


def pad(lists, length):
    """Return lists as an array [len(lists), length], padded with zeros."""
    return np.array([[*items, *[0] * (length - len(items))] for items in lists])


def feeds_of(objective, layer, elements):
    """Return the values of the graph's placeholders, without the prefix of their names."""
    feeds = {"alpha": ALPHA}
    if objective.negative:
        feeds["centres"] = [[element.centre] for element in elements]
    if objective.hierarchical:
        feeds["path"] = [element.path for element in elements]
        feeds["turns"] = [element.turns for element in elements]
    words, tags = [e.words for e in elements], [e.tags for e in elements]
    if layer.has_ngrams:
        n_words = 1 if objective.skipgram else WINDOW
        rows = [[SUBWORDS[word] for word in window] for window in words]
        rows = [[*window, *[[]] * (n_words - len(window))] for window in rows]
        weights = [[WEIGHTS[row] for row in window] for window in rows]
        feeds["words_and_ngrams"] = np.array([pad(window, WORD_ROWS) for window in rows])
        feeds["weights"] = np.array([pad(window, WORD_ROWS) for window in weights])
        if objective.skipgram:
            feeds |= {name: feeds[name][:, 0] for name in ("words_and_ngrams", "weights")}
    elif objective.skipgram:
        feeds["words"] = [word for window in words for word in window]
        feeds["tags"] = [tag for document in tags for tag in document]
    else:
        feeds |= {"words": pad(words, WINDOW), "tags": pad(tags, TAGS)}
        suffixes = ("_words", "_tags") if layer.has_tags else ("", "_tags")
        for suffix, lists, length in zip(suffixes, (words, tags), (WINDOW, TAGS), strict=True):
            feeds[f"are_real{suffix}"] = pad([[1] * len(items) for items in lists], length)
    return feeds


def run_by_tensorflow(objective, layer, tables, elements, negatives=None):
    """Run the graph; return the negatives, the loss and the tables after the step.

    The graph draws S negatives, unless they are passed.
    """
    n_shared = S if negatives is None else max(1, len(negatives))
    serialized = objective_graph(objective, layer, V, D, n_shared, 0.75)
    definition = tf.compat.v1.GraphDef.FromString(serialized)
    for node in definition.node:
        if node.op == "FixedUnigramCandidateSampler":  # the shown graph omits the counts of words
            node.attr["unigrams"].list.f[:] = range(V, 0, -1)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.graph_util.import_graph_def(definition, name="")
        ops = {op.name: op for op in graph.get_operations()}
        handles = {
            index: ops[name].outputs[0]
            for index, name in enumerate((layer.table_name, "syn1neg", "syn1"))
            if name in ops
        }
        for index, handle in handles.items():
            value = tf.constant(tables[index], tf.float32)
            session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=value))
        feeds = {
            f"batch/{name}:0": value
            for name, value in feeds_of(objective, layer, elements).items()
            if f"batch/{name}" in ops
        }
        assert len(feeds) == sum(op.type == "Placeholder" for op in ops.values())
        updates = [op for op in ops.values() if op.type == "ResourceScatterAdd"]
        samples = ["negative_samples/sampled:0"] if objective.negative else []
        if samples and negatives is not None:
            feeds[samples[0]] = negatives
        loss, drawn, _ = session.run(["loss/sum:0", samples, updates], feeds)
        reads = {
            index: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            for index, handle in handles.items()
        }
        return drawn[0] if drawn else [], loss, session.run(reads)


def draw_tables(layer, rng):
    size = D * max(1, layer.n_concatenated)
    shapes = (layer.n_rows, D), (V, size), (V, size)
    return [rng.normal(scale=0.5, size=shape) for shape in shapes]


def check(result, expected):
    """Compare a loss, and the tables that a graph has trained, with expected ones."""
    loss, tables = result
    assert loss == pytest.approx(expected[0], rel=1e-5)
    for index, table in tables.items():
        np.testing.assert_allclose(table, expected[1][index], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "layer"), CASES)
def test_graph_run_by_tensorflow_equals_the_loop(name, layer):
    objective, layer, rng = OBJECTIVES[name], LAYERS[layer], np.random.default_rng(3)
    tables = draw_tables(layer, rng)
    elements = draw_elements(objective, layer, rng)
    negatives, *result = run_by_tensorflow(objective, layer, tables, elements)
    check(result, train_in_loop(objective, layer, tables, elements, negatives))
    assert np.abs(result[1][0] - tables[0]).max() > 1e-3


def train_by_kernel(objective, layer, tables, element, negatives):
    """Return the loss and the tables after the compiled kernels have trained one element."""
    is_pair = objective.skipgram and bool(element.tags)
    n_before = 0 if objective.skipgram else len(element.words) // 2
    n_after = len(element.words) - n_before
    words = [*element.words[:n_before], 0, *element.words[n_before:]]
    inputs = element.tags if is_pair else words
    reaches = np.zeros((len(inputs), 2), np.int32)
    reaches[n_before] = n_before, n_after
    options = DEFAULTS._replace(
        skipgram=int(objective.skipgram),
        negative=objective.negative,
        hierarchical=int(objective.hierarchical),
        mean=int(objective.mean),
        corrected=int(objective.corrected),
        documents=int(layer.has_tags),
        concatenated=layer.n_concatenated,
        window=WINDOW // 2 if layer.n_concatenated else WINDOW,
        shared=max(1, len(negatives)),
        # the window of a single position is trained
        sequential=1,
        block=1,
    )
    arrays = {
        "inputs": inputs,
        "targets": [element.centre] * len(inputs),
        "reaches": reaches,
        "negatives": [negatives] * len(inputs) if objective.negative else np.zeros((0, 1)),
        "counts": [int(is_pair), len(inputs) - is_pair],
    }
    if layer.has_tags and not objective.skipgram:
        documents = {"documents": [0] * len(inputs), "first_tags": [0, len(element.tags)]}
        arrays |= documents | {"tags": element.tags}
    unit = unit_of(**{key: np.array(value, np.int32) for key, value in arrays.items()})
    is_node = element.turns != 0
    path = 2 * element.path[is_node] + (element.turns[is_node] < 0)
    case = Case(
        options,
        unit,
        tables=[table.reshape(-1, D).astype(np.float32) for table in tables],
        lock=None,
        paths=[path] * V,
        subwords=SUBWORDS if layer.has_ngrams else [],
        weights=WEIGHTS if layer.has_ngrams else None,
        alphas=np.array([ALPHA, ALPHA], np.float32),
    )
    trained = case.trained()
    result = trained.train(options, unit, case.alphas, n_before, n_before + 1, loss_every=1)
    pairs = zip(trained.rows, tables, strict=True)
    return result.loss, [rows.reshape(table.shape) for rows, table in pairs]


@pytest.mark.parametrize(("name", "layer"), CASES)
def test_graph_run_by_tensorflow_equals_the_kernels(name, layer):
    objective, layer, rng = OBJECTIVES[name], LAYERS[layer], np.random.default_rng(4)
    for element in draw_elements(objective, layer, rng):
        tables = draw_tables(layer, rng)
        # kernels change rows one after another, so no row may be predicted twice
        other_words = rng.permutation([word for word in range(V) if word != element.centre])
        negatives = other_words[: objective.negative]
        _, *result = run_by_tensorflow(objective, layer, tables, [element], negatives)
        check(result, train_by_kernel(objective, layer, tables, element, negatives))


@pytest.mark.parametrize(("name", "layer"), CASES)
def test_graph_boxes_are_connected(name, layer):
    serialized = objective_graph(OBJECTIVES[name], LAYERS[layer], V, D, S, 0.75)
    nodes = tf.compat.v1.GraphDef.FromString(serialized).node
    box = {node.name: node.name.partition("/")[0] for node in nodes}
    assert {"batch", "embedding_lookup", "scores", "sigmoid", "loss", "gradients", "update"} <= set(
        box.values()
    )
    near = {name: {name} for name in box.values()}
    for node in nodes:
        for operand in node.input:
            other = box[operand.lstrip("^").partition(":")[0]]
            near[box[node.name]].add(other)
            near[other].add(box[node.name])
    seen = {"loss"}
    while (more := seen.union(*(near[name] for name in seen))) != seen:
        seen = more
    assert seen == set(box.values())
    (lookup,) = (node for node in nodes if node.name == "embedding_lookup")
    assert [dim.size for dim in lookup.attr["_output_shapes"].list.shape[0].dim][-1] == D


DOCUMENTS = [TaggedDocument(words, [index]) for index, words in enumerate(common_texts)]
#: Nodes of the batch that the graph of a model must have.
MODELS = {
    "skip-gram": (TFWord2Vec, common_texts, {"sg": 1}, {"words"}),
    "CBOW": (TFWord2Vec, common_texts, {}, {"words", "are_real"}),
    "FastText": (
        TFFastText,
        common_texts,
        {"bucket": 50},
        {"words_and_ngrams", "weights", "are_real"},
    ),
    "PV-DBOW": (TFDoc2Vec, DOCUMENTS, {"dm": 0}, {"tags"}),
    "PV-DBOW and words": (
        TFDoc2Vec,
        DOCUMENTS,
        {"dm": 0, "dbow_words": 1},
        {"tags", "words", "tags_and_words"},
    ),
    "PV-DM": (
        TFDoc2Vec,
        DOCUMENTS,
        {"dm": 1},
        {"tags", "words", "tags_and_words", "are_real_tags", "are_real_words", "are_real"},
    ),
    "PV-DM, concatenated": (
        TFDoc2Vec,
        DOCUMENTS,
        {"dm": 1, "dm_concat": 1, "window": 2},
        {"tags", "words", "tags_and_words"},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_log_of_a_model_shows_its_own_kinds_of_inputs(name, tmp_path):
    model_class, corpus, options, names = MODELS[name]
    options = {"min_count": 1, "vector_size": D, "epochs": 1, **options}
    model = model_class(corpus, log_dir=tmp_path, **options)
    nodes = {node.name: node for node in Runs(tmp_path).graph(".").node}
    batch = {name.split("/")[1] for name in nodes if name.startswith("batch/")}
    assert batch - {"alpha", "centres"} == names
    has_joint_table = model_class is not TFWord2Vec
    table = nodes["inputs" if has_joint_table else "wv.vectors"].attr["shape"].shape
    n_tags = len(DOCUMENTS) if corpus is DOCUMENTS else 0
    n_rows, size = [dim.size for dim in table.dim]
    assert size == D
    if model_class is not TFFastText:
        assert n_rows == len(model.wv) + n_tags
    assert nodes["syn1neg"].attr["shape"].shape.dim[1].size == model.layer1_size


def test_log_dir_needs_no_tensorflow(tmp_path):
    code = (
        "import sys; from gensim.test.utils import common_texts\n"
        "from gensim_tfw2v import TFWord2Vec\n"
        f"TFWord2Vec(common_texts, min_count=1, vector_size=4, log_dir={str(tmp_path)!r})\n"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
