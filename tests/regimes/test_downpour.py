"""Downpour: fetch and push intervals, Adagrad, and the warm start."""

import functools
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import unit_key
from gensim_tfw2v.graph.steps import prepare_unit
from gensim_tfw2v.graph.updates import EPSILON, whole_rows
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.options.regimes import Downpour
from gensim_tfw2v.parameter_server.row_job import RowJob
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.regimes import downpour
from gensim_tfw2v.regimes.asynchronous import AsynchronousRegime
from gensim_tfw2v.regimes.downpour import DownpourRegime
from tests.graph.unit_function import MAX_ENTRIES, word_tensors
from tests.regimes.trials import (
    ALPHA,
    ENTRIES,
    MOSTLY_TWO,
    OBJECTIVES,
    SEED,
    VOCABULARY,
    Trial,
    assert_equal,
    corpus,
    tasks,
)

#: (n_fetch, n_push, shards); units have 5 steps.
WINDOWS = [(1, 1, 1), (1, 3, 1), (2, 1, 3), (3, 2, 1), (1000, 1000, 3)]


@pytest.fixture(scope="module")
def units():
    """Several units of 5 steps, and one without tokens."""
    with corpus() as encoded:
        units = encoded.units(ENTRIES)
        empty = replace(units[2], stop=units[2].start, index=len(units))
        yield [*units[:2], empty, *units[2:]]


@pytest.fixture(scope="module")
def short_units():
    """Units of one step each."""
    with corpus() as encoded:
        yield encoded.units(33)[:6]


def make(trial, n_fetch, n_push, shards=1, **options):
    trial.workers.n_shards = shards
    return DownpourRegime(trial.setup, trial.workers, Downpour(n_fetch, n_push, **options))


def train(regime, trial, units, epoch=0, arrays=None):
    regime.load(trial.arrays if arrays is None else arrays)
    reports = []
    regime.train_epoch(tasks(units, epoch), reports.append)
    # reports arrive in any order
    assert sorted(report.unit.index for report in reports) == sorted(unit.index for unit in units)
    return reports


def by_adagrad(trial, units, tables, squares, epoch=0):
    """Train units sequentially with Adagrad."""
    train = adagrad_function(trial.engine.options)
    for unit in units:
        key = tf.constant(unit_key(SEED, epoch, unit.index))
        train(tables, squares, word_tensors(trial.words), tf.constant(unit.read()), key)
    return tables


@functools.lru_cache
def adagrad_function(options):
    """Return a function that trains a unit on tables with Adagrad; traced once for all units."""

    @tf.function(autograph=False, reduce_retracing=True)
    def train_unit(tables, squares, words, entries, key):
        part = prepare_unit(options, words, entries, key, tf.constant(ALPHA), MAX_ENTRIES)
        rows = whole_rows(table.handle for table in tables)
        sums = Tables(*(table.handle for table in squares))
        begin = part.begin(rows)
        return part.train_steps(options, rows, words, tf.constant(0), part.steps, begin, sums)

    return train_unit


def no_squares(trial):
    return Tables(*(
        tf.Variable(np.zeros((len(array), 1), np.float32), shape=[None, 1])
        for array in trial.arrays
    ))  # fmt: skip


@pytest.fixture(scope="module")
def by_one_replica(units):
    """Return a cached function: rows, traffic and row bytes of one replica after all units."""

    @functools.cache
    def train_with(objective, n_fetch, n_push, shards):
        trial = Trial(objective)
        regime = make(trial, n_fetch, n_push, shards)
        train(regime, trial, units)
        found = trial.exported(regime), regime.traffic, regime.job.row_bytes
        regime.close()
        return found

    return train_with


