import bz2
import gzip

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec

from gensim_tfw2v import TFWord2Vec, align_models, self_similarities, train_slice


@pytest.fixture(scope="module")
def slices(tmp_path_factory, corpus):
    """Paths of a full model, of vectors as text, and of vectors as a .kv file."""
    folder = tmp_path_factory.mktemp("slices")
    found = [Word2Vec(corpus_file=str(corpus), vector_size=8, seed=s, workers=1) for s in (1, 2, 3)]
    paths = [folder / "2019.model", folder / "2020.txt", folder / "2021.kv"]
    found[0].save(str(paths[0]))
    found[1].wv.save_word2vec_format(str(paths[1]))
    found[2].wv.save(str(paths[2]))
    return paths


def loaded(folder):
    return [
        Word2Vec.load(str(folder / "2019.model")),
        KeyedVectors.load_word2vec_format(str(folder / "2020.txt")),
        KeyedVectors.load(str(folder / "2021.kv")),
    ]


def test_align_saves_rotated_models_in_their_formats(tfw2v, slices, tmp_path):
    shown = tfw2v("align", *slices, "--output-dir", tmp_path / "new").stdout
    assert shown.splitlines() == [
        f"{'aligned':<11}3 models to {slices[0]}",
        *(f"{'saved':<11}{tmp_path / 'new' / path.name}" for path in slices),
    ]
    expected = align_models(loaded(slices[0].parent))
    for found, model in zip(loaded(tmp_path / "new"), expected, strict=True):
        vectors = getattr(model, "wv", model).vectors
        np.testing.assert_allclose(getattr(found, "wv", found).vectors, vectors, atol=1e-6)


def test_align_writes_the_format_of_the_suffix(tfw2v, slices, tmp_path):
    model = Word2Vec.load(str(slices[0]))
    folder = tmp_path / "in"
    folder.mkdir()
    names = ("a.txt.gz", "b.vec.bz2", "c.TXT", "d.bin", "e.BIN.gz", "f.npz", "g.kv", "h")
    for name in names:
        tfw2v("convert", slices[0], folder / name)
    tfw2v("align", *(folder / name for name in names), "-o", tmp_path / "out")
    first = {gzip.open: ("a.txt.gz",), bz2.open: ("b.vec.bz2",), open: ("c.TXT",)}
    for opened, texts in first.items():
        with opened(tmp_path / "out" / texts[0], "rb") as file:
            assert file.readline() == b"%d 8\n" % len(model.wv)
    for name, binary in (("d.bin", True), ("e.BIN.gz", True), ("c.TXT", False)):
        read = KeyedVectors.load_word2vec_format(str(tmp_path / "out" / name), binary=binary)
        np.testing.assert_allclose(read.vectors, model.wv.vectors, atol=1e-5)
    with np.load(tmp_path / "out" / "f.npz") as arrays:
        assert arrays["words"].tolist() == model.wv.index_to_key
    for name in ("g.kv", "h"):
        assert KeyedVectors.load(str(tmp_path / "out" / name)).index_to_key == model.wv.index_to_key


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.txt", "model.txt: .txt is the suffix of the format text, which holds only vectors"),
        ("model.BIN.gz", "is the suffix of the format binary, which holds only vectors"),
        ("vectors.2019", "no format has the suffix .2019"),
        ("vectors.npz.gz", "numpy cannot be compressed; leave out .gz"),
    ],
)
def test_align_refuses_suffixes_that_would_not_be_true(tfw2v, slices, tmp_path, name, message):
    source = tmp_path / name
    saved = Word2Vec.load(str(slices[0]))
    (saved.wv if name.startswith("vectors") else saved).save(str(source))
    said = tfw2v("align", slices[0], source, "-o", tmp_path / "out", status=2).stderr
    assert message in said and not (tmp_path / "out").exists()


