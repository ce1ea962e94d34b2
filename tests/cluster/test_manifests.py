"""Files that start clusters: what they say, and that those who read them can."""

import importlib.resources
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gensim_tfw2v.cluster import ClusterError, from_tf_config, manifests
from gensim_tfw2v.cluster.manifests import (
    Deployment,
    Size,
    TrainCommand,
    compose_file,
    kubernetes_file,
    slurm_file,
)
from gensim_tfw2v.cluster.spec import LOG_DIR

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
FOLDER = Path(manifests.__file__).parent

ODD = '/data/it\'s $HOME $(id) "x".txt'
TRAINING = TrainCommand(
    (ODD, "-o", "/data/m", "--sg"), {"CORPUS": ODD, "--output": "/data/m"}, "/data/m.checkpoints",
    "/logs/it's $(id)",
)  # fmt: skip
PLAN = Deployment(TRAINING, 2, 3, name="wiki")

#: Texts that some version of YAML takes for another value, or that are hard to write.
WORDS = ["1e-3", "0o17", "1_000", ".5", "12:30", "2020-01-01", "no", "null", "~", "0x1f", "5", "",
         " a: b", "a #b", "- a", "{a: b}", "a\nb\n", "\x07\x85\u2028\ufeff", "😀 ä", "$$(POD_NAME)",
         "@name@"]  # fmt: skip


def expanded(text):
    """What Kubernetes and Compose make of a text in which all is literal."""
    assert "$" not in text.replace("$$", "")
    return text.replace("$$", "$")


def services(plan):
    return yaml.safe_load(compose_file(plan))["services"]


@given(st.lists(st.text() | st.sampled_from(WORDS)))
@example(WORDS)
def test_every_text_comes_back(words):
    training = replace(TRAINING, arguments=tuple(words))
    plan = replace(PLAN, training=training)
    job = objects(kubernetes_file(plan))["Job", "wiki-coordinator"]["spec"]["template"]["spec"]
    (container,) = job["containers"]
    assert [expanded(part) for part in container["command"]] == ["tfw2v", *training.command()]
    command = services(plan)["coordinator"]["command"]
    assert [expanded(part) for part in command[4:]] == training.command()


@pytest.mark.parametrize("name", ["no", "y", "null", "e1"])
def test_names_are_texts_for_every_reader(name):
    plan = replace(PLAN, name=name, image=f"{name}/1e3" if name == "y" else "1e3")
    text = kubernetes_file(plan, claim=name, log_claim=name)
    for line in (text + compose_file(plan)).splitlines():
        if not line.startswith("#"):
            assert not re.search(rf": ({name}|1e3|{name}/1e3)\b(?!-)", line), line
    found = objects(text)
    assert {key for key in found if key[1] == name} == {
        ("NetworkPolicy", name), ("Service", name), ("ConfigMap", name),
    }  # fmt: skip
    assert found["NetworkPolicy", name]["metadata"]["labels"]["app.kubernetes.io/instance"] == name
    assert yaml.safe_load(compose_file(plan))["name"] == name


def objects(text):
    """Kubernetes' objects by kind and name."""
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}


def pods(**claims):
    found = objects(kubernetes_file(PLAN, **claims))
    return {
        name: found[kind, name]["spec"]["template"]
        for kind, name in (
            ("StatefulSet", "wiki-ps"), ("StatefulSet", "wiki-worker"), ("Job", "wiki-coordinator"),
            ("Deployment", "wiki-tensorboard"),
        )
    }  # fmt: skip


def cluster_pods():
    """Without TensorBoard's."""
    found = pods()
    del found["wiki-tensorboard"]
    return found


@pytest.mark.parametrize("version", ["1.29", "1.32", "1.37"])
@pytest.mark.parametrize("volume", [{"log_class": "nfs"}, {"claim": "c", "log_claim": "l"}])
def test_kubernetes_knows_every_field(version, volume):
    found = objects(kubernetes_file(PLAN, **volume))
    assert len(found) == (8 if "claim" in volume else 10)
    for one in found.values():
        kubernetes_validate.validate(one, version, strict=True)


