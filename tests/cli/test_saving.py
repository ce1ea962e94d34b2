import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.utils import SaveLoad

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import check_can_save, load_vectors, save_model
from tests.cli.conftest import ROOT


def test_check_leaves_no_files(tmp_path):
    check_can_save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_unwritable_paths_are_rejected(tmp_path):
    with pytest.raises(BadInput, match="is a folder"):
        check_can_save(tmp_path)
    with pytest.raises(BadInput, match="no such folder"):
        check_can_save(tmp_path / "missing" / "model")
    with pytest.raises(BadInput, match="cannot be written to"):
        check_can_save(Path("/proc/model"))
    (tmp_path / "link").symlink_to("missing/model")
    with pytest.raises(BadInput, match="missing: no such folder"):
        check_can_save(tmp_path / "link")


@pytest.mark.parametrize("name", ["model", "model.wv.vectors.npy"])
def test_files_of_others_in_a_sticky_folder_are_refused(tmp_path, monkeypatch, name):
    tmp_path.chmod(0o1777)
    (tmp_path / name).touch()
    check_can_save(tmp_path / "model")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(BadInput, match=f"{name}: belongs to another user.*give another file"):
        check_can_save(tmp_path / "model")
    check_can_save(tmp_path / "other")
    tmp_path.chmod(0o777)
    check_can_save(tmp_path / "model")


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_are_written_to_a_pipe(models, tmp_path, binary):
    pipe, path = tmp_path / "pipe", tmp_path / "vectors"
    os.mkfifo(pipe)
    check_can_save(pipe)
    reader = threading.Thread(target=lambda: path.write_bytes(pipe.read_bytes()), daemon=True)
    reader.start()
    saved = list(save_model(Model(models), tmp_path / "model", pipe, binary))
    reader.join(120)
    assert saved == [tmp_path / "model", pipe] and pipe.is_fifo()
    expected = models["binary.bin"]
    if not binary:
        Model(models).wv.save_word2vec_format(str(expected := tmp_path / "text"))
    assert path.read_bytes() == expected.read_bytes()


class Model(SaveLoad):
    """Minimal model: its vectors, and gensim's `save`."""

    def __init__(self, models):
        self.wv = load_vectors(models["vectors.kv"])


@pytest.mark.parametrize("suffix", ["", ".kv"])
def test_saved_file_names_its_path_but_no_temporary_folder(
    tfw2v, models, tmp_path, monkeypatch, suffix
):
    monkeypatch.chdir(tmp_path)
    Word2Vec([["a", "b"] * 9] * 9, vector_size=8, min_count=1).save("first")
    if suffix:
        tfw2v("convert", "first", "out.kv")
        saved = [KeyedVectors.load("out.kv")]
    else:
        tfw2v("merge", "first", "first", "-o", "out")
        tfw2v("align", "first", "out", "-o", "aligned")
        saved = [Word2Vec.load(path) for path in ("out", "aligned/first", "aligned/out")]
    names = [object.lifecycle_events[-2]["fname_or_handle"] for object in saved]
    assert names == (["out.kv"] if suffix else ["out", "aligned/first", "aligned/out"])
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b".tfw2v-" not in path.read_bytes()


@pytest.mark.parametrize("is_file", [False, True])
def test_vectors_are_written_to_standard_output(corpus, tmp_path, is_file):
    """The summary follows the vectors, in a pipe and in a file."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")  # stands for /dev/stdout, which a bug could replace
    command = [sys.executable, "-m", "gensim_tfw2v", "train", corpus, "-o", tmp_path / "model"]
    command += ["--vectors", link, "--epochs", "1", "--vector-size", "4"]
    path = tmp_path / "out"
    with path.open("wb") as file:
        out = file if is_file else subprocess.PIPE
        done = subprocess.run(command, cwd=ROOT, stdout=out, timeout=300, check=True)
    content = path.read_bytes() if is_file else done.stdout
    vectors, _, summary = content.rpartition(b"\nvocabulary")
    path.write_bytes(vectors + b"\n")
    assert KeyedVectors.load_word2vec_format(str(path)).vector_size == 4
    assert summary.splitlines()[-1] == f"saved      {link}".encode()
    assert link.is_symlink()
