"""Paths that are not what a loader expects: the error names what they are and what loads them."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gensim.models import FastText, LdaModel, Word2Vec
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.training.pretrained import save_pretrained

OPTIONS = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 3, "epochs": 1}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths")
    model = TFWord2Vec(
        common_texts,
        **OPTIONS,
        checkpoint_dir=str(folder / "checkpoints"),
    )
    model.save(str(folder / "x.model"))
    TFFastText(common_texts, **OPTIONS, bucket=50).save(str(folder / "ngrams.model"))
    model.wv.save(str(folder / "x.kv"))
    TFFastText(common_texts, **OPTIONS, bucket=50).wv.save(str(folder / "ngrams.kv"))
    model.wv.save_word2vec_format(str(folder / "x.txt"))
    model.wv.save_word2vec_format(str(folder / "glove.txt"), write_header=False)
    model.wv.save_word2vec_format(str(folder / "x.bin"), binary=True)
    np.savez(folder / "x.npz", words=model.wv.index_to_key, vectors=model.wv.vectors)
    TFFastText(common_texts, **OPTIONS, bucket=50).save_facebook_model(folder / "facebook.bin")
    model.save_pretrained(folder / "pretrained")
    save_pretrained(model.wv, folder / "pretrained vectors")
    LdaModel([[(0, 1)]], num_topics=1, id2word={0: "a"}).save(str(folder / "lda"))
    (folder / "note").write_text("not a model\n")
    (folder / "empty").mkdir()
    (folder / "logs" / "run").mkdir(parents=True)
    (folder / "logs" / "run" / "events.out.tfevents.1").write_bytes(b"")
    (folder / "with a model").mkdir()
    model.save(str(folder / "with a model" / "y"))
    return folder


def message(function, *arguments):
    """Return the message of the error that a call raises, with its type before it."""
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.txt", "ValueError: .*x.txt: contains only vectors: convert them with `tfw2v convert"),
        ("glove.txt", "ValueError: .*glove.txt: contains only vectors"),
        ("x.bin", "ValueError: .*TFWord2Vec.from_vectors.KeyedVectors.load"),
        ("x.npz", "ValueError: .*x.npz: contains only vectors"),
        ("facebook.bin", r"ValueError: .*TFFastText.load_facebook_model\('.*facebook.bin'\)"),
        ("pretrained/config.json", r"ValueError: .*TFWord2Vec.from_pretrained\('.*pretrained'\)"),
        ("pretrained/model.safetensors", "ValueError: .*is a file of a folder that save_pretrain"),
        ("pretrained", r"IsADirectoryError: .*TFWord2Vec.from_pretrained\('.*pretrained'\)"),
        ("pretrained vectors", "IsADirectoryError: .*contains only vectors: .*from_vectors"),
        ("checkpoints", "IsADirectoryError: .*is a folder of checkpoints: .*checkpoint_dir"),
        ("logs", "IsADirectoryError: .*is a folder of logs: .*tfw2v tensorboard .*logs"),
        ("with a model", "IsADirectoryError: .*pass the file of a model, such as '.*model/y'"),
        ("empty", "IsADirectoryError: .*empty: is a folder; pass the file of a model$"),
        ("x.kv", r"AttributeError: .*only vectors \(KeyedVectors\).*from_vectors makes a model"),
        ("ngrams.kv", r"AttributeError: .*only vectors \(FastTextKeyedVectors\)"),
        ("lda", "AttributeError: .*lda is a LdaModel, not a model of words"),
        ("note", "UnpicklingError: .*note is damaged or not a model: "),
        ("missing", "FileNotFoundError: .*missing"),
    ],
)
def test_load_names_what_a_path_is(paths, name, said):
    found = message(TFWord2Vec.load, str(paths / name))
    assert re.match(said, found), found
    assert "\n" not in found


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_single_files_of_a_folder_are_named(paths, tmp_path, name):
    (tmp_path / name).write_bytes((paths / "pretrained" / name).read_bytes())
    if name == "config.json":
        (tmp_path / name).rename(tmp_path / "other.json")
        name = "other.json"
    said = message(TFWord2Vec.load, str(tmp_path / name))
    assert "(safetensors or JSON), but the other files are missing: pass their folder to" in said


def test_load_names_the_class_of_a_model(paths):
    assert isinstance(TFWord2Vec.load(str(paths / "ngrams.model")), TFFastText)  # as in gensim
    for class_ in (TFFastText, TFDoc2Vec):
        found = message(class_.load, str(paths / "x.model"))
        assert found.endswith("x.model is a Word2Vec model: load it with TFWord2Vec.load")
    found = message(TFDoc2Vec.load, str(paths / "ngrams.model"))
    assert found.endswith("is a FastText model: load it with TFFastText.load")


def test_models_whose_vectors_were_saved_are_saved_to_folders(tmp_path):
    """gensim's save notes an event in what it saves."""
    model = TFWord2Vec(common_texts, **OPTIONS)
    model.wv.save(str(tmp_path / "x.kv"))
    model.save_pretrained(tmp_path / "folder")
    found = TFWord2Vec.from_pretrained(tmp_path / "folder")
    np.testing.assert_array_equal(found.wv.vectors, model.wv.vectors)


