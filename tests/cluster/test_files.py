"""Unmodified files of cluster/: their consistency, and the commands that they run."""

import importlib.resources
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import kubernetes_validate
import psutil
import pytest
import typer
import yaml
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from gensim_tfw2v.cli.cluster import parse_training
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.cluster import from_tf_config
from gensim_tfw2v.cluster.descriptions import read_hosts
from gensim_tfw2v.cluster.spec import LOG_DIR
from tests.cli.test_cluster import until

ROOT = Path(__file__).parents[2]
FILES = ROOT / "cluster"
SLURM = FILES / "slurm/tfw2v.sbatch"
LABELS = {"app.kubernetes.io/name": "gensim-tfw2v", "app.kubernetes.io/instance": "tfw2v"}
BOARD = LABELS | {"app.kubernetes.io/instance": "tfw2v-tensorboard"}

#: Kinds whose schemas are not those of Kubernetes; see `tests.cluster.test_trainjob`.
CUSTOM_KINDS = ("JobSet", "ClusterTrainingRuntime", "TrainJob")

#: Field from which tasks of a TrainJob read its name.
JOB_SET_NAME = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"


def job_set_spec(one):
    """Return the specification of the JobSet that an object is, or from which it is made."""
    if one["kind"] == "ClusterTrainingRuntime":
        return one["spec"]["template"]["spec"]
    return one["spec"] if one["kind"] == "JobSet" else {}


def objects(name):
    """Return the objects of a Kubernetes file, by kind and name, including a JobSet's Jobs."""
    found = {}
    content = yaml.safe_load((FILES / f"kubernetes/{name}.yaml").read_text())
    for one in content["items"] if content["kind"] == "List" else [content]:
        found[one["kind"], one["metadata"]["name"]] = one
        for job in job_set_spec(one).get("replicatedJobs", ()):
            spec, name = job["template"]["spec"], f"tfw2v-{job['name']}"
            found["Job", name] = {
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec,
            }  # fmt: skip
    return found


def pods(name):
    return {
        key[1].removeprefix("tfw2v-"): one["spec"]["template"]
        for key, one in objects(name).items()
        if key[0] not in CUSTOM_KINDS and "template" in one.get("spec", {})
    }


def environment(container, index=0, job="wiki"):
    """Return a container's environment, with variables expanded as by Kubernetes."""
    found = {}
    for one in container["env"]:
        path = one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        value = one.get("value", job if path == JOB_SET_NAME else str(index))
        found[one["name"]] = re.sub(r"\$\((\w+)\)", lambda name: found[name[1]], value)
    return found


def parsed(command):
    """Parse a tfw2v command; fail if tfw2v would reject it."""
    name, *arguments = command
    assert name == "tfw2v"
    parser = typer.main.get_command(app)
    while hasattr(parser, "commands"):
        parser = parser.commands[arguments.pop(0)]
    return parser.make_context(name, arguments)


def check_training(values, threads=None):
    """Check the options of a training command, which are the same in all files."""
    paths = {name: str(values[name]) for name in ("corpus", "output", "checkpoint_dir")}
    model = "/data/wiki.model"
    assert paths == {
        "corpus": "/data/wiki.txt", "output": model, "checkpoint_dir": f"{model}.checkpoints"
    }  # fmt: skip
    assert values["sg"] and (threads is None or values["workers"] == int(threads))


