"""The files for operators: those that are committed, and a job that really trains."""

import os
import random
import signal
import subprocess
import sys

import psutil
import pytest
import yaml
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from tests.cli.conftest import ROOT
from tests.cli.test_cluster import until
from tests.cluster.test_manifests import stub

TRAINING = ("train", "/data/wiki.txt", "-o", "/data/wiki.model", "--sg", "--log-dir", "/logs/wiki")
FILES = {
    "kubernetes": "cluster/kubernetes/tfw2v.yaml",
    "slurm": "cluster/slurm/tfw2v.sbatch",
    "compose": "cluster/compose/compose.yaml",
}


@pytest.mark.parametrize("kind", FILES)
def test_committed_files_are_what_is_printed(tfw2v, kind):
    arguments = ("cluster", "manifest", kind, "--ps", "2", "--workers", "4")
    again = " ".join(["tfw2v", *arguments, "-o", FILES[kind], "--", *TRAINING])
    printed = tfw2v(*arguments, "--", *TRAINING).stdout
    committed = (ROOT / FILES[kind]).read_text(encoding="utf-8")
    assert printed == committed, f"make it again: {again}"
    assert again in (ROOT / "cluster" / "README.md").read_text(encoding="utf-8")


def test_a_file_is_written(tfw2v, tmp_path):
    out = tmp_path / "file"
    # without --, too: what begins with "train" is the training's
    assert not tfw2v("cluster", "manifest", "compose", "-o", out, *TRAINING).stdout
    assert "restart: on-failure" in out.read_text()


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("slurm", [], "give the training after --"),
        ("slurm", ["--", "demo"], "give the training after --"),
        ("slurm", ["--", *TRAINING, "--cluster", "local:ps=1,worker=1"], "leave it out after --"),
        ("slurm", ["--", *TRAINING, "--windw", "3"], "No such option"),
        ("slurm", ["--", "train", "corpus"], "Missing option"),
        ("slurm", ["--workers", "0", "--", *TRAINING], "greater than or equal to 1"),
        ("slurm", ["--name", "a_b", "--", *TRAINING], "name is 'a_b': give a DNS label"),
        ("kubernetes", ["--name", "A", "--", *TRAINING], "name is 'A': give a DNS label"),
        ("compose", ["--", "train", "wiki.txt", "-o", "/data/m"], "CORPUS is 'wiki.txt'"),
        ("compose", ["--", *TRAINING, "--checkpoint-dir", "c"], "--checkpoint-dir is 'c'"),
        ("compose", ["--", *TRAINING, "--log-dir", "/data/l"], "give a path like /logs/l"),
        ("compose", ["--tokens", "many", "--", *TRAINING], "--tokens is 'many'"),
        ("slurm", ["--", *TRAINING, "--regime", "fast"], "regime is 'fast'"),
    ],
)
def test_bad_usage(tfw2v, kind, arguments, message):
    assert message in tfw2v("cluster", "manifest", kind, *arguments, status=2).stderr


