"""Tasks with the coordinator's version of TensorFlow, a different one, or an unknown one."""

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
import types

import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import __version__
from gensim_tfw2v.cluster import handshake
from gensim_tfw2v.cluster.connect import BlockedPaths, MissingTasks
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import Cluster, Task
from gensim_tfw2v.ops import library
from tests.forks import SharedLauncher

TASK = Task("worker", 3, "10.0.0.1:2222")

#: Runs a task, after code that changes the versions that it reports.
SERVE = """
import sys
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster import server
exec(sys.argv[1])
server.main()
"""
OWN = ""
OLDER = "tf.version.VERSION = '2.20.3'"
PATCHED = "tf.version.VERSION = '.'.join(tf.version.VERSION.split('.')[:2]) + '.77'"
BARE = """
from gensim_tfw2v.ops import library
library.ops_hash = lambda: ""
"""
OTHER_PACKAGE = "import gensim_tfw2v; gensim_tfw2v.__version__ = '0.0.9'"
OTHER_OPS = "from gensim_tfw2v.ops import library; library.ops_hash = lambda: '0123456789ab'"
PLAIN = """
from gensim_tfw2v.cluster import handshake
handshake.publish_version = lambda server, task: None
"""

#: Connects to the cluster, and uses both tasks.
CONNECT = """
import json, sys, time, logging
logging.basicConfig(format="%(levelname)s %(message)s")
from gensim_tfw2v.cluster import connect as module
from gensim_tfw2v.cluster import handshake
from gensim_tfw2v.cluster.presence import Presence
from gensim_tfw2v.cluster.spec import Cluster
check, took = handshake.check_versions, []
def timed(tasks):
    before = time.monotonic()
    check(tasks)
    took.append(time.monotonic() - before)
handshake.check_versions = timed
try:
    running = Cluster(*json.loads(sys.argv[1]))
    coordinator = module.connect(running, Presence(running.servers()), 60)
except ConnectionError as error:
    print(type(error).__name__, error, sep=": ")
    sys.exit(0)
from gensim_tfw2v._tensorflow import tf
with coordinator.strategy.scope():
    table = tf.Variable(tf.ones([3]))
result = coordinator.schedule(tf.function(lambda: tf.reduce_sum(table)))
print("sum", float(result.fetch()), "checked in", took[0])
"""


@contextlib.contextmanager
def cluster(launcher, *codes):
    """Start a ps and a worker; yield their cluster, whose chief is not started."""
    ps, worker, chief = (f"127.0.0.1:{port}" for port in free_ports(3))
    cluster = Cluster((ps,), (worker,), chief)
    tasks = []
    try:
        for task, code in zip(cluster.servers(), codes, strict=True):
            config = cluster.tf_config(task.role, task.index)
            environment = {"TF_CONFIG": config, "CUDA_VISIBLE_DEVICES": ""}
            run = ("tests.forked", "run", SERVE, code)
            tasks.append(
                launcher.start_module(*run, environment=environment, stdout=subprocess.PIPE)
            )
        for task in tasks:  # a task could answer before it has published its version
            assert any(b"serves" in line for line in task.stdout)
        yield cluster
    finally:
        for task in tasks:
            task.kill()
            task.wait()
            task.stdout.close()


