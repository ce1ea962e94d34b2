"""Processes killed in the middle of training."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cluster import launcher
from gensim_tfw2v.cluster import local_cluster as local_module
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.regimes.coordinated_regime import CoordinatedRegime
from tests.cluster.test_training import likeness, servers, trained

LEE = datapath("lee_background.cor")
OPTIONS = {"epochs": 6, "seed": 5}


@pytest.fixture(scope="module", autouse=True)
def short_units():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
        patch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)
        yield


@pytest.fixture(scope="module")
def undisturbed(short_units):
    return trained(None, **OPTIONS)


def alike(model, other):
    """Return whether two training runs with different orders of units agree."""
    losses = np.array(model.mean_losses) / other.mean_losses
    return likeness(model, other) > 0.5 and np.abs(losses - 1).max() < 0.05


class Killer:
    """Kills tasks in the middle of epochs, each after the previous one has restarted."""

    def __init__(self, monkeypatch, *tasks):
        self.tasks, self.killed = list(tasks), []
        start = local_module.LocalCluster.__enter__

        def noted(cluster):
            self.local = start(cluster)
            return self.local

        monkeypatch.setattr(local_module.LocalCluster, "__enter__", noted)

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...

    def on_epoch_begin(self, model):
        if model._state.training is None:
            return
        if not self.tasks:  # all were killed: training must not end before the last is back
            self.wait_for(task for task in self.local.cluster.servers() if task.role == "worker")
            return
        task = self.local.cluster.task(*self.tasks.pop(0))
        self.wait_for([task])
        self.killed.append(self.local.pid(task))
        threading.Timer(0.05, os.kill, (self.killed[-1], signal.SIGKILL)).start()

    def wait_for(self, tasks):
        tasks, deadline = list(tasks), time.monotonic() + 120
        while not all(map(self.is_there, tasks)) and time.monotonic() < deadline:
            time.sleep(0.05)

    def is_there(self, task):
        with contextlib.suppress(KeyError):  # it is being started
            return self.local.pid(task) not in self.killed


@pytest.mark.usefixtures("shared_forks")
def test_killed_workers_are_restarted(monkeypatch, undisturbed, caplog):
    killer = Killer(monkeypatch, ("worker", 0), ("worker", 1), ("worker", 0))
    model = trained("local:ps=1,worker=2", callbacks=[killer], **OPTIONS)
    assert len(set(killer.killed)) == 3
    assert alike(model, undisturbed)
    assert model.train_count == 1 and len(model.mean_losses) == OPTIONS["epochs"]
    assert caplog.text.count("ended with signal 9") == 3
    assert not servers()


@pytest.mark.slow
def test_killed_only_worker_is_restarted(monkeypatch, undisturbed):
    killer = Killer(monkeypatch, ("worker", 0))
    model = trained("local:ps=1,worker=1", callbacks=[killer], **OPTIONS)
    assert killer.killed and alike(model, undisturbed)


BACK, FORKS = (
    "going back to the last checkpoint",
    "the fork server has ended; it is started again",
)


@pytest.mark.usefixtures("own_forks")
def test_killed_ps_or_fork_server_resumes_from_the_last_checkpoint(
    monkeypatch, undisturbed, caplog
):
    class ForksKiller(Killer):
        back = None

        def on_epoch_begin(self, model):
            back = caplog.text.count(BACK)
            if (
                model._state.training is not None
                and not self.tasks
                and self.back is None
                and back > 1
            ):
                self.back = back
                (pid,) = (child.pid for child in servers() if child.name() == "tfw2v-forks")
                os.kill(pid, signal.SIGKILL)
            super().on_epoch_begin(model)

    killer = ForksKiller(monkeypatch, ("ps", 1), ("ps", 0))
    model = trained("local:ps=2,worker=1", callbacks=[killer], **OPTIONS)
    assert len(killer.killed) == 2 <= killer.back
    assert caplog.text.count(FORKS) == 1 and caplog.text.count(BACK) == killer.back + 1
    assert alike(model, undisturbed)
    assert len(model.mean_losses) == OPTIONS["epochs"]
    assert not servers()


@pytest.mark.usefixtures("own_forks")
def test_kills_during_the_start_do_not_end_the_training(monkeypatch, caplog):
    """A worker is killed when it has started, then a fork server, then a coordinator."""
    started, killed = [], []

    def kill(process, what):
        os.kill(process.pid, signal.SIGKILL)
        killed.append(what)

    start_module = launcher.ForkServer.start_module

    def start_and_kill(server, module, *arguments, **options):
        if module.startswith("tests."):  # the fork server itself
            return start_module(server, module, *arguments, **options)
        started.append(module.rpartition(".")[2])
        if started == ["server", "server", "server"]:
            kill(server.process, "fork server")
            server.process.wait(60)
        process = start_module(server, module, *arguments, **options)
        if started == ["server", "server"]:
            kill(process, "worker")
        if started[-1] == "coordinator" and "coordinator" not in killed:
            kill(process, "coordinator")
        return process

    monkeypatch.setattr(launcher.ForkServer, "start_module", start_and_kill)
    model = trained("local:ps=1,worker=1", epochs=1)
    assert killed == ["worker", "fork server", "coordinator"]
    assert caplog.text.count("worker 0 (") == 1 and "ended with signal 9" in caplog.text
    assert caplog.text.count("the fork server has ended") == 2  # an error, and a restart
    assert caplog.text.count("the coordinator exited unexpectedly") == 1
    assert caplog.text.count("; starting again") == 2
    assert len(model.mean_losses) == 1 and not servers()


@pytest.mark.usefixtures("shared_forks")
def test_ps_that_is_lost_whenever_rows_are_loaded_is_named(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.training.cluster_losses.MAX_LOSSES", 2)
    killer = Killer(monkeypatch)
    load = CoordinatedRegime.load

    def kill_and_load(regime, arrays):
        os.kill(killer.local.pid(killer.local.cluster.task("ps", 0)), signal.SIGKILL)
        load(regime, arrays)

    monkeypatch.setattr(CoordinatedRegime, "load", kill_and_load)
    needs = (
        r"^ps 0 \(127\.0\.0\.1:\d+\) was lost while rows were loaded, 3 times: it needs 0\.5 GB of "
        r"memory; see tfw2v plan\. With --checkpoint-dir"
    )
    with pytest.raises(ClusterLost, match=needs):
        trained("local:ps=1,worker=1", epochs=1)
    assert not servers()


#: Module of a restarted task, which imports TensorFlow only if it is still needed after 20 s.
LATE = """
import select, sys
from gensim_tfw2v.cluster import server
def exec_late(*arguments, exec_module=server.exec_module):
    closed = select.poll()
    closed.register(0, 0)
    closed.poll(20_000) or exec_module(*arguments)