def test_pods_are_where_the_addresses_say():
    found = objects(kubernetes_file(PLAN))
    data = found["ConfigMap", "wiki"]["data"]
    cluster, own = from_tf_config({"TF_CONFIG": data["coordinator"]})
    assert json.loads(data["hosts.json"]) == cluster.addresses() and own.role == "chief"
    service = found["Service", "wiki"]
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
    names = []
    for role in ("ps", "worker"):
        spec = found["StatefulSet", f"wiki-{role}"]["spec"]
        names += [f"wiki-{role}-{i}.{spec['serviceName']}:2222" for i in range(spec["replicas"])]
    job = found["Job", "wiki-coordinator"]["spec"]
    # an indexed Job names its pod after itself and the index
    assert job["completionMode"] == "Indexed" and job["backoffLimit"] > 1
    names.append(f"wiki-coordinator-0.{job['template']['spec']['subdomain']}:2222")
    assert [task.address for task in cluster.tasks()] == names


def test_only_pods_of_the_cluster_reach_each_other():
    found = objects(kubernetes_file(PLAN))
    policy, own = found["NetworkPolicy", "wiki"]["spec"], {"app.kubernetes.io/instance": "wiki"}
    assert policy["podSelector"]["matchLabels"] == own
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    (ingress,) = policy["ingress"]
    assert ingress["from"] == [{"podSelector": {"matchLabels": own}}]
    assert ingress["ports"] == [{"protocol": "TCP", "port": 2222}]
    assert policy["egress"][0] == {"to": ingress["from"], "ports": ingress["ports"]}
    assert {port["port"] for port in policy["egress"][1]["ports"]} == {53}
    assert found["Service", "wiki"]["spec"]["selector"] == own
    for pod in cluster_pods().values():
        assert own.items() <= pod["metadata"]["labels"].items()


def test_tensorboard_is_reached_by_port_forward_alone():
    found, labels = objects(kubernetes_file(PLAN)), pods()["wiki-tensorboard"]["metadata"]["labels"]
    policy = found["NetworkPolicy", "wiki-tensorboard"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress", "Egress"] and not {"ingress", "egress"} & {*policy}
    # what lets pods reach tasks does not meet it
    selected = found["NetworkPolicy", "wiki"]["spec"]["podSelector"]["matchLabels"]
    assert not selected.items() <= labels.items()
    (container,) = pods()["wiki-tensorboard"]["spec"]["containers"]
    assert container["command"] == ["tfw2v", "tensorboard", "/logs", "--port", "6006"]
    assert [kind for kind, _ in found].count("Service") == 1


@pytest.mark.parametrize("claim", [None, "logs"])
def test_all_pods_log_to_one_volume(claim):
    for pod in pods(log_claim=claim).values():
        (container,) = pod["spec"]["containers"]
        assert {"name": "logs", "mountPath": "/logs"} in container["volumeMounts"]
        assert any(
            one["name"] == "logs"
            and one["persistentVolumeClaim"]["claimName"] == (claim or "wiki-logs")
            for one in pod["spec"]["volumes"]
        )
    for pod in cluster_pods().values():
        (container,) = pod["spec"]["containers"]
        (value,) = [one["value"] for one in container["env"] if one["name"] == LOG_DIR]
        assert expanded(value) == TRAINING.log_dir
    found = objects(kubernetes_file(PLAN, log_claim=claim, log_class="nfs"))
    made = found.get(("PersistentVolumeClaim", "wiki-logs"))
    if claim is None:
        assert made["spec"]["accessModes"] == ["ReadWriteMany"]
        assert made["spec"]["storageClassName"] == "nfs"
    else:
        assert made is None


def test_without_log_dir_nothing_is_there_for_logs():
    plan = replace(PLAN, training=replace(TRAINING, log_dir=None))
    for text in (kubernetes_file(plan), compose_file(plan)):
        assert "logs" not in text and "tensorboard" not in text and LOG_DIR not in text
    assert f"export {LOG_DIR}=''" in slurm_file(plan)


def test_pods_may_do_little():
    for pod in pods().values():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert security["readOnlyRootFilesystem"]
            assert container["resources"]["requests"] == container["resources"]["limits"]
            # a name without a registry is never asked of one
            assert container["imagePullPolicy"] == "Never"
    text = kubernetes_file(Deployment(TRAINING, image="registry/tfw2v:1"))
    assert "IfNotPresent" in text and "Never" not in text.replace("restartPolicy: Never", "")


@pytest.mark.parametrize("role", ["ps", "worker"])
def test_a_pod_knows_its_number_by_its_name(role, tmp_path):
    (container,) = pods()[f"wiki-{role}"]["spec"]["containers"]
    stub(tmp_path, "tfw2v", 'echo "$@"')
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "POD_NAME": f"wiki-{role}-12"}
    out = subprocess.run(container["command"], env=path, capture_output=True, text=True, check=True)
    assert out.stdout == f"task --hosts /etc/tfw2v/hosts.json --role {role} --index 12\n"


