"""Local tasks in a network namespace, where other processes cannot reach their ports."""

import contextlib
import gc
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gensim_tfw2v.cluster import launcher as launchers
from gensim_tfw2v.cluster import local_cluster as local_module
from gensim_tfw2v.cluster.launcher import ProcessLauncher
from gensim_tfw2v.cluster.local_cluster import LocalCluster, free_ports
from tests import forks
from tests.cluster.test_training import likeness, same_units, servers, trained  # noqa: F401

#: Drops the capabilities of root that ordinary users lack when they create a namespace.
UNPRIVILEGED = ("setpriv", "--bounding-set=-sys_admin,-net_admin")


def need_namespaces():
    if reason := launchers.why_no_namespace():
        pytest.skip(f"no network namespace can be created here: {reason}")


@pytest.fixture(params=["as this user", "in a user namespace"])
def inside(request, monkeypatch, light_forks):
    """Return a function that starts `tests.forked` in a namespace; stop all at the end."""
    has_own_user = os.geteuid() != 0
    if request.param == "in a user namespace" and os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is missing")
        command = (shutil.which("setpriv"), *UNPRIVILEGED[1:], *launchers._unshare())
        monkeypatch.setattr(launchers, "_unshare", lambda: command)
        has_own_user = True
    need_namespaces()
    with contextlib.closing(ProcessLauncher()) as launcher, contextlib.ExitStack() as streams:

        def start(*arguments):
            process = launcher.start_module("tests.forked", *arguments, stdout=subprocess.PIPE)
            streams.enter_context(process.stdin)
            streams.enter_context(process.stdout)
            return process

        start.has_own_user = has_own_user
        yield start


def listening(pids):
    """Return the listening sockets of these processes in this process's network."""
    return [
        found
        for found in psutil.net_connections("tcp")
        if found.status == psutil.CONN_LISTEN and found.pid in pids
    ]


def own_ports(pid):
    """Return the listening ports in the network namespace of a process."""
    lines = []
    with contextlib.suppress(OSError):  # it has exited meanwhile
        for table in ("tcp", "tcp6"):
            read = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            lines += [line.split() for line in read]
    return {int(line[1].rpartition(":")[2], 16) for line in lines if line[3] == "0A"}


def reached(port, seconds=1.0):
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), seconds).close()
        return True
    return False


def test_port_is_reachable_only_inside_the_namespace(inside, tmp_path):
    (port,) = free_ports(1)
    server = inside("listen", str(port))
    assert server.stdout.readline() == b"listening\n"
    assert inside("connect", str(port)).wait(60) == 0
    assert not reached(port) and not listening([server.pid])
    # the process has no additional rights, and its files belong to its user
    own = inside("own", str(tmp_path / "made"))
    user, group, users = own.stdout.read().split()
    assert [int(user), int(group)] == [os.geteuid(), os.getegid()]
    assert (users.decode() != os.readlink("/proc/self/ns/user")) == inside.has_own_user
    assert (tmp_path / "made").stat().st_uid == os.geteuid()


def own_children():
    """Return descendants of this process, except those that earlier tests share or have left.

    `multiprocessing` keeps a process that tracks its resources, and its fork server.
    """
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if child.pid not in forks.shared() and not is_kept(child)
    ]


def is_kept(child):
    command = " ".join(child.cmdline())
    return "multiprocessing.resource_tracker" in command or "multiprocessing.forkserver" in command


@pytest.mark.usefixtures("light_forks")
def test_namespace_process_is_a_direct_child_and_is_cleaned_up():
    need_namespaces()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    with contextlib.closing(ProcessLauncher()):
        (process,) = own_children()
        deadline = time.monotonic() + 60
        while process.cmdline()[1:] != ["-m", "gensim_tfw2v.cluster.forkserver"]:
            assert time.monotonic() < deadline, process.cmdline()
            time.sleep(0.01)
        net = Path(f"/proc/{process.pid}/ns/net")
        assert net.readlink() != Path("/proc/self/ns/net").readlink()
        assert not process.children()
    assert not own_children()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ((sys.executable, "-c", "raise SystemExit('forbidden here')"), "forbidden here"),
        ((sys.executable, "-c", "raise SystemExit(1)"), "no namespace was made"),
        (("no-such-command",), "No such file or directory: 'no-such-command'"),
    ],
)
def test_why_no_namespace_gives_the_reason(monkeypatch, command, reason):
    monkeypatch.setattr(launchers, "_unshare", lambda: command)
    assert reason in launchers.why_no_namespace()


class Watch:
    """Records whether tasks and coordinator are reachable from here during training."""

    def __init__(self, monkeypatch):
        self.reached, self.listening, self.ports = [], [], []
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
            return  # first epoch: the tasks are not started yet
        children = servers()
        self.ports.append(set().union(*(own_ports(child.pid) for child in children)))
        self.reached += [reached(task.port) for task in self.local.cluster.tasks()]
        self.listening += listening([child.pid for child in children])


@pytest.mark.usefixtures("isolated_forks")
def test_tasks_of_a_training_are_unreachable_from_outside(monkeypatch):
    need_namespaces()
    watch = Watch(monkeypatch)
    model = trained("local:ps=1,worker=2", epochs=3, callbacks=[watch])
    assert model.train_count == 1
    # the tasks and the coordinator listen, all inside the namespace
    assert [len(ports) for ports in watch.ports] == [4, 4]
    assert len(watch.reached) == 2 * 3 and not any(watch.reached)
    assert not watch.listening
    assert not servers()


@pytest.mark.usefixtures("isolated_forks")
def test_cluster_without_namespaces_trains_and_warns(monkeypatch, caplog):
    refused = "raise SystemExit('unshare: Operation not permitted')"
    monkeypatch.setattr(launchers, "_unshare", lambda: (sys.executable, "-c", refused))
    watch = Watch(monkeypatch)
    model = trained("local:ps=1,worker=1", epochs=2, callbacks=[watch])
    assert likeness(model, trained(None, epochs=2)) > 0.9
    (warning,) = [text for text in caplog.messages if "no network namespace for tasks" in text]
    assert "unshare: Operation not permitted" in warning and "firewall" in warning
    # shows that the test above detects reachable ports
    assert any(watch.reached) and watch.listening


@pytest.mark.slow
def test_cluster_without_isolation_is_reachable():
    with LocalCluster(process_launcher=ProcessLauncher(isolated=False)) as local:
        assert all(reached(task.port) for task in local.cluster.tasks())
