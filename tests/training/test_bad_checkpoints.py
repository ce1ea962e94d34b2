"""Damaged checkpoints: training resumes from the previous one, or restarts."""

import json
import logging
import shutil
import struct
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.training.array_checksums import save_checksummed
from gensim_tfw2v.training.checkpoints import (
    DESCRIPTION,
    Checkpoints,
    _checksum,
)
from gensim_tfw2v.training.epoch import Position

SHAPES = {"inputs": (6, 4), "outputs": (6, 4), "nodes": (0, 4)}
TRAINING = {"vector_size": 4}


def position(epoch, done):
    """Position of a training run that has trained these units of an epoch."""
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
    """Return a function that changes the bytes of a checkpoint's file."""

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
    """Change the description and its checksum, as a faulty program would."""

    def damage(checkpoint):
        path = checkpoint / DESCRIPTION
        content = json.loads(path.read_text())
        del content["checksum"]
        change(content)
        path.write_text(json.dumps(content | {"checksum": _checksum(content)}))

    return damage


def unchecked(change):
    """Change the description, but not its checksum."""
    return file(DESCRIPTION, lambda text: json.dumps(change(json.loads(text))).encode())


DAMAGES = {
    **{f"{name}, bit {place}": file(name, flipped(place))
       for name in ("inputs.npy", "outputs.npy", "nodes.npy", DESCRIPTION)
       for place in (0, 9, 40, -2)},
    **{f"{name} cut to {size}": file(name, lambda content, size=size: content[:size])
       for name in ("inputs.npy", "nodes.npy", DESCRIPTION) for size in (0, 5, 100)},
    "rows cut short": file("inputs.npy", lambda content: content[:-1]),
    "rows too long": file("inputs.npy", lambda content: content + b"\0"),
    "rows of zeros": file("inputs.npy", lambda content: b"\0" * len(content)),
    "header: different dtype": file("inputs.npy", replaced(b"<f4", b"<i4")),
    "header: different byte order": file("inputs.npy", replaced(b"<f4", b">f4")),
    "header: shape transposed": file("inputs.npy", replaced(b"(6, 4)", b"(4, 6)")),
    "header: column-major": file("inputs.npy", replaced(b"False", b"True ")),
    "header: objects": file("inputs.npy", replaced(b"<f4", b"|O8")),
    "header: huge": file("inputs.npy", replaced(b"(6, 4), }  ", b"(9**9, 4), }")),
    "header: length": file("inputs.npy", lambda c: c[:8] + struct.pack("<H", 60000) + c[10:]),
    **{f"{name} is missing": gone(name) for name in ("inputs.npy", "nodes.npy", DESCRIPTION)},
    **{f"{name} is a folder": a_folder(name) for name in ("outputs.npy", DESCRIPTION)},
    "a link to nothing": a_link_to_nothing("inputs.npy"),
    "an empty folder": lambda checkpoint: [path.unlink() for path in checkpoint.iterdir()],
    "description: invalid JSON": file(DESCRIPTION, lambda text: b"{" + text),
    "description: not UTF-8": file(DESCRIPTION, lambda text: text.replace(b"format", b"f\xffrmat")),
    "description: a list": file(DESCRIPTION, lambda text: b"[" + text + b"]"),
    "description: nested": file(DESCRIPTION, lambda text: b"[" * 100_000),
    "description: null": file(DESCRIPTION, lambda text: b"null"),
    "description: empty": file(DESCRIPTION, lambda text: b"{}"),
    "description: state does not match the checksum": unchecked(
        lambda text: text | {"state": text["state"] | {"epoch": 1}}),
    "description: checksum is text": unchecked(lambda text: text | {"checksum": "1"}),
    "description: no checksum": unchecked(
        lambda text: {name: text[name] for name in text if name != "checksum"}),
    "description: format is text": unchecked(lambda text: text | {"format": "2.0"}),
    "files: none": described(lambda text: text.update(files={})),
    "files: a list": described(lambda text: text.update(files=[1])),
    "files: one extra": described(lambda text: text["files"].update(others=1)),
    "state: null": described(lambda text: text.update(state=None)),
    "state: one extra name": described(lambda text: text["state"].update(other=1)),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_checkpoint_gives_way_to_the_previous_one(folder, caplog, damage):
    damage(folder / "checkpoint-000002")
    arrays, found = Checkpoints(folder, TRAINING).load_latest(take)
    assert found == STATES[0]
    for name, shape in SHAPES.items():
        np.testing.assert_array_equal(arrays[name], np.zeros(shape, np.float32))
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    said = record.getMessage()
    assert said.startswith(f"{folder}/checkpoint-000002 is damaged (")
    assert said.endswith("using the previous one, checkpoint-000001")


@pytest.mark.parametrize(
    "damage",
    ["inputs.npy, bit 40", "header: different dtype", "description: invalid JSON", "state: null"],
)
def test_two_damaged_checkpoints_return_none(folder, caplog, damage):
    for checkpoint in folder.iterdir():
        DAMAGES[damage](checkpoint)
    assert Checkpoints(folder, TRAINING).load_latest(take) is None
    first, second = (record.getMessage() for record in caplog.records)
    assert "checkpoint-000002 is damaged" in first and "using the previous one" in first
    assert "checkpoint-000001 is damaged" in second
    assert second.endswith("starting from scratch")


@pytest.mark.parametrize("what", ["a file", "a link to nothing"])
def test_checkpoint_that_is_no_folder_is_skipped(folder, caplog, what):
    path = folder / "checkpoint-000002"
    shutil.rmtree(path)
    if what == "a file":
        path.write_text("")
    else:
        path.symlink_to(folder / "nothing")
    checkpoints = Checkpoints(folder, TRAINING)
    assert checkpoints.load_latest(take)[1] == STATES[0]
    arrays = {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}
    checkpoints.save(arrays, STATES[1].state())
    assert checkpoints.load_latest(take)[1] == STATES[1]
    if what == "a file":
        assert path.is_file() and not caplog.text


def test_intact_checkpoint_is_loaded(folder, caplog):
    arrays, found = Checkpoints(folder, TRAINING).load_latest(take)
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
        ("header: different dtype", "last"),
        ("state: null", "last"),
        ("header: shape transposed", "both"),
        ("state: null", "both"),
    ],
)
def test_training_after_damage_ends_with_the_same_vectors(trained, tmp_path, caplog, name, of):
    """Training resumes from the previous checkpoint, or restarts."""
    folder = shutil.copytree(trained.folder, tmp_path / "checkpoints")
    damage = DAMAGES[name]
    if name == "header: shape transposed":
        damage = file("inputs.npy", replaced(b"(40, 8)", b"(8, 40)"))
    for checkpoint in sorted(folder.glob("checkpoint-*"))[-1 if of == "last" else 0 :]:
        damage(checkpoint)
    with caplog.at_level(logging.INFO):
        model = TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=folder)
    assert caplog.text.count("is damaged") == (1 if of == "last" else 2)
    assert ("starting from scratch" in caplog.text) == (of == "both")
    assert ("resumed from" in caplog.text) == (of == "last")
    np.testing.assert_array_equal(model.wv.vectors, trained.vectors)


def test_slow_disk_saves_the_rows_of_its_own_epoch(trained, tmp_path, monkeypatch):
    """If writing takes longer than an epoch, rows of the next epoch are not mixed in."""

    def slowly(*arguments):
        time.sleep(0.1)
        return save_checksummed(*arguments)

    with monkeypatch.context() as slow:
        slow.setattr("gensim_tfw2v.training.checkpoints.save_checksummed", slowly)
        TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=tmp_path)
    shutil.rmtree(max(tmp_path.glob("checkpoint-*")))
    model = TFWord2Vec(SENTENCES, **OPTIONS, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(model.wv.vectors, trained.vectors)
