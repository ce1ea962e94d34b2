"""Tasks that outlive training runs, and free their memory and threads afterwards."""

import contextlib
import os
import signal
import subprocess
import time

import psutil
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cluster import wait_for_tasks
from gensim_tfw2v.cluster.local_cluster import LocalCluster, free_ports
from gensim_tfw2v.cluster.spec import Cluster
from tests.forks import SharedLauncher, shared

#: A model of 2 * 16 MB, and a text that trains in a moment.
WORDS, SIZE = 40_000, 100
TEXT = [[f"word{number % WORDS}" for number in range(line, line + 20)] for line in range(200)]

#: MiB by which a task's memory may change: half a model.
HALF_A_MODEL = 16

TRAIN = """
import sys
from gensim_tfw2v.cluster.spec import Cluster
from tests.cluster.test_presence import train

class Tell:
    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...
    def on_epoch_begin(self, model):
        print("epoch", flush=True)

train(Cluster((sys.argv[1],), (sys.argv[2],)), epochs=100_000, callbacks=[Tell()])
"""

STAY = """
import logging
import sys
from gensim_tfw2v.cluster.presence import Presence
from gensim_tfw2v.cluster.spec import Cluster
logging.basicConfig(level=logging.INFO)
assert not Presence(Cluster((sys.argv[1],), (sys.argv[2],)).servers()).begin(60)
print("here", flush=True)
sys.stdin.read()
"""

#: Task that announces its restart, but hangs instead.
LATE = """
import sys
from gensim_tfw2v.cluster import server
server.exec_module = lambda *_, **options: sys.stdin.read()
server.main()
"""


def train(cluster, epochs=1, **options):
    model = TFWord2Vec(vector_size=SIZE, sg=1, min_count=1, sample=0, workers=1, cluster=cluster)
    model.build_vocab_from_freq({f"word{number}": 9 for number in range(WORDS)}, corpus_count=200)
    model.train(TEXT, total_examples=len(TEXT), epochs=epochs, **options)


class CoordinatorKiller:
    """Kills the coordinator process, once."""

    killed = False

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...
    def on_epoch_begin(self, model):
        if model._state.training is not None and not self.killed:
            self.killed = True
            os.kill(model._state.training.regime._process.pid, signal.SIGKILL)


def train_with_a_recovery(cluster):
    killer = CoordinatorKiller()
    train(cluster, epochs=3, callbacks=[killer])
    assert killer.killed


def train_and_be_killed(cluster):
    """Start a training program, and kill it together with its coordinator."""
    with program(TRAIN, cluster) as training:
        assert [training.stdout.readline() for _ in range(3)] == [b"epoch\n"] * 3
        for process in [psutil.Process(training.pid), *psutil.Process(training.pid).children()]:
            process.kill()


@contextlib.contextmanager
def program(code, cluster, **options):
    """Run code in a process with the cluster's addresses; close its input and wait at the end."""
    process = SharedLauncher(isolated=False).start_module(
        "tests.forked", "run", code, *cluster.ps, *cluster.worker, stdout=subprocess.PIPE, **options
    )
    with process.stdout:
        with process.stdin:
            yield process
        process.wait()


@pytest.fixture(scope="module")
def running(kept_forks):
    """Cluster of tasks that are forks until the first training run leaves them."""
    launcher = SharedLauncher(isolated=False)
    with LocalCluster(1, 1, ready_seconds=120, process_launcher=launcher) as running:
        yield running


@pytest.fixture
def standing(running, shared_forks, monkeypatch):
    """Cluster `running`, with forked coordinators, whose memory does not matter."""
    forked = shared_forks(isolated=False).start_module
    monkeypatch.setattr("gensim_tfw2v.cluster.local_cluster.start_module", forked)
    return running


def used(running):
    """Return memory in MiB, and number of threads, of each task."""
    tasks = [psutil.Process(running.pid(task)) for task in running.cluster.tasks()]
    return [(task.memory_info().rss / 2**20, task.num_threads()) for task in tasks]