def test_the_job_trains_as_it_was_told():
    (container,) = pods()["wiki-coordinator"]["spec"]["containers"]
    command = [expanded(part) for part in container["command"]]
    assert command == ["tfw2v", *TRAINING.command()]
    assert command[-4:] == ["--cluster", "TF_CONFIG", "--checkpoint-dir", "/data/m.checkpoints"]


def test_the_job_waits_for_corpus_and_tasks(tmp_path):
    (waiting,) = pods()["wiki-coordinator"]["spec"]["initContainers"]
    command = waiting["command"]
    assert expanded(command[-1]) == ODD
    stub(tmp_path, "sleep", f"touch {tmp_path}/corpus")
    stub(tmp_path, "tfw2v", f'echo "$@"; [ -e {tmp_path}/once ] || ! touch {tmp_path}/once')
    out = subprocess.run(
        [*command[:-1], str(tmp_path / "corpus")], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    lines = [f"waiting for {tmp_path}/corpus", "cluster status", "cluster status"]
    assert out.stdout.splitlines() == lines


def test_compose():
    text = compose_file(PLAN)
    schema = "builtin_schemas/vendor/compose-spec.json"
    schema = importlib.resources.files("check_jsonschema").joinpath(schema).read_text()
    found = yaml.safe_load(text)
    jsonschema.validate(found, json.loads(schema))
    assert found["networks"] == {"cluster": {"internal": True}, "tensorboard": {}}
    services = found["services"]
    for service in services.values():
        assert service["restart"].startswith("on-failure") and service["cap_drop"] == ["ALL"]
        assert service["pull_policy"] == "never"
    board = services.pop("tensorboard")
    assert board["networks"] == ["tensorboard"] and board["ports"] == ["127.0.0.1:6006:6006"]
    assert board["volumes"] == ["logs:/logs:ro"] and "environment" not in board
    for name, service in services.items():
        assert service["networks"] == ["cluster"] and "ports" not in service
        assert "logs:/logs" in service["volumes"]
        assert service["environment"][LOG_DIR] == TRAINING.log_dir.replace("$", "$$")
        cluster, own = from_tf_config(service["environment"])
        assert name == ("coordinator" if own.role == "chief" else f"{own.role}-{own.index}")
    assert [task.address for task in cluster.tasks()] == [f"{name}:2222" for name in services]
    command = [expanded(part) for part in services["coordinator"]["command"]]
    assert command[4:] == TRAINING.command()


@pytest.mark.parametrize("write", [kubernetes_file, compose_file])
@pytest.mark.parametrize("path", ["m", "/elsewhere/m", "/data/../m", "/database/m"])
def test_files_outside_the_volume_are_refused(write, path):
    with pytest.raises(ClusterError, match=r"--output is .*give a path like /data/m"):
        write(Deployment(TrainCommand((), {"--output": path}, "/data/c")))


@pytest.mark.parametrize("write", [kubernetes_file, compose_file])
@pytest.mark.parametrize("path", ["runs", "/data/runs", "/logs/../runs"])
def test_logs_outside_their_volume_are_refused(write, path):
    with pytest.raises(ClusterError, match=r"--log-dir is .*give a path like /logs/runs"):
        write(Deployment(TrainCommand((), {}, "/data/c", path)))


def test_templates_are_installed_with_the_package():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    patterns = tomllib.loads(text)["tool"]["setuptools"]["package-data"]["gensim_tfw2v"]
    installed = {path for pattern in patterns for path in FOLDER.parents[1].glob(pattern)}
    templates = {path for path in FOLDER.iterdir() if path.suffix not in {".py", ""}}
    assert len(templates) == 9 and templates <= installed


def stub(folder, name, lines):
    """An executable in the place of another."""
    (folder / name).write_text(f"#!/bin/bash\n{lines}\n")
    (folder / name).chmod(0o755)


def test_bash_takes_the_script(tmp_path):
    script = tmp_path / "job.sh"
    script.write_text(slurm_file(PLAN, setup=". activate"))
    subprocess.run(["bash", "-n", str(script)], check=True)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    subprocess.run([str(shellcheck), "--exclude=SC1091,SC2016", str(script)], check=True)


def run_job(folder, tasks, nodes, train="exit 0", status="[ -e hosts ]; exit"):
    """Run a job of 2 ps and 3 workers without Slurm and TensorFlow; its end and its hosts."""
    folder.mkdir(exist_ok=True)
    (folder / "job.sh").write_text(slurm_file(PLAN))
    stub(folder, "scontrol", f'[ "$*" = "show hostnames n" ] && printf "%s\\n" {nodes}')
    stub(folder, "srun", 'cp "$SLURM_HOSTFILE" hosts; exec sleep 60')
    stub(
        folder,
        "tfw2v",
        f"""
        if [ "$*" = "cluster status" ]; then {status}; fi
        echo "$TF_CONFIG" >config; echo "$TFW2V_LOG_DIR" >logs
        printf '%s\\n' "$@" >arguments; {train}""",
    )
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder), "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n", "SLURM_TASKS_PER_NODE": tasks, "SLURM_CPUS_PER_TASK": "2",
    }  # fmt: skip
    return subprocess.run(
        ["bash", "job.sh"], cwd=folder, env=env, capture_output=True, text=True, timeout=30
    )


