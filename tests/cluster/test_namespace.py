"""Tasks of this machine in a network of their own: nobody else reaches their ports."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gensim_tfw2v.cluster import local as local_module
from gensim_tfw2v.cluster import process_launcher
from gensim_tfw2v.cluster.local import LocalCluster, free_ports
from gensim_tfw2v.cluster.process_launcher import Namespace, NoNamespace
from tests.cluster.test_training import likeness, same_units, servers, trained  # noqa: F401

CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 1)"

#: As root without what root may do to networks, as any user makes one.
UNPRIVILEGED = ("setpriv", "--bounding-set=-sys_admin,-net_admin")


def namespace_or_skip():
    try:
        return contextlib.closing(Namespace())
    except NoNamespace as reason:
        pytest.skip(f"this system makes no network namespace: {reason}")


@pytest.fixture(params=["as this user", "in a user namespace"])
def namespace(request, monkeypatch):
    if request.param == "in a user namespace" and os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is missing")
        command = (*UNPRIVILEGED, *process_launcher._NSENTER)
        monkeypatch.setattr(process_launcher, "_NSENTER", command)
    with namespace_or_skip() as made:
        expected = 2 if os.geteuid() or request.param == "in a user namespace" else 1
        assert len(made.descriptors) == expected
        yield made


@pytest.fixture
def inside(namespace):
    """Start modules in the namespace, and end them."""
    started = []

    def start(*arguments, **options):
        started.append(namespace.start_module(*arguments, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def listening(pids):
    """Sockets of this process's network that wait for connections and belong to these."""
    return [
        found
        for found in psutil.net_connections("tcp")
        if found.status == psutil.CONN_LISTEN and found.pid in pids
    ]


def own_ports(pid):
    """Ports that wait for connections in the network where a process is."""
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {int(line[1].rpartition(":")[2], 16) for line in lines if line[3] == "0A"}


def reached(port, seconds=1.0):
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), seconds).close()
        return True
    return False


def test_a_port_is_reached_from_inside_alone(namespace, inside, tmp_path):
    (port,) = free_ports(1)
    with (tmp_path / "log").open("wb") as log:
        server = inside("http.server", str(port), cwd=tmp_path, stdout=log, stderr=log)
    connect = [*namespace.launcher, sys.executable, "-I", "-S", "-c", CONNECT, str(port)]
    deadline = time.monotonic() + 20
    while subprocess.run(
        connect, pass_fds=namespace.descriptors, stderr=subprocess.PIPE
    ).returncode:
        assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()
    assert not reached(port) and not listening([server.pid])
    # what it may do is no more, and its files are its user's
    made = "import os, sys; open(sys.argv[1], 'w'); print(os.geteuid(), os.getegid())"
    command = [*namespace.launcher, sys.executable, "-c", made, str(tmp_path / "made")]
    ids = subprocess.run(command, pass_fds=namespace.descriptors, capture_output=True, check=True)
    assert [int(number) for number in ids.stdout.split()] == [os.geteuid(), os.getegid()]
    assert (tmp_path / "made").stat().st_uid == os.geteuid()


def test_a_process_in_it_is_the_child_itself(inside):
    process = inside("http.server", "0", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own, deadline = psutil.Process(process.pid), time.monotonic() + 10
    while own.cmdline()[1:] != ["-m", "http.server", "0"]:
        assert time.monotonic() < deadline, own.cmdline()
        time.sleep(0.01)
    assert not own.children()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM


def test_nothing_is_left_to_keep_it():
    descriptors = os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []
    before = psutil.Process().children(recursive=True)
    with namespace_or_skip() as made:
        assert psutil.Process().children(recursive=True) == before
        assert not any(map(os.get_inheritable, made.descriptors))
    assert len(os.listdir("/proc/self/fd")) == len(descriptors)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit('forbidden here')", "forbidden here"),
        ("print('net', flush=True); raise SystemExit('no loopback')", "no loopback|No such file"),
        ("", "no namespace was made"),
    ],
)
def test_why_there_is_none_is_said(monkeypatch, script, reason):
    monkeypatch.setattr(process_launcher, "_NSENTER", (sys.executable, "-c", script))
    with pytest.raises(NoNamespace, match=reason):
        Namespace()


class Watch:
    """Notes who reaches the tasks, and the coordinator, while they train."""

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
        if model._training is None:
            return  # the first epoch, for which the tasks are still to be started
        children = [
            child
            for child in psutil.Process().children(recursive=True)
            if child.name().startswith("tfw2v")
        ]
        self.ports.append(set().union(*(own_ports(child.pid) for child in children)))
        self.reached += [reached(task.port) for task in self.local.cluster.tasks()]
        self.listening += listening([child.pid for child in children])


def test_nobody_reaches_the_tasks_of_a_training(monkeypatch):
    with namespace_or_skip():
        pass
    watch = Watch(monkeypatch)
    model = trained("local:ps=1,worker=2", epochs=3, callbacks=[watch])
    assert model.train_count == 1
    # the tasks listen, and the coordinator; all of them where nobody else is
    assert [len(ports) for ports in watch.ports] == [4, 4]
    assert len(watch.reached) == 2 * 3 and not any(watch.reached)
    assert not watch.listening
    assert not servers()


def test_without_namespaces_a_cluster_trains_and_warns(monkeypatch, caplog):
    def refuse():
        raise NoNamespace("unshare: Operation not permitted")

    monkeypatch.setattr(process_launcher, "Namespace", refuse)
    watch = Watch(monkeypatch)
    model = trained("local:ps=1,worker=1", epochs=2, callbacks=[watch])
    assert likeness(model, trained(None, epochs=2)) > 0.9
    (warning,) = [text for text in caplog.messages if "no network of their own" in text]
    assert "unshare: Operation not permitted" in warning and "firewall" in warning
    # and so would the test above fail
    assert any(watch.reached) and watch.listening


@pytest.mark.slow
def test_a_cluster_that_is_not_isolated_is_reached():
    with LocalCluster(isolated=False) as local:
        assert all(reached(task.port) for task in local.cluster.tasks())
