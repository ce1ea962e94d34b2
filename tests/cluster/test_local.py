"""Clusters on this machine: real processes, real kills."""

import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from unittest.mock import Mock

import psutil
import pytest

from gensim_tfw2v.cluster import local_cluster
from gensim_tfw2v.cluster.incarnations import read_incarnations
from gensim_tfw2v.cluster.local_cluster import (
    MAX_STARTS,
    OP_THREADS_VARIABLE,
    LocalCluster,
    free_ports,
    open_cluster,
)
from gensim_tfw2v.cluster.spec import ClusterError, LocalTasks
from gensim_tfw2v.cluster.started_cluster import TaskEnded
from tests.cluster.test_training import servers

TRAIN = """
import sys
from gensim_tfw2v.cluster.local_cluster import LocalCluster
from gensim_tfw2v.cluster.launcher import ProcessLauncher

with LocalCluster(2, 1, process_launcher=ProcessLauncher(isolated=False)) as local:
    print(*(local.pid(task) for task in local.cluster.tasks()), flush=True)
    from gensim_tfw2v._tensorflow import tf
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(local.cluster.addresses()), rpc_layer="grpc"
    )
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    strategy = tf.distribute.experimental.ParameterServerStrategy(
        resolver, variable_partitioner=partitioner
    )
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table = tf.Variable(tf.zeros([6, 2]))
    devices = {shard.device for shard in table.variables}

    @tf.function
    def add():
        for shard in table.variables:
            shard.scatter_add(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1])))

    for _ in range(5):
        coordinator.schedule(add)
    coordinator.join()
    print(sorted(devices), tf.concat(table.variables, 0).numpy()[:, 0].tolist(), flush=True)
    sys.stdin.read()
"""


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_strategy_uses_tasks_that_exit_with_their_killed_parent():
    parent = subprocess.Popen(
        [sys.executable, "-c", TRAIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        shards = parent.stdout.readline().strip()
        assert len(pids) == 3 and not any(map(gone, pids))
    finally:
        parent.kill()
        parent.communicate()
    assert "ps/replica:0/task:0" in shards and "ps/replica:0/task:1" in shards
    assert shards.endswith("[0.0, 5.0, 0.0, 0.0, 5.0, 0.0]")
    deadline = time.monotonic() + 60
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert all(map(gone, pids))


def test_killed_task_is_named_and_can_be_restarted(shared_forks, caplog):
    caplog.set_level(logging.INFO, "gensim_tfw2v.cluster")
    launcher = shared_forks(isolated=False)
    with LocalCluster(n_ps=1, n_workers=1, process_launcher=launcher) as local:
        local.check()
        ps, worker = local.cluster.servers()
        incarnations = read_incarnations([ps, worker], 60)
        assert incarnations == read_incarnations([ps, worker], 60)
        os.kill(local.pid(worker), signal.SIGKILL)
        deadline = time.monotonic() + 60
        with pytest.raises(TaskEnded, match=r"worker 0 \(.*\) ended with signal 9"):
            while time.monotonic() < deadline:
                local.check()
                time.sleep(0.05)
        local.start(worker)
        local.wait([worker])
        local.check()
        restarted = read_incarnations([ps, worker], 60)
        assert restarted[ps] == incarnations[ps] and restarted[worker] != incarnations[worker]
        folder = local.log(worker).parent
        pids = [local.pid(task) for task in local.cluster.tasks()]
    assert not folder.exists() and all(map(gone, pids))
    # output of tasks is logged
    assert caplog.messages.count(f"worker 0 | {worker} serves") == 2
    assert caplog.messages.count(f"ps 0 | {local.cluster.task('ps', 0)} serves") == 1


#: Runs a task that waits only briefly for a port in use.
IMPATIENT = """
from gensim_tfw2v.cluster import connect, server
connect.PORT_SECONDS = 0.5
server.main()
"""


@pytest.fixture
def launcher(shared_forks, monkeypatch):
    """Launcher of forked tasks that wait only briefly for a port in use."""
    launcher = shared_forks(isolated=False)
    start_module = launcher.start_module

    def start_task(module, *arguments, **options):
        assert module == "gensim_tfw2v.cluster.server"
        return start_module("tests.forked", "run", IMPATIENT, *arguments, **options)

    monkeypatch.setattr(launcher, "start_module", start_task)
    return launcher


def test_task_whose_port_is_in_use_shows_its_log(launcher):
    local = LocalCluster(process_launcher=launcher)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", local.cluster.task("ps", 0).port))
        taken.listen()
        taken_by = rf"cannot listen at port \d+: .* in use by .* \(process {os.getpid()}, user "
        with pytest.raises(TaskEnded, match=rf"(?s)ps 0 .* exit status 2; its log.*{taken_by}"):
            local.__enter__()
    launcher.close()
    assert not servers()


def test_port_taken_meanwhile_is_replaced(launcher, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        other, *free = free_ports(3)
        found = iter([[taken.getsockname()[1], other], free])
        monkeypatch.setattr(local_cluster, "free_ports", lambda _: next(found))
        with open_cluster(LocalTasks(1, 1), process_launcher=launcher) as opened:
            opened.check()
            assert [task.port for task in opened.cluster.tasks()] == free
    assert not servers()


@pytest.mark.parametrize(
    ("how", "times"), [("UnknownError: Could not start gRPC server", MAX_STARTS), ("signal 9", 1)]
)
def test_only_a_port_in_use_causes_a_retry(shared_forks, monkeypatch, how, times):
    tried = []

    def fail(local):
        tried.append(local)
        raise TaskEnded(local.cluster.task("ps", 0), 1, how)

    monkeypatch.setattr(LocalCluster, "__enter__", fail)
    with pytest.raises(TaskEnded, match=how), open_cluster(LocalTasks(1, 1)):
        pass
    assert len(tried) == times


def test_error_that_prevents_the_start_is_shown(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('no such thing')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConnectionError, match="(?s)has ended.*no such thing"), LocalCluster():
        pass


def test_workers_share_cores_evenly_unless_configured(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.processes.threads.usable_cores", lambda: list(range(6)))
    started = {}

    class Notes:
        """Launcher that records threads per role and starts nothing."""

        def start_module(self, module, *arguments, environment, **options):
            config = json.loads(environment["TF_CONFIG"])["task"]
            started[config["type"]] = environment.get(OP_THREADS_VARIABLE)
            return Mock(stdout=io.BytesIO(), pid=1)

    monkeypatch.setattr(LocalCluster, "wait", lambda *_: None)
    for workers, threads in ((1, "6"), (3, "2"), (4, "1"), (7, "1")):
        with LocalCluster(1, workers, process_launcher=Notes()):
            assert started == {"ps": None, "worker": threads}  # a ps serves all workers
    monkeypatch.setenv(OP_THREADS_VARIABLE, "5")  # tasks inherit it
    with LocalCluster(1, 3, process_launcher=Notes()):
        assert started == {"ps": None, "worker": None}


def test_cluster_without_ps_or_workers_is_rejected():
    with pytest.raises(ClusterError, match="no ps"):
        LocalCluster(n_ps=0)
    with pytest.raises(ClusterError, match="no worker"):
        LocalCluster(n_workers=-1)
