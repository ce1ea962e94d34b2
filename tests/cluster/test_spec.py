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
    ],
)
def test_addresses_are_parsed(address, host, port, loopback):
    task = Task("ps", 0, address)
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
        (["a:1"], ["b:1", "a:1"], r"ps 0 \(a:1\) and worker 1 \(a:1\) have the same address"),
    ],
)
def test_invalid_clusters_are_rejected(ps, worker, message):
    with pytest.raises(ClusterError, match=message):
        Cluster(tuple(ps), tuple(worker))


GOOD = json.loads(CLUSTER.tf_config("ps", 0))


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
        (json.dumps({**GOOD, "cluster": {"evaluator": ["a:1"]}}), "type 'evaluator'; known are ps"),
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
