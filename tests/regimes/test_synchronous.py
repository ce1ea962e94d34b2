"""Rounds combine the changes that jobs make to one snapshot, on any workers."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from gensim_tfw2v import Asynchronous, Synchronous, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.options.regimes import Deterministic
from gensim_tfw2v.parameter_server.combining import adasum, directions
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.regimes.backup_scheduler import BackupScheduler
from gensim_tfw2v.regimes.job_durations import JobDurations
from gensim_tfw2v.regimes.synchronous import SynchronousRegime
from gensim_tfw2v.unit_sizes import ROUND_POWER, ROUND_TIMES
from tests.regimes.trials import (
    ALPHA,
    ENTRIES,
    OBJECTIVES,
    SIZE,
    Flaky,
    Trial,
    assert_equal,
    corpus,
    tasks,
)


@pytest.fixture(scope="module", autouse=True)
def no_straggler():
    """Treat no job as a straggler, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobDurations, "late_seconds", lambda *_: np.inf)
        yield


@pytest.fixture(scope="module")
def units():
    with corpus(96) as encoded:
        yield encoded.units(ENTRIES)


ADASUM, SUM = Synchronous(), Synchronous(combining="sum")


@pytest.fixture(scope="module")
def undisturbed(units):
    """Rows after three workers have trained all units."""
    trial = Trial(OBJECTIVES[0], workers=3, native=True)
    regime = SynchronousRegime(trial.setup, trial.workers, ADASUM)
    train(regime, trial, units)
    yield trial.exported(regime)
    regime.close()


def slow_adasum(one, other):
    rows = []
    for a, b in zip(one, other, strict=True):
        a_share = 1 - a @ b / (2 * a @ a) if a.any() else 0
        b_share = 1 - a @ b / (2 * b @ b) if b.any() else 0
        rows.append(a_share * a + b_share * b)
    return np.array(rows).reshape(one.shape)


def train(regime, trial, units, stop=lambda: False):
    regime.load(trial.arrays)
    reports = []
    regime.train_epoch(tasks(units), reports.append, stop)
    return reports


@pytest.mark.parametrize(
    ("objective", "options", "engine"),
    [
        *((objective, Asynchronous(), {}) for objective in OBJECTIVES),
        *((objective, ADASUM, {}) for objective in (OBJECTIVES[0], OBJECTIVES[-1])),
        *((objective, Asynchronous(), {"native": True}) for objective in OBJECTIVES),
        (OBJECTIVES[0], Asynchronous(), {"native": True, "shards": 3}),
        (OBJECTIVES[-1], ADASUM, {"native": True}),
    ],
    ids=str,
)
def test_single_worker_equals_training_on_the_tables(units, objective, options, engine):
    trial = Trial(objective, **engine)
    regime = options.make(trial.setup, trial.workers)
    reports = train(regime, trial, units)
    assert sorted(report.unit.index for report in reports) == list(range(len(units)))
    assert_equal(trial.exported(regime), trial.by_hand(units))
    regime.close()


@pytest.mark.parametrize(
    ("objective", "options", "native"),
    [
        (OBJECTIVES[0], SUM, False),
        pytest.param(OBJECTIVES[1], SUM, False, marks=pytest.mark.slow),
        pytest.param(OBJECTIVES[2], SUM, False, marks=pytest.mark.slow),
        (OBJECTIVES[3], SUM, True),
        (OBJECTIVES[0], ADASUM, True),
    ],
    ids=str,
)
def test_round_combines_changes_from_one_snapshot(units, objective, options, native):
    """Sums of one-step changes equal a step on the concatenated units, before clipping."""
    combine = np.add if options is SUM else slow_adasum
    tables = Trial(objective).arrays
    for first in range(0, 8, 4):  # two rounds
        hand = Trial(objective, native=native)
        hand.arrays = tables
        changes = [
            [
                after.numpy()[:, :SIZE] - start
                for after, start in zip(hand.by_hand([unit]), tables, strict=True)
            ]
            for unit in units[first : first + 4]
        ]
        tables = Tables(*(
            start + combine(combine(one, two), combine(three, four))
            for start, one, two, three, four in zip(tables, *changes, strict=True)
        ))  # fmt: skip
    trial = Trial(objective, workers=4, native=native)
    regime = SynchronousRegime(trial.setup, trial.workers, options)
    train(regime, trial, units[:8])
    assert_equal(trial.exported(regime), tables)
    regime.close()


def test_adasum_is_between_the_sum_and_the_mean():
    one, across = np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]])
    for other, expected in [(across, one + across), (one, one), (0 * one, one), (-one, 0 * one)]:
        np.testing.assert_allclose(slow_adasum(one, other), expected, atol=1e-12)
        found = adasum(tf.constant(one), tf.constant(other))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_result_with_several_workers_is_reproducible(units, undisturbed):
    trial = Trial(OBJECTIVES[0], workers=3, native=True)
    regime = SynchronousRegime(trial.setup, trial.workers, ADASUM)
    train(regime, trial, units)
    # tolerance: the order of summing three changes varies
    assert_equal(trial.exported(regime), undisturbed, atol=2e-6)
    regime.close()