def stub(folder, name, lines):
    """Write an executable that replaces a program."""
    (folder / name).write_text(f"#!/bin/bash\n{lines}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("version", ["1.29", "1.37"])
@pytest.mark.parametrize("name", ["common", "statefulsets", "jobset", "runtime"])
def test_kubernetes_schema_accepts_every_field(version, name):
    for one in objects(name).values():
        if one["kind"] not in CUSTOM_KINDS:
            kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("name", ["statefulsets", "jobset"])
def test_pod_names_match_the_addresses(name):
    found = objects(name)
    tasks = {}
    for role in ("ps", "worker", "coordinator"):
        kind = "Job" if ("Job", f"tfw2v-{role}") in found else "StatefulSet"
        spec = found[kind, f"tfw2v-{role}"]["spec"]
        if kind == "Job":  # pods of an indexed Job are named after it and their index
            assert (
                spec["completionMode"] == "Indexed" and spec["parallelism"] == spec["completions"]
            )
        prefix = f"tfw2v-{role}-0" if name == "jobset" else f"tfw2v-{role}"
        for index in range(spec.get("replicas") or spec["completions"]):
            (container,) = spec["template"]["spec"]["containers"]
            cluster, own = from_tf_config(environment(container, index))
            assert own.address == f"{prefix}-{index}.tfw2v:2222"
            tasks[own.role, own.index] = parsed(container["command"]), container
    assert list(tasks) == [(task.role, task.index) for task in cluster.tasks()]
    training, _ = tasks.pop(("chief", 0))
    check_training(training.params, tasks["worker", 0][1]["resources"]["limits"]["cpu"])
    assert training.params["cluster"] == "TF_CONFIG"
    assert {context.command.name for context, _ in tasks.values()} == {"task"}
    if name == "jobset":
        spec = found["JobSet", "tfw2v"]["spec"]
        assert spec["network"]["subdomain"] == "tfw2v"
        assert spec["network"]["publishNotReadyAddresses"]
        # ps and workers stop with the training
        assert spec["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["coordinator"]}
        assert all(job["replicas"] == 1 for job in spec["replicatedJobs"])
    else:
        service = found["Service", "tfw2v"]["spec"]
        assert service["clusterIP"] == "None" and service["publishNotReadyAddresses"]
        assert service["selector"] == LABELS
        assert found["Job", "tfw2v-coordinator"]["spec"]["template"]["spec"]["subdomain"] == "tfw2v"


def test_network_policy_admits_only_pods_of_the_cluster():
    common = objects("common")
    policy, selected = common["NetworkPolicy", "tfw2v"]["spec"], {"matchLabels": LABELS}
    assert policy["podSelector"] == selected and policy["policyTypes"] == ["Ingress", "Egress"]
    tasks = [{"podSelector": selected}], [{"protocol": "TCP", "port": 2222}]
    assert policy["ingress"] == [{"from": tasks[0], "ports": tasks[1]}]
    assert policy["egress"][0] == {"to": tasks[0], "ports": tasks[1]}
    assert {port["port"] for port in policy["egress"][1]["ports"]} == {53}
    board = common["NetworkPolicy", "tfw2v-tensorboard"]["spec"]  # admits no traffic
    assert board == {"podSelector": {"matchLabels": BOARD}, "policyTypes": ["Ingress", "Egress"]}
    (pod,) = pods("common").values()
    assert pod["metadata"]["labels"] == BOARD
    parsed(pod["spec"]["containers"][0]["command"])
    for name in ("statefulsets", "jobset", "runtime"):
        for pod in pods(name).values():
            assert LABELS.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ["common", "statefulsets", "jobset", "runtime"])
def test_pods_are_restricted_and_log_to_one_volume(name):
    claims = {key[1] for key in objects("common") if key[0] == "PersistentVolumeClaim"}
    for pod in pods(name).values():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
        volumes = {one["name"]: one for one in spec["volumes"]}
        assert volumes["logs"]["persistentVolumeClaim"]["claimName"] == "tfw2v-logs"
        for volume in volumes.values():
            assert volume.get("persistentVolumeClaim", {}).get("claimName", "tfw2v-logs") in claims
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            assert container["resources"]["requests"] == container["resources"]["limits"]
            # an image name without a registry is never pulled
            assert container["imagePullPolicy"] == "Never" and "/" not in container["image"]
            assert {"logs", "scratch"} <= {one["name"] for one in container["volumeMounts"]}
            if name != "common":
                assert environment(container)[LOG_DIR] == "/logs/wiki"


@pytest.mark.parametrize("name", ["statefulsets", "jobset"])
def test_coordinator_waits_for_corpus_and_tasks(tmp_path, name):
    (waiting,) = pods(name)["coordinator"]["spec"]["initContainers"]
    assert waiting["command"][-1] == "/data/wiki.txt"
    stub(tmp_path, "sleep", f"touch {tmp_path}/corpus")
    stub(tmp_path, "tfw2v", f'echo "$@"; [ -e {tmp_path}/once ] || ! touch {tmp_path}/once')
    out = subprocess.run(
        [*waiting["command"][:-1], f"{tmp_path}/corpus"], capture_output=True, text=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True, timeout=300,
    )  # fmt: skip
    lines = [f"waiting for {tmp_path}/corpus", "cluster status", "cluster status"]
    assert out.stdout.splitlines() == lines
    parsed(["tfw2v", "cluster", "status"])
    # a wrong TF_CONFIG never becomes right
    stub(tmp_path, "tfw2v", "exit 2")
    wrong = subprocess.run(
        [*waiting["command"][:-1], f"{tmp_path}/corpus"], check=False,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, timeout=300,
    )  # fmt: skip
    assert wrong.returncode != 0


@pytest.mark.parametrize(
    ("name", "coordinator"),
    [("statefulsets", "coordinator"), ("jobset", "coordinator"), ("runtime", "node")],
)
def test_evictions_do_not_count_among_the_attempts(name, coordinator):
    spec = objects(name)["Job", f"tfw2v-{coordinator}"]["spec"]
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule["action"] == "Ignore"
    assert rule["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert spec["backoffLimit"] == 10
    # Kubernetes requires these two with a policy
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["podReplacementPolicy"] == "Failed"


def test_compose_file_is_valid_and_restricted(tmp_path):
    found = yaml.safe_load((FILES / "compose/compose.yaml").read_text())
    schema = "builtin_schemas/vendor/compose-spec.json"
    schema = importlib.resources.files("check_jsonschema").joinpath(schema).read_text()
    jsonschema.validate(found, json.loads(schema))
    assert found["networks"] == {"cluster": {"internal": True}, "tensorboard": {}}
    services = found["services"]
    for service in services.values():
        assert service["restart"].startswith("on-failure") and service["cap_drop"] == ["ALL"]
        assert service["pull_policy"] == "never" and service["read_only"] and service["mem_limit"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    board = services.pop("tensorboard")
    assert board["networks"] == ["tensorboard"] and board["ports"] == ["127.0.0.1:6006:6006"]
    assert board["volumes"] == ["logs:/logs:ro"]
    parsed(board["entrypoint"] + board["command"])
    stub(tmp_path, "hostname", "echo 172.18.0.9")
    stub(tmp_path, "getent", '[ "$*" = "-s dns hosts 172.18.0.9" ]; echo "172.18.0.9 $NAME.tfw2v"')
    stub(tmp_path, "tfw2v", '[ "$*" = "cluster status" ] || echo "$TF_CONFIG" tfw2v "$@"')
    names = []
    for name, service in services.items():
        assert service["networks"] == ["cluster"] and "ports" not in service
        assert "logs:/logs" in service["volumes"]
        variables = {key: str(value) for key, value in service["environment"].items()}
        assert variables[LOG_DIR] == "/logs/wiki"
        for index in range(service.get("deploy", {}).get("replicas", 1)):
            names.append(f"{found['name']}-{name}-{index + 1}")
            out = subprocess.run(
                [one.replace("$$", "$") for one in service["entrypoint"]] + service["command"],
                env=variables | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NAME": names[-1]},
                capture_output=True, text=True, check=True, timeout=300,
            )  # fmt: skip
            config, _, command = out.stdout.rpartition("} tfw2v")
            cluster, own = from_tf_config({"TF_CONFIG": config + "}"})
            assert own.address == f"{names[-1]}:2222"
            context = parsed(["tfw2v", *command.split()])
            assert context.command.name == ("train" if own.role == "chief" else "task")
    assert [task.host for task in cluster.tasks()] == names
    assert context.params["cluster"] == "TF_CONFIG"
    check_training(context.params, services["worker"]["cpus"])


def test_ssh_script_trains_as_the_other_files(tmp_path):
    stub(tmp_path, "tfw2v", 'printf "%s\\n" tfw2v "$@"')
    script, path = FILES / "ssh/train.sh", f"{tmp_path}:{os.environ['PATH']}"
    out = subprocess.run([script], env={"PATH": path}, capture_output=True, text=True, check=True)
    context = parsed(out.stdout.splitlines())
    assert read_hosts(context.params["hosts"]).chief
    check_training(parse_training(context)[1])


def test_shellcheck_finds_nothing():
    shellcheck = Path(sys.executable).with_name("shellcheck")
    subprocess.run([shellcheck, SLURM, FILES / "ssh/train.sh"], check=True)


def run_job(
    folder,
    tasks="4,3",
    nodes="a b",
    train="exit 0",
    status="[ -e hosts ]; exit",
    script=SLURM,
    **env,
):
    """Run the job with stubs of Slurm and tfw2v; return the completed process."""
    options = dict(re.findall(r"^#SBATCH --(.*?)=(.*)$", SLURM.read_text(), re.MULTILINE))
    stub(folder, "scontrol", f'[ "$*" = "show hostnames n" ] && printf "%s\\n" {nodes}')
    stub(folder, "srun", 'cp "$SLURM_HOSTFILE" hosts; exec sleep 60')
    stub(
        folder,
        "tfw2v",
        f"""
        if [ "$*" = "cluster status" ]; then {status}; fi
        echo "$TF_CONFIG" >config; printf '%s\\n' tfw2v "$@" >arguments; {train}""",
    )
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder), "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n", "SLURM_TASKS_PER_NODE": tasks, "SLURM_NTASKS": options["ntasks"],
        "SLURM_CPUS_PER_TASK": options["cpus-per-task"],
    } | env  # fmt: skip
    return subprocess.run(
        ["bash", script], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("tasks", "nodes", "hosts"),
    [
        ("7", "a", "a a a a a a"),
        ("3(x2),1", "a b c", "a b c a b b"),
        ("1(x7)", "a b c d e f g", "b c d e f g"),
        ("8(x2),1", "a b c", "a b c a b a"),
    ],
)
def test_tasks_are_placed_on_nodes_as_slurm_allocated_them(tmp_path, tasks, nodes, hosts):
    result = run_job(tmp_path, tasks, nodes)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "hosts").read_text().split() == hosts.split()
    cluster, own = from_tf_config({"TF_CONFIG": (tmp_path / "config").read_text()})
    assert own.role == "chief" and own.host == "a"
    assert len(cluster.ps) == 2 and len(cluster.worker) == 4
    assert [task.host for task in cluster.servers()] == hosts.split()
    ports = [task.port for task in cluster.tasks()]
    assert ports == list(range(ports[0], ports[0] + 7)) and 10000 <= ports[0] < 32000
    training = parsed((tmp_path / "arguments").read_text().splitlines()).params
    check_training(training, threads=3)
    assert training["cluster"] == "TF_CONFIG"
    assert "tfw2v tensorboard /logs/wiki" in result.stderr
    assert not list(tmp_path.glob("tmp.*"))