def connected(launcher, cluster):
    """Connect to a cluster in a process; return its output."""
    run = ("tests.forked", "run", CONNECT, json.dumps([cluster.ps, cluster.worker]))
    process = launcher.start_module(
        *run,
        environment={"CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process.stdout:
        written = process.stdout.read().decode()
    assert process.wait(300) == 0, written
    return written


@pytest.fixture
def launcher(kept_forks):
    with contextlib.closing(SharedLauncher(isolated=False)) as launcher:
        yield launcher


@pytest.mark.slow
def test_same_version_is_accepted_quickly(launcher):
    with cluster(launcher, OWN, PATCHED) as running:
        written = connected(launcher, running)
    assert "WARNING" not in written
    (line,) = [line for line in written.splitlines() if line.startswith("sum 3.0")]
    assert float(line.split()[-1]) < 0.5  # a few hundredths of a second on an idle machine


def test_different_version_is_rejected_and_unknown_is_warned_of(launcher, tmp_path):
    with cluster(launcher, PLAIN, OLDER) as running:
        done = subprocess.run(
            [sys.executable, "-m", "gensim_tfw2v", "train", datapath("lee_background.cor")]
            + ["-o", str(tmp_path / "model"), "--cluster", "TF_CONFIG", "-v"],
            env=os.environ | {"TF_CONFIG": running.tf_config("chief", 0)},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert done.returncode == 2 and not (tmp_path / "model").exists()
    error = done.stderr.splitlines()[-1]
    assert error.startswith("tfw2v: this program has TensorFlow 2.")
    assert f"cluster has 2.20.3 on worker 0 ({running.worker[0]}). Install the same" in error
    assert "pip install tensorflow==2." in error
    assert "WARNING : cannot check for TensorFlow 2." in done.stderr
    assert f"tfw2v: ps 0 ({running.ps[0]})\n" in done.stderr


def test_worker_without_kernels_is_rejected(launcher):
    with cluster(launcher, OWN, BARE) as running:
        written = connected(launcher, running)
    assert "MissingKernels: this program has compiled kernels, but these" in written
    assert f"tasks lack them: worker 0 ({running.worker[0]}). Install the package there" in written


@pytest.mark.parametrize(
    ("code", "has"),
    [
        pytest.param(OTHER_PACKAGE, "0.0.9", marks=pytest.mark.slow),
        (OTHER_OPS, f"{__version__} with different compiled kernels"),
    ],
)
def test_different_release_of_the_package_is_rejected(launcher, code, has):
    with cluster(launcher, OWN, code) as running:
        written = connected(launcher, running)
    this = f"OtherVersion: this program has gensim-tfw2v {__version__}, but the cluster has {has}"
    assert f"{this} on worker 0 ({running.worker[0]}). Install the same version" in written


@pytest.fixture
def published(monkeypatch):
    """Let ps 0 and worker 0 have published versions; those of the worker are arguments."""
    own = handshake.own_versions()

    def publish(change):
        of_tasks = {"ps": own, "worker": change(*own)}
        monkeypatch.setattr(
            handshake, "_read_version", lambda task: handshake.SEPARATOR.join(of_tasks[task.role])
        )
        return [Task("ps", 0, "a:1"), Task("worker", 0, "b:1")]

    return publish


@pytest.mark.parametrize(
    "change",
    [lambda *own: own, lambda tensorflow, *rest: [tensorflow.rsplit(".", 1)[0] + ".77", *rest]],
    ids=["same", "patched"],
)
def test_equal_versions_are_accepted(published, change, caplog):
    handshake.check_versions(published(change))
    assert not caplog.text


@pytest.mark.skipif(library.load_ops() is None, reason="the compiled kernels are missing")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda _, *rest: ["1.9.0", *rest], handshake.OtherVersion, r"TensorFlow 2.*has 1\.9\.0"),
        (lambda own, _, ops: [own, "0.0.9", ops], handshake.OtherVersion, r"has 0\.0\.9"),
        (lambda own, *_: [own], handshake.OtherVersion, "has an older one"),
        (lambda *own: [*own[:2], ""], handshake.MissingKernels, "lack them"),
        (lambda *own: [*own[:2], "0123"], handshake.OtherVersion, "different compiled kernels"),
    ],
    ids=["TensorFlow", "package", "older", "no kernels", "kernels"],
)
def test_different_versions_are_rejected(published, change, error, message):
    tasks = published(change)
    with pytest.raises(error, match=f"{message}.*worker 0") as raised:
        handshake.check_versions(tasks)
    assert "ps 0" not in str(raised.value)


def test_late_versions_are_waited_for_and_missing_ones_warned_of(monkeypatch, caplog):
    answers = iter([None, None, handshake.SEPARATOR.join(handshake.own_versions())])
    monkeypatch.setattr(handshake, "_read_version", lambda task: next(answers))
    handshake.check_versions([Task("worker", 0, "b:1")])
    assert not caplog.text
    monkeypatch.setattr(handshake, "_read_version", lambda task: None)
    monkeypatch.setattr(handshake, "PUBLICATION_SECONDS", 0.0)
    handshake.check_versions([Task("worker", 0, "b:1")])
    assert "cannot check for TensorFlow" in caplog.text and "worker 0" in caplog.text


def test_hash_of_the_ops_depends_on_the_ops(monkeypatch):
    before = library.ops_hash()
    assert re.fullmatch("[0-9a-f]{12}", before) and library.ops_hash() == before
    names = [name for name in vars(library.load_ops()) if name.startswith("Tfw2v")]
    assert len(names) > 2
    fewer = types.SimpleNamespace(**dict.fromkeys(names[1:]))
    monkeypatch.setattr(library, "load_ops", lambda: fewer)
    assert library.ops_hash() != before
    monkeypatch.setattr(library, "load_ops", lambda: None)
    assert library.ops_hash() == ""


@pytest.mark.parametrize(
    "error",
    [
        handshake.OtherVersion.of({TASK: "2.0"}, "TensorFlow", "2.1"),
        handshake.MissingKernels.of([TASK]),
        MissingTasks.after(3.0, [TASK]),
        BlockedPaths("worker 0 and ps 0"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_the_coordinator_reach_the_program_unchanged(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)
    assert vars(copy) == vars(error)