server.exec_module = exec_late
server.main()
"""

#: Runs a coordinator that probes tasks after half a second without progress.
IMPATIENT = """
from gensim_tfw2v.parameter_server import liveness
from gensim_tfw2v.regimes import coordinator
liveness.PROBE_AFTER_SECONDS, liveness.ANSWER_SECONDS = 0.5, 2.0
coordinator.main()
"""


@pytest.fixture
def standing(shared_forks, monkeypatch):
    """Cluster that outlives training runs, with coordinators of short timeouts."""
    shared_launcher = shared_forks(isolated=False)
    codes = {"gensim_tfw2v.regimes.coordinator": IMPATIENT, "gensim_tfw2v.cluster.server": LATE}

    class Launcher:
        @staticmethod
        def start_module(module, *arguments, **options):
            run = ("tests.forked", "run", codes[module], *arguments)
            return shared_launcher.start_module(*run, **options)

    monkeypatch.setattr("gensim_tfw2v.cluster.local_cluster.start_module", Launcher.start_module)
    with local_module.LocalCluster(1, 1, process_launcher=Launcher()) as running:
        yield running


class Stopper(Killer):
    """Sends SIGSTOP to a task in the middle of the second epoch, then calls `then`."""

    def __init__(self, running, role, then):
        self.pid, self.then = running.pid(running.cluster.task(role, 0)), then
        self.has_stopped = False

    def on_epoch_begin(self, model):
        if (
            model._state.training is None
            or model._state.training.position.epoch != 1
            or self.has_stopped
        ):
            return
        self.has_stopped = True
        threading.Timer(0.05, self.stop).start()

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)
        self.then()


@pytest.mark.parametrize(
    ("role", "regime"),
    [
        ("ps", "asynchronous"),
        ("ps", "synchronous"),
        pytest.param("worker", "asynchronous", marks=pytest.mark.slow),
        pytest.param("ps", "downpour", marks=pytest.mark.slow),
        pytest.param("ps", "sandblaster", marks=pytest.mark.slow),
    ],
)
def test_hung_task_is_reported_within_a_minute(standing, monkeypatch, caplog, role, regime):
    stopped = []

    def be_impatient():
        monkeypatch.setattr("gensim_tfw2v.training.regime_of_workers.READY_SECONDS", 0.5)
        stopped.append(time.monotonic())

    stopper = Stopper(standing, role, be_impatient)
    try:
        with pytest.raises(ClusterLost, match=rf"no answer within 0\.5 s from {role} 0 \("):
            trained(standing.cluster, regime=regime, callbacks=[stopper], epochs=1000)
    finally:
        os.kill(stopper.pid, signal.SIGCONT)
    assert time.monotonic() - stopped[0] < 60
    assert f" s: no answer within 2 s from {role} 0 (" in caplog.text


def test_training_resumes_when_a_stopped_ps_continues(standing, undisturbed, caplog):
    lost = "no answer within 2 s from ps 0 ("

    def go_on():
        deadline = time.monotonic() + 60
        while lost not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(stopper.pid, signal.SIGCONT)

    stopper = Stopper(standing, "ps", go_on)
    model = trained(standing.cluster, callbacks=[stopper], **OPTIONS)
    assert lost in caplog.text and BACK in caplog.text
    assert alike(model, undisturbed)


RUN = """
import sys
from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v import unit_sizes
unit_sizes.UNIT_ENTRIES = unit_sizes.CLUSTER_ENTRIES = 4096

