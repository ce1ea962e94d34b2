"""Each sub-model equals training on its sample, on any worker."""

import itertools
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from gensim_tfw2v.corpus.sampling import Sampling
from gensim_tfw2v.kernel.tables import Divergence
from gensim_tfw2v.parameter_server.sub_model import SubModelDone, SubModelTask, file_of
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.regimes import parameter_server, sub_models
from gensim_tfw2v.regimes.sub_models import SubModelsRegime
from tests.parameter_server.chains import chained
from tests.regimes.trials import (
    ALPHA,
    ENTRIES,
    OBJECTIVES,
    VOCABULARY,
    Trial,
    assert_equal,
    corpus,
    tasks,
)

EPOCHS, MODELS = 2, 3


@pytest.fixture(scope="module")
def units():
    with corpus(80) as encoded:
        yield encoded.units(ENTRIES)


def sub_models_of(units, kind="shuffle", models=MODELS, alpha=ALPHA):
    sampling = Sampling(kind, models, 1 / models, 5)
    orders = [units, units[::-1]]
    epochs = [tasks(orders[number], number, alpha) for number in range(EPOCHS)]
    return [SubModelTask(number, sampling, epochs) for number in range(models)]


def train(trial, given, workers=None, stop=lambda: False):
    """Train; return the regime, the reports, and the saved rows of finished sub-models."""
    regime = SubModelsRegime(trial.setup, workers or trial.workers)
    told = []
    with closing(regime):
        regime.load(trial.arrays)
        regime.train_epoch(given, told.append, stop)
    done = [one.number for one in told if isinstance(one, SubModelDone)]
    reports = [one for one in told if not isinstance(one, SubModelDone)]
    files = {
        number: [
            np.load(file_of(trial.setup.folder, number, name))
            for name, array in trial.arrays._asdict().items()
            if len(array)
        ]
        for number in done
    }
    return regime, reports, files


def by_hand(trial, given, number):
    """Return the rows of a sub-model, and how often it has trained each word."""
    given, tables, seen = given[number], None, Counter()
    for epoch, order in enumerate(given.epoch_tasks):
        for unit in (task.unit for task in order):
            if not given.sampling.has_unit(number, unit.index, len(order)):
                continue
            index = (epoch * given.sampling.n_samples + number) * len(order) + unit.index
            sample = given.sampling.select(unit.read(), number, unit.index, epoch)
            seen.update(sample[sample >= 0].tolist())
            named = [replace(unit, index=index)]
            tables = trial.by_hand(named, epoch, tables, lambda _, sample=sample: sample)
    rows = [table.numpy() for table in tables]
    return [array for array in rows if len(array)], [seen[word] for word in range(VOCABULARY)]


@pytest.mark.parametrize(
    ("objective", "kind", "native"),
    [
        *((objective, "shuffle", False) for objective in OBJECTIVES),
        *((OBJECTIVES[0], kind, True) for kind in ("random", "equal")),
        *((objective, "shuffle", True) for objective in (OBJECTIVES[0], OBJECTIVES[-1])),
    ],
    ids=str,
)
def test_sub_model_equals_training_on_its_sample(
    objective, kind, native, units, tmp_path, monkeypatch
):
    trial = Trial(objective, workers=2, folder=tmp_path, native=native)
    traced, engine = [], type(trial.engine)
    prepare = engine.prepare

    def noted(*arguments):
        traced.append(arguments)
        return prepare(*arguments)

    monkeypatch.setattr(engine, "prepare", noted)
    given = sub_models_of(units, kind)
    regime, reports, files = train(trial, given)
    assert len(traced) == 1  # one graph for all workers of a process
    assert sorted(files) == list(range(MODELS))
    for number, found in files.items():
        expected, seen = by_hand(trial, given, number)
        assert_equal(found, expected)
        np.testing.assert_array_equal(np.load(file_of(tmp_path, number, "seen")), seen)
    assert len({report.unit.index for report in reports}) == len(reports)
    assert sum(r.unit.raw_words for r in reports) == EPOCHS * sum(u.raw_words for u in units)
    assert regime.traffic.pushed_bytes == 0
    assert regime.traffic.fetched_bytes == MODELS * sum(a.nbytes for a in trial.arrays)
    assert 0 < regime.traffic.corpus_bytes < 8 * EPOCHS * sum(unit.stop for unit in units)


