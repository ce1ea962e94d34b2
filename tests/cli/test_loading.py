import pickle
import sys
from functools import partial

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors, LdaModel, Word2Vec
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import load_saved, load_vectors
from gensim_tfw2v.cli.vector_writers import write_numpy
from gensim_tfw2v.files import spooled_floats
from gensim_tfw2v.files.mapped import is_mapped


@pytest.mark.parametrize(
    "form",
    ["model", "model.gz", "vectors.kv", "text.txt", "text.txt.gz", "binary.bin", "binary.bin.gz",
     "glove.txt"],
)  # fmt: skip
def test_every_format_gives_the_same_vectors(models, form):
    expected = Word2Vec.load(str(models["model"])).wv
    loaded = load_vectors(models[form])
    assert loaded.index_to_key == expected.index_to_key
    np.testing.assert_allclose(loaded.vectors, expected.vectors, atol=1e-6)


@pytest.mark.parametrize("form", ["text.txt", "text.txt.gz", "binary.bin", "glove.txt", "npz"])
def test_large_vectors_are_mapped_from_a_temporary_file(models, tmp_path, monkeypatch, form):
    monkeypatch.setattr(spooled_floats, "MAX_FLOATS", 10)
    path = models.get(form)
    expected = Word2Vec.load(str(models["model"])).wv
    if form == "npz":
        path = tmp_path / "vectors.npz"
        write_numpy(expected, str(path))
    for mapped in (True, False):
        loaded = load_saved(path, mapped=mapped)
        assert loaded.index_to_key == expected.index_to_key
        np.testing.assert_allclose(loaded.vectors, expected.vectors, atol=1e-6)
        assert is_mapped(loaded.vectors) == mapped and loaded.vectors.flags.writeable


def test_loading_ignores_the_suffix(models, tmp_path):
    for form in ("binary.bin", "text.txt", "vectors.kv"):
        path = tmp_path / "vectors.dat"
        path.write_bytes(models[form].read_bytes())
        assert len(load_vectors(path)) == len(load_vectors(models["model"]))


