"""Training that is killed, and resumed with other numbers of workers, threads and ps tasks."""

import contextlib
import json
import random
import time

import numpy as np
import psutil
import pytest

from tests.training import resumed_program
from tests.training.resumed_program import EPOCHS, Way
from tests.training.test_random_interrupts import forks

#: Seconds after which a program counts as hung.
MAX_SECONDS = 240

#: Threads that share the tables, workers that are threads of one process, and clusters. Each cuts
#: the corpus into different units, except for threads that share the tables.
WAYS = [
    Way(1),
    Way(3),
    Way(1, regime="asynchronous"),
    Way(3, regime="asynchronous"),
    Way(2, regime="synchronous"),
    Way(1, "local:ps=1,worker=1"),
    Way(1, "local:ps=1,worker=3"),
    Way(2, "local:ps=2,worker=2"),
]


#: Number of units that a program trains after one of its tasks was killed.
UNITS_AFTER_LOSS = 3


def run(name, way, folder, n_units=None, seconds=0.0, victim="program"):
    """Run the program; with `n_units`, kill it some seconds after that many units of this run.

    The victim "chief" (the coordinator), "ps" or "worker" is a process of the program, which is
    killed first. The program is killed some units later. Return the lines of its log.
    """
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    n_lines = len(read_lines(log))
    receiver, sender = forks().Pipe(duplex=False)
    arguments = name, way, folder / "checkpoints", log, sender
    process = forks().Process(target=resumed_program.train, args=arguments)
    process.start()
    sender.close()
    try:
        deadline = time.monotonic() + MAX_SECONDS
        if n_units is not None:
            with contextlib.suppress(EOFError):  # no unit was left
                receiver.recv()

            def wait_for_units(n):
                while len(read_lines(log)) - n_lines <= n and process.is_alive():
                    assert time.monotonic() < deadline, "the program hangs"
                    time.sleep(0.01)
                time.sleep(seconds)

            wait_for_units(n_units)
            if way.cluster and victim != "program" and process.is_alive():
                kill_task(process.pid, victim)
                wait_for_units(n_units + UNITS_AFTER_LOSS)
            process.kill()
        process.join(max(0.0, deadline - time.monotonic()))
        assert not process.is_alive(), "the program hangs"
        assert n_units is not None or process.exitcode == 0
    finally:
        process.kill()
        process.join()
    return read_lines(log)


def kill_task(pid, role):
    """Kill the first process of a role that a program has started."""
    processes = psutil.Process(pid).children(recursive=True)
    names = [process.name() for process in processes]
    victims = [number for number, name in enumerate(names) if name.startswith(f"tfw2v-{role}")]
    assert victims, f"the program runs no {role}, but {names}"
    processes[victims[0]].kill()


def read_lines(log):
    """Return the complete lines of a log; the last one may be cut by a kill."""
    if not log.exists():
        return []
    lines = log.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def count_trainings(lines):
    """Return how often each entry was trained in each epoch: int [EPOCHS, entries].

    Units that were trained after the checkpoint from which the next program has resumed don't
    count. Every entry that a checkpoint contains must have been trained before.
    """
    n_entries = max(line["stop"] for line in lines if "stop" in line)
    n_trainings = np.zeros((EPOCHS, n_entries), int)
    was_trained = np.zeros((EPOCHS, n_entries), bool)
    for line in lines:
        if "stop" in line:
            entries = line["epoch"], slice(line["start"], line["stop"])
            n_trainings[entries] += 1
            was_trained[entries] = True
            continue
        epoch = line["begins"]
        assert was_trained[:epoch].all()
        n_trainings[epoch:] = 0
        for start, stop in line["ranges"]:
            n_trainings[epoch, start:stop] += 1
            assert was_trained[epoch, start:stop].all()
    return n_trainings


def number_of_program(lines):
    """Return which program trained each entry last in each epoch: int [EPOCHS, entries]."""
    n_entries = max(line["stop"] for line in lines if "stop" in line)
    numbers = np.zeros((EPOCHS, n_entries), int)
    program = -1
    for line in lines:
        if "begins" in line:
            program += 1
        else:
            numbers[line["epoch"], line["start"] : line["stop"]] = program
    return numbers


def read_losses(folder):
    return json.loads((folder / "log.losses").read_text())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Function of a class and a way: mean losses of an uninterrupted training run."""
    losses = {}

    def train(name, way):
        if (name, way) not in losses:
            folder = tmp_path_factory.mktemp("undisturbed")
            lines = run(name, way, folder / "run")
            assert (count_trainings(lines) == 1).all()
            losses[name, way] = read_losses(folder / "run")
        return losses[name, way]

    return train


def check(name, ways, kills, folder, undisturbed):
    """Train in each way in turn, and kill all programs but the last one."""
    for way, kill in zip(ways, kills, strict=False):
        run(name, way, folder / "run", *kill)
    lines = run(name, ways[-1], folder / "run")
    assert sum("begins" in line for line in lines) == len(ways)
    n_trainings = count_trainings(lines)
    assert (n_trainings >= 1).all()
    if all(victim == "program" for _, _, *victims in kills for victim in victims):
        assert (n_trainings == 1).all()  # a lost task repeats units
    # losses differ between regimes by up to 2 %, and several programs may have trained an epoch
    of_ways = np.array([undisturbed(name, way) for way in ways])
    expected = np.take_along_axis(of_ways.T, number_of_program(lines), 1).mean(1)
    np.testing.assert_allclose(read_losses(folder / "run"), expected, rtol=0.01)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("word2vec", marks=pytest.mark.slow),
        pytest.param("fasttext", marks=pytest.mark.slow),
        pytest.param("doc2vec", marks=pytest.mark.slow),  # a cluster is always tested
    ],
)
def test_killed_training_resumes_with_other_numbers_of_workers(name, tmp_path, undisturbed):
    ways = [Way(1), Way(3, regime="asynchronous"), Way(1, regime="asynchronous"), Way(2)]
    check(name, ways, [(7, 0.01), (9, 0.03), (5, 0.0)], tmp_path, undisturbed)


def test_killed_cluster_resumes_with_other_numbers_of_tasks(tmp_path, undisturbed):
    ways = [Way(1, "local:ps=2,worker=2"), Way(1, "local:ps=1,worker=3"), Way(1)]
    check("word2vec", ways, [(8, 0.1), (12, 0.05)], tmp_path, undisturbed)


def draw_kills(n_cases, seed):
    """Draw cases: a class, ways, and kills: when each program but the last one is killed.

    If the victim is a task, the first program of a case trains on a cluster.
    """
    draws = random.Random(seed)
    names = list(resumed_program.CLASSES)
    cases = []
    for number in range(n_cases):
        victim = ("program", "chief", "ps", "worker")[number // 3 % 4]
        clusters = [way for way in WAYS if way.cluster]
        first = draws.choice(WAYS if victim == "program" else clusters)
        ways = [first, *draws.sample([way for way in WAYS if way != first], draws.randint(1, 3))]
        # a training run on one worker has 24 units, and its tasks end with it
        max_units = 25 if victim == "program" else 15
        kills = [(draws.randint(1, max_units), 0.1 * draws.random(), victim) for _ in ways[1:]]
        cases.append((names[number % 3], ways, kills))
    return cases


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ways", "kills"), draw_kills(60, seed=1))
def test_random_kills(name, ways, kills, tmp_path, undisturbed):
    check(name, ways, kills, tmp_path, undisturbed)
