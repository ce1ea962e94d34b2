"""Folders of models: saved, loaded, trained on, opened by model2vec; damaged ones are refused."""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.formats import FORMATS
from gensim_tfw2v.corpus.tables.table_formats import SUFFIXES
from gensim_tfw2v.files.mapped import is_mapped
from gensim_tfw2v.files.safetensors import read_tensors, write_tensors
from gensim_tfw2v.messages import COMPRESSED
from gensim_tfw2v.training.folder_contents import list_dtypes
from gensim_tfw2v.training.pretrained import load_pretrained, save_pretrained

DOCUMENTS = [TaggedDocument(text, [n, f"t{n % 3}"]) for n, text in enumerate(common_texts)]
MORE = [["new", "graph", "word two"], ["new", "trees"]] * 2
OPTIONS = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 3}
VARIANTS = {
    "words": (TFWord2Vec, {"hs": 1, "comment": "a \u00e9", "deterministic": True}),
    "skip-gram": (TFWord2Vec, {"sg": 1, "sample": 0.1, "ns_exponent": 0.5}),
    "ngrams": (TFFastText, {"bucket": 30, "compute_loss": True}),
    "documents": (TFDoc2Vec, {"dbow_words": 1, "dm": 0}),
    "concatenated": (TFDoc2Vec, {"dm_concat": 1, "window": 2, "hs": 1, "negative": 0}),
}
CLASSES = {"Word2Vec": TFWord2Vec, "FastText": TFFastText, "Doc2Vec": TFDoc2Vec}
CLASSES["KeyedVectors"] = KeyedVectors


def corpus_of(model, texts=common_texts):
    if not model.has_documents:
        return texts
    return DOCUMENTS if texts is common_texts else [TaggedDocument(of, ["new", 99]) for of in texts]


def made(name):
    class_, options = VARIANTS[name]
    model = class_(**OPTIONS, **options)
    model.build_vocab(corpus_of(model))
    model.train(corpus_of(model), total_examples=9, epochs=2)
    return model


@pytest.mark.parametrize("mmap", [None, "r"])
@pytest.mark.parametrize("name", VARIANTS)
def test_models_equal_the_saved_and_train_on_equally(name, mmap, tmp_path):
    model = made(name)
    model.wv.vectors_lockf = np.linspace(0, 1, len(model.wv), dtype=np.float32)
    model.save_pretrained(tmp_path / "folder")
    model.save(str(tmp_path / "file"))
    ours = type(model).from_pretrained(tmp_path / "folder", mmap=mmap)
    gensims = type(model).load(str(tmp_path / "file"))
    np.testing.assert_array_equal(ours.wv.vectors, model.wv.vectors)
    assert ours.wv.most_similar("graph") == model.wv.most_similar("graph")
    if model.has_subwords:
        np.testing.assert_array_equal(ours.wv["unseen"], model.wv["unseen"])
    if model.has_documents:
        assert ours.dv.most_similar("t1") == model.dv.most_similar("t1")
        assert ours.dv.index_to_key == model.dv.index_to_key
    left_out = {"random", "total_train_time", "lifecycle_events"}
    for one in (ours, gensims):
        one.build_vocab(corpus_of(one, MORE), update=True)
        one.wv.vectors_lockf = np.ones(1, np.float32)
        one.train(corpus_of(one), total_examples=9, epochs=2)
    expected = state_of(gensims)
    found = state_of(ours)
    for key in expected.keys() - left_out:
        np.testing.assert_array_equal(found[key], expected[key], err_msg=key)
    for vectors in ("wv", "dv") if model.has_documents else ("wv",):
        expected = state_of(getattr(gensims, vectors))
        found = state_of(getattr(ours, vectors))
        assert found.keys() == expected.keys()
        for key in ("vectors", "vectors_ngrams", "vectors_vocab", "index_to_key", "key_to_index"):
            np.testing.assert_equal(found.get(key), expected.get(key), err_msg=key)
        assert found["expandos"].keys() == expected["expandos"].keys()


