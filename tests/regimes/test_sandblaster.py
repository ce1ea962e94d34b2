"""Sandblaster: loss as a fixed function of the tables, its gradient, and L-BFGS on them."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gensim.test.utils import datapath
from scipy.optimize import minimize

from gensim_tfw2v import Sandblaster, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import unit_key
from gensim_tfw2v.graph.draws import draw
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Divergence, Tables
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.regimes.sandblaster import SandblasterRegime
from tests.graph import reference
from tests.graph.unit_function import word_tensors
from tests.regimes.trials import ENTRIES, SEED, SHAPE, SIZE, VOCABULARY, Flaky, Trial, corpus, tasks

LEE = datapath("lee_background.cor")
OBJECTIVES = [
    Objective(True, 5),
    Objective(False, 3, mean=True, corrected=True),
    Objective(False, 3, corrected=True),
    Objective(True, 2, hierarchical=True),
    Objective(False, 0, mean=True, hierarchical=True, corrected=True),
]


@pytest.fixture(scope="module")
def units():
    """Several units, one of them without tokens."""
    with corpus(30) as encoded:
        units = encoded.units(ENTRIES)
        yield [*units, replace(units[0], index=len(units), stop=units[0].start)]


def make(trial, units, shards=1, workers=None, **options):
    trial.workers.n_shards = shards
    if workers is not None:
        workers.n_shards = shards
    setup = trial.setup._replace(n_units=len(units))
    return SandblasterRegime(setup, workers or trial.workers, Sandblaster(**options))


def epoch(regime, units, number=0, stop=lambda: False):
    """Evaluate at the trial point; return the loss, its gradient and the reports."""
    reports = []
    regime.train_epoch(tasks(units, number), reports.append, stop)
    assert len({report.unit.index for report in reports}) == len(reports)
    arrays = []
    for table in regime._gradient.tables:
        arrays.append(np.empty((table.n_rows, SIZE), np.float32))
        table.export(arrays[-1])
    return sum(report.loss for report in reports), flat(arrays), reports


def flat(arrays):
    return np.concatenate([np.asarray(array, np.float64).reshape(-1) for array in arrays])


def tables_of(numbers, like):
    ends = np.cumsum([array.size for array in like])[:-1]
    parts = np.split(np.asarray(numbers, np.float32), ends)
    return Tables(*(part.reshape(array.shape) for part, array in zip(parts, like, strict=True)))


def slow(trial, units):
    """Return the loss and the gradient of skip-gram, computed by loops over pairs."""
    inputs, outputs, _ = (np.asarray(array, np.float64) for array in trial.arrays)
    loss, gradient, words = 0.0, np.zeros((2, VOCABULARY, SIZE)), word_tensors(trial.words)
    for unit in units:
        key = tf.constant(unit_key(SEED, 0, unit.index))
        draws = draw(trial.engine.options, words, tf.constant(unit.read()), key)
        for step in range(len(draws.inputs)):
            centres, block_inputs, windows = (
                x[step].numpy() for x in (draws.centres, draws.inputs, draws.windows)
            )
            reach = SHAPE.window + 1
            d_inputs, d_outputs, lost = reference.skipgram_step(
                inputs,
                outputs,
                reference.windows(
                    centres, block_inputs, windows // reach, windows % reach, SHAPE.window
                ),
                reference.sampled(draws.negatives[step].numpy(), 5, True),
                alpha=1.0,
            )
            loss += lost
            gradient -= [d_inputs, d_outputs]
    return loss, gradient.reshape(-1)


@pytest.fixture(scope="module")
def by_one(units):
    """A trial of one worker with one thread, and its regime; once per module."""
    trial = Trial(OBJECTIVES[0])
    regime = make(trial, units)
    yield trial, regime
    regime.close()


def begun(by_one):
    """Return both, with the initial rows loaded again."""
    trial, regime = by_one
    for arrays in (Tables(*map(np.zeros_like, trial.arrays)), trial.arrays):
        regime.load(arrays)
    return trial, regime


def test_loss_and_gradient_equal_a_slow_loop(units, by_one):
    trial, regime = begun(by_one)
    loss, gradient, reports = epoch(regime, units)
    expected, slow_gradient = slow(trial, units)
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-4)
    assert sum(report.kept for report in reports) == 300
    assert {report.unit.index for report in reports} == {unit.index for unit in units}


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_gradient_equals_finite_differences(units, objective):
    trial = Trial(objective)
    trial.arrays = Tables(*(5 * array for array in trial.arrays))
    regime = make(trial, units)

    def at(numbers):
        regime.load(tables_of(numbers, trial.arrays))
        return epoch(regime, units)

    point, rng = flat(trial.arrays), np.random.default_rng(1)
    _, gradient, _ = at(point)
    assert np.abs(gradient).max() > 1
    for _ in range(3):
        way = rng.normal(size=len(point))
        (after, _, _), (before, _, _) = at(point + 1e-2 * way), at(point - 1e-2 * way)
        assert (after - before) / 2e-2 == pytest.approx(gradient @ way, rel=1e-3, abs=0.05)
    regime.close()


@pytest.fixture(scope="module")
def steady(units, by_one):
    """Loss and gradient of three passes, by one worker of one thread."""
    _, regime = begun(by_one)
    return [epoch(regime, units)[:2] for _ in range(3)]


@pytest.mark.parametrize(("workers", "threads", "shards"), [(1, 3, 1), (2, 1, 3)])
def test_loss_does_not_depend_on_workers_threads_or_shards(units, steady, workers, threads, shards):
    trial = Trial(OBJECTIVES[0], workers, threads)
    regime = make(trial, units, shards)
    regime.load(trial.arrays)
    loss, gradient, _ = epoch(regime, units[::-1], number=3)  # draws do not depend on the epoch
    assert loss == pytest.approx(steady[0][0], rel=1e-7)
    np.testing.assert_allclose(gradient, steady[0][1], atol=1e-5)
    assert regime.traffic.units - regime.traffic.repeated == len(units)
    regime.close()


@pytest.mark.parametrize("kind", ["fails", "hangs"])
def test_item_run_twice_counts_once(units, steady, kind):
    trial = Trial(OBJECTIVES[0])
    workers = Flaky(2, 3, threading.Event() if kind == "hangs" else None)
    regime = make(trial, units, workers=workers)
    regime.load(trial.arrays)
    for loss, gradient in steady:
        found = epoch(regime, units)
        assert found[0] == pytest.approx(loss, rel=1e-5)
        np.testing.assert_allclose(found[1], gradient, atol=1e-4 * np.abs(gradient).max())
    assert not workers.was_waited_for
    if workers.go:
        workers.go.set()
    regime.close()


@pytest.mark.slow  # L-BFGS itself is always compared with SciPy's
def test_loss_reaches_the_minimum_of_scipy(units):
    few = units[:1]
    trial = Trial(Objective(True, 2))
    trial.arrays = Tables(*(3 * array for array in trial.arrays))
    regime = make(trial, few)

    def f(numbers):
        regime.load(tables_of(numbers, trial.arrays))
        return epoch(regime, few)[:2]

    options = {"maxcor": 10, "maxfun": 240, "maxiter": 1000}
    theirs = minimize(f, flat(trial.arrays), jac=True, method="L-BFGS-B", options=options)
    regime.close()
    trial.workers = LocalWorkers(1)
    regime = make(trial, few)
    regime.load(trial.arrays)
    best = []
    for _ in range(120):
        epoch(regime, few)
        best.append(regime._search.loss)
    known = [loss for loss in best if loss is not None]
    assert np.all(np.diff(known) <= 0)
    assert known[-1] < 0.5 * known[0]
    assert known[-1] == pytest.approx(theirs.fun, rel=1e-3, abs=1e-3 * known[0])
    regime.close()


def test_best_point_is_exported(units, by_one):
    trial, regime = begun(by_one)
    losses = [epoch(regime, units)[0]]
    first = trial.exported(regime)
    assert all(map(np.array_equal, first, trial.arrays)), "the tables have not changed yet"
    losses += [epoch(regime, units)[0] for _ in range(5)]
    best = trial.exported(regime)
    assert regime._search.loss == min(losses) < 0.9 * losses[0]

    # loading the exported rows keeps the search and its history
    pairs = len(regime._search._pairs)
    regime.load(best)
    assert len(regime._search._pairs) == pairs > 0
    # loading different rows restarts the search
    regime.load(first)
    assert not regime._search._pairs
    assert epoch(regime, units)[0] == pytest.approx(losses[0], rel=1e-6)


def test_stopped_pass_resumes(units, by_one, steady):
    (loss, gradient), *_ = steady
    _, regime = begun(by_one)
    asked = iter([False, False])
    first, _, reports = epoch(regime, units, stop=lambda: next(asked, True))
    assert 0 < len(reports) < len(units) and regime._search.loss is None
    done = {report.unit.index for report in reports}
    rest, found, _ = epoch(regime, [unit for unit in units if unit.index not in done])
    assert first + rest == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(found, gradient, atol=1e-5)
    assert regime._search.loss == pytest.approx(loss, rel=1e-6)


def test_partial_pass_does_not_set_the_loss(units, by_one):
    """After a checkpoint in the middle of a pass, the rest of it is evaluated for nothing."""
    _, regime = begun(by_one)
    part, _, reports = epoch(regime, units[1:])
    assert len(reports) == len(units) - 1 and regime._search.loss is None
    loss, _, _ = epoch(regime, units)
    assert regime._search.loss == pytest.approx(loss) and loss > part


def test_locked_rows_do_not_change(units):
    lock = np.ones(VOCABULARY, np.float32)
    lock[::3] = 0
    trial = Trial(OBJECTIVES[0], lock=lock)
    regime = make(trial, units)
    regime.load(trial.arrays)
    losses = [epoch(regime, units)[0] for _ in range(6)]
    changed = np.any(trial.exported(regime).inputs != trial.arrays.inputs, 1)
    np.testing.assert_array_equal(changed, lock > 0)
    assert regime._search.loss < 0.95 * losses[0]
    regime.close()
    for factor in (0.5, 2.0):
        lock[1] = factor
        with pytest.raises(ValueError, match=f"vectors_lockf has a factor {factor:g}: use 0 for"):
            make(Trial(OBJECTIVES[0], lock=lock), units)


def test_nonfinite_initial_loss_raises_divergence(units, by_one):
    trial, regime = by_one
    regime.load(Tables(*(np.full_like(array, 1e30) for array in trial.arrays)))
    with pytest.raises(Divergence, match="at the beginning of epoch 4"):
        epoch(regime, units, number=4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, r"gensim's CBOW \(sg=0\) computes a different one: set corrected_cbow=True, or sg=1"),
        ({"sg": 1, "layout": "columns", "cluster": "local:ps=1,worker=1"}, "leave out one"),
    ],
)
def test_models_without_the_gradient_are_rejected(options, said):
    with pytest.raises(ValueError, match=said):
        TFWord2Vec(regime="sandblaster", **options)


def test_make_rejects_cbow_without_corrected_gradient():
    trial = Trial(Objective(False, 3, mean=True))
    with pytest.raises(ValueError, match="a batch method needs the gradient"):
        Sandblaster().make(trial.setup, trial.workers)


def test_factors_of_rows_are_rejected_before_training():
    model = TFWord2Vec(sg=1, min_count=1, regime="sandblaster")
    model.build_vocab([["a", "b"]])
    model.wv.vectors_lockf = np.array([0.5, 1.0])
    with pytest.raises(ValueError, match="vectors_lockf has a factor 0.5"):
        model.train([["a", "b"]], total_examples=1, epochs=1)


@pytest.mark.parametrize(
    ("options", "share"),
    [({"sg": 1}, 0.9), ({"corrected_cbow": True}, 0.9), ({"sg": 1, "hs": 1, "negative": 0}, 0.95)],
    ids=["sg", "cbow", "hs"],
)
def test_training_lowers_the_loss(options, share, tmp_path):
    text = tmp_path / "text"
    text.write_text("".join(Path(LEE).read_text().splitlines(keepends=True)[:60]))
    model = TFWord2Vec(
        corpus_file=str(text), vector_size=20, epochs=12, workers=1, compute_loss=True, seed=2,
        regime=Sandblaster(history=5), **options,
    )  # fmt: skip
    assert len(model.mean_losses) == 12
    assert min(model.mean_losses) < share * model.mean_losses[0]
    assert np.isfinite(model.wv.vectors).all()
    assert model.traffic.units - model.traffic.repeated == 12 * (
        (model.traffic.units - model.traffic.repeated) // 12
    )
