"""Temporary folders, and removal of those left by killed programs."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gensim_tfw2v.files import temporary
from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.files.temporary import OWNED, TemporaryFolder

pytestmark = pytest.mark.skipif(temporary.fcntl is None, reason="needs fcntl locks")

OWNER = """
import os, sys
from gensim_tfw2v.files.temporary import TemporaryFolder
made = TemporaryFolder("corpus", sys.argv[1], is_hidden="hidden" in sys.argv)
(made.folder / "inside").mkdir()
(made.folder / "inside" / "file").touch()
if "fork" in sys.argv and not (child := os.fork()):
    os.read(0, 1)  # waits for the end of the input
    os._exit(0)
print(made.folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path):
    """Return a function that starts a process with a folder in ``tmp_path`` and returns both."""
    started = []

    def start(*arguments):
        command = [sys.executable, "-c", OWNER, tmp_path, *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def next_program(place):
    """Create a folder as a new program does: its first one removes abandoned folders."""
    temporary._remove_abandoned.cache_clear()
    with TemporaryFolder("next", place) as made:
        assert made.is_dir()
    assert not made.exists()


def kill(process):
    process.kill()
    process.wait()


@pytest.mark.parametrize("arguments", [[], ["hidden"]])
def test_folder_of_a_killed_program_is_removed_by_the_next(tmp_path, owner, arguments):
    (killed, left), (living, used) = owner(*arguments), owner(*arguments)
    kill(killed)
    assert (left / "inside" / "file").exists()
    next_program(tmp_path)
    assert not left.exists() and (used / "inside" / "file").exists()
    living.communicate("")  # end of input: it exits
    assert living.returncode == 0 and not list(tmp_path.iterdir())


def test_folder_stays_while_a_forked_child_runs(tmp_path, owner):
    process, folder = owner("fork")
    kill(process)  # the child keeps the input open, and the folder
    next_program(tmp_path)
    assert (folder / "inside" / "file").exists()
    process.communicate("")  # end of input: the child exits
    deadline = time.monotonic() + 60
    while folder.exists() and time.monotonic() < deadline:
        next_program(tmp_path)
    assert not folder.exists()


def test_unmarked_foreign_and_linked_folders_are_kept(tmp_path, owner):
    process, abandoned = owner()
    kill(process)
    kept = [tmp_path / name for name in ("tfw2v-unmarked", "tfw2v-elsewhere", "other", "target")]
    for folder in kept:
        folder.mkdir()
    (kept[1] / ".owned-on-another").touch()
    (kept[2] / OWNED).touch()
    (kept[3] / OWNED).touch()
    kept.append(tmp_path / "tfw2v-link")
    kept[-1].symlink_to(kept[3])
    if os.geteuid() == 0:  # only root can change the owner
        kept.append(tmp_path / "tfw2v-of-another-user")
        shutil.copytree(abandoned, kept[-1])
        os.chown(kept[-1], 12345, 12345)
    next_program(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)


@pytest.mark.parametrize("answer", [True, False], ids=["all locks succeed", "no lock succeeds"])
def test_unreliable_locks_remove_nothing(tmp_path, monkeypatch, answer):
    with monkeypatch.context() as patch:
        patch.setattr(temporary, "try_lock", lambda file: answer)
        made = TemporaryFolder("corpus", tmp_path)
        assert not list(made.folder.iterdir())
    next_program(tmp_path)
    assert made.folder.is_dir()
    made.close()
    assert not list(tmp_path.iterdir())


def test_folder_without_working_locks_is_used_and_removed_by_its_owner(tmp_path, monkeypatch):
    """Some network file systems have no locks."""

    def fail(*_):
        raise OSError(errno.ENOLCK, "no locks")

    with monkeypatch.context() as patch:
        patch.setattr(temporary.fcntl, "flock", fail)
        made = TemporaryFolder("corpus", tmp_path)
        with (made.folder / "file").open("w") as file:
            assert temporary.try_lock(file) is None
    next_program(tmp_path)
    assert [path.name for path in made.folder.iterdir()] == ["file"]
    made.close()
    assert not list(tmp_path.iterdir())


def test_interrupted_removal_is_finished_by_the_next_program(tmp_path, monkeypatch, owner):
    process, folder = owner()
    kill(process)

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next_program(tmp_path)
    assert folder.exists()
    next_program(tmp_path)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_during_removal_leaves_no_folder(tmp_path, monkeypatch):
    """The signal arrives while the temporary folder of a saved file is removed."""
    own = shutil.rmtree

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        own(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_atomically(tmp_path / "saved", lambda name: Path(name).write_text("whole"))
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert (tmp_path / "saved").read_text() == "whole"