@pytest.mark.parametrize(
    ("objective", "n_fetch", "n_push", "shards"),
    [
        *((OBJECTIVES[0], *window) for window in WINDOWS),
        *((objective, *WINDOWS[1]) for objective in OBJECTIVES[1:]),
    ],
    ids=str,
)
def test_single_replica_equals_training_on_the_tables(
    units, by_one_replica, objective, n_fetch, n_push, shards
):
    found, traffic, _ = by_one_replica(objective, n_fetch, n_push, shards)
    assert_equal(found, Trial(objective).by_hand(units))
    assert set(traffic.staleness) == {0}
    assert (traffic.units, traffic.repeated) == (len(units), 0)


@pytest.mark.parametrize(("n_fetch", "n_push", "shards"), WINDOWS[1:2])
@pytest.mark.parametrize("objective", MOSTLY_TWO)
def test_single_replica_with_adagrad_equals_training_on_the_tables(
    units, by_one_replica, objective, n_fetch, n_push, shards
):
    trial = Trial(objective)
    regime = make(trial, n_fetch, n_push, shards, adagrad=True)
    tables, squares = trial.tables(), no_squares(trial)
    for epoch in range(2):  # loading rows keeps the sums of squares
        arrays = Tables(*(table.numpy() for table in tables))
        train(regime, trial, units, epoch, arrays)
        by_adagrad(trial, units, tables, squares, epoch)
        assert_equal(trial.exported(regime), tables, atol=1e-4)
        if epoch == 0:  # sums are sent with their rows
            _, *without = by_one_replica(objective, n_fetch, n_push, shards)
            travelled = rows_that_travel(regime.traffic, regime.job.row_bytes)
            assert travelled == rows_that_travel(*without)
    of_regime = [np.empty((len(array), 1), np.float32) for array in trial.arrays]
    for layout, array, expected in zip(regime.squares, of_regime, squares, strict=True):
        layout.export(array)
        np.testing.assert_allclose(array, expected, rtol=1e-3, atol=1e-6)
    regime.close()


@pytest.mark.parametrize("objective", MOSTLY_TWO)
def test_adagrad_step_equals_a_loop_over_rows(short_units, objective):
    trial = Trial(objective)
    found, squares = trial.tables(), no_squares(trial)
    sums = [np.zeros(len(array)) for array in trial.arrays]
    for unit in short_units:
        trial.arrays = Tables(*(table.numpy() for table in found))
        expected = []
        moved = trial.by_hand([unit])
        for start, table in zip(trial.arrays, moved, strict=True):
            changes = np.linalg.norm(table.numpy() - start, axis=1)
            assert np.all(changes < 0.9 * trial.engine.options.max_norm)  # nothing is clipped
        for start, table, so_far in zip(trial.arrays, moved, sums, strict=True):
            rows = start.astype(np.float64)
            for row, change in enumerate(table.numpy() - rows):
                gradient = change / ALPHA[0]
                so_far[row] += np.mean(gradient**2)
                rows[row] += ALPHA[0] * gradient / np.sqrt(so_far[row] + EPSILON)
            expected.append(rows)
        by_adagrad(trial, [unit], found, squares)
        assert_equal(found, expected, atol=2e-3)
    for one, other in zip(squares, sums, strict=True):
        np.testing.assert_allclose(one.numpy()[:, 0], other, rtol=1e-2, atol=1e-6)
    assert max(map(max, filter(len, sums))) > 0


@pytest.mark.parametrize(("adagrad", "workers", "threads"), [(False, 2, 1), (True, 1, 2)])
@pytest.mark.parametrize(
    "objective", [pytest.param(OBJECTIVES[0], marks=pytest.mark.slow), OBJECTIVES[1]], ids=str
)
def test_locked_rows_do_not_change(units, objective, adagrad, workers, threads):
    lock = np.ones(VOCABULARY, np.float32)
    lock[::3] = 0
    trial = Trial(objective, workers, threads, lock)
    regime = make(trial, 1, 2, adagrad=adagrad)
    regime.load(trial.arrays)
    regime.train_epoch(tasks(units), lambda report: None)
    changed = np.any(trial.exported(regime).inputs != trial.arrays.inputs, 1)
    np.testing.assert_array_equal(changed, lock > 0)
    regime.close()


