import pickle

import numpy as np
import pytest
from gensim.models import KeyedVectors, LdaModel, Word2Vec

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import load_vectors


@pytest.mark.parametrize(
    "form",
    ["model", "model.gz", "vectors.kv", "text.txt", "text.txt.gz", "binary.bin", "binary.bin.gz",
     "glove.txt"],
)  # fmt: skip
def test_every_form_gives_the_same_vectors(models, form):
    expected = Word2Vec.load(str(models["model"])).wv
    loaded = load_vectors(models[form])
    assert loaded.index_to_key == expected.index_to_key
    np.testing.assert_allclose(loaded.vectors, expected.vectors, atol=1e-6)


def test_the_suffix_does_not_matter(models, tmp_path):
    for form in ("binary.bin", "text.txt", "vectors.kv"):
        path = tmp_path / "vectors.dat"
        path.write_bytes(models[form].read_bytes())
        assert len(load_vectors(path)) == len(load_vectors(models["model"]))


@pytest.mark.parametrize("form", ["model", "model.gz", "text.txt", "text.txt.gz", "binary.bin"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_truncated_files(models, tmp_path, form, share):
    content = models[form].read_bytes()
    path = tmp_path / form
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(BadInput, match=f"{form}: "):
        load_vectors(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no vectors in a known form"),
        (b"just some text\nof two lines\n", "no vectors in a known form"),
        (b"\x80\x04 garbage", "damaged"),
        (b"\xff\xd8\xff\xe0 a picture", "no vectors in a known form"),
        (b"0 0\n", "cannot be loaded|no vectors"),
        (b"2 2\none 1 2\ntwo 1 nan\n", "NaN or infinite"),
        (pickle.dumps({"not": "a model"}), "damaged"),
        (b"cnonexistent_module\nthing\n.", "no vectors in a known form"),
    ],
)
def test_files_without_vectors(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        load_vectors(path)


def test_other_models_of_gensim(tmp_path):
    LdaModel([[(0, 1)]], num_topics=1, id2word={0: "a"}).save(str(tmp_path / "lda"))
    with pytest.raises(BadInput, match="LdaModel, not word vectors"):
        load_vectors(tmp_path / "lda")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        load_vectors(tmp_path / "missing")
    with pytest.raises(BadInput, match="is a folder"):
        load_vectors(tmp_path)


def test_missing_array_beside_the_model(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    vectors.save(str(tmp_path / "vectors"), sep_limit=0)
    (tmp_path / "vectors.vectors.npy").unlink()
    with pytest.raises(BadInput, match=r"vectors\.vectors\.npy: missing"):
        load_vectors(tmp_path / "vectors")


@pytest.mark.parametrize("form", ["text", "no header", "binary", "gensim"])
def test_a_file_that_names_words_twice(tmp_path, capsys, caplog, form):
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
    assert not caplog.records  # gensim's warn of each
