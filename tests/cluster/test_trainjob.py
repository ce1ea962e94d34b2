"""Files for Kubeflow Trainer and JobSet: their schemas, and the JobSet that a TrainJob becomes."""

import copy
import os
import subprocess

import jsonschema
import kubernetes_validate
import pytest

from gensim_tfw2v.cluster import from_tf_config
from tests.cluster.crds import LABEL, SCHEMAS
from tests.cluster.test_files import (
    LABELS,
    check_training,
    environment,
    job_set_spec,
    objects,
    parsed,
    stub,
)

QUEUE = "kueue.x-k8s.io/queue-name"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def custom_object(name, kind):
    """Return the object of a custom kind in a Kubernetes file."""
    (found,) = (one for (key, _), one in objects(name).items() if key == kind)
    return found


def trainer_jobs(job_set):
    """Return the replicated jobs that Kubeflow Trainer changes for a TrainJob."""
    return [
        job
        for job in job_set["replicatedJobs"]
        if job["template"].get("metadata", {}).get("labels", {}).get(STEP) == "trainer"
    ]


def made_job_set(runtime, train_job):
    """Return the JobSet that Kubeflow Trainer makes of a TrainJob, without its own labels."""
    spec = copy.deepcopy(job_set_spec(runtime))
    (job,) = trainer_jobs(spec)
    n_nodes = runtime["spec"]["mlPolicy"]["numNodes"]
    job["template"]["spec"] |= {"completions": n_nodes, "parallelism": n_nodes}
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "node"  # Trainer refuses any other name
    container |= {
        key: value for key, value in train_job["spec"]["trainer"].items() if key == "args"
    }
    name = train_job["metadata"]["name"]
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return job_set | {"metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def runtime():
    return custom_object("runtime", "ClusterTrainingRuntime")


@pytest.fixture(scope="module")
def train_job():
    return custom_object("trainjob", "TrainJob")


@pytest.fixture(scope="module")
def coordinator(runtime, train_job):
    """Return the coordinator's container."""
    (job,) = trainer_jobs(made_job_set(runtime, train_job)["spec"])
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    return container


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("jobset", "JobSet"),
        ("runtime", "ClusterTrainingRuntime"),
        ("trainjob", "TrainJob"),
    ],
)
def test_schema_accepts_the_file(name, kind):
    jsonschema.validate(custom_object(name, kind), SCHEMAS[kind])


@pytest.mark.parametrize(
    ("name", "kind", "path", "key", "value"),
    [
        ("jobset", "JobSet", ("spec",), "replicatedjobs", []),
        ("jobset", "JobSet", ("spec", "network"), "subdomain", "Tfw2v"),
        ("jobset", "JobSet", ("spec", "successPolicy"), "operator", "all"),
        ("runtime", "ClusterTrainingRuntime", ("spec", "mlPolicy"), "nodes", 1),
        ("runtime", "ClusterTrainingRuntime", ("spec", "template", "spec"), "network", None),
        ("trainjob", "TrainJob", ("metadata",), "name", "wiki.1"),
        ("trainjob", "TrainJob", ("spec", "trainer"), "args", "/data/wiki.txt"),
        ("trainjob", "TrainJob", ("spec", "runtimeRef"), "kind", "Runtime"),
    ],
)
def test_schema_refuses_mistakes(name, kind, path, key, value):
    content = copy.deepcopy(custom_object(name, kind))
    part = content
    for step in path:
        part = part[step]
    part[key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, SCHEMAS[kind])


def test_required_fields_are_present():
    train_job = custom_object("trainjob", "TrainJob")
    del train_job["spec"]["runtimeRef"]
    with pytest.raises(jsonschema.ValidationError, match="'runtimeRef' is a required property"):
        jsonschema.validate(train_job, SCHEMAS["TrainJob"])


def test_train_job_refers_to_the_runtime(runtime, train_job):
    reference = train_job["spec"]["runtimeRef"]
    assert reference["name"] == runtime["metadata"]["name"]
    assert reference["kind"] == runtime["kind"]
    assert runtime["apiVersion"] == f"{reference['apiGroup']}/v1alpha1"


