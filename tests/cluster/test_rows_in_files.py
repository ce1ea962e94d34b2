"""Models whose rows only the ps tasks hold equal models in memory, also after losses."""

import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v import TFDoc2Vec, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster import local_cluster
from gensim_tfw2v.files.array_file import ArrayFile
from gensim_tfw2v.files.row_file import file_of
from gensim_tfw2v.ops.arrays import map_array
from gensim_tfw2v.training import checkpoints

N_WORDS = 3000
SENTENCES = (N_WORDS * np.random.default_rng(0).random((12000, 20)) ** 2).astype(np.int64)
OPTIONS = {"vector_size": 12, "min_count": 1, "workers": 1, "window": 3, "epochs": 2, "seed": 3}


def patch_units(patch):
    """Let training have several work units."""
    patch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
    patch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


@pytest.fixture(scope="module", autouse=True)
def short_units():
    with pytest.MonkeyPatch.context() as patch:
        patch_units(patch)
        yield


def train(n_ps=2, class_=TFWord2Vec, corpus=SENTENCES, **options):
    return class_(corpus, cluster=f"local:ps={n_ps},worker=1", **OPTIONS | options)


def assert_equal(model, expected):
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)
    assert model.mean_losses == pytest.approx(expected.mean_losses, abs=1e-6)
    for name in ("syn1neg", "syn1"):
        assert hasattr(model, name) == hasattr(expected, name)
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))


@pytest.fixture(scope="module")
def in_memory(short_units):
    return train(sg=1, compute_loss=True)


def test_rows_in_files_equal_rows_in_memory_and_are_read_only(in_memory, tmp_path):
    model = train(3, tables_dir=tmp_path / "tables", sg=1, compute_loss=True)
    assert_equal(model, in_memory)
    assert file_of(model.wv.vectors) == tmp_path / "tables" / "vectors.npy"
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == ["syn1neg.npy", "vectors.npy"]
    with pytest.raises(ValueError, match="read-only"):
        model.wv.vectors[0] = 0


@pytest.mark.slow
def test_rows_in_files_equal_rows_in_memory_with_both_output_layers(tmp_path):
    options = {"sg": 0, "hs": 1, "negative": 2, "epochs": 1}
    assert_equal(train(tables_dir=tmp_path / "tables", **options), train(**options))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"dm": 0}, {"dm": 1}])
def test_rows_of_documents_in_files_equal_rows_in_memory(options, tmp_path):
    corpus = [TaggedDocument(list(map(str, row)), [n]) for n, row in enumerate(SENTENCES[:300])]
    options = {"class_": TFDoc2Vec, "corpus": corpus, "epochs": 1, **options}
    model, expected = train(tables_dir=tmp_path / "tables", **options), train(**options)
    assert_equal(model, expected)
    np.testing.assert_array_equal(model.dv.vectors, expected.dv.vectors)


@pytest.mark.slow
def test_large_model_is_kept_in_temporary_files(in_memory, tmp_path, monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.files.mapped.MEMORY_SHARE", 0)
    model = train(sg=1, compute_loss=True, encoded_dir=tmp_path)
    assert_equal(model, in_memory)
    assert file_of(model.wv.vectors).parent.parent == tmp_path
    del model
    gc.collect()
    assert not list(tmp_path.glob("*tables*"))


def test_rows_that_differ_from_the_initial_ones_are_sent(tmp_path):
    models = []
    for options in {}, {"tables_dir": tmp_path / "tables"}:
        model = TFWord2Vec(cluster="local:ps=2,worker=1", **OPTIONS | options)
        model.build_vocab(SENTENCES)
        model.wv.vectors[[0, 7, 2999]] = 0.25
        model.syn1neg[5] = 0.5
        corpus = SENTENCES[:4000]
        model.train(corpus, total_examples=len(corpus), epochs=1)
        models.append(model)
    assert_equal(models[1], models[0])


class KillAfterCheckpoint:
    """Kills a process after the first checkpoint that the ps tasks have written."""

    def __init__(self, monkeypatch, role, index=0):
        self.n_written = 0
        start = local_cluster.LocalCluster.__enter__
        save = checkpoints.Checkpoints.save_shards

        def note(cluster):
            self.cluster = start(cluster)
            return self.cluster

        def save_and_kill(*arguments):
            shards = save(*arguments)
            assert shards
            self.n_written += 1
            if self.n_written == 1:
                pid = os.getpid()
                if role != "program":
                    pid = self.cluster.pid(self.cluster.cluster.task(role, index))
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.2)
            return shards

        monkeypatch.setattr(local_cluster.LocalCluster, "__enter__", note)
        monkeypatch.setattr(checkpoints.Checkpoints, "save_shards", save_and_kill)


def often(tmp_path, **options):
    """Options with which ps tasks write a checkpoint after each job."""
    folders = {"tables_dir": tmp_path / "tables", "checkpoint_dir": tmp_path / "checkpoints"}
    return {"sg": 1, "compute_loss": True, "checkpoint_minutes": 1e-6, **folders, **options}


def test_lost_ps_is_restored_from_the_files_that_ps_tasks_have_written(
    in_memory, tmp_path, monkeypatch
):
    killer = KillAfterCheckpoint(monkeypatch, "ps", 1)
    model = train(**often(tmp_path))
    assert killer.n_written > 1
    assert_equal(model, in_memory)