def test_threads_of_a_worker_share_its_sub_model(units, tmp_path):
    trial = Trial(OBJECTIVES[0], workers=2, threads=2, folder=tmp_path)
    _, reports, files = train(trial, sub_models_of(units))
    assert sorted(files) == list(range(MODELS))
    assert len(reports) == EPOCHS * MODELS * len(units)
    for number, (inputs, _) in files.items():
        expected, _ = by_hand(trial, sub_models_of(units), number)
        change = inputs - trial.arrays.inputs
        wanted = expected[0] - trial.arrays.inputs
        assert np.vdot(change, wanted) > 0.7 * np.vdot(wanted, wanted)


class Remote(LocalWorkers):
    """Workers whose variables and files are separate, as those of tasks of a cluster."""

    are_threads = False


@pytest.mark.parametrize(("native", "kind"), [(True, "Tfw2vTrain"), (False, "While")])
def test_units_of_a_job_are_trained_in_parallel(native, kind, tmp_path):
    trial = Trial(OBJECTIVES[0], threads=3, folder=tmp_path, native=native)
    with closing(SubModelsRegime(trial.setup, Remote(1))) as regime:
        assert not chained(regime._functions.train.get_concrete_function(), kind)


def test_graph_whose_walks_the_coordinator_draws_is_not_sent(tmp_path):
    trial = Trial(OBJECTIVES[0], folder=tmp_path, native=True)
    setup = trial.setup._replace(is_drawn=True, walk_file=tmp_path / "missing")
    with closing(SubModelsRegime(setup, Remote(1))) as regime:
        assert regime.server.walk_files is None


@pytest.mark.parametrize(("native", "advice"), [(True, "encoded_dir="), (False, "min_count=")])
def test_arrays_that_are_too_large_to_be_sent_raise_with_advice(native, advice, monkeypatch):
    trial = Trial(OBJECTIVES[0], native=native)
    monkeypatch.setattr(parameter_server, "MAX_BYTES", trial.words.keep.nbytes - 1)
    with pytest.raises(ValueError, match=rf"workers can't map it from the folder .*{advice}"):
        SubModelsRegime(trial.setup, Remote(1))
    SubModelsRegime(trial.setup, LocalWorkers(1)).close()  # to threads, nothing is sent


class Forgetful(LocalWorkers):
    """Workers. The first one loses its state at its job `after`, as in a restart."""

    def __init__(self, number, after):
        super().__init__(number)
        self.after, self.jobs, self.scheduling = after, 0, threading.Lock()

    def schedule(self, function, *arguments, slot=None):
        with self.scheduling:
            self.jobs += slot == 0
            if slot == 0 and self.jobs == self.after:
                self._slots[0].shutdown()
                self._slots[0] = ThreadPoolExecutor(1)  # a thread without state
            return super().schedule(function, *arguments, slot=slot)


# Before the first unit there is nothing to repeat. The worker may have fewer than 20 jobs, or its
# last sub-model may be ready by then.
@pytest.mark.parametrize(("after", "least"), [(1, 0), (2, 1), (7, 1), (20, 0)])
def test_worker_that_loses_its_sub_model_retrains_it(units, tmp_path, monkeypatch, after, least):
    monkeypatch.setattr(sub_models, "RETRIES_PER_WORKER", 20)
    trial = Trial(OBJECTIVES[0], folder=tmp_path, native=True)
    given, workers = sub_models_of(units), Forgetful(2, after)
    regime, reports, files = train(trial, given, workers)
    for number in range(MODELS):
        assert_equal(files[number], by_hand(trial, given, number)[0])
    again = len(reports) - EPOCHS * MODELS * len(units)
    assert regime.traffic.repeated >= again
    assert regime.traffic.repeated >= least
    assert regime.traffic.repeated <= EPOCHS * len(units), "more than one sub-model was repeated"


