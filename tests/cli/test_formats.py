"""Formats of vector files: read, rejected with a reason, and written."""

import gzip
import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.fasttext import load_facebook_model
from gensim.test.utils import datapath

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.formats import FORMATS
from gensim_tfw2v.cli.model_files import load_saved, save_model

ROWS = b"the 1 2\nof 3 4\n"
GLOVE = np.random.default_rng(1).normal(0, 0.3, 300).tobytes()
ARRAY = io.BytesIO()
np.save(ARRAY, np.eye(3))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"3 2\nthe 1 2\n 3 4\na 5 6\n", ["the", "", "a"]),  # words as from text.split(" ")
        (b"the\t1\t2\nof\t3\t4\n", ["the", "of"]),
        (b"New York\t1\t2\nOld Man 3\t3\t4\n", ["New York", "Old Man 3"]),
        (b"\xef\xbb\xbf2 2\n" + ROWS, ["the", "of"]),
        (b"\xef\xbb\xbf" + ROWS, ["the", "of"]),
        (b"2 2\r\nthe 1 2\r\nof 3 4\r\n\r\n", ["the", "of"]),
        (b"2 2\n1990 1 2 \n<s> 3 4 \n", ["1990", "<s>"]),
        (b"[PAD] 1 2\n{ 3 4\n", ["[PAD]", "{"]),
        (b"34 1 .5\n1 -2 1e-3\n", ["34", "1"]),  # node ids as words
        (b"a\tb 1 2\nc 3 4\n", ["a\tb", "c"]),
        ("a\u00a0b 1 2\nc 3 4\n".encode(), ["a\u00a0b", "c"]),
    ],
)
def test_text_formats_are_read(tmp_path, content, words):
    (tmp_path / "v").write_bytes(content)
    assert load_saved(tmp_path / "v").index_to_key == words


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"2 2\n. . 1 2\nof 3 4\n", "line 2 .* has 3 numbers after its word, instead of 2"),
        (b"2 3\n" + ROWS, "line 2 .* has 2 numbers after its word, instead of 3"),
        (b"2 2\nthe 1,5 2\nof 3 4\n", "line 2 .* has b'1,5', which is not a finite number"),
        (b"2 2\nthe 1 2\nof 3 1_0\n", "line 3 .* has b'1_0'"),
        (b"2 2\nthe 1 2\nof 3 1e999\n", "line 3 .* has b'1e999', which is too large for float32"),
        (b"2 2\nthe 1 2\nof -1e50 4\n", "line 3 .* has b'-1e50', which is too large for float32"),
        (b"the 1 2\nof 3 3.5e38\n", "line 2 .* has b'3.5e38', which is too large for float32"),
        (b"2 2\nthe 1 2\nof nan 4\n", "line 3 .* has b'nan', which is not a finite number"),
        (b"3 2\n" + ROWS, "has 2 words, but its header announces 3"),
        (b"1 2\n" + ROWS, "has 2 words, but its header announces 1"),
        (b"2 2\nthe 1 2\n\nof 3 4\n", "line 3 is empty, but lines follow it"),
        (b"999999999999 9\n" + ROWS, "line 2"),
        (b"0.5\t1\n0.7\t2\n", "not vectors in a known"),
        (b"0.5\t1\t2\n0.7\t2\t3\n", "lines of numbers without words; .*paste metadata.tsv"),
        (b"2 2\na " + struct.pack("<2f", 1, -2.7) + b"b " + struct.pack("<f", 1), "word 2"),
        (b"1 2\na " + struct.pack("<2f", 1, -2.7) + b"more", "more data follows"),
        (GLOVE, "GloVe's vectors.bin.*vectors.txt"),
        (ARRAY.getvalue(), r"NumPy array without words.*numpy\.savez"),
        (gzip.compress(ROWS, mtime=0), "gzip-compressed: let its name end with .gz"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"\n\n<!DOCTYPE html>\n<html>\n", "HTML or XML"),
        (b"\x89HDF\r\n\x1a\n" + bytes(99), "HDF5"),
        (b"PAR1" + bytes(99), "Parquet"),
        (b"\x08\x07\x12\x07pytorch", "ONNX"),
        (bytes(257) + b"ustar\x0000", "tar archive"),
    ],
)
def test_bad_files_are_rejected_with_the_reason(tmp_path, content, said):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(BadInput, match=f"v: .*{said}"):
        load_saved(tmp_path / "v")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("old_d2v_models/d2v_3.4.0.mdl", "gensim 3 or older.*3.8.3 and save it again"),
        ("old_d2v_models/d2v_0.12.0.mdl", "gensim 3 or older.*3.8.3 and save it again"),
        ("old_w2v_models/w2v_0.12.0.mdl", "gensim 3 or older.*3.8.3 and save it again"),
        ("fasttext_old", "gensim 3 or older.*3.8.3 and save it again"),
        ("ft_kv_3.6.0.model.gz", "gensim 3 or older.*3.8.3 and save it again"),
        ("pang_lee_polarity_fasttext.bin", "a supervised fastText model.*use the .vec"),
        ("pretrained.vec", "has 1 words, but its header announces 3"),
    ],
)
def test_unsupported_gensim_and_fasttext_files_are_rejected(name, said):
    with pytest.raises(BadInput, match=said):
        load_saved(Path(datapath(name)))