@pytest.mark.parametrize("kind", FILES)
def test_pyyaml_is_not_needed(tfw2v, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert "1 ps and 2 workers" in tfw2v("cluster", "manifest", kind, "--", *TRAINING).stdout


@pytest.mark.parametrize("given", [("--checkpoint-dir", "/data/c"), ("--checkpoint-dir=/data/c",)])
def test_a_checkpoint_dir_of_ones_own(tfw2v, given):
    out = tfw2v("cluster", "manifest", "slurm", "--", *TRAINING[:2], *given, *TRAINING[2:]).stdout
    (line,) = [line for line in out.splitlines() if line.startswith("TRAINING=")]
    assert line.count("--checkpoint-dir") == 1 and "--checkpoint-dir /data/c)" in line


def test_workers_have_a_cpu_for_each_thread(tfw2v):
    out = tfw2v("cluster", "manifest", "slurm", "--", *TRAINING, "--workers", "5").stdout
    assert "#SBATCH --cpus-per-task=5" in out


def memory(tfw2v, *options, training=()):
    """GiB of a ps, a worker and the coordinator."""
    arguments = ("cluster", "manifest", "compose", *options, "--", *TRAINING, *training)
    services = yaml.safe_load(tfw2v(*arguments).stdout)["services"]
    names = ("ps-0", "worker-0", "coordinator")
    return [int(services[name]["mem_limit"].removesuffix("g")) for name in names]


def test_memory_is_for_the_vocabulary(tfw2v):
    ps, _, coordinator = memory(tfw2v)
    large = memory(tfw2v, "--vocab", 10**6, training=("--vector-size", "3000"))
    # 2 tables of 1 M x 3000 x 4 bytes are 22 GiB, on one ps
    assert ps <= 3 and coordinator <= 5 and large[0] > 22 and large[2] > 44
    # more ps share them, the coordinator has all
    shared = memory(tfw2v, "--vocab", 10**6, "--ps", 8, training=("--vector-size", "3000"))
    assert shared[0] < large[0] / 4 and shared[2] == large[2]
    whole = memory(
        tfw2v, "--vocab", 10**6, training=("--regime", "submodels", "--vector-size", "1000")
    )
    assert whole[1] > 7  # each worker has a model, 7.5 GiB
    kept = memory(tfw2v, "--vocab", 10**6, training=("--regime", "sandblaster:history=10"))
    assert kept[0] > 15  # 20 copies of 0.75 GiB
    assert memory(tfw2v, "--vocab", 10**6, "--ps-memory", 5, "--worker-memory", 6,
                  "--coordinator-memory", 7) == [5, 6, 7]  # fmt: skip


def test_a_job_of_slurm_has_the_largest_tasks_memory(tfw2v):
    size = ("--workers", 1, "--vector-size", 1000)
    given = ("cluster", "manifest", "slurm", "--vocab", 10**6, "--", *TRAINING, *size)
    (line,) = [one for one in tfw2v(*given).stdout.splitlines() if "--mem-per-cpu" in one]
    assert int(line.partition("=")[2].removesuffix("M")) >= 3 * 7.4 * 1024


SRUN = """
while [[ $1 == --* ]]; do [[ $1 == --ntasks=* ]] && tasks=${1#*=}; shift; done
set -m  # each task has a process group, which gets its signals
trap 'for group in $(jobs -p); do kill -KILL -- "-$group"; done; exit 143' TERM
for ((i = 0; i < tasks; i++)); do SLURM_PROCID=$i "$@" & done
wait
"""


def of_job(number):
    """Processes of a job, by what they are."""
    found = {}
    for process in psutil.process_iter():
        try:
            environment, command = process.environ(), " ".join(process.cmdline())
        except (psutil.Error, OSError):
            continue
        if environment.get("SLURM_JOB_ID") == number:
            found[process.pid] = command + environment.get("TF_CONFIG", "")
    return found


def test_a_job_trains_without_slurm(tfw2v, tmp_path):
    script, model, number = tmp_path / "job.sh", tmp_path / "model", str(random.randrange(10**6))
    tfw2v(
        "cluster", "manifest", "slurm", "--ps", 1, "--workers", 2, "-o", script, "--", "train",
        datapath("lee_background.cor"), "-o", model, "--epochs", 8, "--vector-size", 8,
        "--log-dir", tmp_path / "logs",
    )  # fmt: skip
    stub(tmp_path, "scontrol", "echo localhost")
    stub(tmp_path, "srun", SRUN)
    stub(tmp_path, "tfw2v", f'exec {sys.executable} -m gensim_tfw2v "$@"')
    env = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "SLURM_JOB_ID": number,
        "SLURM_JOB_NODELIST": "localhost", "SLURM_TASKS_PER_NODE": "4", "CUDA_VISIBLE_DEVICES": "",
        "TMPDIR": str(tmp_path),
    }  # fmt: skip
    job = subprocess.Popen(["bash", script], env=env, stderr=subprocess.PIPE, text=True)
    try:
        checkpoints = tmp_path / "model.checkpoints"
        until(lambda: any(checkpoints.glob("checkpoint-*")) or job.poll() is not None, 100)
        (worker,) = [
            pid for pid, what in of_job(number).items()
            if "gensim_tfw2v task" in what and '"worker", "index": 1' in what
        ]  # fmt: skip
        os.kill(worker, signal.SIGKILL)
        _, error = job.communicate(timeout=100)
    finally:
        job.terminate()
        job.communicate()
    assert job.returncode == 0, error
    assert "worker 1 ended with status 137" in error
    assert len(Word2Vec.load(str(model)).wv) > 1000
    runs = {path.parent.name for path in (tmp_path / "logs").rglob("events.out.tfevents.*")}
    assert {"ps-0", "worker-0", "worker-1"} <= runs
    until(lambda: not of_job(number), 10)
    assert not list(tmp_path.glob("tmp.*"))
