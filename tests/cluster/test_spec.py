"""Specifications of clusters."""

import json

import pytest

from gensim_tfw2v.cluster import Cluster, ClusterError, Task, from_tf_config

CLUSTER = Cluster(("a:1", "a:2"), ("b:1", "[::1]:2"), "c:1")


@pytest.mark.parametrize(("role", "index"), [("ps", 1), ("worker", 0), ("chief", 0)])
def test_tf_config_round_trips(role, index):
    cluster, task = from_tf_config({"TF_CONFIG": CLUSTER.tf_config(role, index)})
    assert cluster == CLUSTER
    assert (task.role, task.index) == (role, index)


def test_addresses_have_the_format_of_tensorflow():
    assert CLUSTER.addresses() == {
        "ps": ["a:1", "a:2"], "worker": ["b:1", "[::1]:2"], "chief": ["c:1"],
    }  # fmt: skip
    assert "chief" not in Cluster(("a:1",), ("b:1",)).addresses()


@pytest.mark.parametrize(
    ("address", "host", "port", "loopback"),
    [
        ("10.0.0.1:80", "10.0.0.1", 80, False),
        ("[::1]:4000", "::1", 4000, True),
        ("127.0.0.9:1", "127.0.0.9", 1, True),
        ("localhost:1", "localhost", 1, True),
        ("ps-0.cluster:65535", "ps-0.cluster", 65535, False),
        ("ps_0.cluster.local.:1", "ps_0.cluster.local.", 1, False),
        ("[fe80::1%eth0]:1", "fe80::1%eth0", 1, False),
        ("7:1", "7", 1, False),
    ],
)
def test_addresses_are_parsed(address, host, port, loopback):
    task = Cluster((address,), ("w:1",)).task("ps", 0)
    assert task == Task("ps", 0, address)
    assert (task.host, task.port, task.is_loopback) == (host, port, loopback)


@pytest.mark.parametrize(
    ("ps", "worker", "message"),
    [
        ([], ["a:1"], "no ps: give at least one"),
        (["a:1"], [], "no worker: give at least one"),
        (["a"], ["b:1"], "ps 0 has the address 'a': write host:port"),
        (["a:0"], ["b:1"], "port from 1 to 65535"),
        (["a:65536"], ["b:1"], "port from 1 to 65535"),
        (["a:٣"], ["b:1"], "port from 1 to 65535"),
        ([":1"], ["b:1"], "write host:port"),
        (["a"], ["b:1"], "with a port from 1 to 65535, such as 'a:2222'$"),
        (["[::1]"], ["b:1"], r"with a port from 1 to 65535, such as '\[::1\]:2222'$"),
        (["a:"], ["b:1"], "with a port from 1 to 65535$"),
        (["a:grpc"], ["b:1"], "with a port from 1 to 65535$"),
        (["grpc://a:1"], ["b:1"], "write host:port, without grpc://$"),
        (["a :1"], ["b:1"], "write host:port, without blanks$"),
        (["a:1\n"], ["b:1"], "write host:port, without blanks$"),
        (["me@a:1"], ["b:1"], "host:port without a user, and log in as one with --ssh 'ssh -l me'"),
        (["::1:2"], ["b:1"], r"with IPv6 in brackets, such as '\[::1\]:2222'$"),
        (["[a]:1"], ["b:1"], "with a host's name .* or address"),
        (["[::1:1"], ["b:1"], "with a host's name .* or address"),
        (["10.0.0.256:1"], ["b:1"], "with a host's name .* or address"),
        (["a..b:1"], ["b:1"], "with a host's name .* or address"),
        (["-o:1"], ["b:1"], "with a host's name .* or address"),
        ([f"{'a' * 64}.b:1"], ["b:1"], "at most 63 between dots"),
        (["a:1"], ["b:1", "a:1"], r"ps 0 \(a:1\) and worker 1 \(a:1\) have the same address"),
    ],
)
def test_invalid_clusters_are_rejected(ps, worker, message):
    with pytest.raises(ClusterError, match=message):
        Cluster(tuple(ps), tuple(worker))


GOOD = json.loads(CLUSTER.tf_config("ps", 0))


def config_with(task=None, **cluster):
    """Return a TF_CONFIG with changed entries of the cluster, and this task."""
    return {"cluster": GOOD["cluster"] | cluster, "task": task or GOOD["task"]}