#: (training, status): the training fails once, because a task is lost, which then returns.
GONE = (
    "[ -e again ] && exit 0; touch again; exit 2",
    "[ ! -e again ] || [ -e back ] && exit 0; touch back; exit 1",
)


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({"train": "exit 2"}, 2, ""),
        (
            {"train": '[ -e again ] && exit 0; touch again; kill -9 "$$"'},
            0,
            "ended with status 137",
        ),
        ({"train": GONE[0], "status": GONE[1]}, 0, "ended with status 2"),
        (
            {"tasks": "2,1", "SLURM_NTASKS": "3"},
            2,
            "3 tasks are 1 coordinator, 2 ps and 0 workers: give at least one of each",
        ),
    ],
)
def test_job_exits_with_the_status_of_the_training(tmp_path, options, status, message):
    result = run_job(tmp_path, **options)
    assert result.returncode == status and message in result.stderr


def like_old_bash(text):
    """Let expansions of empty arrays fail, as ``set -u`` does in bash before 4.4."""
    lines = []
    for line in text.splitlines():
        for name in re.findall(r"\$\{(\w+)\[@\]:", line):
            if f"${{{name}[@]+" not in line:
                lines.append(f': "${{{name}[@]:?unbound variable}}"')
        lines.append(re.sub(r'(?<!\+)"\$\{(\w+)\[@\]\}"', r'"${\1[@]:?unbound variable}"', line))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("options", "given"),
    [("()", []), ("(--sg)", ["--sg"]), ("(--log-words 'a  b' -v)", ["--log-words", "a  b", "-v"])],
)
def test_options_are_passed_by_every_bash(tmp_path, options, given):
    text = like_old_bash(SLURM.read_text().replace("OPTIONS=(--sg)", f"OPTIONS={options}"))
    (tmp_path / "job").write_text(text)
    result = run_job(tmp_path, script=tmp_path / "job")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "arguments").read_text().splitlines()[-len(given) - 2 :] == [
        "--cluster", "TF_CONFIG", *given
    ]  # fmt: skip
    # a job of one task has no hosts
    alone = run_job(tmp_path, "1", "a", script=tmp_path / "job", SLURM_NTASKS="1")
    assert alone.returncode == 2 and "1 tasks are 1 coordinator" in alone.stderr


