"""One worker of two is stopped for nine tenths of the time."""

import contextlib
import os
import signal
import threading

import pytest

from gensim_tfw2v.cluster import local_cluster as local_module
from tests.cluster.test_deterministic import assert_same
from tests.cluster.test_training import servers, trained

CLUSTER = "local:ps=1,worker=2"


@contextlib.contextmanager
def slow_worker(monkeypatch, index=1):
    """Slow down a worker of each local cluster: stop it again and again."""
    ended, threads = threading.Event(), []

    def stop_repeatedly(pid):
        with contextlib.suppress(ProcessLookupError):  # the cluster has been stopped
            while not ended.is_set():
                os.kill(pid, signal.SIGSTOP)
                ended.wait(0.9)
                os.kill(pid, signal.SIGCONT)
                ended.wait(0.1)

    start = local_module.LocalCluster.__enter__

    def start_and_slow_down(cluster):
        local = start(cluster)
        pid = local.pid(local.cluster.task("worker", index))
        threads.append(threading.Thread(target=stop_repeatedly, args=(pid,), daemon=True))
        threads[-1].start()
        return local

    with monkeypatch.context() as patch:
        patch.setattr(local_module.LocalCluster, "__enter__", start_and_slow_down)
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join(60)
    assert threads and not any(thread.is_alive() for thread in threads)


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


@pytest.mark.usefixtures("shared_forks")
def test_copies_of_its_jobs_do_not_change_a_deterministic_training(monkeypatch):
    options = dict(deterministic=True, epochs=6)
    undisturbed = trained(CLUSTER, **options)
    with slow_worker(monkeypatch):
        slowed = trained(CLUSTER, **options)
    assert slowed.traffic.repeated > 0
    assert_same(slowed, undisturbed)
    assert not servers()
