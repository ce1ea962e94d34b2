"""``tfw2v cluster`` with real tasks, and a training run that is killed."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
import typer
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from gensim_tfw2v.cli import cluster as cluster_commands
from gensim_tfw2v.cluster import Task, wait_for_tasks
from gensim_tfw2v.cluster.local_cluster import free_ports
from tests.cluster.test_namespace import own_ports
from tests.loaded import stretched

LEE = datapath("lee_background.cor")
TFW2V = [sys.executable, "-m", "gensim_tfw2v"]


def until(condition, seconds=180):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("timed out")


def children(pid, what):
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        try:
            if what in child.name():
                found.append(child)
        except psutil.NoSuchProcess:
            pass
    return found


def ports_of(pid):
    return set().union(*(own_ports(task.pid) for task in children(pid, "tfw2v-")))


def test_killed_training_resumes_from_its_checkpoint(tmp_path):
    """8 s of CPU: the command's processes are not forked, so each imports TensorFlow."""
    model, checkpoints = tmp_path / "model", tmp_path / "checkpoints"
    command = [
        *TFW2V, "cluster", "local", "--ps-tasks", "1", "--worker-tasks", "1", "--", "train", LEE,
        "-o", model, "--epochs", "16", "--vector-size", "8", "--checkpoint-dir", checkpoints,
        "--checkpoint-minutes", "0.01",
    ]  # fmt: skip
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: len(list(checkpoints.glob("checkpoint-*"))) and "000004" in " ".join(
            path.name for path in checkpoints.iterdir()))  # fmt: skip
        (train,) = [child for child in psutil.Process(process.pid).children()]
        train.suspend()  # it must not finish before it is killed
        family = [train, *train.children(recursive=True)]
        assert [len(children(process.pid, role)) for role in ("ps", "worker")] == [1, 1]
        # only its coordinator loads TensorFlow
        assert not any("libtensorflow" in mapped.path for mapped in train.memory_maps())
        train.kill()
        out, error = process.communicate(timeout=300)
    finally:
        if process.poll() is None:  # a suspended child would hold the pipes open
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
        process.communicate()
    assert process.returncode == 0, error
    assert "killed by signal 9; resuming from its last checkpoint" in error
    assert "bytes per trained word" in out and len(Word2Vec.load(str(model)).wv) > 1000
    until(lambda: not any(child.is_running() for child in family))


def test_ctrl_c_leaves_no_processes_or_ports(tmp_path):
    """6 s of CPU: the command's processes are not forked, so each imports TensorFlow."""
    checkpoints = tmp_path / "checkpoints"
    command = [
        *TFW2V, "cluster", "local", "--", "train", LEE, "-o", tmp_path / "model", "--epochs",
        "1000", "--vector-size", "8", "--checkpoint-dir", checkpoints, "--checkpoint-minutes",
        "0.01",
    ]  # fmt: skip
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, start_new_session=True)
    try:
        # wait until training runs: checkpoint 1 is written before it starts
        until(lambda: any(checkpoints.glob("checkpoint-000002*")), 120)
        assert children(process.pid, "tfw2v-chief")
        family = psutil.Process(process.pid).children(recursive=True)
        # ports of ps, workers and chief, in their own network namespace
        ports = until(lambda: len(found := ports_of(process.pid)) >= 4 and found)
        started = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=300)
        seconds = time.monotonic() - started
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130 and not (tmp_path / "model").exists()
    assert seconds < stretched(6.5)  # after 7 s they would be killed
    until(lambda: not any(child.is_running() for child in family))
    assert not ports & own_ports(os.getpid())


#: Runs ``tfw2v`` with the arguments of a forked process.
RUN_TFW2V = "from gensim_tfw2v.cli.start import main; main()"