@pytest.mark.parametrize(("words", "rows"), [(2, (3, 4)), (3, (3,)), (3, (3, 4, 1))])
def test_npz_with_mismatched_shapes_is_rejected(tmp_path, words, rows):
    np.savez(tmp_path / "v.npz", words=np.array([*"abc"][:words]), vectors=np.zeros(rows))
    with pytest.raises(BadInput, match=r"expected \[V\] of str and \[V, D\]"):
        load_saved(tmp_path / "v.npz")


def saved(path, *words):
    vectors = KeyedVectors(2)
    vectors.add_vectors(list(words), np.eye(len(words), 2))
    vectors.save(str(path))
    return path


@pytest.mark.parametrize("name", ["out.onnx", "out.parquet", "out.tsv", "out.onnx.gz"])
def test_unknown_suffixes_are_rejected(tfw2v, tmp_path, name):
    printed = tfw2v("convert", saved(tmp_path / "m.kv", "a"), tmp_path / name, status=2).stderr
    assert "no format has the suffix" in printed and ".npz" in printed and ".txt" in printed
    assert not (tmp_path / name).exists()


#: Words that a format can't hold. Text separates words by blanks; NumPy drops trailing nulls.
REFUSED = {
    "text": {"Old Man 3", "a\nb", "\ud800"},
    "binary": {"Old Man 3", "a\nb", "\ud800"},
    "numpy": {"nul\0"},
    "gensim": set(),
}


@pytest.mark.parametrize("word", ["Old Man 3", "", "a\nb", "nul\0", "a\u00a0b", "\ud800", "[UNK]"])
@pytest.mark.parametrize("form", ["text", "binary", "numpy", "gensim"])
def test_words_are_converted_losslessly_or_rejected(tfw2v, tmp_path, word, form):
    model, out = saved(tmp_path / "m.kv", "x", word), tmp_path / "out"
    out.write_bytes(b"before")
    if word in REFUSED[form]:
        error = tfw2v("convert", model, out, "--to", form, status=2).stderr
        assert f"the format {form} cannot hold" in error and "gensim" in error
        assert out.read_bytes() == b"before"
    else:
        tfw2v("convert", model, out, "--to", form)
        assert load_saved(out).index_to_key == ["x", word]
    if form == "text" and word not in REFUSED[form]:
        assert KeyedVectors.load_word2vec_format(str(out)).index_to_key == ["x", word]


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "IN", "OUT.bin", "--to", "text"),
        ("convert", "IN", "OUT.TXT.gz", "--to", "gensim"),
        ("train", "CORPUS", "-o", "OUT", "--vectors", "OUT.txt", "--binary"),
        ("train", "CORPUS", "-o", "OUT.txt"),
        ("train", "CORPUS", "-o", "OUT.Vec.bz2"),
        ("merge", "IN", "IN", "-o", "OUT.bin"),
        ("merge", "IN", "IN", "-o", "OUT", "--vectors", "OUT.kv", "--binary"),
        ("demo", "--out", "OUT.npz", "--epochs", "1"),
    ],
    ids=" ".join,
)
def test_suffixes_of_another_format_are_rejected(tfw2v, models, corpus, tmp_path, arguments):
    names = {"IN": models["model"], "CORPUS": corpus}
    out = str(tmp_path / "out")
    typed = [names.get(word, word.replace("OUT", out)) for word in arguments]
    assert "is the suffix of the format" in tfw2v(*typed, status=2).stderr
    assert not list(tmp_path.iterdir())


