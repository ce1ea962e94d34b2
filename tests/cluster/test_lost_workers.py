"""Workers that are lost for good, and workers that come back, within one training run."""

import os
import signal
import threading
import time

import psutil
import pytest

from gensim_tfw2v.cluster.local_cluster import LocalCluster
from gensim_tfw2v.cluster.started_cluster import TaskEnded
from tests.cluster.test_training import trained

#: Seconds of CPU time that a worker needs only if it trains.
CPU_SECONDS = 2.0

#: Seconds until a worker that was started again must have needed `CPU_SECONDS`.
MAX_SECONDS = 120


@pytest.fixture
def running(shared_forks, monkeypatch):
    """A cluster that outlives training runs, and does not restart its workers."""
    for name in ("UNIT_ENTRIES", "CLUSTER_ENTRIES"):
        monkeypatch.setattr(f"gensim_tfw2v.unit_sizes.{name}", 4096)
    with LocalCluster(1, 2, process_launcher=shared_forks(isolated=False)) as running:
        yield running


class InEpoch:
    """Callback that calls a function in a thread, in the middle of the second epoch."""

    def __init__(self, function):
        self.thread = threading.Timer(0.1, function)

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...

    def on_epoch_begin(self, model):
        training = model._state.training
        if training is not None and training.position.epoch == 1:
            self.thread.start()


@pytest.mark.parametrize(
    "regime", ["asynchronous", pytest.param("synchronous", marks=pytest.mark.slow)]
)
def test_worker_that_is_lost_for_good_is_not_waited_for(running, regime):
    worker = running.cluster.task("worker", 1)
    killer = InEpoch(lambda: os.kill(running.pid(worker), signal.SIGKILL))
    model = trained(running.cluster, regime=regime, callbacks=[killer], epochs=8)
    with pytest.raises(TaskEnded, match="worker 1"):  # it was killed, and is still away
        running.check()
    assert model.mean_losses == sorted(model.mean_losses, reverse=True)
    assert len(model.mean_losses) == 8
    assert (model.traffic.units - model.traffic.repeated) % 8 == 0


class Stopped(Exception):
    """End of a training run that has lasted long enough."""


@pytest.mark.slow
def test_worker_that_comes_back_is_given_jobs(running):
    worker = running.cluster.task("worker", 1)
    seconds = []

    def kill_and_start():
        os.kill(running.pid(worker), signal.SIGKILL)
        time.sleep(1.0)
        running.start(worker)
        running.wait([worker])
        start = cpu_seconds(running.pid(worker))
        deadline = time.monotonic() + MAX_SECONDS
        while (used := cpu_seconds(running.pid(worker)) - start) < CPU_SECONDS:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        seconds.append(used)

    class Stopper(InEpoch):
        def on_epoch_end(self, model):
            if seconds:
                raise Stopped

    with pytest.raises(Stopped):
        trained(running.cluster, callbacks=[Stopper(kill_and_start)], epochs=2000)
    assert seconds[0] >= CPU_SECONDS


def cpu_seconds(pid):
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