def test_align_overwrites_nothing(tfw2v, slices, tmp_path):
    here = tfw2v("align", *slices, "-o", slices[0].parent, status=2).stderr
    assert "is one of the inputs; give the output a different name" in here
    twice = tfw2v("align", slices[0], slices[0], "-o", tmp_path, status=2).stderr
    assert "models of the same name would overwrite each other" in twice
    file = tfw2v("align", slices[0], "-o", slices[1], status=2).stderr
    assert "is a file; give a folder" in file


def test_changes_shows_similarities_and_neighbours_of_each_model(tfw2v, slices):
    lines = tfw2v("changes", *slices, "-w", "the", "-w", "of", "--neighbours", 2).stdout
    rows = [line.split("\t") for line in lines.splitlines()]
    assert rows[0] == ["word", "model", "first", "previous", "neighbours"]
    models = [getattr(model, "wv", model) for model in loaded(slices[0].parent)]
    similarities = self_similarities(models, ["the", "of"])
    expected = []
    for word, matrix in similarities.items():
        for place, (path, vectors) in enumerate(zip(slices, models, strict=True)):
            near = " ".join(name for name, _ in vectors.most_similar(word, topn=2))
            shown = [f"{matrix[place, 0]:.4f}", f"{matrix[place, place - 1]:.4f}"]
            expected.append([word, path.name, *(shown if place else "--"), near])
    assert rows[1:] == expected


def test_changes_chooses_the_words_with_the_lowest_similarity(tfw2v, slices):
    lines = tfw2v("changes", *slices, "--number", 4, "--among", 50).stdout.splitlines()[1:]
    found = self_similarities(loaded(slices[0].parent))
    first = list(found)[:50]
    expected = sorted(first, key=lambda word: found[word][0, 2])[:4]
    assert [line.split("\t")[0] for line in lines[::3]] == expected


def test_changes_needs_two_models(tfw2v, slices):
    said = tfw2v("changes", slices[0], status=2).stderr
    assert said == (
        f"tfw2v: {slices[0]} is the only MODEL; give at least two, whose words are compared\n"
    )


def test_changes_needs_a_known_word(tfw2v, slices):
    said = tfw2v("changes", *slices, "-w", "unheard", status=2).stderr
    assert said == "tfw2v: in none of the models: 'unheard'; see tfw2v info\n"


def test_train_with_a_compass_equals_train_slice(tfw2v, slices, corpus, tmp_path):
    options = ("--workers", 1, "--epochs", 1, "--min-count", 6)
    shown = tfw2v("train", corpus, "-o", tmp_path / "m", "--compass", slices[0], *options).stdout
    compass = Word2Vec.load(str(slices[0]))
    expected = train_slice(compass, corpus_file=str(corpus), workers=1, epochs=1, min_count=6)
    assert f"{len(expected.wv)} words x 8 dimensions" in shown
    found = TFWord2Vec.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(found.wv.vectors, expected.wv.vectors)
    assert found.learn_hidden is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fasttext", "--regime", "sync"), "--fasttext, --regime: excluded by --compass"),
        (("--vector-size", 9), "--vector-size 9 differs from --vector-size 8 of the compass"),
        (("--cluster", "local:ps=1,worker=1"), "--cluster: excluded by --compass"),
        (("--min-count", 9999), "no word of the compass occurs at least --min-count 9999 times"),
    ],
)
def test_train_with_a_compass_rejects(tfw2v, slices, corpus, tmp_path, options, message):
    arguments = ("train", corpus, "-o", tmp_path / "m", "--compass", slices[0])
    said = tfw2v(*arguments, *options, status=2).stderr
    assert message in said and said.count("\n") == 1


def test_a_compass_must_be_a_full_model(tfw2v, slices, corpus, tmp_path):
    said = tfw2v("train", corpus, "-o", tmp_path / "m", "--compass", slices[2], status=2).stderr
    assert f"{slices[2]}: the compass is a KeyedVectors: pass a full Word2Vec model" in said
