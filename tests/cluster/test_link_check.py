"""``tfw2v cluster check`` on hosts with a slow, a far and a blocked link."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.links.__main__ import TRAIN
from benchmarks.links.switch import SlowHosts, why_not
from gensim_tfw2v.cluster.links import (
    LinksFileError,
    TaskLink,
    describe_slow_links,
    read_links,
    task_pairs,
    worst_link,
    write_links,
)
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import Cluster, Task
from gensim_tfw2v.planning.measured_links import ClusterLinks
from gensim_tfw2v.planning.speed import transfer_seconds
from tests.cli.conftest import ROOT
from tests.cli.sshd import stub
from tests.cli.test_ssh import COMMAND
from tests.cluster.hosts import HostCluster
from tests.loaded import stretched

PS = ["ps0", "ps1"]
WORKERS = ["slow", "far", "cut"]
MBIT = 1e6 / 8

CHECK = (sys.executable, "-m", "gensim_tfw2v", "cluster", "check")

#: Command with fewer transfers and a shorter limit, which suffice on these hosts.
SHORT_CHECK = (
    sys.executable,
    "-c",
    """
from gensim_tfw2v.cli import start
from gensim_tfw2v.cluster import link_check

link_check.SIZES = link_check.SIZES[3:5]
link_check.COORDINATOR_SIZES = link_check.SIZES[:-1]
link_check.PATH_SECONDS = 2.0
start.main()
""",
    *("cluster", "check"),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Tasks on hosts: worker 0 has 50 Mbit/s, worker 1 is 20 ms away, worker 2 lacks ps 1."""
    if reason := why_not():
        pytest.skip(reason)
    with SlowHosts("chief", *PS, *WORKERS, rate=125e6, latency=2e-4) as hosts:
        hosts.change_link("slow", rate=50 * MBIT)
        hosts.change_link("far", latency=0.02)
        hosts.drop("cut", "ps1")
        yield HostCluster(hosts, PS, WORKERS, tmp_path_factory.mktemp("logs"))


