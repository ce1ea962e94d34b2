"""Waiting for tasks, with real servers."""

import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from gensim_tfw2v.cluster import Cluster, MissingTasks, Task, sessions, wait_for_tasks
from gensim_tfw2v.cluster import connect as connecting
from gensim_tfw2v.cluster.connect import check_port, connect
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.presence import Presence

#: Server that starts after a delay. With "exit", the first call makes it exit, and start again.
SERVER = """
import os, sys, time, grpc
from concurrent.futures import ThreadPoolExecutor
class Exit(grpc.GenericRpcHandler):
    def service(self, details):
        os.execv(sys.executable, [*sys.orig_argv[:-1], "stay"])
time.sleep(float(sys.argv[2]))
handlers = [Exit()] if sys.argv[3] == "exit" else []
server = grpc.server(ThreadPoolExecutor(1), handlers)
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination(60)
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def serve():
    """Return a function that starts a server process after a delay, and returns its address."""
    started = []

    def start(delay=0.0, mode="stay"):
        port = free_port()
        command = [sys.executable, "-c", SERVER, str(port), str(delay), mode]
        started.append(subprocess.Popen(command))
        return f"127.0.0.1:{port}"

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_tasks_that_start_late_are_awaited(serve):
    tasks = [Task("ps", 0, serve()), Task("worker", 0, serve(delay=1.5))]
    begin = time.monotonic()
    wait_for_tasks(tasks, seconds=30)
    assert time.monotonic() - begin > 1


def test_running_tasks_are_recognized_in_less_time_than_a_poll_of_grpc_takes(serve):
    tasks = [Task("ps", 0, serve()), Task("worker", 0, serve())]
    wait_for_tasks(tasks, seconds=60)
    seconds = []
    for _ in range(10):
        begin = time.monotonic()
        wait_for_tasks(tasks, seconds=60)
        seconds.append(time.monotonic() - begin)
    assert min(seconds) < 0.15  # a poll takes 0.2 s


def test_task_that_restarts_during_the_call_is_awaited(serve):
    tasks = [Task("ps", 0, serve()), Task("worker", 0, serve(delay=0.5, mode="exit"))]
    begin = time.monotonic()
    wait_for_tasks(tasks, seconds=60)
    assert time.monotonic() - begin > 1  # it has started twice


def test_missing_tasks_are_named_within_the_timeout(serve):
    with socket.socket() as silent:  # accepts connections, but never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        tasks = [
            Task("ps", 0, serve()),
            Task("ps", 1, f"127.0.0.1:{free_port()}"),
            Task("worker", 0, f"127.0.0.1:{silent.getsockname()[1]}"),
            *(Task("worker", n, "no-such-host.invalid:2222") for n in range(1, 20)),
        ]
        wait_for_tasks(tasks[:1])
        begin = time.monotonic()
        with pytest.raises(MissingTasks, match=r"within 2 s from ps 1 \(127") as error:
            wait_for_tasks(tasks, seconds=2)
        assert time.monotonic() - begin < 20  # 2 s in total, not per task
    assert error.value.tasks == tuple(tasks[1:])


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0"])
def test_port_in_use_is_reported_with_its_process(monkeypatch, address):
    monkeypatch.setattr("gensim_tfw2v.cluster.connect.PORT_SECONDS", 0.0)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as taken:
        task = Task("chief", 0, f"localhost:{taken.getsockname()[1]}")
        with pytest.raises(OSError, match="cannot listen at port") as raised:
            check_port(task)
    said = f"{task} cannot listen at port {task.port}: Address already in use by "
    assert str(raised.value).startswith(said)
    assert f"(process {os.getpid()}, user " in str(raised.value)
    assert "\n" not in str(raised.value)
    check_port(task)


def test_port_freed_soon_is_awaited():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        task = Task("ps", 0, f"localhost:{taken.getsockname()[1]}")
        freeing = threading.Timer(1.0, taken.close)
        freeing.start()
        check_port(task)
        freeing.join()


def test_chief_port_in_use_is_reported_immediately(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.cluster.connect.PORT_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        chief = f"127.0.0.1:{taken.getsockname()[1]}"
        cluster = Cluster(("127.0.0.1:1",), ("127.0.0.1:2",), chief)
        with pytest.raises(OSError, match="^chief 0 .* cannot listen at port"):
            connect(cluster, Presence(cluster.servers()), seconds=60)


def test_tasks_that_do_not_answer_are_missing_and_the_others_blocked(monkeypatch):
    tasks = [Task(role, 0, f"127.0.0.1:{port}") for role, port in zip(
        ("ps", "worker"), free_ports(2), strict=True)]  # fmt: skip
    monkeypatch.setattr(sessions, "is_blocked", lambda pair, seconds: True)
    monkeypatch.setattr(connecting, "PATH_SECONDS", 0.05)
    with pytest.raises(MissingTasks, match="ps 0"):
        connecting.check_paths(tasks)
    monkeypatch.setattr(connecting, "wait_for_tasks", lambda *_: None)
    with pytest.raises(connecting.BlockedPaths, match="worker 0 .* and ps 0 .*"):
        connecting.check_paths(tasks)
    monkeypatch.setattr(sessions, "is_blocked", lambda pair, seconds: False)
    connecting.check_paths(tasks)
