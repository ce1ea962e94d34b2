"""Waiting for tasks, with real servers."""

import socket
import subprocess
import sys
import time

import pytest

from gensim_tfw2v.cluster import MissingTasks, Task, wait_for_tasks

SERVER = """
import sys, time, grpc
from concurrent.futures import ThreadPoolExecutor
time.sleep(float(sys.argv[2]))
server = grpc.server(ThreadPoolExecutor(1))
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
    """Start servers, each after some seconds, in processes of their own."""
    started = []

    def start(delay=0.0):
        port = free_port()
        started.append(subprocess.Popen([sys.executable, "-c", SERVER, str(port), str(delay)]))
        return f"127.0.0.1:{port}"

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_tasks_that_come_up_late_are_waited_for(serve):
    tasks = [Task("ps", 0, serve()), Task("worker", 0, serve(delay=1.5))]
    begin = time.monotonic()
    wait_for_tasks(tasks, seconds=30)
    assert time.monotonic() - begin > 1


def test_missing_tasks_are_named_in_time(serve):
    with socket.socket() as silent:  # takes connections, and says nothing
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
        assert time.monotonic() - begin < 20  # not 2 s for each
    assert error.value.tasks == tuple(tasks[1:])
