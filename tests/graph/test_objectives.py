"""One step of each objective equals a slow loop over pairs with the same draws."""

import functools
from dataclasses import fields

import numpy as np
import pytest
from gensim.models import Word2Vec
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph import steps as unit_module
from gensim_tfw2v.graph.draws import draw
from gensim_tfw2v.graph.paths import look_up_paths
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.graph.steps import prepare_unit
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import WordArrays, huffman_tree
from gensim_tfw2v.parameter_server.columns import ColumnLayout, SlicedRows
from tests.engines import step_engine
from tests.graph import reference, unit_function
from tests.graph.unit_function import word_tensors

#: One row per objective: (objective, its slow loop, side of the halo).
OBJECTIVES = {
    "skipgram": (
        Objective(True, 5),
        reference.skipgram_step,
        "centres",
    ),
    "skipgram-inputs": (
        Objective(True, 2),
        reference.skipgram_step,
        "inputs",
    ),
    "cbow-mean": (
        Objective(False, 5, mean=True),
        functools.partial(reference.cbow_step, mean=True),
        "inputs",
    ),
    "cbow-sum": (
        Objective(False, 3),
        functools.partial(reference.cbow_step, mean=False),
        "inputs",
    ),
    "cbow-corrected": (
        Objective(False, 4, mean=True, corrected=True),
        functools.partial(reference.cbow_step, mean=True, corrected=True),
        "inputs",
    ),
}
VOCABULARY, SIZE = 40, 7


