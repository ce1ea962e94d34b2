"""Models, vectors, checkpoints and indexes that each release has stored are still loaded.

``python -m tests.stored.make`` stores those of a new version.
"""

import logging
import re
import shutil

import numpy as np
import pytest

import gensim_tfw2v
from gensim_tfw2v import NeighbourIndex, TFWord2Vec
from gensim_tfw2v.training.checkpoints import CheckpointError
from tests.stored import make
from tests.stored.contents import ARRAYS, describe_contents, find_neighbours, read_attribute
from tests.stored.manifest import FOLDER, list_versions, load, read_corpus, read_manifest

#: Limit on the size of a version's folder, in bytes.
MAX_BYTES = 600_000


def entries(is_chosen):
    """Return the folder and the entry of each chosen file of each version, as parameters."""
    return [
        pytest.param(folder, entry, id=f"{folder.name}/{entry['path']}")
        for folder in list_versions()
        for entry in read_manifest(folder)
        if is_chosen(entry)
    ]


def is_model(entry):
    return "contents" in entry and "model" in entry


@pytest.mark.parametrize(
    ("folder", "entry"),
    entries(lambda entry: "contents" in entry and not entry["path"].endswith(".keras")),
)
def test_stored_file_loads_with_the_same_bits(folder, entry):
    assert_same_contents(load(folder, entry), entry["contents"])


@pytest.mark.parametrize(
    ("folder", "entry"), entries(lambda entry: entry["path"].endswith(".keras"))
)
def test_stored_keras_model_loads_with_the_same_bits(folder, entry):
    pytest.importorskip("h5py")
    assert_same_contents(load(folder, entry), entry["contents"])


def assert_same_contents(saved, expected):
    contents = describe_contents(saved)
    assert_same_neighbours(contents.pop("neighbours"), expected["neighbours"])
    assert contents | {"neighbours": expected["neighbours"]} == expected


def assert_same_neighbours(neighbours, expected):
    assert neighbours.keys() == expected.keys()
    for key, nearest in expected.items():
        assert [name for name, _ in neighbours[key]] == [name for name, _ in nearest]
        cosines = [cosine for _, cosine in nearest]
        assert [cosine for _, cosine in neighbours[key]] == pytest.approx(cosines, abs=1e-5)


@pytest.mark.parametrize(("folder", "entry"), entries(is_model))
def test_stored_model_trains_further(folder, entry):
    model = load(folder, entry)
    before = copy_arrays(model)
    corpus = read_corpus(folder, entry["corpus"])
    model.train(corpus, total_examples=len(corpus), epochs=1)
    after = copy_arrays(model)
    assert after.keys() == before.keys() and model.train_count == 2
    for name, rows in after.items():
        assert np.isfinite(rows).all(), name
        assert (rows != before[name]).any(), name


@pytest.mark.parametrize(
    ("folder", "entry"),  # gensim's Doc2Vec cannot add words
    entries(lambda entry: is_model(entry) and not entry["corpus"].endswith("tags")),
)
def test_stored_model_learns_new_words(folder, entry):
    model = load(folder, entry)
    n_words = len(model.wv)
    words = [1001, 1002] if entry["corpus"] == "integers" else ["pond", "canoe"]
    sentences = [[*words, model.wv.index_to_key[0]]] * 5
    model.build_vocab(sentences, update=True)
    model.train(sentences, total_examples=len(sentences), epochs=1)
    assert len(model.wv) == len(model.wv.vectors) == n_words + 2
    assert model.wv.index_to_key[n_words:] == words
    assert all(np.isfinite(model.wv[word]).all() for word in words)


def copy_arrays(model):
    arrays = {path: read_attribute(model, path) for path in ARRAYS}
    return {path: rows.copy() for path, rows in arrays.items() if rows is not None}


@pytest.mark.parametrize(
    ("folder", "entry"), entries(lambda entry: entry["loader"] == "checkpoint_dir")
)
def test_stored_checkpoint_resumes(folder, entry, tmp_path, caplog):
    checkpoints = shutil.copytree(folder / entry["path"], tmp_path / "checkpoints")
    class_ = getattr(gensim_tfw2v, entry["class"])
    corpus = read_corpus(folder, entry["corpus"])
    with caplog.at_level(logging.INFO):
        model = class_(corpus, **entry["options"], checkpoint_dir=checkpoints)
    epochs = entry["options"]["epochs"]
    assert f"resumed from {checkpoints}: {entry['epochs']} of {epochs} epochs" in caplog.text
    uninterrupted = class_.load(str(folder / entry["model"] / "whole"))
    np.testing.assert_allclose(model.wv.vectors, uninterrupted.wv.vectors, atol=1e-4)


def test_stored_checkpoint_of_numbered_units_needs_equal_units(tmp_path, monkeypatch):
    """Format 4 has the numbers of trained work units, not their entries."""
    folder = FOLDER / "0.1.0"
    (entry,) = [
        entry for entry in read_manifest(folder) if entry["path"] == "checkpoints-TFWord2Vec"
    ]
    checkpoints = shutil.copytree(folder / entry["path"], tmp_path / "checkpoints")
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 100)
    corpus = read_corpus(folder, entry["corpus"])
    with pytest.raises(CheckpointError, match="it has 1 units, .*, this one has 6 units"):
        TFWord2Vec(corpus, **entry["options"], checkpoint_dir=checkpoints)


@pytest.mark.parametrize(
    ("folder", "entry"), entries(lambda entry: entry["loader"] == "NeighbourIndex.load")
)
def test_stored_index_finds_the_same_neighbours(folder, entry):
    pytest.importorskip("usearch")
    model = load(folder, {"path": entry["vectors"], "loader": "TFWord2Vec.load"})
    index = NeighbourIndex.load(folder / entry["path"], model.wv)
    assert_same_neighbours(find_neighbours(model.wv, indexer=index), entry["neighbours"])


def test_this_version_can_store_its_models(tmp_path, monkeypatch):
    """This version stores at least the files that the last version has stored."""
    pytest.importorskip("h5py")
    pytest.importorskip("usearch")
    monkeypatch.chdir(tmp_path)
    made = {entry["path"]: entry.keys() for entry in make.store_all()}
    stored = {entry["path"]: entry.keys() for entry in read_manifest(list_versions()[-1])}
    assert made.items() >= stored.items()


def test_each_release_has_stored_its_models():
    version = gensim_tfw2v.__version__
    is_release = re.fullmatch(r"\d+(\.\d+)*", version)
    stored = {folder.name for folder in list_versions()}
    assert not is_release or version in stored, (
        f"version {version} has stored no models: run python -m tests.stored.make"
    )
    assert "0.1.0" in stored


@pytest.mark.parametrize("folder", list_versions(), ids=lambda folder: folder.name)
def test_stored_files_are_listed_small_and_without_paths_of_a_machine(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES
    listed = [entry["path"] for entry in read_manifest(folder)]
    for path in files:
        name = path.relative_to(folder).as_posix()
        assert name in ("MANIFEST.json", "corpus.txt") or any(map(name.startswith, listed)), name
        content = path.read_bytes()
        assert not re.search(rb"/(home|root|tmp|work|usr|opt|var|mnt|Users)/", content), name


def test_folders_of_versions_have_manifests():
    folders = {path for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(list_versions())