@pytest.mark.parametrize(
    ("config", "role", "index"),
    [
        (config_with(evaluator=[]), "ps", 0),
        (config_with(evaluator=["d:1"]), "ps", 0),
        (config_with(evaluator=None), "ps", 0),
        (config_with({"type": "worker", "index": "1"}), "worker", 1),
        (config_with({"type": "chief"}), "chief", 0),
        (config_with({"type": "master", "index": 0}, chief=[], master=["c:1"]), "chief", 0),
        (config_with({"type": "chief", "index": "0"}, chief=[], master=["c:1"]), "chief", 0),
        (config_with({"type": "worker", "index": 0}, master=[]), "worker", 0),
        ({**config_with(), "environment": "cloud", "rpc_layer": "grpc"}, "ps", 0),
    ],
    ids=str,
)
def test_tf_configs_of_operators_are_read(config, role, index):
    cluster, task = from_tf_config({"TF_CONFIG": json.dumps(config)})
    assert cluster == CLUSTER
    assert task == CLUSTER.task(role, index)
    assert from_tf_config({"TF_CONFIG": cluster.tf_config(role, index)}) == (cluster, task)


def test_cluster_of_sagemaker_is_read():
    config = {
        "cluster": {"master": ["algo-1:2222"], "worker": ["algo-2:2222"], "ps": ["algo-1:2223"]},
        "environment": "cloud",
        "task": {"type": "master", "index": 0},
    }
    cluster, task = from_tf_config({"TF_CONFIG": json.dumps(config)})
    assert cluster == Cluster(("algo-1:2223",), ("algo-2:2222",), "algo-1:2222")
    assert str(task) == "chief 0 (algo-1:2222)"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        "9" * 5000,
        json.dumps({**GOOD, "cluster": {"ps": [["a:1"] * 10**4] * 9}}),
        json.dumps({**GOOD, "cluster": {"ps": ["a" * 10**6], "worker": ["b:1"]}}),
        json.dumps({**GOOD, "task": {"type": ["ps"] * 10**6}}),
    ],
    ids=["deep", "digits", "lists", "address", "task"],
)
def test_huge_tf_configs_are_rejected_with_a_short_message(text):
    with pytest.raises(ClusterError) as caught:
        from_tf_config({"TF_CONFIG": text})
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, 'TF_CONFIG is not set; it should be like {"cluster": {"chief": .*, "task": {'),
        ("{", "is not JSON"),
        ("[]", "has no 'cluster'"),
        (json.dumps({"cluster": GOOD["cluster"]}), "has no 'task'"),
        (json.dumps({**GOOD, "cluster": {"ps": "a:1"}}), "'a:1' for ps: write a list"),
        (json.dumps(config_with(workers=["a:1"])), "type 'workers'; known are ps, worker, chief"),
        (json.dumps({**GOOD, "cluster": {"evaluator": ["a:1"]}}), "no ps: give at least one"),
        (
            json.dumps(config_with({"type": "evaluator", "index": 0}, evaluator=["d:1"])),
            "makes this an evaluator, .*: start only the ps, workers and chief",
        ),
        (json.dumps(config_with(master=["d:1"])), r"2 chiefs \(\['c:1', 'd:1'\]\).* or as master"),
        (json.dumps(config_with(master="c:1")), "'c:1' for master: write a list"),
        (
            json.dumps(config_with({"type": "worker", "index": "one"})),
            "the index 'one'; it should be a whole number from 0, as in {",
        ),
        (json.dumps(config_with({"type": "worker", "index": "9" * 5000})), "a whole number from 0"),
        (json.dumps(config_with({"type": "worker", "index": 0.0})), "the index 0.0; it should be"),
        (json.dumps(config_with({"type": "worker", "index": True})), "the index True; it should"),
        (json.dumps(config_with({"type": "worker", "index": None})), "the index None; it should"),
        (json.dumps(config_with({"type": "worker", "index": "-1"})), "no worker -1; it has"),
        (json.dumps(config_with({"index": 0})), "type None; it should be ps, worker or chief"),
        (json.dumps({**GOOD, "task": {"type": "worker", "index": 2}}), "no worker 2; it has ps 0"),
        (json.dumps({**GOOD, "task": {"type": "worker", "index": -1}}), "no worker -1"),
        (json.dumps({**GOOD, "task": {"type": "boss"}}), "a task of the type 'boss'; it should"),
        (
            json.dumps({**GOOD, "cluster": {**GOOD["cluster"], "chief": ["c:1", "c:2"]}}),
            "has 2 chiefs",
        ),
    ],
)
def test_invalid_tf_configs_are_rejected(text, message):
    with pytest.raises(ClusterError, match=message):
        from_tf_config({} if text is None else {"TF_CONFIG": text})
