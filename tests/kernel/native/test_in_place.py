"""Ops train the memory of variables in place, and using a variable does not copy it."""

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import unit_key
from gensim_tfw2v.kernel.kernel_shape import KernelShape
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Tables, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.units import draw_unit, train_unit
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.parameter_server.scratch import PaddedScratch, WorkerVariables
from gensim_tfw2v.regimes.local import LocalRegime
from tests.corpus.reference import encode_sentences
from tests.engines import kernel_options
from tests.graph.unit_function import word_tensors

VOCABULARY, SIZE = 30, 10


def options(objective=None):
    return kernel_options(objective or Objective(True, 5), KernelShape(16, 3, 8))


def words(lock=None):
    return WordArrays.of(np.full(VOCABULARY, 0.9), np.ones(VOCABULARY), lock=lock)


def address(variable):
    """Return the address of the memory that kernels use for a variable."""
    # numpy() would copy it
    return np.asarray(memoryview(table_memory(variable.handle))).ctypes.data


def train(options, variables, entries):
    known = word_tensors(words())
    unit = draw_unit(
        options,
        known,
        tf.convert_to_tensor(entries),
        tf.constant([1, 2]),
        tf.constant([0.1, 0.1]),
    )
    handles = Tables(*(variable.handle for variable in variables))
    return train_unit(options, unit, handles, known, SIZE, 1)


@pytest.mark.parametrize("traced", [False, True])
def test_variables_are_trained_in_place(traced):
    variables = [
        tf.Variable(tf.random.normal([n, 16], stddev=0.1)) for n in (VOCABULARY, VOCABULARY, 0)
    ]
    before = [variable.numpy().copy() for variable in variables]
    addresses = [address(variable) for variable in variables[:2]]
    entries = np.arange(60, dtype=np.int32) % VOCABULARY
    function = tf.function(train, autograph=False) if traced else train
    result = function(options(), variables, entries)
    assert float(result.loss) > 0
    assert [address(variable) for variable in variables[:2]] == addresses
    for variable, old in zip(variables[:2], before, strict=False):
        assert (variable.numpy() != old)[:, :SIZE].any(axis=1).all()


def test_rows_are_written_in_place():
    variable = tf.Variable(tf.zeros([5, 16]))
    at = address(variable)
    load_ops().tfw2v_scatter(table_memory(variable.handle), [2, 3], tf.ones([2, SIZE]))
    assert address(variable) == at
    expected = np.zeros((5, 16))
    expected[2:4, :SIZE] = 1
    np.testing.assert_array_equal(variable.numpy(), expected)
    whole = table_memory(variable.handle)
    rows = load_ops().tfw2v_fetch(whole, [1, 2, 3], SIZE, dtype=tf.float32)
    np.testing.assert_array_equal(rows, expected[1:4, :SIZE])
    np.testing.assert_array_equal(variable.numpy(), expected)


@pytest.mark.parametrize(
    "objective", [Objective(True, 5), Objective(False, 5, mean=True)], ids=["skip-gram", "CBOW"]
)
def test_training_continues_in_place_after_export(objective):
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 0.1, (VOCABULARY, SIZE)).astype(np.float32)
    regime = LocalRegime(options(objective), words(), 1)
    regime.load(Tables(rows, np.zeros_like(rows), np.zeros((0, SIZE), np.float32)))
    seen, addresses = [rows], []
    sentences = [[str(w) for w in rng.integers(0, VOCABULARY, 20)] for _ in range(40)]
    with encode_sentences(sentences, {str(w): w for w in range(VOCABULARY)}) as corpus:
        units = corpus.units(256)
        for epoch in range(3):
            regime.train_epoch(
                [
                    UnitTask(unit, epoch, unit_key(1, epoch, unit.index), (0.05, 0.05))
                    for unit in units
                ],
                lambda _: None,
            )
            inputs, outputs = np.empty((2, VOCABULARY, SIZE), np.float32)
            regime.export(Tables(inputs, outputs, np.empty((0, SIZE), np.float32)))
            seen.append(inputs)
            addresses.append(regime._tables.rows[0].ctypes.data)
    for old, new in zip(seen[:-1], seen[1:], strict=True):
        assert (old != new).any(axis=1).all()
    assert len(set(addresses)) == 1
    # rows that are loaded later replace the trained ones
    regime.load(Tables(rows, rows, np.zeros((0, SIZE), np.float32)))
    regime.export(Tables(inputs, outputs, np.empty((0, SIZE), np.float32)))
    np.testing.assert_array_equal([inputs, outputs], [rows, rows])


def test_training_on_a_worker_keeps_the_fetched_rows():
    # they are needed again to compute how rows have changed
    scratch = PaddedScratch(WorkerVariables(), "test", SIZE)
    fetched = tf.random.normal([VOCABULARY, SIZE])
    for rows in (fetched, tf.concat([fetched, tf.zeros([VOCABULARY, 6])], 1)[:, :SIZE]):
        scratch.place([tf.range(VOCABULARY)], [rows])
        before, kept = scratch.read(), rows.numpy().copy()
        whole = table_memory(scratch.make_handle())
        load_ops().tfw2v_scatter(whole, tf.range(VOCABULARY), tf.ones([VOCABULARY, SIZE]))
        np.testing.assert_array_equal(rows, kept)
        np.testing.assert_array_equal(before, kept)
        np.testing.assert_array_equal(scratch.read(), np.ones((VOCABULARY, SIZE)))


def test_tables_of_equal_size_do_not_share_memory():
    scratches = [PaddedScratch(WorkerVariables(), "test", SIZE) for _ in range(2)]

    @tf.function(autograph=False)
    def write():
        with tf.control_dependencies([scratch.allocate(VOCABULARY) for scratch in scratches]):
            return [
                scratch.write_part(tf.constant(0), tf.fill([VOCABULARY, SIZE], value))
                for scratch, value in zip(scratches, (1.0, 2.0), strict=True)
            ]

    for _ in range(2):
        write()
        for scratch, value in zip(scratches, (1, 2), strict=True):
            np.testing.assert_array_equal(scratch.read(), np.full((VOCABULARY, SIZE), value))
