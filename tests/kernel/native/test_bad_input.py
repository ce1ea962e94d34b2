"""Invalid units are rejected before any row changes."""

import re

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import Lists
from gensim_tfw2v.ops.library import load_ops
from tests.kernel.native.test_interfaces import trained_by_ops
from tests.kernel.native.units import DEFAULTS, make_case, padded, words_of

BOTH = {"hierarchical": 1, "size": 9}
CBOW = BOTH | {"skipgram": 0}


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def of_unit(name, place, value):
    def change(case):
        array = changed(getattr(case.unit, name), place, value)
        return case._replace(unit=case.unit._replace(**{name: array}))

    return change


def of_path(value):
    return lambda case: case._replace(paths=[*case.paths[:-1], np.array([0, value])])


INPUTS = "inputs must be rows of the table of inputs"
OUTPUTS = "targets and negatives must be rows of the table of outputs"
NODES = "nodes must be rows of the table of nodes"

#: Changes that make a unit invalid, and the error message of both interfaces.
WRONG = {
    "an input below 0": (of_unit("inputs", 5, -1), INPUTS),
    "an input above": (of_unit("inputs", -1, 12), INPUTS),
    "a target below 0": (of_unit("targets", 0, -7), OUTPUTS),
    "a target above": (of_unit("targets", 9, 13), OUTPUTS),
    "a negative below 0": (of_unit("negatives", (0, 0), -1), OUTPUTS),
    "a negative above": (of_unit("negatives", (-1, -1), 13), OUTPUTS),
    "a node below 0": (of_path(-1), NODES),
    "a node above": (of_path(2 * 11), NODES),
    "a window before the unit": (of_unit("reaches", (2, 0), 3), "reaches of a window"),
    "a window after the unit": (of_unit("reaches", (58, 1), 2), "reaches of a window"),
    "a window below 0": (of_unit("reaches", (30, 0), -1), "reaches of a window"),
    "too wide a window": (of_unit("reaches", (30, 1), 6), "reaches of a window"),
    "too few blocks": (
        lambda case: case._replace(unit=case.unit._replace(negatives=case.unit.negatives[:-1])),
        "for each block",
    ),
    "too few paths": (lambda case: case._replace(paths=case.paths[:5]), "needs a path"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("objective", [BOTH, CBOW], ids=["skip-gram", "CBOW"])
def test_unit_out_of_range_is_rejected(objective, wrong):
    change, message = WRONG[wrong]
    case = change(make_case(**objective))
    tables = case.trained()
    with pytest.raises(ValueError, match=message):
        tables.train(case.options, case.unit, case.alphas)
    for array, table in zip(case.tables, tables.rows, strict=True):
        np.testing.assert_array_equal(table, array)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        trained_by_ops(case)
    assert not trained_by_ops.changed


@pytest.mark.parametrize(
    "ends", [(-8, 60), (0, 61), (8, 0), (4, 60), (0, 12), (-(1 << 63), 60), (0, (1 << 63) - 1)]
)
def test_range_of_partial_blocks_is_rejected(ends):
    case = make_case(**BOTH)
    tables = case.trained()
    with pytest.raises(ValueError, match="must be multiples of block"):
        tables.train(case.options, case.unit, case.alphas, *ends)
    np.testing.assert_array_equal(tables.rows[0], case.tables[0])


#: Inputs of the op with sizes that do not match the remaining ones.
SIZES = {
    "lock": np.ones(11),
    "inputs": np.zeros(59),
    "weights": np.ones(11),
    "targets": np.zeros(59),
    "shards": np.zeros(60),
    "documents": np.zeros(59),
    "reaches": np.zeros((59, 2)),
    "negatives": np.zeros((8, 4)),
    "path_starts": np.zeros(0),
    "counts": np.zeros(1),
    "alphas": np.ones(3),
    "size": 17,
}


@pytest.mark.parametrize("name", SIZES)
def test_op_rejects_mismatched_sizes(name):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tfw2vTrain"):
        trained_by_ops(make_case(**BOTH), **{name: SIZES[name]})
    assert not trained_by_ops.changed


@pytest.mark.parametrize("wrong", [-1, 3])
def test_invalid_shard_is_rejected(wrong):
    case = make_case(**CBOW, shards=3)
    shards = changed(case.unit.shards, 3, wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="shards of targets must be"):
        trained_by_ops(case, shards=shards)
    assert not trained_by_ops.changed
    with pytest.raises(ValueError, match="shards of targets must be"):
        case.trained().train(case.options, case.unit._replace(shards=shards), case.alphas)


def test_op_rejects_unpadded_tables():
    case, ops = make_case(**BOTH), load_ops()
    tables = case.trained()
    words = case.words()
    rest = [9, words.lock, words.weights, case.alphas, 0]
    rest += [*words.tree, *words.subwords, [*case.unit]]
    for inputs, outputs in (
        (case.tables[0], padded(tables)[1]),
        (padded(tables)[0], case.tables[1]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tfw2vTrain"):
            ops.tfw2v_train(
                *(inputs, outputs, padded(tables)[2], *rest), options=list(case.options)
            )
    short = [*rest[:-1], [*case.unit][:-1]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="array sizes do not match"):
        ops.tfw2v_train(*padded(tables), *short, options=list(case.options))


@pytest.mark.parametrize("name", ["inputs", "targets", "reaches", "negatives", "paths"])
def test_op_rejects_wrong_dtypes(name):
    case = make_case(**BOTH)
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        trained_by_ops(case, **{name: np.zeros(3) + 0.5})


def test_ctypes_rejects_wrong_arrays():
    case = make_case(**BOTH)
    tables, unit = case.trained(), case.unit
    some = np.zeros(60, np.int32)
    filled = unit._replace(shards=some, documents=some, first_tags=some, tags=some)
    for name, array in filled._asdict().items():
        for wrong, error in (
            (array.astype(np.int64), TypeError),
            (array.astype(">i4"), TypeError),
            (array.tolist(), TypeError),
            (np.repeat(array, 2, 0)[::2], ValueError),
            (array[..., None], ValueError),
        ):
            with pytest.raises(error, match=name):
                tables.train(case.options, unit._replace(**{name: wrong}), case.alphas)
    with pytest.raises(ValueError, match="array sizes do not match"):
        tables.train(case.options, unit._replace(targets=unit.targets[1:]), case.alphas)
    with pytest.raises(ValueError, match="negatives must be"):
        tables.train(
            case.options, unit._replace(negatives=unit.negatives[:, 1:].copy()), case.alphas
        )
    with pytest.raises(TypeError, match="alphas must be an array of float32, not float64"):
        tables.train(case.options, unit, case.alphas.astype(float))
    inputs, outputs, nodes = case.tables
    names = ("lock", "weights", "tree")
    rows = [np.ones(12, np.float32)] * 2
    for name in names[:2]:
        short = by_ctypes.KernelTables(case.tables, case.words(**{name: rows[0][1:]}))
        with pytest.raises(ValueError, match="array sizes do not match"):
            short.train(case.options, unit, case.alphas)
    for arrays, error in [
        ((inputs.astype(np.float64), outputs, nodes), TypeError),
        ((inputs[0], outputs, nodes), ValueError),
        ((inputs.T, outputs, nodes), ValueError),
        ((inputs, outputs[:, 1:].copy(), nodes), ValueError),
        ((inputs, outputs, nodes, np.ones(12)), TypeError),
        ((inputs, outputs, nodes, np.ones(12, np.float32), np.ones(12)), TypeError),
        ((inputs, outputs, nodes, *rows, Lists(np.zeros(13, np.int64), None)), TypeError),
    ]:
        with pytest.raises(error):
            words = words_of(**dict(zip(names, arrays[3:], strict=False)))
            by_ctypes.KernelTables(arrays[:3], words)
    for array, table in zip(case.tables, tables.rows, strict=True):
        np.testing.assert_array_equal(table, array)


def test_path_ends_that_do_not_ascend_are_rejected():
    case = make_case(**BOTH)
    for ends in ([-1, *[0] * 13], [5, 4, *[5] * 12], [*[0] * 13, 1 << 20]):
        tree = Lists(np.array(ends, np.int32), np.zeros(9, np.int32))
        tables = by_ctypes.KernelTables(case.tables, case.words(tree=tree))
        with pytest.raises(ValueError, match="ends of paths must ascend"):
            tables.train(case.options, case.unit, case.alphas)


@pytest.mark.parametrize(
    ("which", "wrong"),
    [("entries", 27), ("entries", -1), ("first", -1), ("first", 1 << 20), ("first", "the next")],
)
def test_invalid_subwords_are_rejected(which, wrong):
    case = make_case(**BOTH, ngrams=5)
    lists, word = Lists.of(case.subwords), case.unit.inputs[7]
    if which == "entries":
        lists.entries[lists.offsets[word]] = wrong
    else:
        lists.offsets[word] = lists.offsets[word + 1] if wrong == "the next" else wrong
    tables = by_ctypes.KernelTables(case.tables, case.words(subwords=lists))
    with pytest.raises(ValueError, match="subwords of each word must be"):
        tables.train(case.options, case.unit, case.alphas)
    for table, before in zip(padded(tables), case.tables, strict=True):
        np.testing.assert_array_equal(table[:, :9], before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"block": 0}, "must be at least"),
        ({"shared": 0}, "must be at least"),
        ({"shards": 0}, "must be at least"),
        ({"window": 0}, "must be at least"),
        ({"max_window": 0}, "must be at least"),
        ({"negative": -1}, "must be at least"),
        ({"shards": 6}, "must be at least shards"),
        ({"repeats": 0}, "must be at least"),
        ({"window": 1 << 30}, "must be at most"),
        ({"repeats": 1 << 30}, "must be at most"),
        ({"block": 1 << 16, "shared": 1 << 16}, "must be at most"),
    ],
)
def test_invalid_options_are_rejected(changes, message):
    case = make_case()
    options = case.options._replace(**changes)
    words = np.zeros(1, np.int32), np.zeros(2, np.int32), np.ones(9, np.float32)
    noise = np.zeros((9, 2), np.int32)
    unit = case.unit._replace(negatives=np.zeros((0, options.shared), np.int32))
    with pytest.raises(ValueError, match=re.escape(f"{options}: ") + f".*{message}"):
        case.trained().train(options, unit, case.alphas)
    with pytest.raises(ValueError, match=message):
        by_ctypes.draw(options, *words[:2], words_of(keep=words[2], noise=noise))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        load_ops().tfw2v_draw(*words, noise, options=list(options))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        trained_by_ops(case._replace(options=options))


def test_draw_rejects_invalid_entries_and_noise():
    key, keep = np.zeros(2, np.int32), np.ones(3, np.float32)
    noise = np.zeros((3, 2), np.int32)
    entries = np.array([0, 3, -1], np.int32)
    with pytest.raises(ValueError, match="word ids must be below V"):
        by_ctypes.draw(DEFAULTS, entries, key, words_of(keep=keep, noise=noise))
    with pytest.raises(tf.errors.InvalidArgumentError, match="word ids must be below V"):
        load_ops().tfw2v_draw(entries, key, keep, noise, options=list(DEFAULTS))
    entries = entries[:1]
    with pytest.raises(ValueError, match="noise must be"):
        by_ctypes.draw(DEFAULTS, entries, key, words_of(keep=keep, noise=noise[:2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="noise must be"):
        load_ops().tfw2v_draw(entries, key, keep, noise[:2], options=list(DEFAULTS))
    options = DEFAULTS._replace(shards=5)
    with pytest.raises(ValueError, match="shards must be at most V"):
        by_ctypes.draw(options, entries, key, words_of(keep=keep, noise=noise))
    with pytest.raises(tf.errors.InvalidArgumentError, match="shards must be at most V"):
        load_ops().tfw2v_draw(entries, key, keep, noise, options=list(options))
    for wrong in (
        (entries.astype(np.int64), key, keep, noise),
        (entries, [0, 0], keep, noise),
        (entries, key, keep.astype(float), noise),
        (entries, key, keep, noise.astype(np.int64)),
    ):
        with pytest.raises(TypeError):
            by_ctypes.draw(DEFAULTS, *wrong[:2], words_of(keep=wrong[2], noise=wrong[3]))
