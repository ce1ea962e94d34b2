"""Training over ssh, with OpenSSH if its server is installed, and with a stub."""

import contextlib
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.cluster.ssh_cluster import SshCluster
from tests.cli.conftest import ROOT
from tests.cli.sshd import openssh, stub, why_no_sshd
from tests.cli.test_cluster import TFW2V, until

LEE = datapath("lee_background.cor")
COMMAND = (
    f"cd {shlex.quote(str(ROOT))} && CUDA_VISIBLE_DEVICES= exec {shlex.quote(sys.executable)} "
    "-m gensim_tfw2v"
)
WORKER = ("worker", 1)


#: The stub of ssh; a slow test if OpenSSH can be used.
STUB = pytest.param("stub", marks=() if why_no_sshd() else pytest.mark.slow)


@pytest.fixture(params=[STUB, "openssh"])
def ssh(request, tmp_path):
    """Value of --ssh."""
    if request.param == "stub":
        yield stub(tmp_path)
        return
    if reason := why_no_sshd():
        pytest.skip(reason)
    with openssh(tmp_path) as command:
        yield command


@pytest.fixture
def best_ssh(tmp_path):
    """Value of --ssh: OpenSSH if its server is installed, else the stub."""
    if why_no_sshd():
        yield stub(tmp_path)
        return
    with openssh(tmp_path) as command:
        yield command


class Run:
    """Process of ``tfw2v cluster ssh`` with 1 ps, and the lines of its stderr."""

    def __init__(self, folder, ssh, *options, workers=2):
        ps, chief, *others = (f"127.0.0.1:{port}" for port in free_ports(2 + workers))
        self.cluster = Cluster((ps,), tuple(others), chief)
        self.model, self.checkpoints = folder / "model", folder / "checkpoints"
        hosts = folder / "hosts.json"
        hosts.write_text(json.dumps(self.cluster.addresses()))
        arguments = (
            "cluster", "ssh", "--hosts", hosts, "--ssh", ssh, "--command", COMMAND, "--seconds",
            "300", "--", "train", LEE, "-o", self.model, "--vector-size", 8, "--checkpoint-dir",
            self.checkpoints, "--checkpoint-minutes", "0.01", *options,
        )  # fmt: skip
        self.process = subprocess.Popen(
            [*TFW2V, *map(str, arguments)],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def error(self):
        return "\n".join(self.lines)

    def tasks(self):
        """Return the running task processes, by role and index."""
        found = {}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError, KeyError, ValueError):
                command = process.cmdline()
                if "--with-parent" in command and "task" in command:
                    config = json.loads(process.environ()["TF_CONFIG"])
                    if config["cluster"] == self.cluster.addresses():
                        own = config["task"]
                        found[own["type"], own["index"]] = process
        return found

    def checkpoint(self):
        """Return the number of the last checkpoint; 0 if none exists."""
        names = [path.name for path in self.checkpoints.glob("checkpoint-??????")]
        return max((int(name[-6:]) for name in names), default=0)

    def wait_for_training(self, checkpoints=4):
        """Wait until `checkpoints` are written; return all processes of the run."""
        # checkpoint 1 is written before the tasks are connected
        until(lambda: self.checkpoint() >= checkpoints or self.ended, 120)
        assert not self.ended, self.error
        mine = psutil.Process(self.process.pid).children(recursive=True)
        return [*mine, *self.tasks().values()]

    def served(self, role, index):
        """Return how often a task has logged that it serves."""
        line = f"{role} {index} | {self.cluster.task(role, index)} serves"
        return self.lines.count(line)

    @property
    def ended(self):
        return self.process.poll() is not None

    def end(self, seconds):
        self.process.wait(seconds)
        self._reader.join(60)
        return "" if self.process.stdout.closed else self.process.stdout.read()

    def ports(self):
        """Return the ports of the cluster on which a process listens."""
        mine = {task.port for task in self.cluster.tasks()}
        return mine & {
            connection.laddr.port
            for connection in psutil.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }


@pytest.fixture
def run(tmp_path):
    runs = []

    def start(ssh, *options, **given):
        runs.append(Run(tmp_path, ssh, *options, **given))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.end(20)
        run.process.stdout.close()
        run.process.stderr.close()
        print(run.error)


def gone(processes):
    return not any(process.is_running() for process in processes)


def test_training_finishes_though_a_worker_is_killed(ssh, run):
    """14 s of CPU: tasks that ssh starts are not forked, so each imports TensorFlow."""
    training = run(ssh, "--epochs", 16, workers=1)
    family = training.wait_for_training()
    tasks = training.tasks()
    assert {("ps", 0), ("worker", 0)} == set(tasks)
    ps, worker = tasks["ps", 0], tasks["worker", 0]
    ps.suspend()  # or the training might be over before
    try:
        worker.kill()
        until(lambda: "it is started again" in training.error or training.ended)
    finally:
        ps.resume()
    with contextlib.suppress(AssertionError):  # the training may finish first
        until(lambda: training.served("worker", 0) == 2 or training.ended)
    out = training.end(120)
    assert training.process.returncode == 0, training.error
    assert re.search(r"worker 0 \(.*\) ended with status .*; it is started again", training.error)
    assert "bytes per trained word" in out and len(Word2Vec.load(str(training.model)).wv) > 1000
    until(lambda: gone(family) and not training.tasks() and not training.ports())


