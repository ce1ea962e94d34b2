"""Walks that the workers of clusters draw themselves."""

import json
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.walks.random_walks import RandomWalks
from tests.cluster.test_deterministic import assert_same, ended_in_the_second_epoch
from tests.cluster.test_faults import Killer
from tests.cluster.test_training import servers
from tests.walks.test_random_walks import ring_of_cliques

pytestmark = pytest.mark.usefixtures("shared_forks")


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


@pytest.fixture
def walks(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{a} {b}\n" for a, b in ring_of_cliques()))
    return RandomWalks(path, 40, 40, p=0.5, q=2)


def trained(walks, cluster, **options):
    options = dict(vector_size=16, window=5, epochs=3, sg=1, workers=1, seed=3, sample=0) | options
    return TFWord2Vec(walks, cluster=cluster, compute_loss=True, **options)


def test_workers_draw_the_walks_of_an_epoch_once(walks):
    local, on_cluster = trained(walks, None), trained(walks, "local:ps=1,worker=2")
    np.testing.assert_allclose(on_cluster.mean_losses, local.mean_losses, rtol=0.05)
    traffic = on_cluster.traffic
    assert traffic.corpus_bytes == 0  # neither walks nor ids are sent
    assert traffic.tokens == 3 * 40 * len(walks)
    for clique in range(8):
        nearest = [name for name, _ in on_cluster.wv.most_similar(str(6 * clique + 2), topn=4)]
        assert {int(name) // 6 for name in nearest} == {clique}


def typed_walks():
    """Return walks along a metapath, and walks that contain relations, by the kind of walk."""
    sources, targets = np.array(ring_of_cliques(name=int)).T
    edges = pd.DataFrame({"source": sources, "target": targets})
    edges["relation"] = np.where(sources % 2, "left", "right")
    node_types = [node % 2 for node in range(48)]
    return {
        "metapath": RandomWalks(edges, 10, 20, node_types=node_types, metapath=[0, 1, 1, 0]),
        "relations": RandomWalks(edges, 10, 20, relation="relation"),
    }


@pytest.mark.parametrize("kind", ["metapath", "relations"])
def test_typed_walks_have_the_same_bits_on_any_cluster(kind):
    options = {"deterministic": True, "epochs": 2}
    one = trained(typed_walks()[kind], "local:ps=1,worker=1", **options)
    two = trained(typed_walks()[kind], "local:ps=1,worker=2", **options)
    assert two.traffic.corpus_bytes == 0
    assert_same(one, two)


def test_deterministic_result_does_not_depend_on_tasks_or_kills(walks, tmp_path, monkeypatch):
    options = dict(deterministic=True, checkpoint_minutes=1e-6)
    whole = trained(walks, "local:ps=1,worker=1", **options)
    options["checkpoint_dir"] = tmp_path / "checkpoints"
    killer = Killer(monkeypatch, ("worker", 1))
    with ended_in_the_second_epoch(monkeypatch):
        trained(walks, "local:ps=2,worker=2", callbacks=[killer], **options)
    assert len(killer.killed) == 1
    assert_same(whole, trained(walks, "local:ps=1,worker=3", **options))
    assert not servers()


@pytest.mark.slow  # kills of a worker, and an end in the middle of an epoch, are tested above
def test_killed_ps_resumes_with_the_same_walks(walks, tmp_path, monkeypatch):
    killer = Killer(monkeypatch, ("ps", 0))
    model = trained(
        walks,
        "local:ps=1,worker=2",
        callbacks=[killer],
        checkpoint_dir=tmp_path / "checkpoints",
        checkpoint_minutes=1e-6,
    )
    assert len(killer.killed) == 1
    local = trained(walks, None)
    np.testing.assert_allclose(model.mean_losses, local.mean_losses, rtol=0.05)
    traffic = model.traffic
    assert traffic.corpus_bytes == 0


def is_allowed():
    """Return whether this process may mount folders in a namespace of its own."""
    command = [*NAMESPACE, "sh", "-c", "mount -t tmpfs none /mnt"]
    return shutil.which("unshare") and not subprocess.run(command, capture_output=True).returncode


#: Command that runs another one in a mount namespace.
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


@pytest.mark.skipif(not is_allowed(), reason="mounting in a namespace is not permitted")
def test_workers_that_cannot_read_the_folder_are_sent_the_graph_once(walks, tmp_path):
    hidden = tmp_path / "hidden"  # the tasks see an empty folder in its place
    hidden.mkdir()
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    hosts = tmp_path / "hosts.json"
    hosts.write_text(json.dumps({"ps": addresses[:1], "worker": addresses[1:]}))
    tasks = []
    for role in ("ps", "worker"):
        task = shlex.join(
            [sys.executable, "-m", "gensim_tfw2v", "task", "--hosts", str(hosts), "--role", role]
        )
        mount = f"mount -t tmpfs none {shlex.quote(str(hidden))} && exec {task}"
        tasks.append(subprocess.Popen([*NAMESPACE, "sh", "-c", mount]))
    try:
        options = {"encoded_dir": hidden, "epochs": 2, "deterministic": True}
        cluster = Cluster(addresses[:1], addresses[1:])
        model = trained(walks, cluster, **options)
        assert model.traffic.corpus_bytes == 0
        assert_same(model, trained(walks, "local:ps=1,worker=1", **options))
    finally:
        for task in tasks:
            task.kill()
            task.wait()
