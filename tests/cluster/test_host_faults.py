"""Faults of hosts, of tasks and of the network, while `tfw2v cluster ssh` trains on five hosts."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from gensim.test.utils import datapath

from tests.cli.conftest import ROOT
from tests.cli.test_cluster import TFW2V
from tests.cluster.hosts import PORT, SshHosts, why_not
from tests.disks import fill, small_disk

LEE = datapath("lee_background.cor")
ROLES = {"chief": ["chief"], "ps": ["ps0", "ps1"], "worker": ["worker0", "worker1"]}
NAMES = sum(ROLES.values(), [])
COMMAND = (
    f"cd {shlex.quote(str(ROOT))} && CUDA_VISIBLE_DEVICES= exec {shlex.quote(sys.executable)} "
    "-m gensim_tfw2v"
)

#: Seconds within which training must recover from a fault, or exit.
LIMIT = 120

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def networks():
    if reason := why_not() or (not shutil.which("nft") and "nft (nftables) is missing"):
        pytest.skip(reason)


@pytest.fixture
def hosts(tmp_path):
    with SshHosts(tmp_path, *NAMES) as made:
        yield made


class Training:
    """``tfw2v cluster ssh`` on hosts, with more epochs than the test lasts."""

    def __init__(self, hosts, *options):
        self.hosts, self.checkpoints = hosts, hosts.folder / "checkpoints"
        path = hosts.folder / "hosts.json"
        addresses = {
            role: [f"{hosts.address(name)}:{PORT}" for name in names]
            for role, names in ROLES.items()
        }
        path.write_text(json.dumps(addresses))
        arguments = (
            "cluster", "ssh", "-v", "--hosts", path, "--ssh", hosts.ssh, "--command", COMMAND,
            "--seconds", 90, "--", "train", LEE, "-o", hosts.folder / "model", "--vector-size", 8,
            "--epochs", 100_000, "--checkpoint-minutes", 0.01, "-v",
            *(options or ("--checkpoint-dir", self.checkpoints)),
        )  # fmt: skip
        self.process = hosts.start(
            "chief",
            *(*TFW2V, *map(str, arguments)),
            env={**os.environ, "TMPDIR": str(hosts.temporary("chief"))},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            # the progress bar returns to the start of its line
            self.lines.append(line.rstrip("\n").rpartition("\r")[2])

    @property
    def output(self):
        return "\n".join(self.lines)

    def count(self, pattern):
        return sum(re.search(pattern, line) is not None for line in self.lines)

    def checkpoint(self):
        return max((int(path.name[-6:]) for path in self.checkpoints.glob("checkpoint-??????")),
                   default=0)  # fmt: skip

    @property
    def ended(self):
        return self.process.poll() is not None

    def wait_for_checkpoints(self, number, seconds=LIMIT):
        """Wait until `number` more checkpoints are written, which shows that training continues."""
        last = self.checkpoint() + number
        until(lambda: self.checkpoint() >= last or self.ended, seconds)
        assert not self.ended, self.output

    def wait_for_end(self, seconds):
        """Return the exit status, and the last line of tfw2v that is not output of a task."""
        status = self.process.wait(seconds)
        self._reader.join(20)
        return status, next(line for line in reversed(self.lines) if not re.match(r"\w+ \d ", line))

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        assert self.wait_for_end(60)[0] == 130

    def see_nothing_left(self, seconds=20):
        """Wait until no process, port or file is left on any host."""

        def left():
            return {name: found for name in NAMES if (found := self.hosts.left(name))}

        until(lambda: not left(), seconds, left)


def until(is_so, seconds, what=lambda: ""):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.1)


@pytest.fixture
def train(hosts):
    trainings = []

    def start(*options, checkpoints=4):
        trainings.append(Training(hosts, *options))
        if checkpoints:
            trainings[-1].wait_for_checkpoints(checkpoints)
        return trainings[-1]

    yield start
    for training in trainings:
        training.process.kill()
        print(training.output)


def is_timely(what, began):
    seconds = time.monotonic() - began
    print(f"{what}: {seconds:.0f} s")
    return seconds < LIMIT


HUNG = "ended with SIGKILL because it hung: it gave no sign of life for 40 s; it is started again"


@pytest.mark.parametrize(("host", "name"), [("ps1", "tfw2v-ps-1"), ("worker0", "tfw2v-worker-0")])
def test_hung_task_is_restarted(hosts, train, host, name):
    training = train()
    hung, began = hosts.process(host, name), time.monotonic()
    hung.send_signal(signal.SIGSTOP)
    until(lambda: training.count(HUNG) or training.ended, LIMIT)
    if host == "ps1":
        until(lambda: training.count("going back to the last checkpoint") or training.ended, LIMIT)
    until(lambda: not hung.is_running(), 10)
    training.wait_for_checkpoints(3, LIMIT)
    assert is_timely("goes on", began)
    assert training.count(HUNG) == 1
    assert training.count("going back to the last checkpoint") == (host == "ps1")
    training.interrupt()
    training.see_nothing_left()


def test_hung_coordinator_is_restarted(hosts, train):
    training, began = train(), time.monotonic()
    hosts.process("chief", "tfw2v-chief").send_signal(signal.SIGSTOP)
    back = "the coordinator has not answered for 75 s; going back to the last checkpoint"
    until(lambda: training.count(back) or training.ended, LIMIT)
    training.wait_for_checkpoints(3, LIMIT)
    assert is_timely("goes on", began)
    assert training.count(back) == 1
    training.interrupt()
    training.see_nothing_left()


def test_tasks_hung_at_shutdown_are_killed(hosts, train):
    training = train()
    for host, name in (("ps0", "tfw2v-ps-0"), ("worker1", "tfw2v-worker-1")):
        hosts.process(host, name).send_signal(signal.SIGSTOP)
    began = time.monotonic()
    training.interrupt()
    assert is_timely("ended", began)
    training.see_nothing_left()


def test_hung_tasks_exit_after_the_command_is_killed(hosts, train):
    training = train()
    hosts.process("ps0", "tfw2v-ps-0").send_signal(signal.SIGSTOP)
    training.process.kill()
    training.wait_for_end(20)
    until(lambda: not any(map(hosts.running, NAMES)), 20)


def test_port_in_use_aborts_the_start(hosts, train):
    server = hosts.start(
        "ps1", sys.executable, "-m", "http.server", str(PORT),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: PORT in hosts.listening("ps1"), 20)
    began = time.monotonic()
    training = train(checkpoints=0)
    status, _ = training.wait_for_end(LIMIT)
    assert status == 2 and is_timely("ended", began)
    server.kill()
    training.see_nothing_left()


def test_training_continues_after_the_host_of_a_worker_is_lost(hosts, train):
    training, began = train(), time.monotonic()
    hosts.plug("worker1", False)
    until(lambda: training.count("worker 1 .* ended with status 255") or training.ended, LIMIT)
    training.wait_for_checkpoints(3, LIMIT)
    assert is_timely("goes on", began)
    training.interrupt()
    training.see_nothing_left(LIMIT)  # the task on the lost host exits too


@pytest.mark.parametrize("kept", [True, False])
def test_lost_host_of_a_ps_is_named_with_the_checkpoint(hosts, train, kept):
    training = train(checkpoints=4) if kept else train("--checkpoint-minutes", 1, checkpoints=0)
    if not kept:
        until(lambda: training.count("EPOCH 3|epoch 3"), LIMIT)
    began = time.monotonic()
    hosts.plug("ps1", False)
    status, last = training.wait_for_end(2 * LIMIT)
    assert status == 2 and is_timely("ended", began)
    assert f"from ps 1 ({hosts.address('ps1')}:{PORT})" in last
    assert (f"is kept in {training.checkpoints}: " in last) == kept
    assert ("With --checkpoint-dir" in last) == (not kept)
    training.see_nothing_left(LIMIT)


@pytest.mark.parametrize(
    ("sender", "receiver", "named"),
    [
        ("worker0", "ps1", r"worker 0 \(10.77.0.4:2222\) and ps 1 \(10.77.0.3:2222\)"),
        ("ps1", "worker0", r"worker 0 \(10.77.0.4:2222\) and ps 1 \(10.77.0.3:2222\)"),
        ("chief", "ps1", r"from ps 1 \(10.77.0.3:2222\)"),
    ],
)
def test_blocked_network_path_is_reported(hosts, train, sender, receiver, named):
    training, began = train(), time.monotonic()
    hosts.drop(sender, receiver)
    status, last = training.wait_for_end(2 * LIMIT)
    assert status == 2 and is_timely("ended", began)
    assert re.search(named, last)
    training.see_nothing_left()


@pytest.mark.parametrize("name", ["worker0", "ps0", "chief"])
def test_full_temporary_folder_does_not_stop_training(tmp_path, name):
    with small_disk(tmp_path / f"tmp-{name}", "8m"), SshHosts(tmp_path, *NAMES) as hosts:
        training = Training(hosts)
        training.wait_for_checkpoints(4)
        began, filled = time.monotonic(), fill(hosts.temporary(name))
        filled.rename(filled.with_name("filled"))
        training.wait_for_checkpoints(3)
        assert is_timely("goes on", began)
        training.interrupt()
        training.see_nothing_left()