def start_check(cluster, *options, command=SHORT_CHECK):
    return cluster.hosts.start(
        "chief",
        *command,
        *map(str, options),
        env=cluster.environment("chief", 0),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def checked(cluster, tmp_path_factory):
    """Return what a check printed, and its links by their names."""
    path = tmp_path_factory.mktemp("check") / "links.json"
    process = start_check(cluster, "--seconds", 180, "-o", path)
    out, error = process.communicate(timeout=400)
    assert process.returncode == 1, f"{out}\n{error}\n{cluster.log()}"
    print(out)
    return out, error, {str(link): link for link in read_links(path)}


def test_bandwidth_of_a_slow_link_is_measured(checked):
    _, _, links = checked
    for name in ("coordinator - worker 0", "worker 0 - ps 0", "worker 0 - ps 1"):
        link = links[name]
        assert link.sent_rate == pytest.approx(50 * MBIT, rel=0.2), name
        assert link.received_rate == pytest.approx(50 * MBIT, rel=0.2), name
        assert link.round_trip < stretched(5e-3)


def test_round_trip_of_a_far_link_is_measured(checked):
    _, _, links = checked
    for name in ("coordinator - worker 1", "worker 1 - ps 0", "worker 1 - ps 1"):
        assert 0.019 < links[name].round_trip < 0.02 + stretched(4e-3), name
    assert links["worker 2 - ps 0"].round_trip < stretched(5e-3)


def test_slow_and_far_links_are_named(checked):
    out, _, _ = checked
    lines = {tuple(line.split()[:4]): line for line in out.splitlines()}
    for ps in "01":
        assert "slow: " in lines["worker", "0", "ps", ps]
        assert "times less than the median" in lines["worker", "0", "ps", ps]
        assert "far: " in lines["worker", "1", "ps", ps]
    assert "slow" not in lines["worker", "2", "ps", "0"]
    assert "far" not in lines["worker", "2", "ps", "0"]
    assert "slowest    worker 0 - ps " in out or "slowest    coordinator - worker 0: " in out


def test_blocked_link_is_named_and_others_are_measured(checked, cluster):
    out, error, links = checked
    (ps,) = (link.target for name, link in links.items() if name == "worker 2 - ps 1")
    assert ps.address in cluster.addresses["ps"]
    assert f"blocked: worker 2 does not reach {ps}" in out
    assert error.startswith("tfw2v: 1 of 11 links are blocked: worker 2 does not reach ps 1 (")
    assert len(links) == 11
    assert [name for name, link in links.items() if link.problem] == ["worker 2 - ps 1"]
    assert math.isnan(links["worker 2 - ps 1"].rate)


def test_lost_task_is_named_within_the_limit(cluster, checked):
    cluster.hosts.plug("ps1", False)
    try:
        start = time.monotonic()
        process = start_check(cluster, "--seconds", 2)
        out, error = process.communicate(timeout=200)
    finally:
        cluster.hosts.plug("ps1", True)
    assert process.returncode == 1
    assert "ps 1 (" in error and "does not answer the coordinator" in error
    assert "4 of 11 links are blocked" in error
    assert time.monotonic() - start < stretched(60), out


def test_ctrl_c_prints_the_links_measured_so_far(cluster, checked):
    process = start_check(cluster, "--verbose")
    lines = []
    for line in process.stderr:
        lines.append(line)
        if " ps 1: " in line:  # the second link; the first one has reached the command
            break
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, error = process.communicate(timeout=60)
    assert time.monotonic() - start < stretched(8)
    assert process.returncode == 130, "".join(lines) + error
    assert "interrupted" in error
    assert len(out.splitlines()) >= 3  # a heading, at least one link, and the slowest
    assert out.startswith("from")


def run(*arguments):
    process = subprocess.run(
        [sys.executable, "-m", "gensim_tfw2v", *map(str, arguments)],
        capture_output=True, text=True, timeout=400, check=False,
        cwd=ROOT, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process


@pytest.mark.parametrize("program", ["local", pytest.param("ssh", marks=pytest.mark.slow)])
def test_check_of_tasks_that_the_command_starts(program, tmp_path):
    """Takes 6 s of CPU: processes import TensorFlow."""
    path = tmp_path / "links.json"
    options = ("--worker-tasks", 1)
    if program == "ssh":
        chief, ps, worker = (f"127.0.0.1:{port}" for port in free_ports(3))
        hosts = tmp_path / "hosts.json"
        hosts.write_text(json.dumps({"chief": [chief], "ps": [ps], "worker": [worker]}))
        ssh = ("--ssh", stub(tmp_path), "--command", COMMAND)
        options = ("--hosts", hosts, *ssh, "--seconds", 300)
    out = run("cluster", program, *options, "--", "cluster", "check", "-o", path).stdout
    links = read_links(path)
    assert [str(link) for link in links] == [
        "coordinator - ps 0",
        "coordinator - worker 0",
        "worker 0 - ps 0",
    ]
    assert all(link.rate > 1e6 and link.round_trip < 0.1 for link in links)
    assert "slowest    " in out and f"saved      {path}" in out
    work = ("--vocab", "1e5", "--tokens", "1e8")
    assert "cluster    workers: 1, " in run("plan", "--links", path, *work).stdout


def train_over_links(folder, corpus, rate):
    """Check links of 2 ps and 2 workers, then train; return the printed figures, and links."""
    workers = ["worker0", "worker1"]
    folder.mkdir()
    path = folder / "links.json"
    with SlowHosts("chief", *PS, *workers, rate=rate, latency=2e-4) as hosts:
        cluster = HostCluster(hosts, PS, workers, folder)
        process = start_check(cluster, "--seconds", 180, "-o", path, command=CHECK)
        out, error = process.communicate(timeout=400)
        assert process.returncode == 0, out + error
        options = {"corpus_file": str(corpus), "sg": 1, "epochs": 2, "workers": 1}
        return cluster.train(TRAIN, json.dumps(options)).hear(900), read_links(path)


@pytest.mark.slow
def test_speed_over_checked_links_is_predicted(tmp_path):
    if reason := why_not():
        pytest.skip(reason)
    ids = np.random.default_rng(1).zipf(1.2, 2_000_000) % 50_000
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"w{word}{' ' if n % 20 else chr(10)}" for n, word in enumerate(ids)))
    alone, _ = train_over_links(tmp_path / "alone", corpus, rate=1e10)
    found, links = train_over_links(tmp_path / "limited", corpus, rate=20 * MBIT)
    words = alone["words_per_job"]
    size = words * alone["kept"] * (alone["fetched"] + alone["pushed"])
    computing = 2 * words / alone["words_per_second"]
    speeds = [
        words / (computing + sum(transfer_seconds(size, link)))
        for link in ClusterLinks.from_measurements(links).worker_links
    ]
    print(f"predicted {sum(speeds):.0f}, found {found['words_per_second']:.0f} words/s")
    assert sum(speeds) < 0.7 * alone["words_per_second"]
    assert sum(speeds) == pytest.approx(found["words_per_second"], rel=0.3)