@pytest.fixture(scope="module", autouse=True)
def traced_once():
    """Cache traced functions without limit, because later tests use those of earlier ones."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (unit_function, "unit_function"), (unit_module, "_planning"):
            uncached = getattr(module, name).__wrapped__
            patch.setattr(module, name, functools.cache(uncached))
        yield


def unit(seed: int, tokens: int, sentence: int) -> np.ndarray:
    """Random ids with -1 after every `sentence` tokens."""
    ids = np.random.default_rng(seed).integers(0, VOCABULARY, tokens).astype(np.int32)
    return np.insert(ids, np.arange(sentence, tokens + 1, sentence), -1).astype(np.int32)


def run(
    objective, shape, entries, key, alpha, keep, inputs, outputs, paths=None, slices=0, **options
):
    """Train a unit; return the tables, the result and a function that repeats its draws.

    `outputs` are the output rows: of hierarchical softmax with `paths`, else of negative sampling.
    With `slices`, columns are distributed over that number of variables.
    """
    engine = step_engine(objective, shape, id_bits=6, **options)
    nothing = np.zeros((0, SIZE))
    tables = Tables(inputs, nothing if paths else outputs, outputs if paths else nothing)
    shards = engine.options.negative_shards
    noise = None if paths else np.ones(VOCABULARY)
    words = word_tensors(
        WordArrays.of(keep, noise, paths and huffman_tree(*paths), negative_shards=shards)
    )
    arguments = words, tf.constant(entries), tf.constant(key), tf.constant([alpha] * 2, tf.float32)
    if slices:
        tables, result = run_sliced(engine.options, tables, slices, arguments)
    else:
        tables = [tf.Variable(t.astype(np.float32), shape=[None, SIZE]) for t in tables]
        tables = Tables(*tables)
        result = unit_function.concrete_unit_function(engine, tables)(tables, *arguments)
        tables = Tables(*(table.numpy() for table in tables))
    trained = [tables.inputs, tables.nodes if paths else tables.outputs]
    return trained, result, functools.partial(draw, engine.options, *arguments[:3])


def run_sliced(options, arrays, slices, arguments):
    """Train a unit on tables sliced into columns; return them as arrays, and the result."""
    layouts, train = sliced_function(options, tuple(map(len, arrays)), slices)
    for layout, array in zip(layouts, arrays, strict=True):
        layout.load(array)
    result = train(*arguments)
    trained = [np.empty_like(array, np.float32) for array in arrays]
    for layout, array in zip(layouts, trained, strict=True):
        layout.export(array)
    return Tables(*trained), result


@functools.cache
def sliced_function(options, rows, slices):
    """Tables sliced into columns, and a function that trains a unit on them, traced only once."""
    layouts = [ColumnLayout(number, SIZE, slices) for number in rows]
    link = layouts[0].link(tf.as_dtype(options.product_dtype))

    @tf.function(autograph=False, reduce_retracing=True)
    def train(words, *unit):
        prepared = prepare_unit(options, words, *unit, unit_function.MAX_ENTRIES)
        return prepared.train(options, Tables(*(SlicedRows(x, link) for x in layouts)), words)

    return layouts, train


def slow_unit(slow_step, inputs, outputs, draws, shape, targets_of):
    """Train the same draws by a slow loop with alpha 0.05; return the rows and the loss."""
    reaches = shape.window + 1
    shift = shape.window if shape.halo_side == "inputs" else -shape.window
    loss = 0.0
    for step in range(len(draws.inputs)):
        centres, block_inputs, windows = (
            x[step].numpy() for x in (draws.centres, draws.inputs, draws.windows)
        )
        d_inputs, d_outputs, step_loss = slow_step(
            inputs,
            outputs,
            reference.windows(centres, block_inputs, windows // reaches, windows % reaches, shift),
            targets_of(step),
            alpha=0.05,
        )
        inputs = inputs + reference.clipped(d_inputs, 0.5)
        outputs = outputs + reference.clipped(d_outputs, 0.5)
        loss += step_loss
    return inputs, outputs, loss


SHAPES = [(32, 8, 3, 4), (16, 16, 5, 3), (24, 4, 6, 8)]


@pytest.mark.parametrize(
    ("name", "tokens", "block", "window", "shared", "skip_targets", "product_dtype", "tolerance"),
    [
        # all objectives with all shapes and with both other settings; all settings with all shapes
        *((name, *shape, True, "float32", 2e-5) for name in OBJECTIVES for shape in SHAPES),
        *(
            (name, *SHAPES[(number + turn) % 3], *way)
            for number, name in enumerate(OBJECTIVES)
            for turn, way in enumerate([(False, "float32", 2e-5), (True, "bfloat16", 1e-2)])
        ),
    ],
)
def test_unit_equals_the_slow_loop(
    name, tokens, block, window, shared, skip_targets, product_dtype, tolerance, slices=0, shards=1
):
    objective, slow_step, halo_side = OBJECTIVES[name]
    shape = StepShape(tokens, block, window, shared, halo_side)
    rng = np.random.default_rng(3)
    inputs = rng.normal(0, 0.5, (VOCABULARY, SIZE))
    outputs = rng.normal(0, 0.5, (VOCABULARY, SIZE))
    entries = unit(1, 100, 9)
    (fast_inputs, fast_outputs), result, draw_again = run(
        objective,
        shape,
        entries,
        [7, 11],
        0.05,
        np.full(VOCABULARY, 0.9),
        inputs,
        outputs,
        slices=slices,
        skip_targets=skip_targets,
        product_dtype=product_dtype,
        negative_shards=shards,
    )
    draws = draw_again()
    inputs, outputs, loss = slow_unit(
        slow_step, inputs, outputs, draws, shape,
        lambda step: reference.sampled(
            draws.negatives[step].numpy(), objective.negative, skip_targets, shards
        ),
    )  # fmt: skip
    assert 70 < draws.kept < 100
    assert result.kept == draws.kept
    np.testing.assert_allclose(fast_inputs, inputs, atol=tolerance)
    np.testing.assert_allclose(fast_outputs, outputs, atol=tolerance)
    assert float(result.loss) == pytest.approx(loss, rel=max(1e-4, tolerance))


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(
    ("skip_targets", "product_dtype", "tolerance", "slices"),
    [(True, "float32", 2e-5, 3), (False, "bfloat16", 1e-2, 2)],
)
def test_unit_with_sliced_rows_equals_the_slow_loop(
    name, skip_targets, product_dtype, tolerance, slices
):
    test_unit_equals_the_slow_loop(
        name, 24, 4, 6, 8, skip_targets, product_dtype, tolerance, slices
    )


@pytest.mark.parametrize(
    ("name", "shared", "shards", "skip_targets", "slices"),
    [
        # each objective with both (shared, shards) and both settings; each pair with both settings
        (name, *((4, 4), (8, 3))[(number + turn) % 2], *((True, 0), (False, 2))[turn])
        for number, name in enumerate(OBJECTIVES)
        for turn in range(2)
    ],
)
def test_unit_with_negative_shards_equals_the_slow_loop(name, shared, shards, skip_targets, slices):
    test_unit_equals_the_slow_loop(
        name, 24, 4, 6, shared, skip_targets, "float32", 2e-5, slices, shards
    )


#: Objectives of hierarchical softmax: (objective, its slow loop).
TREES = {
    "skipgram": (Objective(True, 0, hierarchical=True), reference.skipgram_step),
    "cbow-mean": (
        Objective(False, 0, mean=True, hierarchical=True),
        functools.partial(reference.cbow_step, mean=True),
    ),
    "cbow-sum": (
        Objective(False, 0, hierarchical=True),
        functools.partial(reference.cbow_step, mean=False),
    ),
}


@pytest.mark.parametrize("field", [field.name for field in fields(Objective)])
def test_each_field_of_an_objective_differs_between_cases(field):
    objectives = [case[0] for case in (*OBJECTIVES.values(), *TREES.values())]
    assert len({getattr(objective, field) for objective in objectives}) > 1


def huffman_paths(counts):
    """gensim's points and codes of words with these counts."""
    model = Word2Vec(hs=1, negative=0, min_count=1)
    model.build_vocab_from_freq({str(word): int(count) for word, count in enumerate(counts)})
    order = [model.wv.key_to_index[str(word)] for word in range(len(counts))]
    return tuple([model.wv.expandos[name][i] for i in order] for name in ("point", "code"))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("tree", ["balanced", "skewed"])