def test_suffixes_of_formats_are_unique():
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_values_too_large_for_float16_are_rejected(tfw2v, tmp_path):
    vectors = KeyedVectors(1)
    vectors.add_vectors(["a"], np.full((1, 1), 1e6))
    vectors.save(str(tmp_path / "m.kv"))
    out = tmp_path / "out.npz"
    assert "float16" in tfw2v("convert", tmp_path / "m.kv", out, "--half", status=2).stderr


def test_model_is_saved_though_its_vectors_cannot_be_written(tmp_path):
    model = Word2Vec([["New York", "x"]], min_count=1, vector_size=2, epochs=1)
    output, vectors = tmp_path / "m.model", tmp_path / "v.txt"
    vectors.write_bytes(b"before")
    with pytest.raises(BadInput, match=r"v\.txt: .*'New York'.*m\.model is saved; use a format"):
        list(save_model(model, output, vectors, False))
    assert vectors.read_bytes() == b"before"
    assert "New York" in load_saved(output).wv


@pytest.mark.parametrize("name", ["lee_fasttext", "cp852_fasttext", "lee_fasttext_new"])
def test_fasttext_files_with_and_without_magic_number_are_read(name):
    path = datapath(f"{name}.bin")
    encoding = "cp852" if "cp852" in name else "utf-8"
    ours, gensims = load_saved(Path(path), encoding), load_facebook_model(path, encoding)
    assert ours.wv.index_to_key == gensims.wv.index_to_key
    np.testing.assert_array_equal(ours.wv.vectors, gensims.wv.vectors)


def test_text_of_the_length_of_a_binary_file_is_not_read_as_numbers(tmp_path):
    path = tmp_path / "v"
    path.write_text("1 2\n\u00e9 1;23;456", encoding="utf-8")  # eight bytes are two floats
    with pytest.raises(BadInput, match="line 2 .* has 1 numbers after its word, instead of 2"):
        load_saved(path)


def keras_file(tmp_path, words=("a", "b c"), **changes):
    """Write a Keras model as Keras does, with changes of its lookup's settings."""
    h5py = pytest.importorskip("h5py")
    is_text = isinstance(words[0], str)
    lookup = {"num_oov_indices": 1, "mask_token": None, "output_mode": "int", "invert": False}
    layers = [
        {"class_name": "InputLayer", "config": {}},
        {
            "class_name": "StringLookup" if is_text else "IntegerLookup",
            "config": lookup | {"vocabulary": list(words)} | changes,
        },
        {"class_name": "Embedding", "config": {}},
    ]
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file["layers/embedding/vars/0"] = np.eye(3, 2, -1, dtype=np.float32)
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps({"config": {"layers": layers}}))
        archive.writestr("model.weights.h5", content.getvalue())
    return path


@pytest.mark.parametrize("words", [["a", "b c"], [7, -(2**63)]], ids=["strings", "integers"])
def test_keras_models_are_read(tmp_path, words):
    found = load_saved(keras_file(tmp_path, words))
    assert found.index_to_key == words
    np.testing.assert_array_equal(found.vectors, np.eye(2, dtype=np.float32))


@pytest.mark.parametrize(
    "changes",
    [
        {"vocabulary": ["a"]},
        {"vocabulary": None},
        {"vocabulary": ["a", 5]},
        {"num_oov_indices": 2},
        {"mask_token": "-"},
        {"output_mode": "one_hot"},
    ],
    ids=str,
)
def test_keras_models_of_a_different_layout_are_rejected(tmp_path, changes):
    with pytest.raises(BadInput, match="m.keras: is not a Keras model of `tfw2v convert`, or dam"):
        load_saved(keras_file(tmp_path, **changes))


def test_cut_keras_models_are_rejected(tmp_path):
    content = keras_file(tmp_path).read_bytes()
    for length in range(4, len(content), 97):
        (tmp_path / "cut.keras").write_bytes(content[:length])
        with pytest.raises(BadInput, match="cut.keras: "):
            load_saved(tmp_path / "cut.keras")