def renewals(running):
    """Return the number of restarts of each task."""
    return [running.log(task).read_text().count("restarts: ") for task in running.cluster.tasks()]


def wait_for_renewals(running, numbers):
    deadline = time.monotonic() + 120
    while renewals(running) != numbers and time.monotonic() < deadline:
        time.sleep(0.1)
    assert renewals(running) == numbers


def is_as_before(running, before, seconds=180):
    """Return whether tasks get back to their earlier memory and threads in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        wait_for_tasks(running.cluster.tasks(), seconds)
        now = used(running)
        if all(
            abs(memory - memory_before) < HALF_A_MODEL and abs(threads - threads_before) < 3
            for (memory, threads), (memory_before, threads_before) in zip(now, before, strict=True)
        ):
            return True
        time.sleep(0.2)
    print(before, now)
    return False


def used_when_restarted(standing):
    """Return memory and threads of tasks that have restarted, as after each training run."""
    if not all(renewals(standing)):
        train_with_a_recovery(standing.cluster)
        wait_for_renewals(standing, [1, 1])
    wait_for_tasks(standing.cluster.tasks(), 180)
    return steady(standing)


def steady(running, seconds=30):
    """Return memory and threads of tasks once they stay the same for a second.

    A task that has restarted answers before all of its threads have started.
    """
    deadline = time.monotonic() + seconds
    usage, earlier = used(running), None
    while usage != earlier and time.monotonic() < deadline:
        time.sleep(1)
        usage, earlier = used(running), usage
    return usage


def test_tasks_free_memory_and_threads_after_any_training(standing):
    before = used_when_restarted(standing)
    pids = [standing.pid(task) for task in standing.cluster.tasks()]
    train_and_be_killed(standing.cluster)
    assert is_as_before(standing, before)
    assert [standing.pid(task) for task in standing.cluster.tasks()] == pids
    standing.check()


@pytest.mark.slow
def test_fifty_trainings_use_no_more_memory_than_one(standing):
    before, ends = (
        used_when_restarted(standing),
        (train, train, train_with_a_recovery, train_and_be_killed, train),
    )
    for number in range(50):
        ends[number % len(ends)](standing.cluster)
        assert is_as_before(standing, before), number
        print(number, used(standing))
    own = psutil.Process()
    started = [child for child in own.children() if child.pid not in shared()]
    assert own.num_threads() < 100 and len(started) <= 2


def test_tasks_restart_only_after_the_last_training_leaves(shared_forks):
    class Launcher:
        @staticmethod
        def start_module(module, *arguments, **options):
            run = ("tests.forked", "run", LATE, *arguments)
            return shared_forks(isolated=False).start_module(*run, **options)

    with LocalCluster(1, 1, process_launcher=Launcher()) as running:
        with program(STAY, running.cluster) as one, program(STAY, running.cluster) as other:
            assert one.stdout.readline() == other.stdout.readline() == b"here\n"
            one.kill()
            time.sleep(3)
            assert renewals(running) == [0, 0]
            other.kill()
        wait_for_renewals(running, [1, 1])


def test_training_is_rejected_while_tasks_restart(kept_forks):
    """Its presence is not registered yet: it retries until it is."""
    cluster = Cluster(*((f"127.0.0.1:{port}",) for port in free_ports(2)))
    with contextlib.ExitStack() as stack:
        tasks = []
        for task in cluster.servers():
            config = {"TF_CONFIG": cluster.tf_config(task.role, task.index)}
            tasks.append(stack.enter_context(program(LATE, cluster, environment=config)))
            stack.callback(tasks[-1].kill)
        for task in tasks:
            assert any(b"serves" in line for line in task.stdout)
        with program(STAY, cluster) as one:
            assert one.stdout.readline() == b"here\n"
            one.kill()
        for task in tasks:
            assert b"restarts: the last training run has ended" in task.stdout.readline()
        with program(STAY, cluster, stderr=subprocess.STDOUT) as late:
            refused = 0
            while refused < len(tasks):
                assert (line := late.stdout.readline()) and line != b"here\n"
                refused += b"closed" in line
            late.kill()