@pytest.mark.parametrize("seed", [-5, 2**32, [3, -4]], ids=str)
@pytest.mark.parametrize("name", ["words", "ngrams", "documents"])
def test_attributes_that_constructors_drop_or_refuse_are_kept(name, seed, tmp_path):
    model = made(name)
    model.comment, model.sample, model.seed = "a \u00e9", None, seed
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    assert (loaded.comment, loaded.sample, loaded.seed) == ("a \u00e9", None, seed)
    for one in (model, loaded):
        one.train(corpus_of(one), total_examples=9, epochs=1)
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)


@pytest.mark.parametrize("name", ["words", "ngrams", "documents"])
def test_mapped_models_count_known_words_and_tags(name, tmp_path):
    model = made(name)
    model.save_pretrained(tmp_path)
    mapped = type(model).from_pretrained(tmp_path, mmap="r")
    for one in (model, mapped):
        one.build_vocab(corpus_of(one), update=True)
        one.train(corpus_of(one), total_examples=9, epochs=1)
    np.testing.assert_array_equal(mapped.wv.vectors, model.wv.vectors)
    for vectors in ("wv", "dv") if model.has_documents else ("wv",):
        counted, expected = (getattr(one, vectors).expandos for one in (mapped, model))
        for key in expected.keys() - {"point", "code"}:
            np.testing.assert_array_equal(counted[key], expected[key])


def test_mapped_arrays_are_read_only_views_of_the_file(tmp_path):
    model = made("words")
    model.save_pretrained(tmp_path)
    mapped = TFWord2Vec.from_pretrained(tmp_path, mmap="r")
    for array in (mapped.wv.vectors, mapped.syn1neg, mapped.syn1, mapped.cum_table):
        assert is_mapped(array) and array.flags.aligned and not array.flags.writeable
    assert not is_mapped(TFWord2Vec.from_pretrained(tmp_path).wv.vectors)
    with pytest.raises(ValueError, match="mmap is 'r\\+': pass None, or 'r'"):
        TFWord2Vec.from_pretrained(tmp_path, mmap="r+")
    tensors = tmp_path / "model.safetensors"
    content = bytearray(tensors.read_bytes())
    offset = content.index(np.asarray(mapped.wv.vectors[:2]).tobytes())
    content[offset : offset + 4] = np.float32(np.nan).tobytes()
    tensors.write_bytes(content)
    for mmap in (None, "r"):
        with pytest.raises(ValueError, match="not finite|NaN"):
            TFWord2Vec.from_pretrained(tmp_path, mmap=mmap)


def state_of(held):
    """Attributes of a model that its files hold, without gensim's objects."""
    state = {n: of for n, of in vars(held).items() if not n.startswith("_")}
    return {n: of for n, of in state.items() if n not in ("wv", "dv", "load") and not callable(of)}


