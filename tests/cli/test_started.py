"""tfw2v cluster ls, logs and stop; clusters of hosts files."""

import json
import re
import signal
import subprocess
import sys

import pytest
from gensim.test.utils import datapath

from gensim_tfw2v.cluster import Cluster
from gensim_tfw2v.cluster.ssh_cluster import SshCluster
from tests.cli.test_cluster import TFW2V, until
from tests.cli.test_ssh import TRAINING, hosts_file

LEE = datapath("lee_background.cor")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder for temporary files of this process and its children."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_running_cluster_is_listed_logged_and_stopped(tfw2v, folder):
    command = ["cluster", "local", "--ps-tasks", "1", "--worker-tasks", "1", "--", "train", LEE]
    options = ["-o", folder / "model", "--vector-size", "8", "--epochs", "100000"]
    process = subprocess.Popen([*TFW2V, *map(str, [*command, *options])], stderr=subprocess.PIPE)
    try:
        until(lambda: len(list(folder.glob("tfw2v-cluster-*/*.log"))) == 2, 120)
        header, row = tfw2v("cluster", "ls").stdout.splitlines()
        assert header.split("\t") == ["name", "pid", "ps", "worker", "command"]
        name, _, ps, workers, started_as = row.split("\t")
        assert (ps, workers) == ("1", "1") and "train" in started_as and LEE in started_as
        until(lambda: "serves" in tfw2v("cluster", "logs", "worker-0").stdout)
        shown = tfw2v("cluster", "logs", "--name", name).stdout
        assert re.search(r"^ps-0 \| ps 0 .* serves$", shown, re.MULTILINE)
        wrong = tfw2v("cluster", "logs", "worker-7", status=2).stderr
        assert "TASK is 'worker-7'" in wrong and "ps-0, worker-0" in wrong
        for option in ((), ("--name", name)):
            first, *states = tfw2v(
                "cluster", "status", "--seconds", 60, *option
            ).stdout.splitlines()
            assert first == f"{name}: {started_as}"
            for task, state in zip(("ps", "worker"), states, strict=True):
                assert re.fullmatch(rf"{task} +0 +pid \d+ +serves", state)
        assert tfw2v("cluster", "stop").stdout == f"stopped {name}: {started_as}\n"
        assert process.wait(60) == 128 + signal.SIGTERM
        assert process.stderr.read().decode().splitlines()[-1].startswith("tfw2v: terminated; ")
    finally:
        process.kill()
        process.communicate()
    assert tfw2v("cluster", "ls").stdout.splitlines() == ["name\tpid\tps\tworker\tcommand"]
    none = (
        "tfw2v: no cluster is running that tfw2v has started from this machine; tfw2v cluster "
        "local and tfw2v cluster ssh start one\n"
    )
    assert tfw2v("cluster", "stop", status=2).stderr == none


@pytest.fixture
def handle_sigterm():
    """Return a function that sets the handler of SIGTERM until the test ends."""
    before = signal.getsignal(signal.SIGTERM)
    yield lambda handler: signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGTERM, before)


def test_clusters_are_selected_by_name(tfw2v, folder, handle_sigterm):
    handle_sigterm(lambda *_: sys.exit(143))
    with NoTasks() as one, NoTasks() as other:
        names = [line.split("\t")[0] for line in tfw2v("cluster", "ls").stdout.splitlines()]
        assert {"name", one.name, other.name} == set(names) and len(names) == 3
        for wrong in (("logs",), ("stop", "--name", "x")):
            said = tfw2v("cluster", *wrong, status=2).stderr
            assert "give the --name" in said and one.name in said and other.name in said


class NoTasks(SshCluster):
    """A cluster whose tasks are not started."""

    def __init__(self):
        super().__init__(Cluster(("a:1",), ("b:2",)), print)

    def start(self, task): ...

    def wait(self, tasks): ...

    @property
    def name(self):
        return self._logs.folder.name.rpartition("-")[2]


def test_cluster_without_a_sigterm_handler_is_not_listed(tfw2v, folder, handle_sigterm):
    handle_sigterm(signal.SIG_DFL)
    with NoTasks():
        assert len(tfw2v("cluster", "ls").stdout.splitlines()) == 1


def test_dry_run_prints_commands_and_runs_nothing(tfw2v, folder):
    hosts = hosts_file(folder)
    options = ("--hosts", hosts, "--ssh", f"touch {folder / 'ran'}", "--dry-run")
    ps, worker, training = tfw2v("cluster", "ssh", *options, *TRAINING).stdout.splitlines()
    assert f"touch {folder / 'ran'}" in ps and '"type": "ps"' in ps and '"type": "worker"' in worker
    assert training == f"tfw2v train {LEE} -o model --hosts {hosts}"
    assert not (folder / "ran").exists() and not (folder / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("train", LEE, "-o", "m", "--hosts", "h.json", "--cluster", "TF_CONFIG"),
            "give only one of them",
        ),
        (("train", LEE, "-o", "m", "--hosts", "missing.json"), "missing.json: No such file"),
        (("cluster", "status", "--hosts", "missing.json"), "missing.json: No such file"),
        (
            ("cluster", "local", *TRAINING, "--hosts", "h.json"),
            "--hosts is set by this command",
        ),
    ],
)
def test_bad_usage_is_rejected(tfw2v, arguments, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.json").write_text(json.dumps({"ps": ["a:1"], "worker": ["b:1"]}))
    assert message in tfw2v(*arguments, status=2).stderr