def test_training_on_tasks_started_by_hand(tfw2v, models, tmp_path, monkeypatch, shared_forks):
    """Tasks are forks until a training run has left them; then they import TensorFlow."""
    start_module = shared_forks(isolated=False).start_module
    monkeypatch.setattr("gensim_tfw2v.cluster.local_cluster.start_module", start_module)

    def start_task(*options, **environment):
        command = ("tests.forked", "run", RUN_TFW2V, "task", *options)
        return start_module(*command, environment=os.environ | environment)

    ps, worker = (f"127.0.0.1:{port}" for port in free_ports(2))
    hosts = tmp_path / "hosts.json"
    hosts.write_text(json.dumps({"ps": [ps], "worker": [worker]}))
    config = {"cluster": {"ps": [ps], "worker": [worker], "chief": ["127.0.0.1:1"]}}
    chief = json.dumps(config | {"task": {"type": "chief", "index": 0}})
    monkeypatch.setenv("TF_CONFIG", chief)

    def shown(status, seconds):
        result = tfw2v("cluster", "status", "--seconds", seconds, status=status)
        advice = f"no answer within {seconds} s; a task that is starting or restarting"
        assert (advice in result.stderr) == bool(status)
        return result.stdout

    tasks = [start_task("--hosts", str(hosts), "--role", "ps")]
    try:
        wait_for_tasks([Task("ps", 0, ps)], 300)
        found = shown(status=1, seconds=3)
        assert re.search(r"ps +0 +\S+ +answers", found)
        assert re.search(r"worker +0 +\S+ +does not", found)
        own = json.dumps(config | {"task": {"type": "worker", "index": 0}})
        tasks.append(start_task(TF_CONFIG=own))
        wait_for_tasks([Task("worker", 0, worker)], 300)
        assert re.search(r"worker +0 +\S+ +answers", shown(status=0, seconds=60))
        monkeypatch.delenv("TF_CONFIG")
        assert tfw2v("cluster", "status", "--hosts", hosts).stdout.count("answers") == 2
        options = ("--init", models["model"], "--epochs", 1, "--hosts", hosts)
        trained = tfw2v("train", LEE, "-o", tmp_path / "model", *options).stdout
        assert "bytes per trained word" in trained and (tmp_path / "model").is_file()
        # the tasks restart after the training, and status waits for them
        answer = tfw2v("cluster", "status", "--hosts", hosts, "--seconds", 60)
        assert answer.stdout.count(" answers") == 2 and not answer.stderr
        tasks[0].send_signal(signal.SIGTERM)
        assert tasks[0].wait(180) == 128 + signal.SIGTERM  # also while it restarts
    finally:
        for task in tasks:
            task.kill()
            task.wait()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["local"], "give the training after --"),
        (["local", "--", "demo"], "give the training after --"),
        (["local", "--", "train", "x", "--cluster=TF_CONFIG"], "leave it out"),
        (["local", "--workers", "2", "--", "train", "x"], "--worker-tasks"),
    ],
)
def test_bad_usage_is_rejected(tfw2v, arguments, message):
    assert message in tfw2v("cluster", *arguments, status=2).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"ps": ["a:1"]}', "has no worker"),
        ('{"ps": [], "worker": []}', "has no ps"),
    ],
)
def test_bad_hosts_files_are_rejected(tfw2v, tmp_path, text, message):
    hosts = tmp_path / "hosts.json"
    hosts.write_text(text)
    assert message in tfw2v("task", "--hosts", hosts, status=2).stderr


@pytest.mark.parametrize("options", [("--role", "ps"), ("--index", 0)])
def test_role_and_index_without_hosts_are_rejected(tfw2v, options):
    assert "--role and --index need --hosts" in tfw2v("task", *options, status=2).stderr


def test_status_separates_long_addresses_from_states(tfw2v, tmp_path):
    hosts = tmp_path / "hosts.json"
    addresses = [f"tfw2v-worker-{number}.tfw2v.example.invalid:2222" for number in range(2)]
    hosts.write_text(json.dumps({"ps": ["127.0.0.1:1"], "worker": addresses}))
    lines = tfw2v("cluster", "status", "--hosts", hosts, "--seconds", 0.1, status=1).stdout
    for line in lines.splitlines():
        assert re.search(r":\d+ +does not answer$", line)


def test_training_that_ends_during_an_interrupt_reports_success(monkeypatch):
    """The process has saved its model, and ignores the signal while it exits."""

    class Ending:
        stdin = open(os.devnull)
        n_waits = 0

        def wait(self, timeout=None):
            self.n_waits += 1
            if self.n_waits == 1:
                raise KeyboardInterrupt
            return 0

        def send_signal(self, number):
            assert number == signal.SIGINT

        kill = wait

    with pytest.raises(typer.Exit) as exit:
        cluster_commands._wait(Ending())
    assert exit.value.exit_code == 0


def test_verbose_is_forwarded_to_the_training(monkeypatch):
    commands = []
    monkeypatch.setattr(cluster_commands, "supervise", commands.append)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    package_logger = logging.getLogger("gensim_tfw2v")
    level = package_logger.level
    app = typer.main.get_command(cluster_commands.app)
    try:
        app(["local", "-v", "--", "train", LEE, "-o", "m"], standalone_mode=False)
    finally:
        package_logger.setLevel(level)  # other tests run in this process
    assert "--verbose" in commands[0]