@pytest.mark.parametrize("name", ["words", "skip-gram", "documents", "concatenated"])
def test_folders_of_earlier_versions_are_read(name, tmp_path):
    """Earlier folders lack the tree and the noise distribution, which counts determine."""
    model = made(name)
    model.save_pretrained(tmp_path)
    own = list_dtypes(model)
    tensors = read_tensors(tmp_path / "model.safetensors", own)
    assert {"wv.tree"} <= tensors.keys() or not model.hs
    earlier = {n: (own[n], [of]) for n, of in tensors.items() if n not in ("wv.tree", "cum_table")}
    write_tensors(tmp_path / "model.safetensors", earlier)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    state = config["gensim_tfw2v"]["state"]
    config["gensim_tfw2v"]["state"] = {n: of for n, of in state.items() if n != "kernel"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = type(model).from_pretrained(tmp_path)
    np.testing.assert_array_equal(loaded.cum_table, model.cum_table)
    for key in ("point", "code"):
        assert (key in model.wv.expandos) == bool(model.hs)
        expected = [*model.wv.expandos.get(key, ())]
        np.testing.assert_equal([*loaded.wv.expandos.get(key, ())], expected)


def test_saved_again_the_files_are_the_same(tmp_path):
    for name in VARIANTS:
        made(name).save_pretrained(tmp_path / name)
        type(made(name)).from_pretrained(tmp_path / name).save_pretrained(tmp_path / "again")
        for file in ("config.json", "tokenizer.json", "model.safetensors"):
            assert (tmp_path / "again" / file).read_bytes() == (tmp_path / name / file).read_bytes()


@pytest.mark.parametrize("name", ["word2vec_3.3", "word2vec_old"])
def test_models_of_older_versions_are_saved(name, tmp_path):
    model = TFWord2Vec.load(datapath(name))
    model.save_pretrained(tmp_path)
    loaded = TFWord2Vec.from_pretrained(tmp_path)
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    assert loaded.comment is None and loaded.window == model.window


def test_models_of_fasttexts_files_are_saved(tmp_path):
    model = TFFastText.load_facebook_model(datapath("lee_fasttext_new.bin"))
    model.save_pretrained(tmp_path)
    loaded = TFFastText.from_pretrained(tmp_path)
    np.testing.assert_array_equal(loaded.wv.vectors_ngrams, model.wv.vectors_ngrams)
    np.testing.assert_array_equal(loaded.syn1neg, model.syn1neg)


def test_updated_tags_are_saved(tmp_path):
    model = made("documents")
    model.build_vocab([TaggedDocument(["new"], [20, "t9"])], update=True)
    model.save_pretrained(tmp_path)
    loaded = TFDoc2Vec.from_pretrained(tmp_path)
    assert loaded.dv.index_to_key == model.dv.index_to_key
    assert loaded.dv.key_to_index == model.dv.key_to_index
    np.testing.assert_array_equal(loaded.dv[20], model.dv[20])


def test_vectors_alone(tmp_path):
    vectors = made("words").wv
    save_pretrained(vectors, tmp_path)
    loaded = load_pretrained(tmp_path, CLASSES)
    assert type(loaded) is KeyedVectors and loaded.index_to_key == vectors.index_to_key
    np.testing.assert_array_equal(loaded.vectors, vectors.vectors)
    assert loaded.get_vecattr("graph", "count") == vectors.get_vecattr("graph", "count")
    with pytest.raises(ValueError, match="it holds 'KeyedVectors', expected Word2Vec"):
        TFWord2Vec.from_pretrained(tmp_path)


def test_model_card_is_written_once(tmp_path):
    model = made("skip-gram")
    model.best_score = 0.25
    model.save_pretrained(tmp_path, {"wordsim353": 0.6789})
    card = (tmp_path / "README.md").read_text("utf-8")
    for row in (
        "| sg | True |",
        "12 words",
        "| words | 29 |",
        "| wordsim353 | 0.6789 |",
        "| 0.25 |",
    ):
        assert row in card
    (tmp_path / "README.md").write_text("edited")
    model.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "edited"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("[UNK]", "'[UNK]' has the same text as the token of unknown words"),
        ("\ud800", "contains '\\ud800', which UTF-8 cannot encode"),
        ("7", "the same text as"),
        (1.5, "the word 1.5 is of type float: a folder contains only strings and integers"),
        (("a", 1), "the word ('a', 1) is of type tuple"),
        (True, "the word True is of type bool"),
    ],
)
def test_words_that_folders_cannot_hold_are_refused(word, said, tmp_path):
    model = TFWord2Vec([["a", 7, word]] * 3, **OPTIONS)
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        model.save_pretrained(tmp_path / "new")
    assert not (tmp_path / "new" / "config.json").exists()


@pytest.mark.parametrize(
    ("sentences", "options", "ranges"),
    [
        ([[101, 7, -3], [7, 0, 10**20]] * 3, {}, [[0, 5]]),
        ([[2, 0, 1]] * 3, {"null_word": 1, "hs": 1}, [[0, 3]]),
        ([["a", 1, "b", 2]] * 3 + [[1]], {"max_vocab_size": 9}, None),
    ],
    ids=["integers", "null word", "mixed"],
)
def test_integer_words_are_integers_again(sentences, options, ranges, tmp_path):
    model = TFWord2Vec(sentences, **OPTIONS, **options)
    model.save_pretrained(tmp_path)
    own = json.loads((tmp_path / "config.json").read_text("utf-8"))["gensim_tfw2v"]
    assert ranges in (None, own["integer_words"])
    loaded = TFWord2Vec.from_pretrained(tmp_path)
    assert loaded.wv.index_to_key == model.wv.index_to_key
    assert [*map(type, loaded.wv.index_to_key)] == [*map(type, model.wv.index_to_key)]
    assert loaded.wv.key_to_index == model.wv.key_to_index
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    for one in (model, loaded):
        one.train(sentences, total_examples=len(sentences), epochs=1)
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)


