"""Hosts files in JSON and YAML."""

import json
import sys

import pytest
import yaml

from gensim_tfw2v.cluster.descriptions import read_hosts
from gensim_tfw2v.cluster.spec import Cluster, ClusterError

ADDRESSES = {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3", "[::1]:4"]}
CLUSTER = Cluster(("b:2",), ("c:3", "[::1]:4"), "a:1")


@pytest.mark.parametrize("name", ["hosts.json", "hosts.yaml", "hosts.YML", "hosts"])
def test_json_and_yaml_are_read(tmp_path, name):
    dump = yaml.safe_dump if "y" in name.lower() else json.dumps
    (tmp_path / name).write_text(dump(ADDRESSES))
    assert read_hosts(tmp_path / name) == CLUSTER


@pytest.mark.parametrize("name", ["hosts.json", "hosts.yaml"])
def test_byte_order_mark_is_ignored(tmp_path, name):
    (tmp_path / name).write_text(json.dumps(ADDRESSES), "utf-8-sig")
    assert read_hosts(tmp_path / name) == CLUSTER


def test_handwritten_yaml_is_read(tmp_path):
    path = tmp_path / "hosts.yaml"
    path.write_text("# ours\nchief: ['a:1']\nps:\n- b:2\nworker:\n- c:3\n- '[::1]:4'\n")
    assert read_hosts(path) == CLUSTER


def test_chief_is_optional(tmp_path):
    path = tmp_path / "hosts.json"
    path.write_text(json.dumps({"ps": ["b:2"], "worker": ["c:3"]}))
    assert read_hosts(path).chief is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.json", "ps: [a]", "is not JSON"),
        ("h.yaml", "ps: [a", "is not YAML"),
        ("h.yaml", "", "is not a mapping"),
        ("h.json", "[]", "is not a mapping"),
        ("h.json", '{"ps": ["a:1"], "workers": ["b:1"]}', "type 'workers'; known are ps, worker"),
        ("h.yaml", "1: [a]", "type 1; known are"),
        ("h.yaml", "ps: a:1\nworker: [b:1]", "'a:1' for ps: write a list"),
        ("h.yaml", "ps: [12:30]\nworker: [b:1]", r"\[750\] for ps: write a list"),
        ("h.json", '{"ps": ["a:1"], "worker": ["b"]}', "address 'b': write host:port"),
        ("h.json", '{"ps": ["a:1"], "worker": ["b:1"], "chief": ["c:1", "d:1"]}', "has 2 chiefs"),
        ("h.yaml", b"\xff", "is not UTF-8 text: invalid start byte at byte 0"),
        ("h.json", json.dumps(ADDRESSES).encode("utf-16"), "looks like UTF-16: .*iconv"),
        ("h.json", '{"ps": ["me@a:1"], "worker": ["b:1"]}', "'me@a:1': .*--ssh 'ssh -l me'"),
        ("h.json", '{"ps": ["-oProxyCommand=x:1"], "worker": ["b:1"]}', "write host:port"),
        ("h.json", '{"ps": ["http://a:1"], "worker": ["b:1"]}', "write host:port"),
        ("h.json", '{"ps": ["::1:1"], "worker": ["b:1"]}', "IPv6 in brackets"),
    ],
)
def test_invalid_files_are_rejected_with_the_reason(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ClusterError, match=f"(?s){name}: .*{message}.* it should be like"):
        read_hosts(path)


def bomb(levels):
    """Return YAML whose aliases expand to ten addresses, times ten per level."""
    lines = ["a0: &a0 [" + ", ".join(["b:2"] * 10) + "]"]
    for level in range(levels):
        lines.append(f"a{level + 1}: &a{level + 1} [" + ", ".join([f"*a{level}"] * 10) + "]")
    return "\n".join([*lines, f"ps: *a{levels}"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.yaml", bomb(6), r"has the alias \*a0: write the addresses out"),
        ("h.yaml", "[" * 100_000, "is not YAML"),
        ("h.yaml", "ps: " + "9" * 5000, "is not YAML"),
        ("h.yaml", "ps: 2001-99-99", "is not YAML"),
        ("h.json", "[" * 100_000, "is not JSON"),
        ("h.json", "9" * 5000, "is not JSON"),
        ("h.json", json.dumps({"ps": [["a:1"] * 1000] * 1000}), "for ps: write a list"),
        ("h.json", json.dumps({"p" * 10**6: []}), "tasks of the type"),
    ],
)
def test_huge_files_are_rejected_with_a_short_message(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ClusterError, match=f"(?s){name}: .*{message}") as caught:
        read_hosts(path)
    assert len(str(caught.value)) < 1000


def test_without_pyyaml_only_yaml_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    for name in ("hosts.json", "hosts.yaml"):
        (tmp_path / name).write_text(json.dumps(ADDRESSES))
    assert read_hosts(tmp_path / "hosts.json") == CLUSTER
    with pytest.raises(ImportError, match="pip install PyYAML"):
        read_hosts(tmp_path / "hosts.yaml")