@pytest.mark.parametrize(("name", "kind"), [("jobset", "JobSet"), ("trainjob", "TrainJob")])
def test_queue_label_is_that_of_the_object_that_kueue_suspends(name, kind):
    labels = custom_object(name, kind)["metadata"]["labels"]
    assert labels == LABELS | {QUEUE: "default"}
    for one in objects(name).values():
        if one["kind"] != kind:
            assert QUEUE not in str(one.get("spec", {}))


@pytest.mark.parametrize("version", ["1.29", "1.37"])
def test_job_set_of_the_train_job_is_valid(runtime, train_job, version):
    job_set = made_job_set(runtime, train_job)
    jsonschema.validate(job_set, SCHEMAS["JobSet"])
    names = [job["name"] for job in job_set["spec"]["replicatedJobs"]]
    assert set(job_set["spec"]["successPolicy"]["targetReplicatedJobs"]) <= set(names)
    for job in job_set["spec"]["replicatedJobs"]:
        assert job["replicas"] == 1
        spec = job["template"]["spec"]
        name = f"{job_set['metadata']['name']}-{job['name']}-0"
        one = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
        kubernetes_validate.validate(one, version, strict=True)
        # JobSet requires that the name of each pod is a label, with its random suffix
        jsonschema.validate(f"{name}-{spec['completions'] - 1}-abcde", LABEL)


@pytest.mark.parametrize("job_name", ["wiki", "another-name"])
def test_pod_names_match_the_addresses_for_any_name(runtime, train_job, job_name):
    renamed = copy.deepcopy(train_job)
    renamed["metadata"]["name"] = job_name
    job_set = made_job_set(runtime, renamed)
    network = job_set["spec"]["network"]
    assert network == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    tasks = []
    for job in job_set["spec"]["replicatedJobs"]:
        spec = job["template"]["spec"]
        assert spec["completionMode"] == "Indexed"
        assert spec["parallelism"] == spec["completions"]
        (container,) = spec["template"]["spec"]["containers"]
        for index in range(spec["completions"]):
            variables = environment(container, index, job_name)
            cluster, task = from_tf_config(variables)
            assert task.address == f"{job_name}-{job['name']}-0-{index}.{job_name}:2222"
            assert variables["TFW2V_LOG_DIR"] == f"/logs/{job_name}"
            if task.role != "chief":
                assert parsed(container["command"]).command.name == "task"
            tasks.append(task)
    assert tasks == list(cluster.tasks())


def test_second_coordinator_is_refused(coordinator):
    with pytest.raises(ValueError, match="the cluster has no chief 1"):
        from_tf_config(environment(coordinator, 1))


def test_coordinator_waits_and_trains_with_the_arguments_of_the_train_job(tmp_path, coordinator):
    corpus, *arguments = coordinator["args"]
    assert corpus == "/data/wiki.txt"
    stub(tmp_path, "sleep", f"touch {tmp_path}/corpus")
    stub(
        tmp_path, "tfw2v", f'printf "%s\\n" "$@"; [ -e {tmp_path}/once ] || ! touch {tmp_path}/once'
    )
    variables = environment(coordinator) | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [*coordinator["command"], f"{tmp_path}/corpus"]
    out = subprocess.run(
        [*command, *arguments], env=variables, check=True, timeout=300, capture_output=True,
        text=True,
    )  # fmt: skip
    waiting, *lines = out.stdout.splitlines()
    assert waiting == f"waiting for {tmp_path}/corpus"
    assert lines[:4] == ["cluster", "status"] * 2
    assert lines[4:6] == ["train", f"{tmp_path}/corpus"]
    training = parsed(["tfw2v", "train", corpus, *lines[6:]]).params
    check_training(training, variables["THREADS"])
    assert training["cluster"] == "TF_CONFIG"
    # a wrong TF_CONFIG never becomes right
    stub(tmp_path, "tfw2v", '[ "$1" = train ] || exit 2')
    wrong = subprocess.run([*command, *arguments], env=variables, check=False, timeout=300)
    assert wrong.returncode != 0
