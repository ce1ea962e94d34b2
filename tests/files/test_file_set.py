"""A set of files is replaced as one thing, or the old files stay."""

import errno
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from gensim_tfw2v.files import set_replacement, temporary
from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.files.file_set import find_set, load_set
from tests.disks import fill, small_disk

NAMES = ("m", "m.a", "m.b")


def save(path, version, names=NAMES):
    def write(to):
        for name in names:
            Path(to).with_name(name.replace("m", path.name)).write_text(f"{version} {name}")

    save_atomically(path, write)


def load(path):
    """Return the version of a set; it must be the same in all files."""
    find_set(path)
    texts = [path.with_name(path.name + name[1:]).read_text() for name in NAMES]
    (version,) = {text.split()[0] for text in texts}
    return version


def renames_until(number, effect):
    """Return a `Path.rename` that has an effect, instead of renaming, at a call of that number."""
    rename = Path.rename
    calls = 0

    def counted(self, target):
        nonlocal calls
        calls += 1
        if calls == number:
            effect()
        return rename(self, target)

    return counted


def killed_save(path, version="new", number=5):
    """Save a set in a process that is killed at a rename, by default when two files are new."""
    child = os.fork()
    if not child:
        try:
            save_atomically.__globals__["finish_replacements"] = lambda folder: {}
            monkey = renames_until(number + 1, lambda: os.kill(os.getpid(), signal.SIGKILL))
            Path.rename = monkey  # the first rename is that of the lock
            save(path, version)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    temporary._remove_abandoned.cache_clear()


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    save(folder / "m", "old")
    return folder / "m"


def raise_error():
    raise OSError(errno.EIO, "Input/output error")


def raise_interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("effect", [raise_error, raise_interrupt])
@pytest.mark.parametrize("number", range(2, 8))
def test_failed_rename_leaves_the_old_set(path, monkeypatch, number, effect):
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", renames_until(number, effect))
        with pytest.raises((OSError, KeyboardInterrupt)) as error:
            save(path, "new")
    if effect is raise_error:
        assert str(path.parent) in str(error.value) and ".tfw2v" not in str(error.value)
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(NAMES)
    assert load(path) == "old"
    save(path, "new")
    assert load(path) == "new"


def test_full_disk_leaves_the_old_set(tmp_path):
    with small_disk(tmp_path / "disk", "512k") as disk:
        path = disk / "m"
        save(path, "old")
        fill(disk).rename(disk / "full")
        with pytest.raises(OSError, match="No space"):
            save(path, "new" * 9999)
        assert load(path) == "old"
        assert sorted(file.name for file in disk.iterdir()) == sorted([*NAMES, "full"])


def test_failed_return_of_old_files_is_finished_by_the_next_load(path, monkeypatch):
    """After the first error, no file can be renamed any more; all versions are complete."""
    rename = Path.rename
    calls = 0

    def broken(self, target):
        nonlocal calls
        calls += 1
        if calls > 4:
            raise_error()
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", broken)
        with pytest.raises(OSError, match="Input/output"):
            save(path, "new")
        assert not path.exists()
    assert load(path) == "new"
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6])
def test_interrupted_save_is_finished_by_the_next_load(path, number, caplog):
    killed_save(path, number=number)
    assert not path.exists()
    assert load(path) == "new"
    assert f"{path}: finished a save that was interrupted" in caplog.text
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(NAMES)


def test_interrupted_first_save_is_finished(tmp_path):
    killed_save(tmp_path / "m", number=2)
    assert not (tmp_path / "m").exists()
    assert load(tmp_path / "m") == "new"


def test_interrupted_save_is_finished_by_a_save_of_another_set(path):
    killed_save(path)
    save(path.with_name("other"), "third")
    assert path.exists() and load(path) == "new" and load(path.with_name("other")) == "third"