CLUSTER = Cluster(ps=("a:1", "b:1"), worker=("c:1", "d:1"), chief="e:1")


def make_links(**figures):
    """Return fast links; figures replace those of links by name, such as ``worker0_ps1``."""
    links = []
    for source, target in task_pairs(CLUSTER):
        name = f"{source.role}{source.index}_{target.role}{target.index}"
        links.append(TaskLink(source, target, *figures.get(name, (1e8, 1e8, 2e-4))))
    return links


def test_pairs_are_those_that_exchange_data_in_a_training():
    assert [str(link) for link in make_links()] == [
        *(f"coordinator - {task}" for task in ("ps 0", "ps 1", "worker 0", "worker 1")),
        *(f"worker {worker} - ps {ps}" for worker in (0, 1) for ps in (0, 1)),
    ]


def test_remarks_compare_with_the_median():
    links = make_links(worker0_ps1=(5e6, 1e8, 2e-4), worker1_ps0=(1e8, 1e8, 2e-2))
    remarks = {
        str(link): remark
        for link, remark in zip(links, describe_slow_links(links), strict=True)
        if remark
    }
    assert remarks == {
        "worker 0 - ps 1": "slow: 20 times less than the median",
        "worker 1 - ps 0": "far: 100 times the median round trip",
    }
    assert str(worst_link(links)) == "worker 0 - ps 1"


def test_short_round_trips_are_no_remark():
    assert not any(describe_slow_links(make_links(worker1_ps0=(1e8, 1e8, 1.9e-3))))


def test_blocked_links_have_a_remark_and_are_not_the_slowest():
    blocked = TaskLink(Task("worker", 0, "c:1"), Task("ps", 0, "a:1"), problem="no way")
    links = [blocked, *make_links()[5:]]
    assert describe_slow_links(links) == ["blocked: no way", "", "", ""]
    assert worst_link(links) is not blocked
    assert worst_link([blocked]) is None


def test_written_links_are_read_again(tmp_path):
    links = make_links(worker0_ps1=(5.5e6, 1e8, 2.5e-3))
    links.append(links[-1]._replace(problem="blocked", sent_rate=math.nan))
    write_links(tmp_path / "links.json", links)
    restored = read_links(tmp_path / "links.json")
    assert restored[:-1] == links[:-1]
    assert restored[-1].problem == "blocked" and math.isnan(restored[-1].sent_rate)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"from": "worker zero"}, "'worker zero' is no task"),
        ({"mbit_per_second": None}, "mbit_per_second is None"),
        ({"mbit_per_second": -5}, "mbit_per_second is -5"),
        ({"round_trip_ms": "1"}, "round_trip_ms is '1'"),
        ({"to": 7}, "expected string"),
    ],
)
def test_wrong_figures_are_refused(tmp_path, change, reason):
    path = tmp_path / "links.json"
    write_links(path, make_links())
    document = json.loads(path.read_text())
    document["links"][0] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(LinksFileError, match=f"links.json: is not a file of links .*{reason}"):
        read_links(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"links": 3}', '{"links": [{}]}', "\xff"])
def test_file_without_links_is_refused(tmp_path, text):
    path = tmp_path / "links.json"
    path.write_text(text, "latin-1")
    with pytest.raises(LinksFileError, match="is not a file of links"):
        read_links(path)
