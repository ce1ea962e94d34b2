"""Checkpoints on a file system without locks, where two training runs may share a folder."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from gensim.models import Word2Vec

from gensim_tfw2v.training import folder_lock
from gensim_tfw2v.training.checkpoints import Checkpoints
from gensim_tfw2v.training.folder_lock import lock_folder

#: Replacement of the C library's function, as on a file system without locks.
NO_LOCKS = """
#include <errno.h>
int flock(int file, int operation) { (void)file; (void)operation; errno = ENOSYS; return -1; }
"""

#: Program that trains with checkpoints. At the start of each epoch, it waits until the other one
#: trains, too; otherwise, one of them might resume from the last checkpoint of the other.
PROGRAM = """
import sys
import time
from pathlib import Path

from gensim.models.callbacks import CallbackAny2Vec
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec


class WaitForOther(CallbackAny2Vec):
    def on_epoch_begin(self, model):
        Path(f"{own}.trains").touch()
        end = time.monotonic() + 120
        while not Path(f"{other}.trains").exists():
            assert time.monotonic() < end, "the other training run has not started"
            time.sleep(0.01)


own, other, folder = sys.argv[1:]
model = TFWord2Vec(
    corpus_file=datapath("lee_background.cor"), epochs=60, vector_size=16, seed=1,
    checkpoint_dir=folder, callbacks=[WaitForOther()],
)
model.save(own)
"""

WARNING = "its file system has no locks, so nothing prevents a second training run"


@pytest.fixture
def without_locks(tmp_path):
    """Environment of processes for which locks of files are not implemented."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "no_locks.c"
    source.write_text(NO_LOCKS)
    library = tmp_path / "no_locks.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return os.environ | {"LD_PRELOAD": str(library)}


def test_equal_trainings_in_one_folder_delete_nothing_of_each_other(tmp_path, without_locks):
    folder = tmp_path / "checkpoints"
    models = [tmp_path / name for name in ("one", "two")]
    trainings = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, own, other, folder],
            env=without_locks, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for own, other in (models, models[::-1])
    ]  # fmt: skip
    for model, training in zip(models, trainings, strict=True):
        _, error = training.communicate(timeout=300)
        assert training.returncode == 0, error
        assert error.count(WARNING) == 1
        assert "no checkpoint was written" not in error and "damaged" not in error
        assert len(Word2Vec.load(str(model)).wv) > 1000
    names = {path.name for path in folder.iterdir() if path.is_dir()}
    assert len(names) == 4  # the last two of each training run
    assert not any("unfinished" in name for name in names)


@pytest.fixture
def shared_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "try_lock", lambda file: None)
    return tmp_path


def write(checkpoints, number):
    checkpoints.save({"inputs": np.full(3, number, np.float32)}, {"at": number})
    checkpoints.wait()


def test_only_own_checkpoints_are_removed(shared_folder, caplog):
    unfinished = shared_folder / "checkpoint-000007.0123abcd.unfinished"
    unfinished.mkdir()
    lock = lock_folder(shared_folder)
    lock.close()
    assert caplog.text.count(WARNING) == 1 and not lock.is_exclusive
    one, two = (Checkpoints(shared_folder, {}, is_exclusive=False) for _ in range(2))
    write(one, 1)
    for number in range(2, 6):
        write(two, number)
    numbers = [int(path.name[-6:]) for path in shared_folder.glob("checkpoint-??????")]
    assert sorted(numbers) == [1, 4, 5] and unfinished.exists()
    for number in range(6, 9):
        write(one, number)
    numbers = [int(path.name[-6:]) for path in shared_folder.glob("checkpoint-??????")]
    assert sorted(numbers) == [4, 5, 7, 8] and unfinished.exists()
    assert "no checkpoint" not in caplog.text