class Anyone(LocalWorkers):
    """Workers that get jobs round-robin, whether they hold the sub-model or not."""

    def __init__(self, number):
        super().__init__(number)
        self.turns = itertools.count()

    def schedule(self, function, *arguments, slot=None):
        return super().schedule(function, *arguments, slot=next(self.turns) % self.number)


def test_jobs_sent_to_the_wrong_worker_are_resent(units, tmp_path, monkeypatch):
    refused = []
    monkeypatch.setattr(sub_models.time, "sleep", refused.append)
    trial = Trial(OBJECTIVES[0], folder=tmp_path, native=True)
    given = sub_models_of(units, models=6)
    regime, _, files = train(trial, given, Anyone(3))
    assert len(refused) > 20 and regime.traffic.repeated == 0
    for number in (0, 3, 5):
        assert_equal(files[number], by_hand(trial, given, number)[0])


@pytest.mark.parametrize("native", [False, True])
def test_worker_without_the_sub_model_rejects_its_jobs(native, units, tmp_path):
    trial = Trial(OBJECTIVES[0], folder=tmp_path, native=native)
    given = sub_models_of(units)[:1]
    # the second job goes to a worker that has never held rows
    regime, _, files = train(trial, given, Anyone(2))
    assert regime.traffic.repeated == 0
    assert_equal(files[0], by_hand(trial, given, 0)[0])


def test_workers_of_a_process_share_one_traced_function(units, tmp_path, monkeypatch):
    refused = []
    monkeypatch.setattr(sub_models.time, "sleep", refused.append)
    trial = Trial(OBJECTIVES[0], folder=tmp_path, native=True)
    workers = LocalWorkers(3)
    _, reports, files = train(trial, sub_models_of(units, models=6), workers)
    assert not refused
    assert 0 < workers.liveness.longest_job < 600
    assert len(files) == 6 and len(reports) == 6 * EPOCHS * len(units)


def test_only_requested_sub_models_are_trained(units, tmp_path):
    trial, given = (
        Trial(OBJECTIVES[0], workers=2, folder=tmp_path, native=True),
        sub_models_of(units),
    )
    _, reports, files = train(trial, given[2:])
    assert list(files) == [2]
    assert len(reports) == EPOCHS * len(units)
    assert_equal(files[2], by_hand(trial, given, 2)[0])


def test_stopped_sub_models_have_no_files(units, tmp_path):
    trial, asked = Trial(OBJECTIVES[0], folder=tmp_path, native=True), iter(range(10**6))
    _, reports, files = train(trial, sub_models_of(units), stop=lambda: next(asked) > 5)
    assert not files and 0 < len(reports) < 8
    assert not list(tmp_path.glob("*seen*"))


def test_sub_model_without_units_keeps_its_initial_rows(units, tmp_path):
    trial = Trial(OBJECTIVES[0], workers=2, folder=tmp_path, native=True)
    _, reports, files = train(trial, sub_models_of(units[:2], "equal"))
    assert sorted(files) == list(range(MODELS)) and len(reports) == EPOCHS * 2
    seen = [np.load(file_of(tmp_path, number, "seen")).sum() for number in range(MODELS)]
    assert sorted(map(bool, seen)) == [False, True, True]
    assert_equal(files[seen.index(0)], [array for array in trial.arrays if len(array)], 0)


def test_divergence_names_the_sub_model(units, tmp_path):
    trial = Trial(OBJECTIVES[0], folder=tmp_path, native=True)
    trial.arrays.inputs[3] = np.nan
    with pytest.raises(Divergence, match="sub-model 1 diverged"):
        train(trial, sub_models_of(units))


def test_files_are_named_by_number_and_table(tmp_path):
    assert file_of(tmp_path, 7, "inputs").name == "sub-model-007-inputs.npy"
