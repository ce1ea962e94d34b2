"""What is no unit is refused before a row is changed."""

import re

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import by_ctypes, load_ops
from gensim_tfw2v.kernel.word_arrays import Lists
from tests.kernel.native.test_interfaces import trained_by_ops
from tests.kernel.native.units import DEFAULTS, make_case, words_of

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


#: What is done to a unit, and what is said of it: by both interfaces.
WRONG = {
    "an input below 0": (of_unit("inputs", 5, -1), "not in the table of inputs"),
    "an input above": (of_unit("inputs", -1, 12), "not in the table of inputs"),
    "a target below 0": (of_unit("targets", 0, -7), "not in the table of outputs"),
    "a target above": (of_unit("targets", 9, 13), "not in the table of outputs"),
    "a negative below 0": (of_unit("negatives", (0, 0), -1), "not in the table of outputs"),
    "a negative above": (of_unit("negatives", (-1, -1), 13), "not in the table of outputs"),
    "a node below 0": (of_path(-1), "not in its table"),
    "a node above": (of_path(2 * 11), "not in its table"),
    "a window before the unit": (of_unit("reaches", (2, 0), 3), "window"),
    "a window after the unit": (of_unit("reaches", (58, 1), 2), "window"),
    "a window below 0": (of_unit("reaches", (30, 0), -1), "window"),
    "too wide a window": (of_unit("reaches", (30, 1), 6), "window"),
    "too few blocks": (
        lambda case: case._replace(unit=case.unit._replace(negatives=case.unit.negatives[:-1])),
        "too few blocks",
    ),
    "too few paths": (lambda case: case._replace(paths=case.paths[:5]), "no path"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("objective", [BOTH, CBOW], ids=["skip-gram", "CBOW"])
def test_what_is_out_of_range(objective, wrong):
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
def test_positions_that_are_no_blocks_of_the_unit(ends):
    case = make_case(**BOTH)
    tables = case.trained()
    with pytest.raises(ValueError, match="whole blocks of the unit"):
        tables.train(case.options, case.unit, case.alphas, *ends)
    np.testing.assert_array_equal(tables.rows[0], case.tables[0])


#: Inputs of the op whose sizes do not fit each other.
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
def test_other_sizes_for_the_op(name):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tfw2vTrain"):
        trained_by_ops(make_case(**BOTH), **{name: SIZES[name]})
    assert not trained_by_ops.changed


@pytest.mark.parametrize("wrong", [-1, 3])
def test_shards_that_are_none(wrong):
    case = make_case(**CBOW, shards=3)
    shards = changed(case.unit.shards, 3, wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a target is in no shard"):
        trained_by_ops(case, shards=shards)
    assert not trained_by_ops.changed
    with pytest.raises(ValueError, match="a target is in no shard"):
        case.trained().train(case.options, case.unit._replace(shards=shards), case.alphas)


def test_tables_that_are_not_filled_up():
    case, ops = make_case(**BOTH), load_ops()
    tables = case.trained()
    words = case.words()
    rest = [9, words.lock, words.weights, case.alphas, 0]
    rest += [*words.tree, *words.subwords, [*case.unit]]
    for inputs, outputs in (
        (case.tables[0], tables._padded[1]),
        (tables._padded[0], case.tables[1]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tfw2vTrain"):
            ops.tfw2v_train(
                *(inputs, outputs, tables._padded[2], *rest), options=list(case.options)
            )
    short = [*rest[:-1], [*case.unit][:-1]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="sizes of one unit"):
        ops.tfw2v_train(*tables._padded, *short, options=list(case.options))


@pytest.mark.parametrize("name", ["inputs", "targets", "reaches", "negatives", "paths"])
def test_other_dtypes_for_the_op(name):
    case = make_case(**BOTH)
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        trained_by_ops(case, **{name: np.zeros(3) + 0.5})


def test_other_arrays_for_ctypes():
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
    with pytest.raises(ValueError, match="sizes of one unit"):
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
        short = by_ctypes.Tables(case.tables, case.words(**{name: rows[0][1:]}))
        with pytest.raises(ValueError, match="sizes of one unit"):
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
            by_ctypes.Tables(arrays[:3], words_of(**dict(zip(names, arrays[3:], strict=False))))
    for array, table in zip(case.tables, tables.rows, strict=True):
        np.testing.assert_array_equal(table, array)


def test_ends_of_paths_that_do_not_ascend():
    case = make_case(**BOTH)
    for ends in ([-1, *[0] * 13], [5, 4, *[5] * 12], [*[0] * 13, 1 << 20]):
        tree = Lists(np.array(ends, np.int32), np.zeros(9, np.int32))
        tables = by_ctypes.Tables(case.tables, case.words(tree=tree))
        with pytest.raises(ValueError, match="do not ascend"):
            tables.train(case.options, case.unit, case.alphas)


@pytest.mark.parametrize(
    ("which", "wrong"),
    [("entries", 27), ("entries", -1), ("first", -1), ("first", 1 << 20), ("first", "the next")],
)
def test_subwords_that_are_no_rows(which, wrong):
    case = make_case(**BOTH, ngrams=5)
    lists, word = Lists.of(case.subwords), case.unit.inputs[7]
    if which == "entries":
        lists.entries[lists.first[word]] = wrong
    else:
        lists.first[word] = lists.first[word + 1] if wrong == "the next" else wrong
    tables = by_ctypes.Tables(case.tables, case.words(subwords=lists))
    with pytest.raises(ValueError, match="subwords are not rows"):
        tables.train(case.options, case.unit, case.alphas)
    for table, before in zip(tables._padded, case.tables, strict=True):
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
        ({"shards": 6}, "fewer negatives than there are shards"),
        ({"window": 1 << 30}, "too large"),
        ({"block": 1 << 16, "shared": 1 << 16}, "too large"),
    ],
)
def test_options_that_nothing_can_be_trained_with(changes, message):
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


def test_draws_of_words_that_are_not_there():
    key, keep = np.zeros(2, np.int32), np.ones(3, np.float32)
    noise = np.zeros((3, 2), np.int32)
    entries = np.array([0, 3, -1], np.int32)
    with pytest.raises(ValueError, match="a word is not in the vocabulary"):
        by_ctypes.draw(DEFAULTS, entries, key, words_of(keep=keep, noise=noise))
    with pytest.raises(tf.errors.InvalidArgumentError, match="a word is not in the vocabulary"):
        load_ops().tfw2v_draw(entries, key, keep, noise, options=list(DEFAULTS))
    entries = entries[:1]
    with pytest.raises(ValueError, match="noise must have"):
        by_ctypes.draw(DEFAULTS, entries, key, words_of(keep=keep, noise=noise[:2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="noise must have"):
        load_ops().tfw2v_draw(entries, key, keep, noise[:2], options=list(DEFAULTS))
    options = DEFAULTS._replace(shards=5)
    with pytest.raises(ValueError, match="fewer words than shards"):
        by_ctypes.draw(options, entries, key, words_of(keep=keep, noise=noise))
    with pytest.raises(tf.errors.InvalidArgumentError, match="fewer words than shards"):
        load_ops().tfw2v_draw(entries, key, keep, noise, options=list(options))
    for wrong in (
        (entries.astype(np.int64), key, keep, noise),
        (entries, [0, 0], keep, noise),
        (entries, key, keep.astype(float), noise),
        (entries, key, keep, noise.astype(np.int64)),
    ):
        with pytest.raises(TypeError):
            by_ctypes.draw(DEFAULTS, *wrong[:2], words_of(keep=wrong[2], noise=wrong[3]))
