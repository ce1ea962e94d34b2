"""Started tasks: their output, and their restarts."""

import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import psutil
import pytest

from gensim_tfw2v.cluster import started_cluster
from gensim_tfw2v.cluster.local_cluster import LocalCluster, free_ports
from gensim_tfw2v.cluster.spec import Cluster, Task
from gensim_tfw2v.cluster.ssh_cluster import SshCluster
from gensim_tfw2v.cluster.started_cluster import TaskEnded
from gensim_tfw2v.cluster.started_task import is_noise, prefix_line

TASKS = [Task("ps", 0, "a:1"), Task("worker", 1, "b:2")]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
        "I0000 00:00:1763676203.123456   12345 grpc_server_lib.cc:463] Started server with target",
        "2026-11-20 22:03:00.104: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TF",
        "2026-11-20 22:03:00.104: I external/local_xla/xla/tsl/cuda/cudart_stub.cc:31] Could not "
        "find cuda drivers on your machine, GPU will not be used.",
        "E0000 00:00:1763676203.123456 12 cuda_dnn.cc:8579] Unable to register cuDNN factory",
        "2026-11-20 22:03:00.1: E external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] "
        "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit",
    ],
)
def test_startup_messages_of_tensorflow_are_noise(line):
    assert is_noise(line)


@pytest.mark.parametrize(
    "line",
    [
        "worker 1 (b:2) serves",
        "Traceback (most recent call last):",
        "2026-11-20 22:03:00.104: E tensorflow/core/rpc/grpc_server_lib.cc:611] Address in use",
        "2026-11-20 22:03:00.104: W tensorflow/core/framework/op_kernel.cc:1] RESOURCE_EXHAUSTED",
        "E0000 00:00:1763676203.123456 12 grpc_server_lib.cc:611] Unknown: Could not start",
        "bash: tfw2v: command not found",
    ],
)
def test_errors_are_not_noise(line):
    assert not is_noise(line)


class Process:
    """Stand-in for a process that has written `written` and exited with status 3."""

    pid, returncode = 1, 3

    def __init__(self, written=b""):
        self.stdin, self.stdout = io.BytesIO(), io.BytesIO(written)

    def poll(self):
        return self.returncode

    def wait(self, timeout=None):
        return self.returncode


WRITTEN = b"one\r\nI0000 00:00:1.2 3 x.cc:1] noise\n\n\xff two\nlast, unfinished"


def test_lines_are_shown_except_noise():
    shown = []

    def show(task, line):
        shown.append(prefix_line(task, line))

    ssh = SshCluster(Cluster(ps=("a:1",), worker=("w:1", "b:2")), show, ready_seconds=1)
    ssh._start_process = lambda task: Process(WRITTEN * (task == TASKS[1]))
    ended = r"status 3; its last output: last, unfinished$"
    with pytest.raises(TaskEnded, match=rf"^worker 1 \(b:2\) ended with {ended}"):
        ssh.start(TASKS[1])
        ssh.wait([TASKS[1]])
    assert shown == ["worker 1 | one", "worker 1 | \ufffd two", "worker 1 | last, unfinished"]


def test_failing_output_does_not_block_a_task():
    def show(task, line):
        raise OSError(28, "No space left on device")

    written = f"{'a line' * 20}\n{TASKS[1]} serves\n".encode()
    ssh = SshCluster(Cluster(ps=("a:1",), worker=("w:1", "b:2")), show, ready_seconds=1)
    ssh._start_process = lambda task: Process(written)
    ssh.start(TASKS[1])
    assert ssh._tasks[TASKS[1]].serves.wait(60)


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_output_of_local_tasks_is_saved_and_logged(caplog, monkeypatch, level):
    caplog.set_level(level, "gensim_tfw2v.cluster")
    monkeypatch.setattr(LocalCluster, "wait", lambda *_: None)
    launcher = Mock(start_module=lambda *_, **options: Process(WRITTEN))
    with LocalCluster(process_launcher=launcher) as local:
        worker = local.cluster.task("worker", 0)
        with pytest.raises(TaskEnded, match=r"(?s)ps 0 .* exit status 3; its log, .*unfinished$"):
            local.check()
        local.start(worker)  # a restart appends to the log
        local._tasks[worker].reader.join()
        written = WRITTEN.replace(b"\xff", b"\xef\xbf\xbd")
        assert local.log(worker).read_bytes() == 2 * written
    logged = [record for record in caplog.records if record.name == "gensim_tfw2v.cluster"]
    lines = ["one", "\ufffd two", "last, unfinished"] * (level == logging.INFO)
    assert sorted(record.getMessage() for record in logged) == sorted(
        f"{role} 0 | {line}" for role in ("ps", "worker", "worker") for line in lines
    )


@pytest.mark.parametrize("fails_at", [None, 4])
def test_workers_are_restarted_a_limited_number_of_times(caplog, monkeypatch, fails_at):
    restarts = started_cluster.MAX_RESTARTS
    monkeypatch.setattr(started_cluster, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(LocalCluster, "wait", lambda *_: None)
    started = []

    def start(module, *_, environment, **options):
        started.append(json.loads(environment["TF_CONFIG"])["task"]["type"])
        if len(started) == fails_at:
            raise ConnectionError("no fork")
        return Process()

    with LocalCluster(process_launcher=Mock(start_module=start)) as local, local.restarting():
        ended = restarts + bool(fails_at)
        deadline = time.monotonic() + 60
        while caplog.text.count("worker 0 (") < ended and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)  # time for restarts beyond the limit
    assert started == ["ps"] + ["worker"] * (1 + restarts)
    assert caplog.text.count("worker 0 (") == ended
    assert caplog.text.count("ended with exit status 3; it is started again") == restarts
    assert ("could not be started again: no fork" in caplog.text) == bool(fails_at)


@pytest.mark.slow  # a task gives a sign of life every five seconds
def test_hung_tasks_are_killed_and_workers_restarted(shared_forks, monkeypatch, caplog):
    monkeypatch.setattr("gensim_tfw2v.cluster.started_task.HANGING_SECONDS", 8.0)
    local = LocalCluster(1, 1, process_launcher=shared_forks(isolated=False))
    with local, local.restarting():
        ps, worker = local.cluster.servers()
        pids = {task: local.pid(task) for task in (ps, worker)}
        time.sleep(1.0)  # the first sign of life has arrived
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + 60
        while "it is started again" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(2.0)
        local.wait([worker])
        with pytest.raises(TaskEnded, match=r"ps 0 \(.*it gave no sign of life for 8 s"):
            local.check([ps])
    assert caplog.text.count("no sign of life for 8 s; it is started again") == 1
    assert not any(map(psutil.pid_exists, pids.values()))


@pytest.mark.slow
def test_hung_task_exits_with_its_parent():
    (port, other) = free_ports(2)
    cluster = Cluster((f"127.0.0.1:{port}",), (f"127.0.0.1:{other}",))
    command = [sys.executable, "-m", "gensim_tfw2v", "task", "--with-parent"]
    environment = os.environ | {"TF_CONFIG": cluster.tf_config("ps", 0)}
    task = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    while b"serves" not in task.stdout.readline():
        assert task.poll() is None
    (child,) = psutil.Process(task.pid).children()
    child.suspend()
    task.stdin.close()
    task.stdout.close()
    assert task.wait(20) == 128 + signal.SIGKILL
    assert not child.is_running()
