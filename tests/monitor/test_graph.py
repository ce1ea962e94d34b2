"""The graph shown in TensorBoard: TensorFlow runs it and gets the results of a loop over pairs."""

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.monitor.graph import objective_graph

V, ROWS, D, S, B, WINDOW, NGRAMS, PATH = 7, 12, 3, 4, 5, 3, 2, 3
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


@pytest.mark.parametrize("field", [field.name for field in fields(Objective)])
def test_each_field_of_an_objective_differs_between_cases(field):
    """The cases must show what a new field changes in the graph."""
    assert len({getattr(objective, field) for objective in OBJECTIVES.values()}) > 1


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def expected(objective, tables, batch, drawn):
    """Return the loss and the tables after a step, by a loop over predictions."""
    vectors, syn1neg, syn1 = tables
    after, loss = [table.copy() for table in tables], 0.0
    inputs = batch["inputs"].reshape(B, -1)
    windows = batch.get("are_real_w", np.ones((B, 1)))
    ngrams = batch.get("are_real_n", np.ones(batch["inputs"].shape + (1,)))
    ngrams = ngrams.reshape(B, windows.shape[1], -1)
    inputs = inputs.reshape(ngrams.shape)
    is_cbow = not objective.skipgram
    for b in range(B):
        real = np.flatnonzero(windows[b])
        number = len(real) if is_cbow and objective.mean else 1
        hidden = sum(
            vectors[inputs[b, w][ngrams[b, w] > 0]].mean(axis=0) for w in real
        ) / number  # fmt: skip
        predicted = []
        if objective.negative:
            predicted.append((1, syn1neg, batch["centres"][b, 0], 1, 1.0))
            predicted += [(1, syn1neg, row, -1, objective.negative / S) for row in drawn]
        if objective.hierarchical:
            path = zip(batch["path"][b], batch["turns"][b], strict=True)
            predicted += [(2, syn1, row, label, 1.0) for row, label in path if label]
        update = np.zeros(D)
        for table, rows, row, label, weight in predicted:
            score = label * hidden @ rows[row]
            loss -= weight * np.log(sigmoid(score))
            g = weight * label * sigmoid(-score)
            update += g * rows[row]
            after[table][row] += ALPHA * g * hidden
        divided = is_cbow and objective.mean == objective.corrected
        for w in real:
            for row in inputs[b, w][ngrams[b, w] > 0]:
                after[0][row] += ALPHA * update / (len(real) if divided else 1)
    return loss, after


def batch_of(objective, rows, rng):
    letters = {"w": WINDOW} if not objective.skipgram else {}
    letters |= {"n": NGRAMS} if rows > V else {}
    shape, batch = (B,), {"alpha": np.float32(ALPHA)}
    for letter, size in letters.items():
        shape = (*shape, size)
        batch[f"are_real_{letter}"] = (rng.random(shape) < 0.6).astype(np.float32)
        batch[f"are_real_{letter}"][..., 0] = 1
    if letters.keys() == {"w", "n"}:
        batch["are_real_n"] *= batch["are_real_w"][..., None]
    batch["inputs"] = rng.integers(rows, size=shape)
    if objective.negative:
        batch["centres"] = rng.integers(V, size=(B, 1))
    if objective.hierarchical:
        batch["path"] = rng.integers(V, size=(B, PATH))
        batch["turns"] = rng.choice(np.float32([-1, 0, 1]), size=(B, PATH))
    return batch


@pytest.mark.parametrize("rows", [V, ROWS], ids=["words", "n-grams"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_graph_run_by_tensorflow_equals_the_loop(name, rows):
    objective, rng = OBJECTIVES[name], np.random.default_rng(3)
    made = tf.compat.v1.GraphDef.FromString(objective_graph(objective, V, rows, D, S, 0.75))
    for node in made.node:
        if node.op == "FixedUnigramCandidateSampler":  # the shown graph omits the counts of words
            node.attr["unigrams"].list.f[:] = range(V, 0, -1)
    sizes = {"wv.vectors": rows, "syn1neg": V, "syn1": V}
    tables = [rng.normal(size=(size, D)) for size in sizes.values()]
    batch = batch_of(objective, rows, rng)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.graph_util.import_graph_def(made, name="")
        names = {op.name: op for op in graph.get_operations()}
        handles = {
            place: names[table].outputs[0] for place, table in enumerate(sizes) if table in names
        }
        for place, handle in handles.items():
            value = tf.constant(tables[place], tf.float32)
            session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=value))
        updates = [op for op in names.values() if op.type == "ResourceScatterAdd"]
        drawn = ["negative_samples/sampled:0"] if objective.negative else []
        fed = {f"batch/{key}:0": value for key, value in batch.items()}
        loss, *samples, _ = session.run(["loss/sum:0", *drawn, updates], fed)
        of_tables = {
            place: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            for place, handle in handles.items()
        }
        after = session.run(of_tables)
    want, changed = expected(objective, tables, batch, samples[0] if samples else [])
    assert loss == pytest.approx(want, rel=1e-5)
    for place, found in after.items():
        np.testing.assert_allclose(found, changed[place], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_graph_boxes_are_connected(name):
    made = tf.compat.v1.GraphDef.FromString(objective_graph(OBJECTIVES[name], V, V, D, S, 0.75))
    box = {node.name: node.name.partition("/")[0] for node in made.node}
    assert {"batch", "embedding_lookup", "scores", "sigmoid", "loss", "gradients", "update"} <= set(
        box.values()
    )
    near = {name: {name} for name in box.values()}
    for node in made.node:
        for given in node.input:
            other = box[given.lstrip("^").partition(":")[0]]
            near[box[node.name]].add(other)
            near[other].add(box[node.name])
    seen = {"loss"}
    while (more := seen.union(*(near[name] for name in seen))) != seen:
        seen = more
    assert seen == set(box.values())
    (lookup,) = (node for node in made.node if node.name == "embedding_lookup")
    assert [dim.size for dim in lookup.attr["_output_shapes"].list.shape[0].dim][-1] == D


def test_log_dir_needs_no_tensorflow(tmp_path):
    code = (
        "import sys; from gensim.test.utils import common_texts\n"
        "from gensim_tfw2v import TFWord2Vec\n"
        f"TFWord2Vec(common_texts, min_count=1, vector_size=4, log_dir={str(tmp_path)!r})\n"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