@pytest.fixture(scope="module")
def of_two_threads():
    trial = Trial(OBJECTIVES[0], threads=2)
    regime = make(trial, 2, 1)
    yield trial, regime
    regime.close()


@pytest.mark.parametrize("empty", [False, True])
def test_threads_share_the_rows_of_a_replica(units, of_two_threads, empty):
    trial, regime = of_two_threads
    pair = [units[0], units[2] if empty else units[1]]
    train(regime, trial, pair)
    expected = trial.by_hand(pair)
    if empty:
        assert_equal(trial.exported(regime), expected)
    else:
        for start, found, wanted in list(
            zip(trial.arrays, trial.exported(regime), expected, strict=True)
        )[:2]:
            change, other = found - start, wanted.numpy() - start
            # only similar: threads overwrite each other's updates
            along = np.vdot(change, other) / np.vdot(other, other)
            assert along > 0.5 and np.linalg.norm(change - along * other) < 0.6 * along * (
                np.linalg.norm(other)
            )
    assert regime.server.push_counter.times.numpy().sum() == 2


def announced(number):
    """Return a trial that announces `number` workers but runs one thread."""
    trial = Trial(OBJECTIVES[0], workers=number)
    trial.workers = LocalWorkers(1)
    trial.workers.number = number
    return trial


def test_windows_of_a_whole_job_equal_asynchronous_training(units, monkeypatch):
    """Both push the same fraction of the change of one of three workers."""
    monkeypatch.setattr(RowJob, "n_parts", 1)  # both measure curvature on the same sample
    found = []
    for regime_class in (AsynchronousRegime, DownpourRegime):
        trial = announced(3)
        options = [Downpour(1000, 1000)] if regime_class is DownpourRegime else []
        regime = regime_class(trial.setup, trial.workers, *options)
        train(regime, trial, units[:1])
        found.append(trial.exported(regime))
        regime.close()
    assert_equal(*found, atol=1e-6)
    alone = Trial(OBJECTIVES[0]).by_hand(units[:1])
    assert np.abs(found[0].inputs - alone.inputs.numpy()).max() > 1e-3


def test_short_fetch_and_push_intervals_push_larger_changes(units):
    changes = []
    for windows in ((1, 1), (1, 1000), (1000, 1)):
        trial = announced(8)
        regime = make(trial, *windows)
        train(regime, trial, units[:1])
        changes.append(np.linalg.norm(trial.exported(regime).inputs - trial.arrays.inputs))
        regime.close()
    assert changes[0] > 1.01 * changes[1] and changes[0] > 1.01 * changes[2]


def rows_that_travel(traffic, row):
    """Return the numbers of rows fetched and pushed, with `row` bytes per row."""
    assert traffic.fetched_bytes % row == traffic.pushed_bytes % (row + 4) == 0
    return traffic.fetched_bytes // row, traffic.pushed_bytes // (row + 4)


def test_n_fetch_and_n_push_set_the_traffic(units, by_one_replica):
    trial = Trial(OBJECTIVES[0])
    words, steps = word_tensors(trial.words), 0
    for unit in units:
        key, entries = tf.constant(unit_key(SEED, 0, unit.index)), tf.constant(unit.read())
        part = prepare_unit(
            trial.engine.options, words, entries, key, tf.constant(ALPHA), MAX_ENTRIES
        )
        steps += int(part.plan.inputs.distinct.edges[-1] + part.plan.outputs.distinct.edges[-1])
    each, late_pushes, late_fetches, _, at_the_ends = (
        rows_that_travel(*by_one_replica(OBJECTIVES[0], *window)[1:]) for window in WINDOWS
    )
    assert each == (steps, steps)
    assert late_pushes[0] == late_fetches[1] == steps
    assert steps > late_fetches[0] > at_the_ends[0]
    assert steps > late_pushes[1] > at_the_ends[1] == at_the_ends[0]


