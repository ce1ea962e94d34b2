"""A saved model is whole, or the older one stays."""

import io
import logging
import os
import pickle
import stat
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.files.atomic import save_atomically
from tests.disks import fill, small_disk


def test_files_beside_the_model_come_along(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    path = tmp_path / "model"
    written = save_atomically(path, lambda name: vectors.save(name, sep_limit=0))
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
        save_atomically(path, write)
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


@pytest.fixture
def null(tmp_path):
    """A null device of one's own: the machine's is not to be put at risk."""
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"")
    except OSError:
        pytest.skip("no devices can be made here")
    return path


def test_a_device_stays_one(null, older):
    save_atomically(null, older.save)
    older.save(str(null), separately=["syn1neg"])
    assert null.is_char_device()
    assert list(null.parent.iterdir()) == [null]


def test_a_full_device_is_named(null, older):
    null.unlink()
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    with pytest.raises(OSError, match=f"No space.*{null}"):
        save_atomically(null, older.save)
    assert null.is_char_device()


def test_a_pipe_is_written_to(tmp_path, older):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    assert save_atomically(path, older.save) == [path]
    reader.join(120)
    assert path.is_fifo()
    np.testing.assert_array_equal(pickle.loads(read[0]).syn1neg, older.syn1neg)


@pytest.mark.parametrize("is_dangling", [False, True])
def test_what_a_link_names_is_replaced(tmp_path, older, is_dangling):
    """At once; and arrays are beside the link, by whose name the model is loaded."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    link, target = here / "link", there / "target"
    link.symlink_to(Path("../there/target"))
    if not is_dangling:
        target.write_text("old")
        target.chmod(0o640)
        keeping = target.open()
    written = save_atomically(link, lambda name: older.save(name, separately=["syn1neg"]))
    assert written == [here / "link.syn1neg.npy", link]
    assert link.is_symlink() and sorted(here.iterdir()) == sorted(written)
    assert list(there.iterdir()) == [target]
    np.testing.assert_array_equal(TFWord2Vec.load(str(link)).syn1neg, older.syn1neg)
    if not is_dangling:
        with keeping:
            assert keeping.read() == "old"
        assert target.stat().st_mode & 0o777 == 0o640


def test_failure_leaves_what_a_link_names(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)

    def write(name):
        Path(name).write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save_atomically(link, write)
    assert target.read_text() == "old" and link.is_symlink()


def test_a_file_in_a_folder_that_takes_no_others_is_written_to(tmp_path, older):
    folder = tmp_path / "folder"
    path = folder / "model"
    folder.mkdir()
    path.touch()
    try:  # not by its mode, which the superuser does not mind
        subprocess.run(["chattr", "+i", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        if not os.geteuid():
            pytest.skip("the superuser may write everywhere here")
        folder.chmod(0o500)
    try:
        older.save(str(path), separately=["syn1neg"])
    finally:
        subprocess.run(["chattr", "-i", folder], check=False, capture_output=True)
        folder.chmod(0o700)
    assert list(folder.iterdir()) == [path]
    np.testing.assert_array_equal(TFWord2Vec.load(str(path)).syn1neg, older.syn1neg)


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