@pytest.mark.parametrize("form", ["model", "model.gz", "text.txt", "text.txt.gz", "binary.bin"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_truncated_files_are_rejected(models, tmp_path, form, share):
    content = models[form].read_bytes()
    path = tmp_path / form
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(BadInput, match=f"{form}: "):
        load_vectors(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not vectors in a known format"),
        (b"just some text\nof two lines\n", "not vectors in a known format"),
        (b"\x80\x04 garbage", "damaged"),
        (b"\xff\xd8\xff\xe0 a picture", "not vectors in a known format"),
        (b"0 0\n", "cannot be loaded|no vectors"),
        (b"2 2\none 1 2\ntwo 1 nan\n", "line 3 .*b'nan', which is not a finite number"),
        (pickle.dumps({"not": "a model"}), "or damaged .'dict' object"),
        (b"cnonexistent_module\nthing\n.", "not vectors in a known format"),
    ],
)
def test_files_without_vectors_are_rejected(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        load_vectors(path)


def test_other_gensim_models_are_rejected(tmp_path):
    LdaModel([[(0, 1)]], num_topics=1, id2word={0: "a"}).save(str(tmp_path / "lda"))
    with pytest.raises(BadInput, match="LdaModel, not word vectors"):
        load_vectors(tmp_path / "lda")


def test_missing_files_and_folders_are_rejected(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        load_vectors(tmp_path / "missing")
    with pytest.raises(BadInput, match="is a folder"):
        load_vectors(tmp_path)


def test_missing_array_file_is_named(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    vectors.save(str(tmp_path / "vectors"), sep_limit=0)
    (tmp_path / "vectors.vectors.npy").unlink()
    with pytest.raises(BadInput, match=r"vectors\.vectors\.npy: missing"):
        load_vectors(tmp_path / "vectors")


@pytest.mark.parametrize("form", ["text", "no header", "binary", "gensim"])
def test_duplicate_words_keep_their_first_row(tmp_path, capsys, caplog, form):
    rows = {"a": [1, 2], "b": [3, 4], "c": [5, 6]}
    listed = [("a", rows["a"]), ("a", [7, 8]), ("b", rows["b"]), ("b", [9, 9]), ("c", rows["c"])]
    path = tmp_path / "twice"
    if form == "binary":
        content = b"".join(f"{w} ".encode() + np.float32(row).tobytes() for w, row in listed)
        path.write_bytes(b"5 2\n" + content)
    else:
        header = "" if form == "no header" else "5 2\n"
        path.write_text(header + "".join(f"{w} {row[0]} {row[1]}\n" for w, row in listed))
    if form == "gensim":
        KeyedVectors.load_word2vec_format(str(path)).save(str(path))
        caplog.clear()
    loaded = load_vectors(path)
    assert loaded.index_to_key == list(rows)
    np.testing.assert_array_equal(loaded.vectors, list(rows.values()))
    assert f"tfw2v: {path}: left out 2 of 5 rows" in capsys.readouterr().err
    assert not caplog.records  # gensim's own messages warn of each row


WORDS = ["b\u00e4r", "b\u00e4ume", "gro\u00df"]


@pytest.fixture(params=[False, True], ids=["text", "binary"])
def latin(request, tmp_path):
    """Path of vectors in Latin-1, as older tools write them."""
    vectors, path = KeyedVectors(3), tmp_path / "vectors"
    vectors.add_vectors(["b.r", "b.ume", "gro."], np.eye(3))
    vectors.save_word2vec_format(str(path), binary=request.param)
    content = path.read_bytes()
    for word in WORDS:
        name = word.replace("\u00e4", ".").replace("\u00df", ".").encode()
        content = content.replace(name + b" ", word.encode("latin-1") + b" ")
    path.write_bytes(content)
    return path


def test_latin1_vectors_need_the_encoding_option(latin):
    assert load_vectors(latin, "latin-1").index_to_key == WORDS
    place = latin.read_bytes().index(b"\xe4")
    said = f"vectors: is not UTF-8 text: .* at byte {place} .*b.xe4r.*--encoding latin-1"
    with pytest.raises(BadInput, match=said):
        load_vectors(latin)


def test_commands_accept_encoding(latin, tfw2v, tmp_path):
    option = ("--encoding", "latin-1")
    assert WORDS[1] in tfw2v("neighbours", latin, WORDS[0], *option).stdout
    tfw2v("evaluate", latin, "--no-standard", *option)
    tfw2v("projector", latin, "--log-dir", tmp_path / "log", *option)
    tfw2v("merge", latin, latin, "-o", tmp_path / "merged", "--method", "concat", *option)
    assert load_vectors(tmp_path / "merged").index_to_key == WORDS


@pytest.mark.parametrize("option", ["--init", "--compass"])
def test_train_advises_to_convert_other_encodings(latin, tfw2v, corpus, tmp_path, option):
    said = tfw2v("train", corpus, "-o", tmp_path / "out", option, latin, status=2).stderr
    command = f"tfw2v convert {latin} v.kv --encoding latin-1"
    assert said.endswith(f"Convert it first, with: {command}\n")
    arguments = [part if part != "v.kv" else tmp_path / part for part in command.split()[1:]]
    tfw2v(*arguments)
    assert load_vectors(tmp_path / "v.kv").index_to_key == WORDS


@pytest.mark.parametrize("encoding", ["nothing", "utf-16", "rot13", "hex", ""])
def test_unsupported_encodings_are_rejected(models, encoding):
    with pytest.raises(BadInput, match=f"--encoding is '{encoding}': give"):
        load_vectors(models["text.txt"], encoding)


def test_utf16_vectors_are_rejected_with_advice(tmp_path):
    path = tmp_path / "vectors"
    path.write_text("2 2\na 1 2\nb 3 4\n", encoding="utf-16")
    with pytest.raises(BadInput, match="looks like UTF-16: .*iconv -f UTF-16"):
        load_vectors(path)


def test_missing_decompressor_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "backports", None)
    (tmp_path / "vectors.zst").write_bytes(b"anything")
    with pytest.raises(ImportError, match=r"vectors.zst: .*pip install .smart_open\[zst\]"):
        load_vectors(tmp_path / "vectors.zst")


def damaged(path, name):
    """Change a letter of an attribute's name in a pickle."""
    content, stored = path.read_bytes(), bytes([0x8C, len(name)]) + name.encode()
    assert content.count(stored)
    path.write_bytes(content.replace(stored, stored[:-1] + b"?"))


@pytest.mark.parametrize(
    "name",
    ["wv", "vectors", "index_to_key", "key_to_index", "vector_size", "negative", "window", "seed"],
)
@pytest.mark.parametrize("kind", [TFWord2Vec, partial(FastText, bucket=9)], ids=["ours", "gensims"])
def test_damaged_attribute_names_are_rejected(tmp_path, kind, name):
    path = tmp_path / "model"
    kind(sentences=common_texts, min_count=1, vector_size=4, epochs=1, workers=1).save(str(path))
    damaged(path, name)
    with pytest.raises(BadInput, match=f"{path}: .*damaged"):
        load_vectors(path)
    if kind is TFWord2Vec:
        with pytest.raises(AttributeError, match=f"{path} is damaged or not a model: "):
            TFWord2Vec.load(str(path))