class Watched(LocalWorkers):
    """Workers that record (running at the same time, announced replicas) per call."""

    def __init__(self, number):
        super().__init__(number)
        self.seen, self._running, self._lock = [], 0, threading.Lock()
        self.together = threading.Event()  # set when all announced replicas run

    def schedule(self, function, *arguments):
        with self._lock:
            self._running += 1
            replicas = int(arguments[1])
            self.seen.append((self._running, replicas))
            if self._running == replicas > 1:
                self.together.set()
        if replicas > 1:  # otherwise one could finish before the next starts
            self.together.wait(30)
        job = super().schedule(function, *arguments)

        class Noted:
            def result(_):
                try:
                    return job.result()
                finally:
                    with self._lock:
                        self._running -= 1

        return Noted()


def test_warm_start_trains_with_one_replica(units, monkeypatch):
    traced, fetch = [], downpour.ReplicaJob.fetch

    def noted(job):
        traced.append(job)
        return fetch(job)

    monkeypatch.setattr(downpour.ReplicaJob, "fetch", noted)
    trial = Trial(OBJECTIVES[0], workers=2)
    trial.setup = trial.setup._replace(n_units=len(units))
    workers = Watched(2)
    regime = DownpourRegime(trial.setup, workers, Downpour(warm_start=0.5))
    for epoch in range(2):
        workers.seen = []
        workers.together.clear()
        regime.load(trial.arrays)
        reports = []
        regime.train_epoch(tasks(units, epoch), reports.append)
        assert {report.unit.index for report in reports} == {unit.index for unit in units}
        n_warm = len(units) // 2 if epoch == 0 else 0
        assert regime.count_warm_tasks(tasks(units, epoch)) == n_warm
        if epoch == 0:
            assert workers.seen.pop(0) == (1, 1)
        assert {replicas for _, replicas in workers.seen} == {2} and max(workers.seen)[0] > 1
    assert len(traced) == 1  # one graph, by one worker and by all of a process
    # an epoch resumed from a checkpoint has the rest of the warm start
    assert regime.count_warm_tasks(tasks(units[1:])) == len(units) // 2 - 1
    regime.close()


def test_workers_of_a_process_share_one_traced_function(units):
    trial = Trial(OBJECTIVES[0], workers=2)
    config = replace(trial.setup.config, one_at_a_time=True)
    workers = Watched(2)
    regime = AsynchronousRegime(trial.setup._replace(n_units=len(units), config=config), workers)
    regime.load(trial.arrays)
    for epoch in range(2):
        regime.train_epoch(tasks(units, epoch), lambda report: None)
    assert workers.seen == [(1, 1), (1, 1)]
    assert 0 < workers.liveness.longest_job < 600
    regime.close()


@pytest.mark.parametrize(
    ("options", "alpha", "sg"),
    [
        ("n_fetch=2", 0.05, 1),
        pytest.param("n_fetch=2", 0.05, 0, marks=pytest.mark.slow),
        ("n_fetch=4,n_push=2,adagrad=true,warm_start=0.2", 0.1, 0),
        pytest.param(
            "n_fetch=4,n_push=2,adagrad=true,warm_start=0.2", 0.1, 1, marks=pytest.mark.slow
        ),
    ],
)
def test_training_lowers_the_loss(options, alpha, sg, tmp_path):
    text = Path(datapath("lee_background.cor")).read_text().splitlines(keepends=True)
    (tmp_path / "text").write_text("".join(text[:30]))
    model = TFWord2Vec(
        corpus_file=str(tmp_path / "text"), vector_size=20, epochs=5, sg=sg, workers=2,
        alpha=alpha, compute_loss=True, seed=2, regime=f"downpour:{options}",
    )  # fmt: skip
    assert model.mean_losses[-1] < 0.95 * model.mean_losses[0]
    assert np.isfinite(model.wv.vectors).all()
    assert model.traffic.units > 0 and model.traffic.repeated == 0
