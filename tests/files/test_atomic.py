"""A model is saved completely, or the older file stays."""

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


def test_separate_arrays_are_moved_with_the_model(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    path = tmp_path / "model"
    written = save_atomically(path, lambda name: vectors.save(name, sep_limit=0))
    assert written[-1] == path
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert len(written) > 1
    np.testing.assert_array_equal(KeyedVectors.load(str(path)).vectors, np.eye(2))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_failed_write_leaves_only_the_old_file(tmp_path, error):
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


@pytest.mark.parametrize("apart", [[], ["syn1neg"]], ids=["one file", "separate arrays"])
def test_full_disk_leaves_the_older_model(tmp_path, model, older, apart):
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
def test_logs_and_lifecycle_events_name_the_target_file(tmp_path, model, caplog, suffix):
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
        found.save(str(path), sep_limit=100)  # over the files that it maps
        np.testing.assert_array_equal(TFWord2Vec.load(str(path)).syn1neg, model.syn1neg)


def test_final_name_during_a_save_is_the_path_of_the_caller(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder / "target")
    names = []

    def write(name):
        Path(name).touch()
        names.extend([name, name.final])

    save_atomically(link, write)
    assert names[1] == str(link) != names[0]


@pytest.fixture
def null(tmp_path):
    """A null device in a temporary folder, so that the machine's own is not at risk."""
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"")
    except OSError:
        pytest.skip("no permission to create devices")
    return path


def test_saving_to_a_device_keeps_the_device(null, older):
    save_atomically(null, older.save)
    older.save(str(null), separately=["syn1neg"])
    assert null.is_char_device()
    assert list(null.parent.iterdir()) == [null]


def test_full_device_error_names_it(null, older):
    null.unlink()
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    with pytest.raises(OSError, match=f"No space.*{null}"):
        save_atomically(null, older.save)
    assert null.is_char_device()


def test_named_pipe_receives_the_model(tmp_path, older):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    assert save_atomically(path, older.save) == [path]
    reader.join(120)
    assert path.is_fifo()
    np.testing.assert_array_equal(pickle.loads(read[0]).syn1neg, older.syn1neg)


@pytest.mark.parametrize("is_dangling", [False, True])
def test_saving_through_a_symlink_replaces_its_target(tmp_path, older, is_dangling):
    """Separate arrays are written next to the link, because the model is loaded by its name."""
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


def test_failed_write_leaves_the_symlink_target(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)

    def write(name):
        Path(name).write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save_atomically(link, write)
    assert target.read_text() == "old" and link.is_symlink()


def test_file_in_a_read_only_folder_is_overwritten_in_place(tmp_path, older):
    folder = tmp_path / "folder"
    path = folder / "model"
    folder.mkdir()
    path.touch()
    try:  # root ignores the folder's mode
        subprocess.run(["chattr", "+i", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        if not os.geteuid():
            pytest.skip("root can write to every folder here")
        folder.chmod(0o500)
    try:
        older.save(str(path), separately=["syn1neg"])
    finally:
        subprocess.run(["chattr", "-i", folder], check=False, capture_output=True)
        folder.chmod(0o700)
    assert list(folder.iterdir()) == [path]
    np.testing.assert_array_equal(TFWord2Vec.load(str(path)).syn1neg, older.syn1neg)


def test_handles_uris_and_relative_paths_save_as_in_gensim(tmp_path, older, monkeypatch):
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


def test_array_that_links_to_a_different_disk_is_replaced_there(tmp_path, older):
    with small_disk(tmp_path / "disk", "512k") as disk:
        target = disk / "array"
        target.write_text("old")
        link = tmp_path / "model.syn1neg.npy"
        link.symlink_to(target)
        save_atomically(tmp_path / "model", lambda name: older.save(name, separately=["syn1neg"]))
        assert link.readlink() == target and list(disk.iterdir()) == [target]
        found = TFWord2Vec.load(str(tmp_path / "model"))
        np.testing.assert_array_equal(found.syn1neg, older.syn1neg)