@pytest.mark.parametrize(
    ("tasks", "nodes", "hosts"),
    [
        ("6", "a", "a a a a a"),
        ("2(x3)", "a b c", "a b c b c"),
        ("4,1(x2)", "a b c", "a b c a a"),
        ("1(x6)", "a b c d e f", "b c d e f"),
        ("8(x2),1", "a b c", "a b c a b"),
    ],
)
def test_tasks_are_dealt_to_nodes_as_slurm_gave_them(tmp_path, tasks, nodes, hosts):
    result = run_job(tmp_path, tasks, nodes)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "hosts").read_text().split() == hosts.split()
    cluster, own = from_tf_config({"TF_CONFIG": (tmp_path / "config").read_text()})
    assert own.role == "chief" and own.host == "a"
    assert [task.host for task in cluster.servers()] == hosts.split()
    ports = [task.port for task in cluster.tasks()]
    assert ports == list(range(ports[0], ports[0] + 6)) and 10000 <= ports[0] < 32000
    assert (tmp_path / "arguments").read_text() == "".join(f"{a}\n" for a in TRAINING.command())
    assert (tmp_path / "logs").read_text() == f"{TRAINING.log_dir}\n"
    assert r"tfw2v tensorboard /logs/it\'s\ \$\(id\)" in result.stderr
    assert not list(tmp_path.glob("tmp.*"))


#: A training that fails because a task is gone, which comes back.
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
        ({"tasks": "2,1"}, 2, "Slurm gave 2,1 tasks; 6 are needed"),
    ],
)
def test_the_job_ends_as_the_training_does(tmp_path, options, status, message):
    result = run_job(tmp_path, **{"tasks": "3(x2)", "nodes": "a b"} | options)
    assert result.returncode == status and message in result.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ps": 0}, "at least one of each"),
        ({"workers": 0}, "at least one of each"),
        ({"name": "Wiki"}, "name is 'Wiki': give a DNS label"),
        ({"name": "wiki-"}, "DNS label"),
        ({"name": "1wiki"}, "DNS label"),
        ({"name": "w" * 41}, "of 40 characters at most"),
        ({"port": 80}, "port is 80: give one from 1024"),
        ({"port": 70000}, "to 65535"),
        ({"image": "a b"}, "image is 'a b'"),
    ],
)
def test_clusters_that_cannot_be_are_refused(change, message):
    with pytest.raises(ClusterError, match=message):
        Deployment(TRAINING, **change)


def test_what_cannot_be_given_is_refused():
    for wrong, message in (
        (lambda: Size(0, 1), "0 CPUs"),
        (lambda: kubernetes_file(PLAN, storage=0), "storage is 0"),
        (lambda: kubernetes_file(PLAN, claim="Wiki"), "claim is 'Wiki'"),
        (lambda: kubernetes_file(PLAN, log_claim="Wiki"), "log claim is 'Wiki'"),
        (lambda: slurm_file(PLAN, first_port=65533), "6 tasks need as many ports"),
        (lambda: slurm_file(PLAN, setup="a\nb"), "several lines"),
    ):
        with pytest.raises(ClusterError, match=message):
            wrong()
