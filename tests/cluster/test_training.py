"""Training on real ps and worker processes."""

import contextlib
import gc
import os
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cluster import ClusterError, MissingTasks
from gensim_tfw2v.cluster.local_cluster import LocalCluster, free_ports
from gensim_tfw2v.cluster.spec import Cluster
from tests import forks
from tests.engines import train_by_graph

LEE = datapath("lee_background.cor")


@pytest.fixture(autouse=True)
def same_units(monkeypatch):
    """Let local and cluster training use the same short units."""
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


def servers():
    """Return the cluster processes that this process has started."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if child.pid not in forks.shared() and is_of_a(child)]


def is_of_a(child):
    with contextlib.suppress(psutil.NoSuchProcess):  # it has exited meanwhile
        return child.name().startswith("tfw2v") or "gensim_tfw2v" in " ".join(child.cmdline())


def first_servers():
    """Wait for `servers` and return them: a process has no name during its exec."""
    deadline = time.monotonic() + 60
    while not (found := servers()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def trained(cluster, **options):
    options = dict(vector_size=24, epochs=4, workers=1, alpha=0.05, sg=1, seed=3) | options
    return TFWord2Vec(**{"corpus_file": LEE} | options, cluster=cluster, compute_loss=True)


@pytest.mark.usefixtures("shared_forks")
def test_too_many_ps_tasks_for_columns_raise_value_error():
    with pytest.raises(ValueError, match="at most one ps task per column"):
        trained("local:ps=3,worker=1", layout="columns", vector_size=2)


def likeness(one, other):
    """Return the mean cosine of two models' vectors of the 300 most frequent words."""
    a, b = (model.wv.get_normed_vectors()[:300] for model in (one, other))
    return float((a * b).sum(1).mean())


@pytest.mark.usefixtures("shared_forks")
def test_single_worker_trains_as_a_local_process():
    local, on_cluster = trained(None), trained("local:ps=1,worker=1")
    assert likeness(local, on_cluster) > 0.97
    np.testing.assert_allclose(on_cluster.mean_losses, local.mean_losses, rtol=0.01)
    for name in ("train_count", "corpus_count", "corpus_total_words", "min_alpha_yet_reached"):
        assert getattr(local, name) == getattr(on_cluster, name)
    # functions traced before the cluster are not reused after it
    assert likeness(local, trained(None)) > 0.999
    assert not servers()


@pytest.mark.usefixtures("shared_forks")
def test_folder_names_need_not_be_utf8(tmp_path):
    folder = tmp_path / os.fsdecode(b"not utf-8 \xff")
    folder.mkdir()
    model = trained("local:ps=1,worker=1", epochs=1, encoded_dir=folder)
    assert model.wv.vectors.any() and not list(folder.iterdir())


@pytest.mark.parametrize(
    ("tasks", "options"),
    [
        pytest.param("local:ps=2,worker=2", {}, marks=pytest.mark.slow),
        ("local:ps=3,worker=2", {"sg": 0, "hs": 1, "negative": 3}),
    ],
)
@pytest.mark.usefixtures("shared_forks")
def test_several_tasks_train_as_a_local_process(tasks, options):
    local, on_cluster = trained(None, **options), trained(tasks, **options)
    # vectors differ by the random order of the workers; those of a different seed have a likeness
    # of 0
    assert likeness(local, on_cluster) > 0.5
    np.testing.assert_allclose(on_cluster.mean_losses, local.mean_losses, rtol=0.05)
    assert not servers()
    traffic = on_cluster.traffic
    units = traffic.units - traffic.repeated
    assert units >= 10 * on_cluster.epochs and units % on_cluster.epochs == 0
    assert traffic.corpus_bytes == 0  # workers on this machine read the files
    row = on_cluster.vector_size + 4  # bytes: of int8 elements, and of the scale
    rows, left = divmod(traffic.fetched_bytes, row)
    assert rows > 0 == left and traffic.pushed_bytes == rows * (row + 4)
    assert len(traffic.staleness) >= units
    assert (traffic.seconds > 0).all()