def test_gensims_models_are_loaded(tmp_path):
    for gensims, ours in ((Word2Vec, TFWord2Vec), (FastText, TFFastText)):
        gensims(common_texts, **OPTIONS).save(str(tmp_path / "m.gz"))
        assert type(ours.load(str(tmp_path / "m.gz"))) is ours


@pytest.fixture
def no_hub(monkeypatch):
    """Let a download fail the test."""

    def download(*_, **__):
        pytest.fail("the Hub was asked")

    hub = SimpleNamespace(snapshot_download=download, __spec__="of the package")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)


@pytest.mark.parametrize(
    "name",
    ["/no/folder", "./folder", "../folder", "~/no-such-folder", "a/b/c", "folder/", "a\\b", "x.kv",
     "folder/x.model", "v.txt.gz", "model.safetensors", Path("user/model")],
    ids=str,
)  # fmt: skip
def test_paths_are_not_looked_up_on_the_hub(no_hub, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    said = message(TFWord2Vec.from_pretrained, name)
    assert said.startswith(f"FileNotFoundError: {name}: no such folder (current folder: {tmp_path}")
    assert "such as user/model" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.model", r"NotADirectoryError: .*load a model with TFWord2Vec.load\('.*x.model'\)"),
        ("x.txt", "NotADirectoryError: .*contains only vectors: convert"),
        ("note", "NotADirectoryError: .*is a file; pass a folder of save_pretrained"),
        ("pretrained/config.json", "NotADirectoryError: .*from_pretrained"),
        ("checkpoints", "ValueError: .*is a folder of checkpoints"),
        ("logs", "ValueError: .*is a folder of logs"),
        ("empty", "ValueError: .*empty: is a folder"),
        ("pretrained vectors", "ValueError: .*holds 'KeyedVectors'.*tfw2v convert"),
    ],
)
def test_from_pretrained_names_what_a_path_is(no_hub, paths, name, said):
    assert re.match(said, message(TFWord2Vec.from_pretrained, str(paths / name)))


def test_folders_of_different_libraries_are_named(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    for load in (TFWord2Vec.load, TFWord2Vec.from_pretrained):
        said = message(load, str(tmp_path))
        assert f"{tmp_path}: is a folder of a different library: its config.json lacks" in said


def test_from_pretrained_names_the_class_of_a_folder(paths):
    said = message(TFFastText.from_pretrained, paths / "pretrained")
    assert "it holds 'Word2Vec', expected FastText; load it with TFWord2Vec.from_pretrained" in said


@pytest.mark.parametrize(
    "error",
    [ConnectionError("no network"), OSError("404 Client Error\n\nRepository Not Found"),
     RuntimeError("offline mode is enabled"), ValueError("Repo id must be in the form")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_failures_of_the_hub_name_both_readings(monkeypatch, tmp_path, error):
    def fail(*_, **__):
        raise error

    api = SimpleNamespace(create_repo=fail)
    hub = SimpleNamespace(snapshot_download=fail, HfApi=lambda token: api, __spec__="of it")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.chdir(tmp_path)
    said = message(TFWord2Vec.from_pretrained, "user/model")
    assert said.startswith(
        f"OSError: user/model: is not a folder in {tmp_path}, and could not be downloaded as a "
        f"model of the Hugging Face Hub ({type(error).__name__}: "
    )
    assert "\n" not in said
    said = message(TFWord2Vec(common_texts, **OPTIONS).push_to_hub, "user/model")
    assert said.startswith("OSError: user/model: could not be uploaded to the Hugging Face Hub (")


def test_unknown_options_of_the_download_are_a_type_error(monkeypatch):
    hub = SimpleNamespace(snapshot_download=lambda name, allow_patterns: "", __spec__="of it")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(TypeError, match="revison"):
        TFWord2Vec.from_pretrained("user/model", revison="v1")


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_missing_and_cut_files_are_named(paths, tmp_path, file):
    TFWord2Vec.load(str(paths / "x.model")).save_pretrained(tmp_path)
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(content[: len(content) // 2])
    said = message(TFWord2Vec.from_pretrained, tmp_path)
    assert str(tmp_path) in said and "Error: " in said
    assert file in said or "truncated" in said or "bytes of elements" in said
    (tmp_path / file).unlink()
    said = message(TFWord2Vec.from_pretrained, tmp_path)
    assert f"{file} is missing" in said or "is a folder; " in said