def test_unguarded_expansions_fail_in_old_bash():
    script = like_old_bash('options=()\necho "${options[@]}"')
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode and "options[@]: unbound variable" in run.stderr


#: Starts tasks; on SIGTERM, signals only the one process of each that Slurm tracks.
DEAF_SRUN = """
while [[ $1 == --* ]]; do shift; done
for i in 0 1 2; do SLURM_PROCID=$i setsid "$@" & tasks+=" $!"; done
trap 'kill -$SIGNAL $tasks; wait; exit 143' TERM
wait
"""


@pytest.mark.parametrize("number", ["TERM", "HUP"])
def test_cancelled_job_leaves_no_processes_or_files(tmp_path, number):
    of_this = str(random.randrange(10**6))
    script = tmp_path / "job.sh"
    script.write_text(SLURM.read_text().replace("PS=2\n", "PS=1\n"))
    stub(tmp_path, "scontrol", "echo n")
    stub(tmp_path, "srun", DEAF_SRUN)
    sleeps = f"touch {tmp_path}/serves-$SLURM_PROCID; exec sleep 60"
    stub(tmp_path, "tfw2v", f'case "$*" in task) {sleeps};; cluster*) sleep 1; false;; esac')
    env = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path), "SLURM_NTASKS": "4",
        "SLURM_JOB_ID": of_this, "SLURM_JOB_NODELIST": "n", "SLURM_TASKS_PER_NODE": "4",
        "SLURM_CPUS_PER_TASK": "1", "SIGNAL": number,
    }  # fmt: skip
    # bash cannot trap a signal that it inherits as ignored, such as SIGHUP under nohup
    command = ["env", f"--default-signal={number}", "bash", script]
    job = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    until(lambda: len(list(tmp_path.glob("serves-*"))) == 3, 60)
    job.send_signal(getattr(signal, f"SIG{number}"))
    assert job.wait(60) == 128 + getattr(signal, f"SIG{number}")
    until(lambda: not of_job(of_this))
    assert not list(tmp_path.glob("tmp.*"))


