"""A job on a copy of the rows equals training its units on the tables themselves."""

import functools

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import WordArrays, huffman_tree, pair_rates
from gensim_tfw2v.parameter_server.columns import ColumnJob
from gensim_tfw2v.parameter_server.combining import (
    rows_per_mean,
)
from gensim_tfw2v.parameter_server.job import ParameterServer, PushCounter
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.row_job import RowJob
from gensim_tfw2v.parameter_server.scratch import WorkerVariables
from gensim_tfw2v.regimes.parameter_server import layout_class
from tests.engines import step_engine
from tests.graph.test_objectives import huffman_paths, unit
from tests.graph.unit_function import concrete_unit_function, word_tensors
from tests.parameter_server.chains import chained

VOCABULARY, SIZE = 40, 6
NOISE = np.arange(1.0, VOCABULARY + 1)
OBJECTIVES = [
    Objective(True, 5),
    Objective(False, 3, mean=True),
    Objective(True, 0, hierarchical=True),
    Objective(False, 2, mean=True, hierarchical=True),
]


#: Job class of each layout; a new layout needs a row here.
PROGRAMS = {"rows": RowJob, "columns": ColumnJob}


def make(
    objective, threads=1, shards=1, workers=1, lock=None, wire_dtype="float32", shared=False,
    layout="rows", negative_shards=1,
):  # fmt: skip
    """Return a job's function, its tables, its push counter, and (engine, words, arrays)."""
    engine = step_engine(
        objective, StepShape(32, 8, 3, 4), 6, locked=lock is not None,
        negative_shards=negative_shards,
    )  # fmt: skip
    tree = None
    if objective.hierarchical:
        tree = huffman_tree(*huffman_paths(1.2 ** np.arange(VOCABULARY)))
    noise = NOISE if objective.negative else None
    words = WordArrays.of(np.full(VOCABULARY, 0.9), noise, tree, lock, negative_shards)
    arrays = Tables(*(
        np.random.default_rng(number).normal(0, 0.1, (VOCABULARY if used else 0, SIZE))
        for number, used in enumerate((True, objective.negative, objective.hierarchical))
    ))  # fmt: skip
    tables = Tables(*(layout_class(layout)(len(array), SIZE, shards) for array in arrays))
    for table, array in zip(tables, arrays, strict=True):
        table.load(array)
    rates = pair_rates(
        np.full(VOCABULARY, 1 / VOCABULARY), 4.0, objective.skipgram,
        objective.negative, NOISE, tree,
    )  # fmt: skip
    push_counter = PushCounter(tf.Variable(0, dtype=tf.int64), tf.Variable(tf.zeros([4], tf.int32)))
    constants = tf.nest.map_structure(tf.Variable, (words, rates))
    program_of_job = PROGRAMS[layout](
        JobConfig(
            engine,
            objective,
            SIZE,
            3,
            1024,
            rows_per_mean(objective, 4.0, False),
            workers=workers,
            threads=threads,
            wire_dtype=wire_dtype,
            shared_corpus=shared,
            layout=layout,
        ),  # fmt: skip
        ParameterServer(tables, *constants, push_counter, WorkerVariables()),
    )

    def function(*arguments):
        return JobResult.unpack(program_of_job.function(*arguments).numpy())

    function.traced = program_of_job.function
    return function, tables, push_counter, (engine, word_tensors(words), arrays)


def job(*units, places=None, folder=None, replicas=1.0, alpha=0.05):
    """Return a job's arguments; with `folder`, units are read from a file there."""
    number = len(units)
    sources = [part.astype("<i4").tobytes() for part in units]
    ranges = np.zeros((number, 2), np.int32)
    if folder:
        written = np.concatenate([[-7], *units]).astype("<i4")
        written.tofile(folder / "shard")
        ends = np.cumsum([1, *map(len, units)])
        ranges = np.stack([ends[:-1], ends[1:]], 1)
        sources = [str(folder / "shard") if len(part) else "" for part in units]
    return (
        tf.constant(sources),
        tf.constant(ranges, tf.int32),
        tf.constant(range(number) if places is None else places),
        tf.constant([[5, place] for place in range(number)]),
        tf.fill([number, 2], alpha),
        tf.constant(replicas),
        tf.constant(0, tf.int64),
    )


