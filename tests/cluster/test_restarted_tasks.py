"""Tasks that an operator's loop restarts, as those of Kubernetes, Compose and Slurm do."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import Cluster
from tests.cli.test_cluster import TFW2V, until
from tests.cluster.test_faults import BACK, alike
from tests.cluster.test_training import trained

LEE = datapath("lee_background.cor")

OPTIONS = {"epochs": 6, "seed": 5}


@pytest.fixture(scope="module", autouse=True)
def short_units():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
        patch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)
        yield


def new_cluster(n_ps, n_workers):
    ps, workers, chief = [], [], []
    ports = iter(free_ports(n_ps + n_workers + 1))
    for addresses, number in ((ps, n_ps), (workers, n_workers), (chief, 1)):
        addresses += [f"127.0.0.1:{next(ports)}" for _ in range(number)]
    return Cluster(tuple(ps), tuple(workers), chief[0])


class ForkedTasks:
    """Forked tasks. A thread per task restarts it when it exits."""

    def __init__(self, launcher, cluster):
        self._launcher, self._ended, self.processes = launcher, False, {}
        self._threads = [
            threading.Thread(target=self._loop, args=(cluster, task)) for task in cluster.servers()
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended = True
        self.kill()
        for thread in self._threads:
            thread.join()

    def _loop(self, cluster, task):
        environment = {"TF_CONFIG": cluster.tf_config(task.role, task.index)}
        with open(os.devnull, "wb") as nowhere:
            while not self._ended:
                process = self._launcher.start_module(
                    "gensim_tfw2v.cluster.server", environment=environment, stdout=nowhere
                )
                self.processes[task] = process
                if self._ended:
                    process.kill()
                process.wait()
                time.sleep(0.2)

    def kill(self):
        for process in list(self.processes.values()):
            process.kill()


def test_training_resumes_after_all_tasks_are_killed_at_once(shared_forks, monkeypatch, caplog):
    launcher = shared_forks(isolated=False)
    monkeypatch.setattr("gensim_tfw2v.cluster.local_cluster.start_module", launcher.start_module)
    cluster = new_cluster(1, 2)

    class Killer:
        killed = False

        def on_train_begin(self, model): ...
        def on_train_end(self, model): ...
        def on_epoch_end(self, model): ...
        def on_epoch_begin(self, model):
            training = model._state.training
            if training is not None and training.position.epoch == 2 and not self.killed:
                self.killed = True
                threading.Timer(0.05, tasks.kill).start()

    with ForkedTasks(launcher, cluster) as tasks:
        model = trained(cluster, callbacks=[Killer()], **OPTIONS)
    assert BACK in caplog.text and "ps 0 (" in caplog.text
    assert len(model.mean_losses) == OPTIONS["epochs"]
    assert alike(model, trained(None, **OPTIONS))


#: Restarts a command whenever it exits, as Kubernetes does with a container.
LOOP = 'while :; do "$@"; echo "$0 ended with status $?" >&2; sleep 1; done'


class Tasks:
    """Tasks by ``tfw2v task``, each in a loop of its own."""

    def __init__(self, folder, cluster):
        self.cluster = cluster
        self._log = (folder / "tasks").open("w+b")
        self._loops = {}

    def __enter__(self):
        for task in self.cluster.servers():
            environment = os.environ | {
                "TF_CONFIG": self.cluster.tf_config(task.role, task.index),
                "CUDA_VISIBLE_DEVICES": "",
            }
            name = f"{task.role} {task.index}"
            self._loops[task] = psutil.Popen(
                ["bash", "-c", LOOP, name, *TFW2V, "task"],
                env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            )  # fmt: skip
        return self

    def __exit__(self, *_):
        for task, loop in self._loops.items():
            loop.suspend()  # it must not restart the task before it is killed
            self.send(task, signal.SIGKILL)
            loop.kill()
            loop.wait()
        self._log.close()

    def processes(self, task):
        """Return the process of ``tfw2v task``, then that of its server, as far as they run."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return self._loops[task].children(recursive=True)
        return []

    def send(self, task, number):
        """Send SIGTERM to the command, or SIGKILL to its whole container."""
        processes = self.processes(task)
        for process in processes[:1] if number == signal.SIGTERM else processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    @property
    def output(self):
        self._log.flush()
        self._log.seek(0)
        return self._log.read().decode(errors="replace")


def command(folder, *options):
    return [
        *TFW2V, "train", LEE, "-o", str(folder / "model"), "--cluster", "TF_CONFIG", "--sg",
        "--vector-size", "8", "--checkpoint-dir", str(folder / "checkpoints"),
        "--checkpoint-minutes", "0.01", *options,
    ]  # fmt: skip


def numbers(folder):
    return [int(path.name[-6:]) for path in (folder / "checkpoints").glob("checkpoint-??????")]