SRUN = """
while [[ $1 == --* ]]; do [[ $1 == --ntasks=* ]] && tasks=${1#*=}; shift; done
set -m  # each task has a process group, which gets its signals
trap 'echo "srun: Job step aborted" >&2
      for group in $(jobs -p); do kill -KILL -- "-$group"; done; exit 143' TERM
trap 'for group in $(jobs -p); do kill -USR1 -- "-$group"; done' USR1
for ((i = 0; i < tasks; i++)); do SLURM_PROCID=$i "$@" & done
while ! wait; do :; done
"""


def of_job(number):
    """Return command and TF_CONFIG of the processes of a job, by pid."""
    found = {}
    for process in psutil.process_iter():
        try:
            environment, command = process.environ(), " ".join(process.cmdline())
        except (psutil.Error, OSError):
            continue
        if environment.get("SLURM_JOB_ID") == number:
            found[process.pid] = command + environment.get("TF_CONFIG", "")
    return found


def test_job_trains_with_stubs_of_slurm(tmp_path):
    """10 s of CPU: the processes of the script are not forked, so each imports TensorFlow."""
    script, number = tmp_path / "job.sh", str(random.randrange(10**6))
    text = SLURM.read_text().replace("PS=2\n", "PS=1\n")
    text = text.replace("(--sg)", "(--epochs 8 --vector-size 8)")
    script.write_text(re.sub("=/(data|logs)/", f"={tmp_path}/", text))
    shutil.copy(datapath("lee_background.cor"), tmp_path / "wiki.txt")
    stub(tmp_path, "scontrol", "echo localhost")
    stub(tmp_path, "srun", SRUN)
    stub(tmp_path, "tfw2v", f'exec {sys.executable} -m gensim_tfw2v "$@"')
    env = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "SLURM_JOB_ID": number,
        "SLURM_JOB_NODELIST": "localhost", "SLURM_TASKS_PER_NODE": "4", "SLURM_NTASKS": "4",
        "SLURM_CPUS_PER_TASK": "1", "CUDA_VISIBLE_DEVICES": "", "TMPDIR": str(tmp_path),
    }  # fmt: skip
    job = subprocess.Popen(["bash", script], env=env, stderr=subprocess.PIPE, text=True)
    try:
        checkpoints = tmp_path / "wiki.model.checkpoints"
        until(lambda: any(checkpoints.glob("checkpoint-*")) or job.poll() is not None, 300)
        (worker,) = [
            pid for pid, what in of_job(number).items()
            if "gensim_tfw2v task" in what and '"worker", "index": 1' in what
        ]  # fmt: skip
        os.kill(worker, signal.SIGKILL)
        _, error = job.communicate(timeout=300)
    finally:
        job.terminate()
        job.communicate()
    assert job.returncode == 0, error
    assert "worker 1 ended with status 137" in error and "aborted" not in error
    assert len(Word2Vec.load(str(tmp_path / "wiki.model")).wv) > 1000
    runs = {path.parent.name for path in (tmp_path / "wiki").rglob("events.out.tfevents.*")}
    assert {"ps-0", "worker-0", "worker-1"} <= runs
    until(lambda: not of_job(number))
    assert not list(tmp_path.glob("tmp.*"))