KILLED_PROGRAM = """
import sys
from pathlib import Path
import pytest
from tests.cluster import test_rows_in_files as tests

with pytest.MonkeyPatch.context() as patch:
    tests.patch_units(patch)
    tests.KillAfterCheckpoint(patch, "program")
    tests.train(**tests.often(Path(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def killed_folder(short_units, tmp_path_factory):
    """Folder of a training run that was killed after a checkpoint that 2 ps tasks had written."""
    folder = tmp_path_factory.mktemp("killed")
    program = [sys.executable, "-c", KILLED_PROGRAM, folder]
    assert subprocess.run(program, timeout=300).returncode == -signal.SIGKILL
    *_, last = sorted((folder / "checkpoints").glob("checkpoint-*"))
    assert (last / "inputs-00001-of-00002.safetensors").exists()
    return folder


@pytest.mark.parametrize("n_ps", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_killed_program_resumes_from_the_files_that_ps_tasks_have_written(
    n_ps, in_memory, killed_folder, tmp_path
):
    shutil.copytree(killed_folder, tmp_path, dirs_exist_ok=True)
    assert_equal(train(n_ps, **often(tmp_path, checkpoint_minutes=60)), in_memory)
    assert not list((tmp_path / "tables").glob("*.new"))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("changed", marks=pytest.mark.slow),
        pytest.param("truncated", marks=pytest.mark.slow),
        pytest.param("missing", marks=pytest.mark.slow),
    ],
)
def test_damaged_file_of_a_ps_task_makes_training_resume_from_an_earlier_checkpoint(
    damage, in_memory, killed_folder, tmp_path
):
    shutil.copytree(killed_folder, tmp_path, dirs_exist_ok=True)
    *_, last = sorted((tmp_path / "checkpoints").glob("checkpoint-*"))
    path = last / "outputs-00002-of-00002.safetensors"
    content = path.read_bytes()
    path.unlink()
    if damage == "changed":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "truncated":
        path.write_bytes(content[:-8])
    assert_equal(train(**often(tmp_path, checkpoint_minutes=60)), in_memory)
    assert not list((tmp_path / "checkpoints").glob("*.damaged"))  # removed at the end


@pytest.mark.slow
def test_callback_sees_the_rows_of_each_epoch_and_may_replace_them(in_memory, tmp_path):
    models = []
    for options in {}, {"tables_dir": tmp_path / "tables"}:
        callback = Replacing()
        model = train(sg=1, callbacks=[callback], compute_loss=True, **options)
        models.append((model, callback.rows))
    assert_equal(models[1][0], models[0][0])
    np.testing.assert_array_equal(models[1][1], models[0][1])
    assert not np.array_equal(models[0][0].wv.vectors, in_memory.wv.vectors)


class Replacing(CallbackAny2Vec):
    """Replaces the rows of inputs after the first epoch by others."""

    rows = None

    def on_epoch_end(self, model):
        if self.rows is None:
            self.rows = np.array(model.wv.vectors)
            model.wv.vectors = self.rows[::-1].copy()


def test_arrays_are_mapped_from_files_by_an_op(tmp_path):
    for index, array in enumerate(
        (np.arange(6, dtype=np.int32).reshape(3, 2), np.zeros((0, 2), np.int32), np.ones(3, "f4"))
    ):
        file = ArrayFile.save(tmp_path / f"{index}", array)
        assert pickle.loads(pickle.dumps(file)) == file
        np.testing.assert_array_equal(file.read(), array)
        mapped = map_array(file).numpy()
        assert mapped.dtype == array.dtype
        np.testing.assert_array_equal(mapped, array)
    with pytest.raises(tf.errors.InvalidArgumentError, match="can't read"):
        map_array(ArrayFile(tmp_path / "missing", "float32", (2,)))


@pytest.mark.slow
def test_arrays_of_a_cluster_are_replaced_not_changed_by_further_training(tmp_path):
    model = train(tables_dir=tmp_path / "tables", epochs=1)
    vectors = model.wv.vectors
    before = np.array(vectors)
    model.cluster = None
    model.train(SENTENCES[:100], total_examples=100, epochs=1)
    np.testing.assert_array_equal(vectors, before)
    assert not np.array_equal(model.wv.vectors, before)
    assert file_of(model.wv.vectors) == tmp_path / "tables" / "vectors.npy"


@pytest.mark.slow
def test_files_of_a_saved_model_are_read_but_not_changed(tmp_path):
    train(epochs=1).save(str(tmp_path / "saved.model"), sep_limit=1000)
    contents = {path: path.read_bytes() for path in tmp_path.glob("saved*.npy")}
    assert len(contents) >= 2
    os.chmod(next(iter(contents)), 0o444)
    models = []
    for options in {}, {"mmap": "r"}:
        model = TFWord2Vec.load(str(tmp_path / "saved.model"), **options)
        model.cluster = "local:ps=2,worker=1"
        if options:
            model.tables_dir = str(tmp_path / "tables")
        model.train(SENTENCES[:2000], total_examples=2000, epochs=1)
        models.append(model)
    assert_equal(models[1], models[0])
    assert file_of(models[1].wv.vectors) == tmp_path / "tables" / "vectors.npy"
    assert contents == {path: path.read_bytes() for path in tmp_path.glob("saved*.npy")}