@pytest.mark.parametrize(
    ("product_dtype", "tolerance", "slices"),
    [("float32", 2e-5, 0), ("bfloat16", 1e-2, 0), ("float32", 2e-5, 2)],
)
def test_unit_of_hierarchical_softmax_equals_the_slow_loop(
    name, tree, product_dtype, tolerance, slices
):
    objective, slow_step = TREES[name]
    shape = StepShape(32, 8, 3, 1)
    counts = np.full(VOCABULARY, 10) if tree == "balanced" else 1.5 ** np.arange(VOCABULARY) + 1
    points, codes = huffman_paths(counts)
    rng = np.random.default_rng(3)
    inputs, nodes = rng.normal(0, 0.3, (2, VOCABULARY, SIZE))
    (fast_inputs, fast_nodes), result, draw_again = run(
        objective, shape, unit(1, 100, 9), [7, 11], 0.05, np.full(VOCABULARY, 0.9),
        inputs, nodes, (points, codes), slices, skip_targets=False,
        product_dtype=product_dtype,
    )  # fmt: skip
    draws = draw_again()
    turns = reference.turns(list(zip(points, codes, strict=True)))
    inputs, nodes, loss = slow_unit(slow_step, inputs, nodes, draws, shape, lambda _: turns)
    assert result.kept == draws.kept
    np.testing.assert_allclose(fast_inputs, inputs, atol=tolerance)
    np.testing.assert_allclose(fast_nodes, nodes, atol=tolerance)
    assert float(result.loss) == pytest.approx(loss, rel=max(1e-4, tolerance))


@pytest.mark.parametrize("words", [2, 3, 40])
def test_huffman_tree_returns_the_padded_path_of_each_word(words):
    points, codes = huffman_paths(1.3 ** np.arange(words) + 1)
    tree = tf.nest.map_structure(tf.constant, huffman_tree(points, codes))
    centres = np.random.default_rng(5).integers(0, words, (2, 3, 4)).astype(np.int32)
    nodes, signs = look_up_paths(tf.constant(centres), tree)
    assert nodes.shape == signs.shape == (2, 3, 4 * max(len(codes[word]) for word in centres.flat))
    for word, of_word, signs_of_word in zip(
        centres.flat, np.reshape(nodes, [24, -1]), np.reshape(signs, [24, -1]), strict=True
    ):
        number = len(points[word])
        np.testing.assert_array_equal(of_word, np.pad(points[word], (0, len(of_word) - number)))
        expected = np.pad(1.0 - 2.0 * codes[word], (0, len(of_word) - number))
        np.testing.assert_array_equal(signs_of_word, expected)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("entries", [[], [-1], [0, -1, 0, -1]])
def test_tree_of_one_word_trains_nothing(name, entries):
    inputs = np.ones((1, SIZE), np.float32)
    trained, result, _ = run(
        TREES[name][0], StepShape(32, 8, 3, 1), np.array(entries, np.int32), [0, 0], 0.1,
        np.ones(1), inputs, inputs, ([np.zeros(0, int)], [np.zeros(0, int)]), skip_targets=False,
    )  # fmt: skip
    for table in trained:
        np.testing.assert_array_equal(table, inputs)
    assert result.loss == 0