def exported(tables):
    arrays = [np.empty((table.n_rows, SIZE), np.float32) for table in tables]
    for table, array in zip(tables, arrays, strict=True):
        table.export(array)
    return arrays


@pytest.mark.parametrize(
    ("objective", "layout", "shards", "locked", "negative_shards"),
    [
        # each objective in each layout with all features, and one objective with fewer
        *((objective, "rows", 3, True, 1) for objective in OBJECTIVES),
        *((objective, "columns", 3, True, 3) for objective in OBJECTIVES),
        (OBJECTIVES[0], "rows", 1, False, 2),
        (OBJECTIVES[0], "columns", 1, False, 1),
        (OBJECTIVES[3], "rows", 2, False, 2),
    ],
    ids=str,
)
def test_single_unit_job_trains_as_the_unit(objective, layout, shards, locked, negative_shards):
    lock = np.linspace(0, 2, VOCABULARY) if locked else None
    function, tables, push_counter, (engine, words, arrays) = make(
        objective, 1, shards, lock=lock, layout=layout, negative_shards=negative_shards
    )
    expected = Tables(
        *(tf.Variable(array.astype(np.float32), shape=[None, SIZE]) for array in arrays)
    )
    train = concrete_unit_function(engine, expected)
    for number in range(2):
        entries = unit(number, 300, 11)
        alphas = tf.constant([0.05, 0.05])
        one = train(expected, words, tf.constant(entries), tf.constant([5, 0]), alphas)
        result = function(*job(entries, places=[number]))
        np.testing.assert_allclose(result.units.loss, [one.loss], rtol=1e-5)
        np.testing.assert_array_equal(result.units.kept, [one.kept])
        if layout == "rows":
            rows = result.fetched_bytes / (4 * SIZE)
            assert result.pushed_bytes / (4 * SIZE + 4) == rows
            least = sum(map(bool, map(len, arrays)))
            assert least * 20 < rows <= least * VOCABULARY
        else:
            assert 0 < result.fetched_bytes < result.pushed_bytes
    for found, wanted in zip(exported(tables), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert push_counter.pushes.numpy() == 2
    assert push_counter.times.numpy().tolist() == [1, 1, 0, 0]


@functools.cache
def by_columns(shards, wire_dtype="float32"):
    """Return the result of a job on columns; cached for all tests."""
    function, *_ = make(Objective(True, 5), shards=shards, layout="columns", wire_dtype=wire_dtype)
    return function(*job(unit(1, 300, 11)))


def test_traffic_of_columns_is_proportional_to_shards():
    results = {shards: by_columns(shards) for shards in (1, 2)}
    for shards, result in results.items():
        assert result.fetched_bytes == pytest.approx(shards * results[1].fetched_bytes)
        assert result.pushed_bytes == pytest.approx(shards * results[1].pushed_bytes)


def test_bfloat16_halves_the_traffic_of_products():
    wide, narrow = (by_columns(2, dtype) for dtype in ("float32", "bfloat16"))
    assert wide.fetched_bytes > 1.8 * narrow.fetched_bytes
    np.testing.assert_allclose(wide.units.loss, narrow.units.loss, rtol=1e-2)


@functools.cache
def two_threads():
    """A job of two threads; once for all who ask."""
    return make(Objective(True, 5), threads=2, shards=2)


def test_threads_of_a_job_share_its_rows():
    function, tables, push_counter, _ = two_threads()
    before = exported(tables)
    push_counter.times.assign([0] * 4)
    parts = unit(1, 200, 9), unit(2, 100, 9)
    result = function(*job(*parts))
    assert [120 < result.units.kept[0] < 200, 60 < result.units.kept[1] < 100] == [True] * 2
    together = [after - old for after, old in zip(exported(tables), before, strict=True)]
    assert push_counter.times.numpy().tolist() == [1, 1, 0, 0]
    for table, array in zip(tables, before, strict=True):
        table.load(array)
    nothing = np.zeros(0, np.int32)
    function(*job(parts[0], nothing, places=[0, -1]))
    function(*job(nothing, parts[1], places=[-1, 1]))
    for change, old, after in list(zip(together, before, exported(tables), strict=True))[:2]:
        expected = after - old
        # only similar: threads overwrite each other's updates
        along = np.vdot(change, expected) / np.vdot(expected, expected)
        across = np.linalg.norm(change - along * expected) / np.linalg.norm(expected)
        assert along > 0.5 and across < 0.6


@pytest.mark.parametrize("layout", PROGRAMS)
def test_units_of_a_job_are_trained_in_parallel(layout):
    function, *_ = make(Objective(True, 5), threads=3, shards=2, layout=layout)
    assert not chained(function.traced.get_concrete_function(), "While")


def test_units_read_from_files_train_as_units_sent(tmp_path):
    sent, read = two_threads(), make(Objective(True, 5), threads=2, shared=True)
    for table, array in zip(sent[1], exported(read[1]), strict=True):
        table.load(array)
    nothing = np.zeros(0, np.int32)
    for number, parts in enumerate([(unit(1, 200, 9), nothing), (nothing, unit(2, 100, 9))]):
        places = [number, -1] if number == 0 else [-1, number]
        results = [
            sent[0](*job(*parts, places=places)),
            read[0](*job(*parts, places=places, folder=tmp_path)),
        ]
        np.testing.assert_array_equal(results[0].units.kept, results[1].units.kept)
    for one, other in zip(exported(sent[1]), exported(read[1]), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    ("objective", "pairs", "rows"),
    [
        (Objective(True, 5), 4, 1),
        (Objective(False, 5, mean=True), 4, 4),
        (Objective(False, 5, mean=True), 6, 6),
        (Objective(False, 5), 4, 1),
        (Objective(False, 0, mean=True, hierarchical=True), 4, 4),
    ],
)
def test_rows_per_mean_depend_on_objective_pairs_and_documents(objective, pairs, rows):
    assert rows_per_mean(objective, pairs, documents=False) == rows
    assert rows_per_mean(objective, pairs, documents=True) == rows + objective.mean


def test_pushed_fraction_varies_by_direction():
    entries = unit(3, 300, 12)
    alone, with_others = make(Objective(True, 5)), make(Objective(True, 5), workers=16)
    start = exported(alone[1])
    changes = []
    for made, replicas, alpha in ((alone, 1.0, 0.05), (with_others, 16.0, 0.025)):
        made[0](*job(entries, replicas=replicas, alpha=alpha))
        changes.append(
            [after - before for after, before in zip(exported(made[1]), start, strict=True)]
        )
    for whole, pushed in zip(changes[0][:2], changes[1][:2], strict=True):
        assert np.array_equal(whole.any(1), pushed.any(1))
        whole, pushed = whole[whole.any(1)], pushed[whole.any(1)]
        along = (whole * pushed).sum(1) / (whole * whole).sum(1)
        assert 1 / 16 < along.min() < 0.95 and along.max() < 1
        # not a multiple of the whole change: fractions differ by direction
        assert np.abs(pushed - along[:, None] * whole).max() > 0.05 * np.abs(pushed).max()


def test_rates_count_the_predictions_of_each_row():
    frequency = np.array([0.5, 0.3, 0.2])
    points = [np.array([2]), np.array([2, 0]), np.array([2, 0])]
    tree = huffman_tree(points, [np.array([1]), np.array([0, 0]), np.array([0, 1])])
    rates = pair_rates(frequency, 6.0, True, 5, np.array([1.0, 1.0, 2.0]), tree)
    mean_length = 1.5
    np.testing.assert_allclose(rates.inputs, frequency * 6 * (1 + 5 + mean_length), rtol=1e-6)
    noise = np.array([1, 1, 2]) / 4
    np.testing.assert_allclose(rates.outputs, 6 * (frequency + 5 * noise), rtol=1e-6)
    np.testing.assert_allclose(rates.nodes, 6 * np.array([0.5, 0, 1]), rtol=1e-6)
    cbow = pair_rates(frequency, 6.0, False, 0, None, tree)
    assert len(cbow.outputs) == 0
    np.testing.assert_allclose(cbow.nodes, [0.5, 0, 1], rtol=1e-6)
