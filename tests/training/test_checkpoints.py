"""Checkpoints are complete or ignored, and belong to one training run."""

import errno
import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.training.checkpoints import (
    DESCRIPTION,
    SHARDED_FORMAT,
    CheckpointError,
    Checkpoints,
    _checksum,
)
from gensim_tfw2v.training.folder_lock import lock_folder

ARRAYS = {"inputs": np.arange(12, dtype=np.float32).reshape(4, 3), "nodes": np.zeros((0, 3))}


def both(arrays, state):
    return arrays, state


def written(folder, states, training=None):
    checkpoints = Checkpoints(folder, training or {"vector_size": 3})
    for state in states:
        checkpoints.save({name: array + state for name, array in ARRAYS.items()}, {"at": state})
    checkpoints.wait()
    return checkpoints


def test_latest_checkpoint_is_loaded_and_two_are_kept(tmp_path):
    checkpoints = written(tmp_path / "new" / "folder", [1, 2, 3])
    arrays, state = checkpoints.load_latest(both)
    assert state == {"at": 3}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array + 3)
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == [
        "checkpoint-000002",
        "checkpoint-000003",
    ]
    again = written(checkpoints.folder, [4])
    assert again.load_latest(both)[1] == {"at": 4}
    assert Checkpoints(tmp_path / "other", {}).load_latest(both) is None


@pytest.mark.parametrize("file", ["inputs.npy", DESCRIPTION])
@pytest.mark.parametrize("damage", ["cut short", "changed", "missing"])
def test_damaged_checkpoint_gives_way_to_the_previous_one(tmp_path, caplog, file, damage):
    checkpoints = written(tmp_path, [1, 2])
    path = tmp_path / "checkpoint-000002" / file
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut short":
        path.write_bytes(content[:-5])
    else:
        path.write_bytes(content[:-5] + b"\x07" + content[-4:])
    arrays, state = checkpoints.load_latest(both)
    assert state == {"at": 1}
    np.testing.assert_array_equal(arrays["inputs"], ARRAYS["inputs"] + 1)
    assert "checkpoint-000002" in caplog.text and "using the previous one" in caplog.text


def test_checkpoint_of_another_training_raises(tmp_path):
    written(tmp_path, [1], {"vector_size": 3, "words": "ab12"})
    with pytest.raises(CheckpointError, match="has words='ab12', this one has words='cd34'"):
        Checkpoints(tmp_path, {"vector_size": 3, "words": "cd34"}).load_latest(both)


def test_checkpoint_of_another_format_raises(tmp_path):
    written(tmp_path, [1])
    path = tmp_path / "checkpoint-000001" / DESCRIPTION
    content = json.loads(path.read_text()) | {"format": SHARDED_FORMAT + 1}
    del content["checksum"]
    path.write_text(json.dumps(content | {"checksum": _checksum(content)}))
    message = f"has format {SHARDED_FORMAT + 1}, of a different version.*reads .* {SHARDED_FORMAT}"
    with pytest.raises(CheckpointError, match=message):
        Checkpoints(tmp_path, {"vector_size": 3}).load_latest(both)


FULL = """
import logging, resource, signal, sys
from pathlib import Path
import numpy as np
from gensim_tfw2v.training.checkpoints import Checkpoints
logging.basicConfig(level=logging.ERROR, stream=sys.stdout)
checkpoints = Checkpoints(Path(sys.argv[1]), {})
checkpoints.save({"inputs": np.ones((10, 10))}, {"at": 1})
checkpoints.wait()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
checkpoints.save({"inputs": np.ones((1000, 10))}, {"at": 2})
checkpoints.wait()
print(checkpoints.load_latest(lambda arrays, state: state))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no file size limits here")
def test_full_disk_leaves_the_earlier_checkpoint(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert "no checkpoint was written" in done.stdout and "File too large" in done.stdout
    assert done.stdout.endswith("{'at': 1}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]


def test_unfinished_checkpoint_is_removed(tmp_path, caplog):
    written(tmp_path, [1])
    unfinished = tmp_path / "checkpoint-000002.unfinished"
    unfinished.mkdir()
    (unfinished / "inputs.npy").write_bytes(b"half")
    with caplog.at_level(logging.ERROR):
        assert Checkpoints(tmp_path, {"vector_size": 3}).load_latest(both)[1] == {"at": 1}
    assert not unfinished.exists() and not caplog.text


def test_impossible_folder_raises_in_the_constructor(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        Checkpoints(tmp_path / "file" / "folder", {})
    assert os.listdir(tmp_path) == ["file"]


def test_shards_are_not_saved_if_they_cannot_be_written(tmp_path, caplog):
    written(tmp_path, [1])
    checkpoints = Checkpoints(tmp_path, {"vector_size": 3})

    def fail(folder):
        raise OSError("ps 1: No space left on device")

    for write, message in (lambda folder: {}, ""), (fail, "ps 1: No space left on device"):
        caplog.clear()
        assert checkpoints.save_shards(write, {"at": 2}) == {}
        assert message in caplog.text
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]


def test_damaged_checkpoint_is_kept_aside_until_the_training_has_finished(tmp_path):
    written(tmp_path, [1, 2])
    (tmp_path / "checkpoint-000002" / "inputs.npy").unlink()
    checkpoints = Checkpoints(tmp_path, {"vector_size": 3})
    assert checkpoints.load_latest(both)[1] == {"at": 1}
    whole = ["checkpoint-000001", "checkpoint-000003"]
    for is_last in False, True:
        checkpoints.save(ARRAYS, {"at": 3}, is_last)
        checkpoints.wait()
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == (whole if is_last else [whole[0], "checkpoint-000002.damaged", whole[1]])
        whole = ["checkpoint-000003", "checkpoint-000004"]
    assert Checkpoints(tmp_path, {"vector_size": 3})._next == 5


@pytest.mark.parametrize("file", ["inputs.npy", DESCRIPTION])
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
def test_read_error_is_raised_and_changes_nothing(tmp_path, monkeypatch, file, number):
    written(tmp_path, [1, 2])
    before = sorted(tmp_path.rglob("*"))
    opened = Path.open

    def failing(path, *arguments, **keywords):
        if path.name == file:
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", failing)
        with pytest.raises(OSError, match=re.escape(os.strerror(number))):
            Checkpoints(tmp_path, {"vector_size": 3}).load_latest(both)
    assert sorted(tmp_path.rglob("*")) == before
    assert Checkpoints(tmp_path, {"vector_size": 3}).load_latest(both)[1] == {"at": 2}


HOLD = """
import os, sys, time
from pathlib import Path
from gensim_tfw2v.training.folder_lock import lock_folder
lock = lock_folder(Path(sys.argv[1]))
if not os.fork():  # outlives its parent
    print("held", flush=True)
time.sleep(60)
"""


def test_folder_in_use_raises(tmp_path):
    lock = lock_folder(tmp_path / "new")
    with pytest.raises(CheckpointError, match="new: another training run is using this"):
        lock_folder(tmp_path / "new")
    lock.close()
    lock_folder(tmp_path / "new").close()


def test_killed_process_releases_its_lock(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match="another training run"):
            lock_folder(tmp_path)
        process.kill()
        process.wait()
        lock_folder(tmp_path).close()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()


def test_loss_of_the_cluster_while_shards_are_written_is_raised(tmp_path):
    written(tmp_path, [1])
    checkpoints = Checkpoints(tmp_path, {"vector_size": 3})

    def lose(folder):
        raise ClusterLost("ps 1 was lost")

    with pytest.raises(ClusterLost, match="ps 1 was lost"):
        checkpoints.save_shards(lose, {"at": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]
