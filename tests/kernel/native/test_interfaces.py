"""Both interfaces of the kernels, TensorFlow ops and ctypes, give identical results."""

import subprocess
import sys

import numpy as np
import pytest

from gensim_tfw2v import compiled_library
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import alias_table, huffman_tree
from gensim_tfw2v.ops.library import load_ops
from tests.kernel.native.units import DEFAULTS, OBJECTIVES, make_case, padded, words_of

VOCABULARY = 40


def trained_by_ops(case, loss_every=0, **replaced):
    """Train by the op, and return the padded tables and the sums."""
    tables = case.trained()
    variables = [tf.Variable(table) for table in padded(tables)]
    words = case.words()
    given = {
        "size": case.tables[0].shape[1],
        "lock": words.lock,
        "weights": words.weights,
        "alphas": case.alphas,
        "loss_every": loss_every,
        "path_starts": words.tree.offsets,
        "paths": words.tree.entries,
        "subword_starts": words.subwords.offsets,
        "subwords": words.subwords.entries,
    } | replaced
    unit = [given.pop(name, array) for name, array in case.unit._asdict().items()]
    dtypes = dict.fromkeys(("lock", "weights", "alphas"), tf.float32) | {"loss_every": tf.int64}
    try:
        sums = load_ops().tfw2v_train(
            *(variable.read_value() for variable in variables),
            *(tf.constant(array, dtypes.get(name, tf.int32)) for name, array in given.items()),
            [tf.constant(array, tf.int32) for array in unit],
            options=list(case.options),
        )
    finally:
        after = [variable.numpy() for variable in variables]
        trained_by_ops.changed = any(
            (old != new).any() for old, new in zip(padded(tables), after, strict=True)
        )
    return after, sums.numpy()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shrink": 0},
        {"shards": 3},
        {"skip_targets": 1},
        {"shards": 2, "skip_targets": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", [{}, {"ngrams": 5, "weights": True}], ids=str)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_op_and_ctypes_results_are_identical(objective, rows, changes):
    options = DEFAULTS._replace(**OBJECTIVES[objective] | changes)
    rng = np.random.default_rng(0)
    entries = rng.integers(0, VOCABULARY, 400).astype(np.int32)
    entries[19::20] = -1
    keep = rng.uniform(0.3, 1.2, VOCABULARY).astype(np.float32)
    noise = alias_table(rng.uniform(0.1, 1.0, VOCABULARY), options.shards)
    key = np.array([3, -4], np.int32)
    unit = drawn_by_both(options, entries, key, keep, noise)
    assert 200 < len(unit.inputs) < 380
    case = make_case(vocabulary=VOCABULARY, size=20, locked=True, **rows)
    case = case._replace(options=options, unit=unit)
    assert_trained_alike(case)


@pytest.mark.parametrize(
    "changes",
    [
        {"train_words": 0},
        {"train_words": 1},
        {"train_words": 0, "shards": 2, "skip_targets": 1, "sequential": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_op_and_ctypes_results_on_documents_are_identical(objective, changes):
    options = DEFAULTS._replace(**OBJECTIVES[objective] | changes, documents=1)
    rng = np.random.default_rng(0)
    entries = rng.integers(0, VOCABULARY, 400).astype(np.int32)
    entries[19::20], entries[20::20], entries[21::40] = -1, rng.integers(-12, -2, 19), -7
    keep = rng.uniform(0.3, 1.2, VOCABULARY).astype(np.float32)
    noise = alias_table(rng.uniform(0.1, 1.0, VOCABULARY), options.shards)
    unit = drawn_by_both(options, entries, np.array([3, -4], np.int32), keep, noise)
    assert (unit.counts[0] > 200) == bool(options.skipgram)
    assert (len(unit.documents) > 200) != bool(options.skipgram)
    # rows of tags follow the rows of words
    case = make_case(vocabulary=VOCABULARY + 10, size=20, locked=True)
    assert_trained_alike(case._replace(options=options, unit=unit))


def drawn_by_both(options, entries, key, keep, noise):
    """Draw a unit, and assert that the op draws the same."""
    unit = by_ctypes.draw(options, entries, key, words_of(keep=keep, noise=noise))
    found = load_ops().tfw2v_draw(entries, key, keep, noise, options=list(options))
    for of_ops, array in zip(found, unit, strict=True):
        np.testing.assert_array_equal(of_ops.numpy().reshape(array.shape), array)
    return unit


def assert_trained_alike(case):
    """Assert that results of both interfaces are bitwise equal."""
    expected, sums = trained_by_ops(case, loss_every=1)
    tables = case.trained()
    result = tables.train(case.options, case.unit, case.alphas, loss_every=1)
    np.testing.assert_array_equal(sums, result[:3])
    assert sums[0] > 0
    for table, of_ops in zip(padded(tables), expected, strict=True):
        np.testing.assert_array_equal(table, of_ops)


def test_training_a_unit_twice_gives_identical_results():
    for changes in OBJECTIVES.values():
        case = make_case(**changes)
        twice = case.trained(), case.trained()
        results = [tables.train(case.options, case.unit, case.alphas) for tables in twice]
        assert results[0] == results[1]
        for one, other in zip(*(padded(tables) for tables in twice), strict=True):
            np.testing.assert_array_equal(one, other)


def test_huffman_tree_encodes_gensims_points_and_codes():
    # one word with a path of one node, two words with two nodes
    points = [np.array([2, 0]), np.array([2, 1]), np.array([2, 1])]
    codes = [np.array([1]), np.array([0, 1]), np.array([0, 0])]
    points[0] = points[0][:1]
    tree = huffman_tree(points, codes)
    np.testing.assert_array_equal(tree.offsets, [0, 1, 3, 5])
    np.testing.assert_array_equal(tree.entries, [5, 4, 3, 4, 2])


def test_the_ctypes_interface_needs_no_tensorflow():
    program = (
        "import sys, types\n"
        "package = types.ModuleType('gensim_tfw2v')\n"  # the real __init__ imports TensorFlow
        f"package.__path__ = [{str(compiled_library.KERNELS.parents[2])!r}]\n"
        "sys.modules['gensim_tfw2v'] = package\n"
        "from gensim_tfw2v.kernel.native import by_ctypes\n"
        "print(by_ctypes.variant(), 'tensorflow' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    assert ran.stdout.split() == [by_ctypes.variant(), "False"]