def test_model2vec_finds_integer_words_by_their_digits(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    model = TFWord2Vec([[101, 7, 9]] * 3, **OPTIONS)
    model.save_pretrained(tmp_path)
    found = model2vec.StaticModel.from_pretrained(str(tmp_path)).encode("101 7 8")
    np.testing.assert_allclose(found, (model.wv[101] + model.wv[7]) / 2, atol=1e-7)


@pytest.mark.parametrize("ranges", [[[0, 2]], [[0, 9]], [[0]], [["a", 1]], 3, [[1, 3], [0, 1]]])
def test_hostile_ranges_of_integer_words_are_refused(ranges, tmp_path):
    TFWord2Vec([[101, 7, 9], ["a"]] * 3, **OPTIONS).save_pretrained(tmp_path)
    remove_checksums(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    config["gensim_tfw2v"]["integer_words"] = ranges
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="cannot be loaded as a model of gensim-tfw2v"):
        TFWord2Vec.from_pretrained(tmp_path)


def test_models_that_folders_cannot_hold_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one"):
        TFWord2Vec(**OPTIONS).save_pretrained(tmp_path)
    model = TFDoc2Vec([TaggedDocument(["a", "b"], [("x", 1)])] * 3, **OPTIONS)
    with pytest.raises(TypeError, match="tag .* is neither"):
        model.save_pretrained(tmp_path)
    model = made("words")
    model.wv.add_vector("more", np.ones(4))
    with pytest.raises(ValueError):
        model.save_pretrained(tmp_path)
    model = made("words")
    model.seed = "text"
    with pytest.raises(TypeError, match="seed"):
        model.save_pretrained(tmp_path)
    assert os.listdir(tmp_path) == []


# model2vec and the Hub


@pytest.mark.parametrize("quantized", [None, "int8"])
@pytest.mark.parametrize("name", ["words", "ngrams", "documents"])
def test_model2vec_loads_the_folder(name, quantized, tmp_path):
    model2vec = pytest.importorskip("model2vec")
    model = made(name)
    model.save_pretrained(tmp_path)
    loaded = model2vec.StaticModel.from_pretrained(str(tmp_path), quantize_to=quantized)
    found = loaded.encode("graph unknown system").astype(np.float64)
    expected = (model.wv["graph"] + model.wv["system"]) / 2
    if quantized is None:
        np.testing.assert_allclose(found, expected, atol=1e-7)
    cosine = found @ expected / np.linalg.norm(found) / np.linalg.norm(expected)
    assert cosine == pytest.approx(1, abs=1e-3)
    assert not loaded.encode("unknown").any()
    assert len(loaded.encode_as_sequence("graph " * 600)) == 600  # not truncated


def test_safetensors_reads_all_tensors(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    model = made("documents")
    model.save_pretrained(tmp_path)
    tensors = numpy.load_file(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(tensors["syn1neg"], model.syn1neg)
    np.testing.assert_array_equal(tensors["dv.vectors"], model.dv.vectors)
    np.testing.assert_array_equal(tensors["wv.count"], model.wv.expandos["count"])
    np.testing.assert_array_equal(tensors["embeddings"], [np.zeros(4), *model.wv.vectors])


def test_models_are_downloaded_and_uploaded(tmp_path, monkeypatch):
    made("words").save_pretrained(tmp_path / "saved")
    asked = []

    def download(name, **options):
        asked.append((name, options))
        return str(tmp_path / "saved")

    def upload(**options):
        shutil.copytree(options["folder_path"], tmp_path / "uploaded")
        return "address"

    api = SimpleNamespace(upload_folder=upload, file_exists=lambda *_: True)
    api.create_repo = lambda name, **options: asked.append((name, options))
    hub = SimpleNamespace(
        snapshot_download=download, HfApi=lambda token: api, __spec__="of the package"
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    model = TFWord2Vec.from_pretrained("user/model", revision="v1")
    assert asked[0][0] == "user/model" and asked[0][1]["revision"] == "v1"
    assert "*" not in "".join(asked[0][1]["allow_patterns"])
    assert model.push_to_hub("user/other", private=True) == "address"
    assert asked[1] == ("user/other", {"private": True, "exist_ok": True})
    # the card there is kept
    assert not (tmp_path / "uploaded" / "README.md").exists()
    assert len(TFWord2Vec.from_pretrained(tmp_path / "uploaded").wv) == 12


def test_missing_hub_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    said = "a/b is not a folder; downloading it needs huggingface_hub, which is missing. Run: pip"
    with pytest.raises(ImportError, match=said):
        TFWord2Vec.from_pretrained("a/b")


def test_name_of_a_file_is_not_looked_up_on_the_hub():
    suffixes = {suffix for format in FORMATS for suffix in format.suffixes}
    for suffix in suffixes | {*SUFFIXES, *COMPRESSED}:
        with pytest.raises(FileNotFoundError, match="no such folder"):
            TFWord2Vec.from_pretrained(f"missing{suffix}")


# Damaged folders


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folders")
    for name in ("words", "ngrams", "documents"):
        made(name).save_pretrained(folder / name)
    save_pretrained(made("words").wv, folder / "vectors")
    return folder


ODD = (None, True, -1, 0, 1.5, 10**30, 2**31 - 1, 1e308, "x", "../../x", "/etc/passwd", [], [1], {},
       {"a": 1}, "TFWord2Vec", "patch_gensim", "__class__", "cluster", "corpus_file")  # fmt: skip


def edited(document, draws):
    """Change a random place of a JSON document."""
    place = document
    while True:
        keys = [*place] if isinstance(place, dict) else range(len(place))
        key = keys[int(draws.integers(len(keys)))]
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or draws.random() < 0.3:
            break
        place = inner
    kind = int(draws.integers(4))
    value = ODD[int(draws.integers(len(ODD)))]
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, dict):
        place[str(value)] = place[key]
    elif kind == 2 and isinstance(place, dict):
        place[f"{key}x"] = value
    else:
        place[key] = value


def bytes_changed(content, draws):
    at = int(draws.integers(len(content)))
    kind = int(draws.integers(6))
    if kind == 0:
        return content[:at] + bytes([content[at] ^ 1 << int(draws.integers(8))]) + content[at + 1 :]
    if kind == 1:
        return content[:at]
    if kind == 2:
        return content[:at] + draws.bytes(int(draws.integers(1, 9))) + content[at:]
    if kind == 3:
        return content + draws.bytes(int(draws.integers(1, 9)))
    if kind == 4:
        return draws.bytes(8) + content[8:]
    return content[:at] + content[at + int(draws.integers(1, 9)) :]


def remove_checksums(folder):
    """Remove the checksums of the other files, which find accidental changes only."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    assert len(header.pop("__metadata__")) > 2
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])


def mutate(path, draws):
    """Change one file as damage, or somebody with bad intentions, might."""
    kind = draws.random()
    content = path.read_bytes()
    if kind < 0.06:
        path.unlink()
        other = int(draws.integers(5))
        if other == 1:
            path.mkdir()
        elif other == 2:
            os.mkfifo(path)
        elif other == 3:
            outside = path.parent.with_name(f"{path.parent.name} outside")
            outside.write_text("of another folder\n")
            path.symlink_to(outside)
        elif other == 4:
            path.write_bytes(b"[" * 100_000)
    elif kind < 0.4:
        path.write_bytes(bytes_changed(content, draws))
    elif path.suffix == ".json":
        document = json.loads(content)
        edited(document, draws)
        path.write_text(json.dumps(document), "utf-8")
    else:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        edited(header, draws)
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize("name", ["words", "ngrams", "documents", "vectors"])
@pytest.mark.parametrize("seed", range(5))
def test_mutated_folders_are_refused_or_read_right(name, seed, folders, tmp_path, monkeypatch):
    """25 mutations each, 500 in all."""

    def run(*_, **__):
        pytest.fail("something was run")

    for module, function in (
        (os, "system"),
        (subprocess, "Popen"),
        (pickle, "load"),
        (pickle, "loads"),
    ):
        monkeypatch.setattr(module, function, run)
    monkeypatch.setattr(TFWord2Vec, "train", run)
    draws = np.random.default_rng([seed, len(name)])
    refused = 0
    for number in range(25):
        folder = tmp_path / str(number)
        shutil.copytree(folders / name, folder)
        (folder / "README.md").unlink()
        remove_checksums(folder)
        files = sorted(path for path in folder.iterdir() if path.name != "modules.json")
        mutate(files[int(draws.integers(len(files)))], draws)
        try:
            loaded = load_pretrained(folder, CLASSES)
        except ValueError as error:
            assert str(error).startswith(f"{folder}: ")
            refused += 1
            continue
        save_pretrained(loaded, tmp_path / f"{number} again")
        for path in folder.iterdir():
            saved = tmp_path / f"{number} again" / path.name
            if path.suffix == ".json":
                assert json.loads(saved.read_bytes()) == json.loads(path.read_bytes())
            else:
                sizes = [of.stat().st_size - int.from_bytes(of.read_bytes()[:8], "little")
                         for of in (saved, path)]  # fmt: skip
                assert sizes[0] == sizes[1]
    assert refused > 12


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (["class"], "patch_gensim", "it holds 'patch_gensim', expected Word2Vec"),
        (["class"], ["Word2Vec"], "TypeError"),
        (["options", "corpus_file"], "/etc/passwd", "unknown or missing options: {'corpus_file'}"),
        (["options", "cluster"], "local:ps=1,worker=1", "unknown or missing options: {'cluster'}"),
        (["options", "window"], "5", "not what save_pretrained writes"),
        (["options", "deterministic"], "no", "not what save_pretrained writes"),
        (["options", "seed"], [[1] * 40] * 40, "ValueError"),
        (["options", "seed"], {"a": 1}, "Error"),
        (["options", "window"], 10**30, "window must be at most"),
        (["options", "vector_size"], 2**31 - 1, "shape"),
        (["state", "corpus_count"], "9", "TypeError"),
        (["state", "train"], 1, "not what save_pretrained writes"),
        (["state", "learn_hidden"], "no", "not what save_pretrained writes"),
        (["state", "learn_hidden"], True, "not what save_pretrained writes"),
        (["state", "history"], "12", "not what save_pretrained writes"),
        (["state", "best_epoch"], {}, "TypeError"),
        (["values"], {"wv.vectors": "F64"}, "not what save_pretrained writes"),
        (["values"], {"load": "F32"}, "not what save_pretrained writes"),
        (["values"], {"wv.expandos.point": "U32"}, "not what save_pretrained writes"),
        (["values"], ["wv"], "Error"),
        (["format"], 2, "not what save_pretrained writes"),
        (["more"], {}, "not what save_pretrained writes"),
    ],
)
def test_hostile_settings_are_refused(keys, value, said, folders, tmp_path):
    folder = shutil.copytree(folders / "words", tmp_path / "copy")
    remove_checksums(folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    place = config["gensim_tfw2v"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=re.escape(said)):
        TFWord2Vec.from_pretrained(folder)


@pytest.mark.parametrize("option", ["bucket", "word_ngrams", "vector_size"])
def test_hostile_sizes_of_fasttext_are_refused(option, folders, tmp_path):
    folder = shutil.copytree(folders / "ngrams", tmp_path / "copy")
    remove_checksums(folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["gensim_tfw2v"]["options"][option] = 2**31 - 1
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="cannot be loaded"):
        TFFastText.from_pretrained(folder)