def test_staleness_is_zero_and_every_unit_counts_once(units):
    trial = Trial(OBJECTIVES[0], workers=2, threads=2, native=True)
    regime = SynchronousRegime(trial.setup, trial.workers, ADASUM)
    reports = train(regime, trial, units)
    assert [report.unit for report in reports] == units
    assert set(regime.traffic.staleness) == {0}
    assert (regime.traffic.units, regime.traffic.repeated) == (len(units), 0)
    assert regime.traffic.fetched_bytes > 0
    assert 0 < trial.workers.liveness.longest_job < 600
    regime.close()


def test_stopping_leaves_whole_rounds(units):
    trial = Trial(OBJECTIVES[0], workers=2, native=True)
    regime = SynchronousRegime(trial.setup, trial.workers, ADASUM)
    asked = iter([False, False, True])
    reports = train(regime, trial, units, lambda: next(asked))
    assert [report.unit for report in reports] == units[:4]
    regime.close()


@pytest.mark.parametrize("kind", ["fails", "hangs"])
def test_failed_or_hung_job_is_rerun_and_counts_once(units, undisturbed, kind, monkeypatch):
    begin = BackupScheduler._begin

    def only_once(scheduler, item):
        if item.n_attempts:
            monkeypatch.setattr(JobDurations, "late_seconds", lambda *_: np.inf)
        begin(scheduler, item)

    monkeypatch.setattr(BackupScheduler, "_begin", only_once)
    if kind == "hangs":
        monkeypatch.setattr(JobDurations, "late_seconds", lambda *_: 2.0)
    trial = Trial(OBJECTIVES[0], workers=3, native=True)
    workers = Flaky(3, 1, threading.Event() if kind == "hangs" else None)
    regime = SynchronousRegime(trial.setup, workers, ADASUM)
    reports = train(regime, trial, units)
    assert not workers.was_waited_for
    assert [report.unit for report in reports] == units
    assert_equal(trial.exported(regime), undisturbed, atol=2e-6)
    # the job's worker trained and pushed it, though its result never came
    assert (regime.traffic.units, regime.traffic.repeated) == (len(units) + 1, 1)
    if workers.go:
        workers.go.set()
    regime.close()


def test_steps_option_sets_the_unit_size():
    sentences = [["a", "b", "c", "d", "e"] * 4] * 400
    units = []
    for steps in (1, 4):
        model = TFWord2Vec(
            sentences, vector_size=8, min_count=1, sample=0, workers=2, epochs=1, sg=1,
            regime=f"synchronous:steps={steps}",
        )  # fmt: skip
        units.append(model.traffic.units)
        assert np.isfinite(model.wv.vectors).all()
    assert units[0] == pytest.approx(4 * units[1], rel=0.1)
    assert units[0] == pytest.approx(400 * 20 / 64, rel=0.2)


@pytest.mark.parametrize(("objective", "kind"), [(0, "skipgram"), (1, "cbow")])
def test_deterministic_round_adds_fractions_by_direction(units, objective, kind):
    """Each of three jobs adds its fraction of the change from one snapshot, with any workers.

    They train at `ALPHA`, the rate of a single worker raised by a power of the number of jobs.
    """
    expected = Trial(OBJECTIVES[objective], workers=3, native=True)
    config = replace(expected.setup.config, max_growth=9.0)
    expected.setup = expected.setup._replace(config=config)
    jobs = 3.0 * ROUND_TIMES
    alphas = tuple(np.array(ALPHA) / jobs ** ROUND_POWER[kind])
    of_round = tasks(units[:3], alphas=alphas)
    total = {name: rows.copy() for name, rows in expected.arrays._asdict().items() if len(rows)}
    for task in of_round:
        after = expected.by_hand([task.unit])
        rows, rates, changes = {}, {}, {}
        for name in total:
            start = getattr(expected.arrays, name)
            change = getattr(after, name).numpy()[:, :SIZE] - start
            ids = np.flatnonzero(change.any(1))
            rows[name], rates[name] = start[ids], getattr(expected.setup.rates, name)[ids]
            changes[name] = ids, change[ids]
        found = directions(
            *(tf.nest.map_structure(tf.constant, given) for given in (rows, rates)),
            *(tf.constant(task.key), tf.constant(jobs), config.rows_per_mean),
        )
        for name, (ids, change) in changes.items():
            steps = ALPHA[0] * task.unit.tokens * rates[name]
            total[name][ids] += found[name].shares(steps).apply(change, tf.range(len(ids))).numpy()
    for workers in (1, 2):
        regime = Deterministic().make(expected.setup, LocalWorkers(workers))
        regime.warm_units = 0
        regime.load(expected.arrays)
        regime.train_epoch(of_round, lambda report: None)
        for name, rows in total.items():
            np.testing.assert_allclose(getattr(expected.exported(regime), name), rows, atol=1e-6)
        regime.close()