@pytest.mark.usefixtures("shared_forks")
def test_columns_train_as_rows_do(monkeypatch, tmp_path):
    """9 s of CPU: functions of both layouts are traced."""
    train_by_graph(monkeypatch)  # the columns use it, and its draws differ from the kernels'
    text = tmp_path / "text"  # a tenth suffices to move the vectors far from their start
    text.write_text("".join(Path(LEE).read_text().splitlines(keepends=True)[:30]))
    options = {"epochs": 1, "vector_size": 9, "corpus_file": str(text)}
    local, columns = (
        trained(None, **options),
        trained("local:ps=2,worker=1", layout="columns", **options),
    )
    assert likeness(local, columns) > 0.97
    np.testing.assert_allclose(columns.mean_losses, local.mean_losses, rtol=0.01)
    traffic = columns.traffic
    assert 0 < traffic.fetched_bytes < traffic.pushed_bytes
    assert (traffic.seconds[:2] > 0).all()
    assert not servers()


def test_running_cluster_is_reused(shared_forks, monkeypatch):
    launcher = shared_forks(isolated=False)
    coordinators = "gensim_tfw2v.cluster.local_cluster.start_module"
    monkeypatch.setattr(coordinators, launcher.start_module)
    with LocalCluster(1, 1, process_launcher=launcher) as running:
        pids = [running.pid(task) for task in running.cluster.tasks()]
        if sys.platform == "linux":  # fields as Slurm reads them: pid, name, state, parent
            stats = [Path(f"/proc/{pid}/stat").read_text().split() for pid in pids]
            assert [stat[1] for stat in stats] == ["(tfw2v-ps-0)", "(tfw2v-worker-0)"]
            assert all(int(stat[3]) for stat in stats)
        model = trained(running.cluster, epochs=2)
        before = model.wv.vectors.copy()
        model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=1)
        assert not np.array_equal(before, model.wv.vectors)
        assert [running.pid(task) for task in running.cluster.tasks()] == pids
        running.check()


@pytest.mark.slow
def test_running_cluster_accepts_a_different_vocabulary(shared_forks):
    other = [["one", "two", "three", "four", "five", "six"] * 20] * 60
    with LocalCluster(1, 1, process_launcher=shared_forks(isolated=False)) as running:
        trained(running.cluster, epochs=1)
        model = TFWord2Vec(
            other, vector_size=8, epochs=3, cluster=running.cluster, workers=1, compute_loss=True
        )
        local = TFWord2Vec(other, vector_size=8, epochs=3, workers=1, compute_loss=True)
    np.testing.assert_allclose(model.mean_losses, local.mean_losses, rtol=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "diagonals", "cluster": "local:ps=1,worker=1"}, "'rows' or 'columns'"),
        ({"layout": "columns"}, "set cluster"),
        (
            {"layout": "columns", "regime": "downpour", "cluster": "local:ps=1,worker=1"},
            "no rows to fetch and push: leave out one of the two",
        ),
    ],
)
def test_invalid_layouts_are_rejected_immediately(options, message):
    with pytest.raises(ValueError, match=message):
        TFWord2Vec(vector_size=5, **options)


@pytest.mark.parametrize("name", ["local", "local:ps=1", "local:ps=0,worker=2", "remote", 3])
def test_invalid_cluster_names_are_rejected_immediately(name):
    with pytest.raises(ClusterError, match=r"local:ps=P,worker=N.*TF_CONFIG"):
        TFWord2Vec(vector_size=5, cluster=name)


def test_missing_tasks_are_named(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.training.regime_of_workers.READY_SECONDS", 1.0)
    ps, worker = (f"127.0.0.1:{port}" for port in free_ports(2))
    with pytest.raises(MissingTasks, match=f"ps 0 .{ps}.*worker 0 .{worker}"):
        trained(Cluster((ps,), (worker,)))


def test_public_addresses_cause_a_warning(monkeypatch, caplog):
    monkeypatch.setattr("gensim_tfw2v.training.regime_of_workers.READY_SECONDS", 0.5)
    # reserved documentation addresses, which never answer, count as private
    names = "ps.example.org:2222", "192.168.77.1:2222", "8.8.8.8:9"
    with pytest.raises(MissingTasks):
        trained(Cluster(names[:1], names[1:]))
    (warning,) = [text for text in caplog.messages if "may be reachable from outside" in text]
    assert "ps.example.org" in warning and "8.8.8.8" in warning and "192.168" not in warning


@pytest.mark.usefixtures("own_forks")
def test_processes_start_while_words_are_counted():
    model = TFWord2Vec(vector_size=8, epochs=1, cluster="local:ps=1,worker=1", workers=1)
    assert not servers()
    model.build_vocab(corpus_file=LEE)
    (server,) = first_servers()
    assert server.name() in ("tfw2v-forks", "python")
    model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=1)
    assert not servers()
    model.build_vocab(corpus_file=LEE, update=True)
    assert len(first_servers()) == 1
    del model
    gc.collect()
    assert not servers()