@contextlib.contextmanager
def training(folder, cluster, *options):
    """Start a training process, wait until it has written checkpoints, and yield it."""
    environment = os.environ | {"TF_CONFIG": cluster.tf_config("chief", 0)}
    with (folder / "training").open("wb") as log:
        process = subprocess.Popen(command(folder, *options), env=environment, stderr=log)
    try:
        until(lambda: max(numbers(folder), default=0) >= 4 or process.poll() is not None, 120)
        yield process
    finally:
        process.kill()
        process.wait()


def error_of(folder):
    return (folder / "training").read_text("utf-8", "replace").rpartition("\r")[2]


@pytest.mark.slow  # 20 training runs
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("seed", range(10))
def test_trainings_end_well_although_all_tasks_are_killed_at_once(tmp_path, number, seed):
    with Tasks(tmp_path, new_cluster(2, 2)) as tasks:
        wait_for_cluster(tasks.cluster)
        with training(tmp_path, tasks.cluster, "--epochs", "60") as process:
            time.sleep(random.Random(seed).random())
            assert process.poll() is None, error_of(tmp_path)
            start = time.monotonic()
            for task in tasks.cluster.servers():
                tasks.send(task, number)
            last = max(numbers(tmp_path))
            until(lambda: max(numbers(tmp_path)) > last + 2 or process.poll() is not None, 120)
            seconds = time.monotonic() - start
            status = process.wait(300)
    print(f"resumed after {seconds:.0f} s; status {status}")
    assert status == 0, error_of(tmp_path)
    assert len(Word2Vec.load(str(tmp_path / "model")).wv) > 1000


def wait_for_cluster(cluster):
    environment = os.environ | {"TF_CONFIG": cluster.tf_config("chief", 0)}
    status = [*TFW2V, "cluster", "status", "--seconds", "120"]
    subprocess.run(status, env=environment, stdout=subprocess.DEVNULL, check=True)


@pytest.mark.slow  # a task gives a sign of life every five seconds, and is killed after 40
@pytest.mark.parametrize("role", ["ps", "worker"])
def test_hung_task_is_killed_named_and_replaced(tmp_path, role):
    with Tasks(tmp_path, new_cluster(1, 2)) as tasks:
        wait_for_cluster(tasks.cluster)
        with training(tmp_path, tasks.cluster, "--epochs", "100000") as process:
            task = tasks.cluster.task(role, 0)
            _, server = tasks.processes(task)
            start = time.monotonic()
            server.suspend()
            until(lambda: "it gave no sign of life" in tasks.output, 120)
            killed = time.monotonic() - start
            until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE, 20)
            last = max(numbers(tmp_path))
            until(lambda: max(numbers(tmp_path)) > last + 3 or process.poll() is not None, 120)
            seconds = time.monotonic() - start
            assert process.poll() is None, error_of(tmp_path)
    print(f"killed after {killed:.0f} s, training after {seconds:.0f} s")
    assert f"{task} was killed because it hung: it gave no sign of life for 40 s" in tasks_of(
        tmp_path
    )
    assert f"{role} 0 ended with status 137" in tasks_of(tmp_path)
    assert (f"{task} was lost" in error_of(tmp_path)) == (role == "ps")
    assert seconds < 120


def tasks_of(folder):
    return (folder / "tasks").read_text("utf-8", "replace")


#: Runs ``tfw2v`` with a short limit of silence.
IMPATIENT = """
from gensim_tfw2v.cluster import server, started_task
started_task.HANGING_SECONDS = 8.0
from gensim_tfw2v.cli.main import main
main()
"""


@pytest.fixture
def task_process(tmp_path):
    """``tfw2v task`` for a ps, which is killed if it is silent for more than 8 s."""
    cluster = new_cluster(1, 1)
    environment = os.environ | {
        "TF_CONFIG": cluster.tf_config("ps", 0), "CUDA_VISIBLE_DEVICES": ""
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, "task"], env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


def test_task_exits_when_its_server_hangs(task_process):
    """4 s of CPU: the server imports TensorFlow."""
    (server,) = until(lambda: psutil.Process(task_process.pid).children())
    assert re.fullmatch(r"ps 0 \(127\.0\.0\.1:\d+\) serves\n", task_process.stdout.readline())
    server.suspend()
    out, error = task_process.communicate(timeout=60)
    assert task_process.returncode == 128 + signal.SIGKILL
    assert not out
    last = error.splitlines()[-1]
    assert re.fullmatch(
        r"ps 0 .* was killed because it hung: it gave no sign of life for 8 s", last
    )
    assert not server.is_running()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_server_exits_with_its_task(task_process, number):
    (server,) = until(lambda: psutil.Process(task_process.pid).children())
    until(lambda: server.name() == "tfw2v-ps-0")  # its signal handlers follow
    time.sleep(0.5)
    task_process.send_signal(number)
    task_process.communicate(timeout=60)
    assert task_process.returncode in (128 + number, -number)
    until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE, 30)
