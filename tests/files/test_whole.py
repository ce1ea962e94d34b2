"""A saved model is whole, or the older one stays."""

import io
import logging
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.files.whole import save_whole
from tests.disks import fill, small_disk


def test_files_beside_the_model_come_along(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    path = tmp_path / "model"
    written = save_whole(path, lambda name: vectors.save(name, sep_limit=0))
    assert written[-1] == path
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert len(written) > 1
    np.testing.assert_array_equal(KeyedVectors.load(str(path)).vectors, np.eye(2))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "model"
    path.write_text("old")

    def write(name):
        Path(name).write_text("half")
        raise error

    with pytest.raises(type(error)):
        save_whole(path, write)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


@pytest.fixture(scope="module")
def model():
    return TFWord2Vec(common_texts, vector_size=3000, min_count=1, workers=1)


@pytest.fixture(scope="module")
def older():
    return TFWord2Vec(common_texts, vector_size=5, min_count=1, workers=1)


@pytest.mark.parametrize("apart", [[], ["syn1neg"]], ids=["one file", "arrays apart"])
def test_a_full_disk_leaves_the_older_model(tmp_path, model, older, apart):
    with small_disk(tmp_path / "disk", "512k") as disk:
        path = disk / "model"
        older.save(str(path), separately=apart)
        before = sorted(disk.iterdir())
        filling = fill(disk, 200_000)
        with pytest.raises(OSError):
            model.save(str(path), separately=apart)
        filling.unlink()
        assert sorted(disk.iterdir()) == before
        found = TFWord2Vec.load(str(path))
    np.testing.assert_array_equal(found.wv.vectors, older.wv.vectors)
    np.testing.assert_array_equal(found.syn1neg, older.syn1neg)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_logs_and_events_name_the_file(tmp_path, model, caplog, suffix):
    path = tmp_path / f"model{suffix}"
    with caplog.at_level(logging.INFO, logger="gensim"):
        model.save(str(path), sep_limit=100)
    kind = "npz" if suffix else "npy"
    for said in (
        f"storing np array 'syn1neg' to {path}.syn1neg.{kind}",
        f"storing np array 'vectors' to {path}.wv.vectors.{kind}",
        f"saved {path}",
    ):
        assert said in caplog.messages
    assert ".tfw2v-" not in caplog.text
    names = {file.name for file in tmp_path.iterdir()}
    assert {path.name, f"{path.name}.syn1neg.{kind}", f"{path.name}.wv.vectors.{kind}"} <= names
    assert not any(name.startswith(".") for name in names)
    found = TFWord2Vec.load(str(path), **({} if suffix else {"mmap": "r"}))
    np.testing.assert_array_equal(found.syn1neg, model.syn1neg)
    assert [event["fname_or_handle"] for event in found.lifecycle_events if "sav" in event["event"]]
    assert found.lifecycle_events[-2]["fname_or_handle"] == str(path)
    if not suffix:
        found.save(str(path), sep_limit=100)  # over the very files that it has mapped
        np.testing.assert_array_equal(TFWord2Vec.load(str(path)).syn1neg, model.syn1neg)


def test_other_places_are_gensims(tmp_path, older, monkeypatch):
    handle = io.BytesIO()
    older.save(handle)
    np.testing.assert_array_equal(pickle.loads(handle.getvalue()).syn1neg, older.syn1neg)
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("")
    link.symlink_to(target)
    older.save(str(link))
    assert link.is_symlink() and target.stat().st_size
    older.save(target.as_uri())
    assert TFWord2Vec.load(target.as_uri()).vector_size == 5
    monkeypatch.chdir(tmp_path)
    older.save("here")
    os.chmod("here", 0o640)
    older.save(Path("here"))
    assert os.stat("here").st_mode & 0o777 == 0o640
    assert TFWord2Vec.load("here").vector_size == 5
    with pytest.raises(FileNotFoundError, match="missing/model"):
        older.save("missing/model")
