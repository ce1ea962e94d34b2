"""Whatever has become of a checkpoint: the one before it is taken, or training begins anew."""

import json
import logging
import os
import shutil
import struct
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.training.checkpoints import (
    DESCRIPTION,
    Checkpoints,
    _checksum,
    _save,
)
from gensim_tfw2v.training.epoch import Position

SHAPES = {"inputs": (6, 4), "outputs": (6, 4), "nodes": (0, 4)}
TRAINING = {"vector_size": 4}


def position(epoch, done):
    """Where a training stands that has trained these units of an epoch."""
    return Position(
        epoch=epoch, done=set(done), sentences=2 * len(done), trained=7 * len(done),
        raw_words=12 * len(done), losses=[[1.5, 3.0]], finished=[(28, 50, 4)] * epoch,
        mean_losses=[0.5] * epoch, total_loss=2.5,
    )  # fmt: skip


STATES = [position(1, []), position(2, [0, 3])]


def take(arrays, state):
    assert arrays.keys() == SHAPES.keys()
    return arrays, Position.of(state)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder with two checkpoints."""
    folder = tmp_path_factory.mktemp("good")
    checkpoints = Checkpoints(folder, TRAINING)
    for at, state in enumerate(STATES):
        arrays = {name: np.full(shape, at, np.float32) for name, shape in SHAPES.items()}
        checkpoints.save(arrays, state.state())
        checkpoints.wait()
    return folder


@pytest.fixture
def folder(good, tmp_path):
    return shutil.copytree(good, tmp_path / "checkpoints")


def file(name, change):
    """Change the bytes of a file."""

    def damage(checkpoint):
        path = checkpoint / name
        content = path.read_bytes()
        path.write_bytes(change(content))
        assert path.read_bytes() != content

    return damage


def flipped(place):
    def change(content):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        return bytes(changed)

    return change


def replaced(old, new):
    return lambda content: content.replace(old, new, 1)


def gone(name):
    return lambda checkpoint: (checkpoint / name).unlink()


def a_folder(name):
    def damage(checkpoint):
        (checkpoint / name).unlink()
        (checkpoint / name).mkdir()

    return damage


def a_link_to_nothing(name):
    def damage(checkpoint):
        (checkpoint / name).unlink()
        (checkpoint / name).symlink_to(checkpoint / "nothing")

    return damage


def described(change):
    """Change the description, with a checksum that is right: what a faulty program would write."""

    def damage(checkpoint):
        path = checkpoint / DESCRIPTION
        content = json.loads(path.read_text())
        del content["checksum"]
        change(content)
        path.write_text(json.dumps(content | {"checksum": _checksum(content)}))

    return damage


def unchecked(change):
    """Change the description and leave its checksum."""
    return file(DESCRIPTION, lambda text: json.dumps(change(json.loads(text))).encode())


DAMAGES = {
    **{f"{name}, bit {place}": file(name, flipped(place))
       for name in ("inputs.npy", "outputs.npy", "nodes.npy", DESCRIPTION)
       for place in (0, 9, 40, -2)},
    **{f"{name} cut to {size}": file(name, lambda content, size=size: content[:size])
       for name in ("inputs.npy", "nodes.npy", DESCRIPTION) for size in (0, 5, 100)},
    "rows cut short": file("inputs.npy", lambda content: content[:-1]),
    "rows longer": file("inputs.npy", lambda content: content + b"\0"),
    "rows of zeros": file("inputs.npy", lambda content: b"\0" * len(content)),
    "header: other type": file("inputs.npy", replaced(b"<f4", b"<i4")),
    "header: other byte order": file("inputs.npy", replaced(b"<f4", b">f4")),
    "header: shape turned": file("inputs.npy", replaced(b"(6, 4)", b"(4, 6)")),
    "header: column-major": file("inputs.npy", replaced(b"False", b"True ")),
    "header: objects": file("inputs.npy", replaced(b"<f4", b"|O8")),
    "header: huge": file("inputs.npy", replaced(b"(6, 4), }  ", b"(9**9, 4), }")),
    "header: length": file("inputs.npy", lambda c: c[:8] + struct.pack("<H", 60000) + c[10:]),
    **{f"{name} is missing": gone(name) for name in ("inputs.npy", "nodes.npy", DESCRIPTION)},
    **{f"{name} is a folder": a_folder(name) for name in ("outputs.npy", DESCRIPTION)},
    "a link to nothing": a_link_to_nothing("inputs.npy"),
    "an empty folder": lambda checkpoint: [path.unlink() for path in checkpoint.iterdir()],
    "description: no JSON": file(DESCRIPTION, lambda text: b"{" + text),
    "description: no UTF-8": file(DESCRIPTION, lambda text: text.replace(b"format", b"f\xffrmat")),
    "description: a list": file(DESCRIPTION, lambda text: b"[" + text + b"]"),
    "description: nested": file(DESCRIPTION, lambda text: b"[" * 100_000),
    "description: null": file(DESCRIPTION, lambda text: b"null"),
    "description: empty": file(DESCRIPTION, lambda text: b"{}"),
    "description: a state without checksum": unchecked(
        lambda text: text | {"state": text["state"] | {"epoch": 1}}),
    "description: its checksum is text": unchecked(lambda text: text | {"checksum": "1"}),
    "description: no checksum": unchecked(
        lambda text: {name: text[name] for name in text if name != "checksum"}),
    "description: format of no number": unchecked(lambda text: text | {"format": "2.0"}),
    "files: none": described(lambda text: text.update(files={})),
    "files: a list": described(lambda text: text.update(files=[1])),
    "files: one too many": described(lambda text: text["files"].update(others=1)),
    "state: null": described(lambda text: text.update(state=None)),
    "state: one name too many": described(lambda text: text["state"].update(other=1)),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_one_before_is_taken(folder, caplog, damage):
    damage(folder / "checkpoint-000002")
    arrays, found = Checkpoints(folder, TRAINING).latest(take)
    assert found == STATES[0]
    for name, shape in SHAPES.items():
        np.testing.assert_array_equal(arrays[name], np.zeros(shape, np.float32))
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    said = record.getMessage()
    assert said.startswith(f"{folder}/checkpoint-000002 is damaged (")
    assert said.endswith("using the previous one, checkpoint-000001")


@pytest.mark.parametrize(
    "damage", ["inputs.npy, bit 40", "header: other type", "description: no JSON", "state: null"]
)
def test_where_both_are_damaged_there_is_none(folder, caplog, damage):
    for checkpoint in folder.iterdir():
        DAMAGES[damage](checkpoint)
    assert Checkpoints(folder, TRAINING).latest(take) is None
    first, second = (record.getMessage() for record in caplog.records)
    assert "checkpoint-000002 is damaged" in first and "using the previous one" in first
    assert "checkpoint-000001 is damaged" in second
    assert second.endswith("starting from scratch")


@pytest.mark.parametrize("what", ["a file", "a link to nothing", "nothing readable"])
def test_what_is_no_folder_is_no_checkpoint(folder, caplog, what):
    path = folder / "checkpoint-000002"
    shutil.rmtree(path)
    if what == "a file":
        path.write_text("")
    elif what == "a link to nothing":
        path.symlink_to(folder / "nothing")
    elif os.getuid():
        path.mkdir(mode=0)
    checkpoints = Checkpoints(folder, TRAINING)
    assert checkpoints.latest(take)[1] == STATES[0]
    arrays = {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}
    checkpoints.save(arrays, STATES[1].state())
    assert checkpoints.latest(take)[1] == STATES[1]
    if what == "a file":
        assert path.is_file() and not caplog.text


def test_what_is_whole_is_taken(folder, caplog):
    arrays, found = Checkpoints(folder, TRAINING).latest(take)
    assert found == STATES[1]
    assert arrays["inputs"][0, 0] == 1 and not caplog.text


SENTENCES = [[f"w{n % 40}", f"w{n % 7}", f"w{n % 11}"] for n in range(300)]
OPTIONS = {"vector_size": 8, "min_count": 1, "workers": 1, "epochs": 2, "seed": 3}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model, and the folder of its checkpoints."""
    folder = tmp_path_factory.mktemp("trained")
    model = TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=folder)
    return SimpleNamespace(vectors=model.wv.vectors.copy(), folder=folder)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("header: other type", "last"),
        ("state: null", "last"),
        ("header: shape turned", "both"),
        ("state: null", "both"),
    ],
)
def test_training_goes_on_to_the_same_vectors(trained, tmp_path, caplog, name, of):
    """As if nothing had been: from the checkpoint before, or from the beginning."""
    folder = shutil.copytree(trained.folder, tmp_path / "checkpoints")
    damage = DAMAGES[name]
    if name == "header: shape turned":
        damage = file("inputs.npy", replaced(b"(40, 8)", b"(8, 40)"))
    for checkpoint in sorted(folder.glob("checkpoint-*"))[-1 if of == "last" else 0 :]:
        damage(checkpoint)
    with caplog.at_level(logging.INFO):
        model = TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=folder)
    assert caplog.text.count("is damaged") == (1 if of == "last" else 2)
    assert ("starting from scratch" in caplog.text) == (of == "both")
    assert ("resumed from" in caplog.text) == (of == "last")
    np.testing.assert_array_equal(model.wv.vectors, trained.vectors)


def test_rows_stay_until_they_are_written(trained, tmp_path, monkeypatch):
    """A disk that is slower than an epoch does not get the rows of the next."""

    def slowly(*arguments):
        time.sleep(0.1)
        return _save(*arguments)

    with monkeypatch.context() as slow:
        slow.setattr("gensim_tfw2v.training.checkpoints._save", slowly)
        TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=tmp_path)
    shutil.rmtree(max(tmp_path.glob("checkpoint-*")))
    model = TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(model.wv.vectors, trained.vectors)
