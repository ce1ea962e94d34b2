"""Processes forked from a server that has imported TensorFlow."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from gensim_tfw2v.cluster import launcher as launchers
from gensim_tfw2v.cluster.launcher import ForkServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forking is safe only on Linux")

#: Module that the forked processes run.
MODULE = "tests.forked"


@pytest.fixture(scope="module")
def server():
    made = ForkServer()
    yield made
    made.close()


def test_process_has_its_own_arguments_environment_and_streams(server, tmp_path):
    with (tmp_path / "log").open("wb") as log:
        forked = server.start_module(
            MODULE, "say", "it", environment={"SAID": "so"}, stdout=subprocess.PIPE, stderr=log
        )
    with forked.stdout as said:
        assert said.read() == b"say it so\n"
    assert forked.wait(60) == 3 and forked.poll() == 3
    assert (tmp_path / "log").read_text() == "an error\n"
    assert "SAID" not in os.environ


def test_process_exits_when_its_input_closes(server):
    forked = server.start_module(MODULE, "wait")
    assert forked.poll() is None and psutil.pid_exists(forked.pid)
    with pytest.raises(subprocess.TimeoutExpired):
        forked.wait(0.05)
    forked.stdin.close()
    forked.wait(60)
    assert forked.returncode == 0 and not psutil.pid_exists(forked.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_exit_status_is_the_negative_signal(server, number):
    forked = server.start_module(MODULE, "wait")
    forked.send_signal(number)
    assert forked.wait(60) == -number
    forked.send_signal(number)  # ignored: the process has exited


def test_processes_start_with_tensorflow_imported(server):
    server.start_module(MODULE, "wait").stdin.close()
    forked = [server.start_module(MODULE, "tensorflow", stdout=subprocess.PIPE) for _ in range(3)]
    for process in forked:
        with process.stdout as said:
            assert said.read() == b"6.0 True\n"  # TensorFlow, whose import takes seconds, is loaded
        assert process.wait(60) == 0


def test_traceback_of_a_failed_process_is_written_to_its_log(server, tmp_path):
    with (tmp_path / "log").open("wb") as log:
        forked = server.start_module(MODULE, "fail", stdout=log, stderr=subprocess.STDOUT)
    assert forked.wait(60) == 1
    assert "ValueError: as asked" in (tmp_path / "log").read_text()


def test_process_with_closed_pipes_exits_alone(server):
    neighbour = server.start_module(MODULE, "wait")
    forked = server.start_module(MODULE, "tell", stdout=subprocess.PIPE)
    forked.stdout.close()
    forked.stdin.close()
    assert forked.wait(60) == 0
    assert neighbour.poll() is None
    neighbour.stdin.close()
    assert neighbour.wait(60) == 0


@pytest.mark.usefixtures("light_forks")
def test_closing_the_server_kills_its_processes():
    server = ForkServer()
    forked = server.start_module(MODULE, "wait")
    server.close()
    assert forked.wait(60) == -signal.SIGKILL and not psutil.pid_exists(forked.pid)
    with pytest.raises(ConnectionError, match="has ended"):
        server.start_module(MODULE, "wait")


@pytest.mark.usefixtures("light_forks")
def test_killing_the_server_kills_its_processes():
    server = ForkServer()
    forked = server.start_module(MODULE, "wait")
    os.kill(server.process.pid, signal.SIGKILL)
    assert forked.wait(60) == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while psutil.pid_exists(forked.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(forked.pid)
    server.close()


def test_failed_import_is_reported(monkeypatch, tmp_path):
    (tmp_path / "grpc.py").write_text("raise ImportError('no grpc here')")
    monkeypatch.syspath_prepend(tmp_path)
    server = ForkServer()
    with pytest.raises(ConnectionError, match="no grpc here"):
        server.start_module(MODULE, "wait")
    server.close()


@pytest.mark.usefixtures("light_forks")
def test_stopped_server_is_killed_on_close(monkeypatch):
    monkeypatch.setattr(launchers, "EXIT_SECONDS", 0.5)
    stopped = ForkServer()
    stopped.process.send_signal(signal.SIGSTOP)
    stopped.close()
    assert stopped.process.returncode == -signal.SIGKILL