class Tell:
    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...
    def on_epoch_begin(self, model):
        print("epoch", model._state.training and model._state.training.position.epoch, flush=True)

cluster = sys.argv[3] if len(sys.argv) > 3 else None
model = TFWord2Vec(
    corpus_file=sys.argv[1], vector_size=24, epochs=6, workers=1, alpha=.05, sg=1, seed=5,
    checkpoint_dir=sys.argv[2], checkpoint_minutes=0.002, compute_loss=True, cluster=cluster,
    callbacks=[Tell()],
)
model.save(sys.argv[2] + "/model")
"""


@pytest.mark.slow  # a killed training process of `tfw2v cluster local` is always tested
@pytest.mark.parametrize("cluster", [[], ["local:ps=1,worker=1"]], ids=["local", "cluster"])
def test_killed_program_resumes_when_rerun(tmp_path, undisturbed, cluster):
    command = [sys.executable, "-c", RUN, LEE, str(tmp_path), *cluster]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    seen = 0
    for line in process.stdout:
        if line.startswith("epoch") and line.split()[1] != "None":
            seen = int(line.split()[1])
            if seen >= 3:
                break
    process.kill()
    process.communicate()
    assert seen >= 3 and not (tmp_path / "model").exists()
    again = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    # callbacks run for all epochs, including those before the checkpoint
    model = TFWord2Vec.load(str(tmp_path / "model"))
    assert len(model.mean_losses) == again.stdout.count("epoch") == OPTIONS["epochs"]
    assert alike(model, undisturbed) and (cluster or likeness(model, undisturbed) > 0.999)
    deadline = time.monotonic() + 60
    while servers() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not servers()


def test_interrupted_training_resumes(tmp_path, undisturbed):
    class Interrupt(Killer):
        def __init__(self):
            pass

        def on_epoch_begin(self, model):
            if model._state.training is not None and model._state.training.position.epoch == 3:
                raise KeyboardInterrupt

    options = OPTIONS | {"checkpoint_dir": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        trained(None, callbacks=[Interrupt()], **options)
    model = trained(None, **options)
    np.testing.assert_allclose(model.wv.vectors, undisturbed.wv.vectors, atol=1e-6)
    assert model.running_training_loss == pytest.approx(undisturbed.running_training_loss, rel=1e-5)


def test_checkpoint_after_every_unit_does_not_change_the_loss(tmp_path):
    model = trained(None, epochs=2, checkpoint_dir=tmp_path, checkpoint_minutes=1e-9)
    np.testing.assert_allclose(model.mean_losses, trained(None, epochs=2).mean_losses, rtol=1e-3)


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_invalid_checkpoint_minutes_are_rejected(minutes):
    with pytest.raises(ValueError, match="checkpoint_minutes must be "):
        TFWord2Vec(vector_size=5, checkpoint_minutes=minutes)


def test_checkpoints_of_a_different_training_are_rejected(tmp_path):
    trained(None, epochs=1, checkpoint_dir=tmp_path)
    with pytest.raises(ValueError, match=r"has vector_size=24, this one has vector_size=25"):
        trained(None, epochs=1, vector_size=25, checkpoint_dir=tmp_path)