def test_interrupted_finishing_is_finished_again(path):
    killed_save(path, number=2)
    for number in (1, 2, 3):
        child = os.fork()
        if not child:
            Path.rename = renames_until(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
            try:
                find_set(path)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert load(path) == "new"


def test_interrupted_save_is_finished_in_a_renamed_folder(path):
    killed_save(path)
    moved = path.parent.rename(path.parent.with_name("moved")) / path.name
    assert load(moved) == "new"


def test_restored_backup_is_not_replaced_by_an_interrupted_save(path, tmp_path):
    backup = shutil.copytree(path.parent, tmp_path / "backup")
    killed_save(path)
    for file in backup.iterdir():
        shutil.copy(file, path.parent)
    assert load(path) == "old"
    save(path.with_name("other"), "third")
    assert load(path) == "old"
    assert not [file for file in path.parent.iterdir() if file.name.startswith(".")]


def test_save_whose_new_files_were_removed_is_not_finished(path):
    killed_save(path, number=5)
    path.with_name("m.a").unlink(missing_ok=True)
    path.with_name("m.b").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        load(path)
    save(path, "third")
    assert load(path) == "third"


@pytest.mark.parametrize("reason", ["no locks", "read-only"])
def test_save_that_cannot_be_finished_is_explained(path, monkeypatch, reason):
    killed_save(path)
    monkeypatch.setattr(set_replacement, "MAX_WAIT", 0.05)
    if reason == "no locks":
        monkeypatch.setattr(set_replacement, "try_lock", lambda file: None)
    else:
        monkeypatch.setattr(Path, "rename", lambda self, target: raise_error())
    with pytest.raises(
        FileNotFoundError, match="interrupted.*write access.*move the files"
    ) as error:
        load(path)
    assert error.value.filename == str(path)
    folder = next(path.parent.glob(".tfw2v-*/new"))
    assert str(folder) in str(error.value)
    for file in folder.iterdir():
        shutil.move(file, path.parent)
    assert load(path) == "new"


def test_interrupted_save_of_another_user_is_not_finished(path, monkeypatch):
    """In a shared folder, anybody could write such a list of files."""
    if os.geteuid():
        pytest.skip("only root can give away files")
    killed_save(path)
    monkeypatch.setattr(set_replacement, "MAX_WAIT", 0.05)
    hidden = next(path.parent.glob(".tfw2v-*"))
    os.chown(hidden, 12345, 12345)
    with pytest.raises(FileNotFoundError, match="interrupted"):
        load(path)
    os.chown(hidden, 0, 0)
    assert load(path) == "new"


def test_failed_finishing_is_finished_by_the_next_load(path, monkeypatch):
    killed_save(path, number=5)
    monkeypatch.setattr(set_replacement, "MAX_WAIT", 0.0)
    for number in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", renames_until(number, raise_error))
            save(path.with_name("other"), "third")
        assert not path.exists()
    assert load(path) == "new"


def test_load_waits_for_a_running_save(path, monkeypatch):
    """The set is missing for half a second."""
    rename = Path.rename

    def slow(self, target):
        if self.name == "m" and self.parent.name == "new":
            assert not path.exists()
            loader.start()
            time.sleep(0.5)
        return rename(self, target)

    loaded = []
    loader = threading.Thread(target=lambda: loaded.append(load(path)))
    monkeypatch.setattr(Path, "rename", slow)
    save(path, "new")
    loader.join(60)
    assert loaded == ["new"]


def test_set_that_was_replaced_during_a_failed_load_is_loaded_again(path):
    calls = []

    def load_once():
        calls.append(path.read_text())
        if len(calls) == 1:
            save(path, "new")
            raise ValueError("a mixture")
        return calls[-1]

    assert load_set(path, load_once) == "new m"
    with pytest.raises(ZeroDivisionError):
        load_set(path, lambda: 1 // 0)
    assert calls == ["old m", "new m"]


def test_folder_in_the_place_of_a_file_is_kept(path):
    path.with_name("m.b").unlink()
    inside = path.with_name("m.b") / "kept"
    inside.parent.mkdir()
    inside.touch()
    with pytest.raises(IsADirectoryError, match="m.b"):
        save(path, "new")
    assert inside.exists() and path.read_text() == "old m"


@pytest.mark.parametrize("number", range(2, 8))
def test_interrupted_save_through_a_link_is_finished(tmp_path, number):
    """The other files are next to the link, the main file is elsewhere."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    link = tmp_path / "here" / "m"
    link.symlink_to(tmp_path / "there" / "target")
    save(link, "old")
    killed_save(link, number=number + 2)  # the locks of two more folders
    assert load(link) == "new" if number < 7 else "old"
    assert link.is_symlink()
    save(link, "third")
    assert load(link) == "third"
    assert [file.name for file in (tmp_path / "there").iterdir()] == ["target"]
    assert sorted(file.name for file in link.parent.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EBUSY])
@pytest.mark.parametrize("names", [NAMES, NAMES[:1]], ids=["set", "one file"])
def test_files_that_cannot_be_moved_are_overwritten(path, monkeypatch, names, code):
    """A file that is mounted alone cannot be renamed, or replaced by a renamed file."""
    methods = {name: getattr(Path, name) for name in ("rename", "replace")}

    def of_unmounted(method):
        def move(self, target):
            if path in (self, Path(target)):
                raise OSError(code, os.strerror(code), str(path))
            return methods[method](self, target)

        return move

    for method in methods:
        monkeypatch.setattr(Path, method, of_unmounted(method))
    inode = path.stat().st_ino
    save(path, "new", names)
    assert path.read_text() == "new m" and path.stat().st_ino == inode
    if names == NAMES:
        assert load(path) == "new"
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(NAMES)