@pytest.mark.slow  # the same test of local clusters always runs
def test_killed_command_leaves_no_tasks(best_ssh, run):
    training = run(best_ssh, "--epochs", 100_000)
    family = training.wait_for_training()
    assert len(training.ports()) == 4
    started = time.monotonic()
    training.process.kill()
    until(lambda: not training.tasks(), 10)
    print(f"tasks have ended after {time.monotonic() - started:.1f} s")
    until(lambda: gone(family) and not training.ports(), 30)
    assert not training.model.exists()


@pytest.mark.slow
def test_killed_tasks_restart_and_ctrl_c_leaves_no_processes(run, tmp_path):
    training = run(stub(tmp_path), "--epochs", 100_000)
    training.wait_for_training()
    for role, index in (WORKER, ("ps", 0)):
        training.tasks()[role, index].kill()
        until(lambda role=role, index=index: training.served(role, index) == 2)
    until(lambda: "going back to the last checkpoint" in training.error)
    family = training.wait_for_training(training.checkpoint() + 3)
    started = time.monotonic()
    training.process.send_signal(signal.SIGINT)  # to the command only
    training.end(60)
    seconds = time.monotonic() - started
    assert training.process.returncode == 130 and not training.model.exists()
    assert gone(family) and not training.tasks() and not training.ports()
    print(f"all had ended after {seconds:.1f} s")
    assert seconds < 5
    # tasks that the command itself stops are not reported
    assert training.error.count("is started again") == 2


def hosts_file(tmp_path, **change):
    path = tmp_path / "hosts.json"
    addresses = {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"], "worker": ["127.0.0.1:3"]}
    path.write_text(json.dumps(addresses | change))
    return path


TRAINING = ("--", "train", LEE, "-o", "model")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'no route to host' >&2; exit 255", r"(ps|worker) 0 .*255 \(ssh could not connect"),
        ("echo 'sh: 1: tfw2v: not found' >&2; exit 127", r"127 \(the command was not found"),
        ("sleep 60", "no answer within 1 s from ps 0 .*worker 0.* set a longer --seconds"),
    ],
)
def test_tasks_that_fail_to_start_are_named(tfw2v, tmp_path, script, message):
    path = tmp_path / "ssh"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    seconds = 1 if "sleep" in script else 60
    options = ("--hosts", hosts_file(tmp_path), "--ssh", path, "--seconds", seconds)
    started = time.monotonic()
    result = tfw2v("cluster", "ssh", *options, *TRAINING, status=2)
    assert re.search(message, result.stderr.splitlines()[-1]), result.stderr
    assert time.monotonic() - started < 30
    if "echo" in script:
        assert f"worker 0 | {script.split(chr(39))[1]}" in result.stderr


@pytest.mark.parametrize(
    ("options", "training", "message"),
    [
        ((), TRAINING[:1], "give the training after --"),
        ((), ("--", "demo"), "give the training after --, as in: tfw2v cluster ssh -- train"),
        ((), (*TRAINING, "--cluster", "TF_CONFIG"), "leave it out after --"),
        ((), (*TRAINING, "--windw", "3"), "train has no option --windw. Did you mean --window"),
        (("--ssh", "ssh 'a"), TRAINING, "quote it as for a shell"),
        (("--ssh", " "), TRAINING, "--ssh is empty"),
        (("--ssh", "no-such-program"), TRAINING, "no program 'no-such-program' is installed"),
    ],
)
def test_bad_usage_is_rejected(tfw2v, tmp_path, options, training, message):
    arguments = ("--hosts", hosts_file(tmp_path), *options, *training)
    assert message in tfw2v("cluster", "ssh", *arguments, status=2).stderr


def test_hosts_file_without_a_chief_is_rejected(tfw2v, tmp_path):
    path = hosts_file(tmp_path, chief=[])
    assert "has no chief" in tfw2v("cluster", "ssh", "--hosts", path, *TRAINING, status=2).stderr


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "fish", "csh"])
def test_every_login_shell_parses_the_command_line(tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    cluster = Cluster(("a-b.c_d:1",), ("[::1]:2",), "c:3")
    # csh expands ! to an earlier command, however it is quoted
    words = ["it's", "a  b", "$HOME", "x" if shell == "csh" else "!x"]
    odd = f'printf "%s\\\\n" "$TF_CONFIG" {shlex.join(words)}'
    for task in cluster.servers():
        *before, dashes, host, line = SshCluster(cluster, print, command=odd).arguments(task)
        assert before[0] == "ssh" and "BatchMode=yes" in before
        # a host name is never parsed as an option
        assert (dashes, host) == ("--", task.host)
        out = subprocess.run([shell, "-c", line], capture_output=True, text=True, check=True)
        config, *found = out.stdout.splitlines()
        assert json.loads(config) == json.loads(cluster.tf_config(task.role, task.index))
        assert found == [*words, "task", "--with-parent"]


def test_ssh_options_of_the_user_prevail(tmp_path):
    cluster = Cluster(("a:1",), ("b:2",), "c:3")
    with_options = SshCluster(cluster, print, ssh=("ssh", "-o", "BatchMode=no"))
    arguments = with_options.arguments(cluster.task("ps", 0))
    # OpenSSH uses the first value of each option
    assert arguments.index("BatchMode=no") < arguments.index("BatchMode=yes")