@pytest.mark.parametrize("name", OBJECTIVES)
def test_large_updates_are_clipped(name):
    objective, _, halo_side = OBJECTIVES[name]
    rng = np.random.default_rng(0)
    inputs, outputs = rng.normal(0, 2, (2, VOCABULARY, SIZE))
    shape = StepShape(*SHAPES[0], halo_side)
    trained, _, _ = run(  # in one step
        objective, shape, unit(0, 32, 1000), [1, 2], 1.0, np.ones(VOCABULARY), inputs, outputs
    )
    for before, after in zip((inputs, outputs), trained, strict=True):
        moved = np.linalg.norm(after - before, axis=1)
        assert moved.max() == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_unit_run_twice_gives_the_same_bits(name):
    objective, _, halo_side = OBJECTIVES[name]
    rng = np.random.default_rng(0)
    inputs, outputs = rng.normal(0, 0.2, (2, VOCABULARY, SIZE))
    shape = StepShape(*SHAPES[0], halo_side)
    arguments = (unit(0, 700, 13), [5, 6], 0.05, np.full(VOCABULARY, 0.7), inputs, outputs)
    first, result, _ = run(objective, shape, *arguments)
    second, again, _ = run(objective, shape, *arguments)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert result.loss == again.loss


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("entries", [[], [-1], [3], [3, -1], [3, -1, 4, -1], [-1, -1]])
def test_units_without_a_pair_change_nothing(name, entries):
    objective, _, halo_side = OBJECTIVES[name]
    inputs = np.ones((VOCABULARY, SIZE), np.float32)
    trained, result, _ = run(
        objective,
        StepShape(*SHAPES[0], halo_side),
        np.array(entries, np.int32),
        [0, 0],
        0.1,
        np.ones(VOCABULARY),
        inputs,
        inputs,
    )
    for table in trained:
        np.testing.assert_array_equal(table, inputs)
    assert result.loss == 0
    assert np.isfinite(result.magnitude)


@pytest.mark.parametrize("shrink", [True, False])
def test_both_halo_sides_give_the_same_loss(shrink):
    rng = np.random.default_rng(0)
    inputs, outputs = rng.normal(0, 0.3, (2, VOCABULARY, SIZE))
    results = [
        run(
            Objective(True, 1),
            StepShape(32, 8, 5, 4, halo_side),
            unit(0, 300, 30),
            [3, 4],
            0.01,
            np.full(VOCABULARY, 0.8),
            inputs,
            outputs,
            shrink_windows=shrink,
        )
        for halo_side in ("inputs", "centres")
    ]
    (_, first, _), (_, second, _) = results
    assert float(first.loss) == pytest.approx(float(second.loss), rel=1e-3)


def test_cbow_with_a_halo_of_centres_raises():
    with pytest.raises(ValueError, match='halo_side="inputs"'):
        run(
            Objective(False, 5, mean=True), StepShape(16, 8, 2, 4, "centres"), unit(0, 20, 9),
            [0, 0], 0.1,
            np.ones(VOCABULARY), *np.ones((2, VOCABULARY, SIZE)),
        )  # fmt: skip


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=30), max_size=12),
    st.sampled_from(sorted(OBJECTIVES)),
)
def test_odd_corpora_keep_tables_finite(sentences, name):
    entries = np.array([i for s in sentences for i in [*s, -1]], np.int32)
    objective, _, halo_side = OBJECTIVES[name]
    rng = np.random.default_rng(0)
    inputs, outputs = rng.normal(0, 0.2, (2, VOCABULARY, SIZE))
    trained, result, _ = run(
        objective,
        StepShape(32, 8, 3, 4, halo_side),
        entries,
        [1, 1],
        0.05,
        np.ones(VOCABULARY),
        inputs,
        outputs,
    )
    assert result.kept == sum(map(len, sentences))
    assert all(np.isfinite(table).all() for table in trained)
    seen = {i for s in sentences if len(s) > 1 for i in s}
    unseen = [i for i in range(VOCABULARY) if i not in seen]
    np.testing.assert_allclose(trained[0][unseen], inputs[unseen], atol=1e-6)
