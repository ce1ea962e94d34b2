"""Signals at random moments: what a checkpoint counts is in its rows, and resuming is exact."""

import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import random
import signal
import time

import numpy as np
import pytest

from gensim_tfw2v.training.checkpoints import DESCRIPTION
from gensim_tfw2v.training.epoch import Position
from tests.training import interrupted_program
from tests.training.interrupted_program import EPOCHS, Case

KINDS = ("word2vec", "fasttext", "doc2vec")
LOCAL = [
    Case(kind, workers, deterministic)
    for kind, workers, deterministic in itertools.product(KINDS, (1, 2), (False, True))
]
CLUSTERS = [
    Case(kind, 1, deterministic, cluster)
    for kind, deterministic, cluster in itertools.product(
        KINDS, (False, True), ("local:ps=1,worker=1", "local:ps=2,worker=2")
    )
]
#: Regimes whose workers are threads of the program.
REGIMES = [
    Case("word2vec", n, False, regime=name) for n in (1, 2) for name in ("synchronous", "downpour")
]

#: Signals, and the seconds that pass before each.
SIGNALS = {
    "once": [(0, signal.SIGINT)],
    "twice": [(0, signal.SIGINT), (0.5, signal.SIGINT)],
    "at once": [(0, signal.SIGINT), (0.01, signal.SIGINT)],
    "term": [(0, signal.SIGTERM)],
    "kill": [(0, signal.SIGKILL)],
}


def cases(n_cases, ways, seed):
    """Draw cases: way, kind of signals, and share of the training after which they come."""
    draws = random.Random(seed)
    signals = list(SIGNALS)
    return [
        (ways[place % len(ways)], signals[place % len(signals)], draws.random())
        for place in range(n_cases)
    ]


@functools.cache
def forks():
    """Context whose processes are forked from one that has imported TensorFlow and the package."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.preloaded", "tests.training.resumed_program"])
    return context


def run(case, folder, result, signals=(), moment=0.0):
    """Run the program; return the seconds from its first trained unit to its end."""
    result.mkdir()
    receiver, sender = forks().Pipe(duplex=False)
    arguments = case, folder, result, sender
    process = forks().Process(target=interrupted_program.train, args=arguments)
    process.start()
    sender.close()
    try:
        with contextlib.suppress(EOFError):  # nothing was left to train
            receiver.recv()
        start = time.monotonic()
        time.sleep(moment)
        for pause, number in signals:
            time.sleep(pause)
            if process.is_alive():
                os.kill(process.pid, number)
        process.join(240)
        assert not process.is_alive(), "the program hangs"
        return time.monotonic() - start
    finally:
        process.kill()
        process.join()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Function of a case: weights of an uninterrupted run, and the seconds that it takes."""

    @functools.cache
    def train(case):
        folder = tmp_path_factory.mktemp("undisturbed")
        seconds = run(case, folder / "checkpoints", folder / "result")
        with np.load(folder / "result" / "weights.npz") as content:
            return dict(content), seconds

    return train


def checkpoints_in(folder):
    """Return the inputs and the position of each checkpoint, the oldest first."""
    for path in sorted(folder.glob("checkpoint-*[0-9]")):
        state = json.loads((path / DESCRIPTION).read_text())["state"]
        del state["kernel"], state["cut"]
        yield np.load(path / "inputs.npy"), Position.of(state)


def units_between(before, after, n_units):
    """Return the units that were trained between the positions of successive checkpoints."""
    if before.epoch == after.epoch:
        return after.done - before.done
    assert after.epoch == before.epoch + 1
    return (set(range(n_units)) - before.done) | after.done


def check(case, signals, moment, folder, undisturbed):
    # a training run whose bits differ each time is compared with none, and takes about this long
    expected, seconds = undisturbed(case) if case.is_exact else ({}, 2.0)
    run(case, folder / "checkpoints", folder / "result", SIGNALS[signals], moment * seconds)
    words_of_unit = json.loads((folder / "result" / "units.json").read_text())
    n_units = len(words_of_unit)
    assert n_units > 10
    checkpoints = list(checkpoints_in(folder / "checkpoints"))
    if checkpoints:
        (rows_before, before), (rows_after, after) = (
            checkpoints[-2:] if checkpoints[1:] else (checkpoints * 2)
        )
        # the rows that have changed are those of the units that are counted
        has_changed = (rows_before != rows_after).any(axis=1)
        trained = units_between(before, after, n_units)
        for unit, words in enumerate(words_of_unit):
            assert has_changed[words].all() == has_changed[words].any() == (unit in trained), unit
    else:
        # a process that is killed before its first checkpoint is complete has counted no unit
        assert signals == "kill"
    counts = folder / "result" / "counts.json"
    if counts.exists():
        in_rows, *counted = json.loads(counts.read_text())
        total = n_units * after.epoch + len(after.done)
        assert counted == [total]
        if case in LOCAL:
            assert in_rows == total
    # resumed
    run(case, folder / "checkpoints", folder / "resumed")
    *_, (_, position) = checkpoints_in(folder / "checkpoints")
    assert [units for _, _, units in position.finished] == [n_units] * EPOCHS
    with np.load(folder / "resumed" / "weights.npz") as content:
        resumed = dict(content)
    assert len(resumed) > 1 and all(np.isfinite(rows).all() for rows in resumed.values())
    for name, rows in expected.items():
        np.testing.assert_array_equal(resumed[name], rows, name)


@pytest.mark.parametrize(("case", "signals", "moment"), cases(19, LOCAL, seed=1))
def test_local_training(case, signals, moment, tmp_path, undisturbed):
    check(case, signals, moment, tmp_path, undisturbed)


def test_cluster(tmp_path, undisturbed):
    case = Case("word2vec", 1, False, "local:ps=2,worker=2")
    check(case, "twice", 0.4, tmp_path, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "signals", "moment"), cases(144, LOCAL, seed=2))
def test_many_local_trainings(case, signals, moment, tmp_path, undisturbed):
    check(case, signals, 1.05 * moment, tmp_path, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "signals", "moment"), cases(64, CLUSTERS + REGIMES, seed=3))
def test_many_clusters_and_regimes(case, signals, moment, tmp_path, undisturbed):
    check(case, signals, 1.05 * moment, tmp_path, undisturbed)
