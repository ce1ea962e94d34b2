"""Models whose words are integers: every format and every command keeps them or refuses them."""

import json

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument
from typer.testing import CliRunner

from gensim_tfw2v import NeighbourIndex, TFDoc2Vec, TFWord2Vec
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.cli.model_files import load_saved, load_vectors
from gensim_tfw2v.keyed import keyed

OPTIONS = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 3, "sample": 0}
#: Walks on a circle of 30 nodes, the nodes from 100 on.
WALKS = [[100 + (start + step) % 30 for step in range(8)] for start in range(60)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "walks.model"
    TFWord2Vec(WALKS, **OPTIONS).save(str(path))
    return path


def vectors_of(*words):
    rows = np.random.default_rng(1).normal(size=(len(words), 3)).astype(np.float32)
    return keyed(list(words), rows)


def saved(path, *words):
    vectors_of(*words).save(str(path))
    return path


def same_keys(found, expected):
    assert found == expected and [*map(type, found)] == [*map(type, expected)]


def lines(tfw2v, *arguments):
    return [line.split("\t") for line in tfw2v(*arguments).stdout.splitlines()]


@pytest.mark.parametrize("name", ["out.kv", "out.npz", "out.keras", "pretrained", "vectors"])
def test_formats_with_types_hold_integers(tfw2v, model, tmp_path, name):
    if name.endswith("keras"):
        pytest.importorskip("tensorflow")
    to = {"pretrained": ("--to", "pretrained"), "vectors": ("--to", "sentence-transformers")}
    tfw2v("convert", model, tmp_path / name, *to.get(name, ()))
    found = load_vectors(tmp_path / name)
    expected = TFWord2Vec.load(str(model)).wv
    same_keys(found.index_to_key, expected.index_to_key)
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    if name == "out.npz":
        assert np.load(tmp_path / name)["words"].dtype.kind == "i"


@pytest.mark.parametrize("name", ["out.txt", "out.bin"])
def test_word2vec_formats_hold_decimal_digits(tfw2v, model, tmp_path, name):
    tfw2v("convert", model, tmp_path / name)
    expected = [*map(str, TFWord2Vec.load(str(model)).wv.index_to_key)]
    same_keys(load_vectors(tmp_path / name).index_to_key, expected)
    gensims = KeyedVectors.load_word2vec_format(str(tmp_path / name), binary="bin" in name)
    same_keys(gensims.index_to_key, expected)
    assert lines(tfw2v, "neighbours", tmp_path / name, 105) == lines(
        tfw2v, "neighbours", model, 105
    )


@pytest.mark.parametrize("binary", [False, True])
def test_an_integer_that_is_its_row_is_written_once(binary, tmp_path):
    vectors = vectors_of(0, 1, 7, 3)
    vectors.save_word2vec_format(str(tmp_path / "out"), binary=binary)
    found = KeyedVectors.load_word2vec_format(str(tmp_path / "out"), binary=binary)
    assert found.index_to_key == ["0", "1", "7", "3"]
    np.testing.assert_allclose(found.vectors, vectors.vectors, atol=1e-6)


@pytest.mark.parametrize("name", ["out.kv", "out.npz", "out.txt"])
def test_mixed_words_are_kept(tfw2v, tmp_path, name):
    words = ["a", 3, "7", 10**20]
    tfw2v("convert", saved(tmp_path / "m.kv", *words), tmp_path / name)
    expected = [*map(str, words)] if name == "out.txt" else words
    same_keys(load_vectors(tmp_path / name).index_to_key, expected)


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        ([5, "5"], "out.txt", "the format text cannot hold both 5 and '5', which have the same"),
        ([5, "5"], "out.bin", "the format binary cannot hold both"),
        ([5, "a"], "out.keras", "cannot hold strings and integers in one vocabulary; use a format"),
        ([2**63, 5], "out.keras", "cannot hold 9223372036854775808, which has more than 64 bits"),
        ([1.5], "out.txt", "cannot hold 1.5 of type float, only strings and integers; use a"),
        ([("a", 1)], "out.npz", r"cannot hold ('a', 1) of type tuple"),
    ],
)
def test_words_that_formats_cannot_hold_are_refused(tfw2v, tmp_path, words, name, said):
    model = saved(tmp_path / "m.kv", *words)
    printed = tfw2v("convert", model, tmp_path / name, status=2).stderr
    assert said in printed and "gensim" in printed
    assert not (tmp_path / name).exists()


def test_both_integers_and_their_digits_are_found(tfw2v, tmp_path):
    model = saved(tmp_path / "m.kv", 5, "5", 6)
    tfw2v("convert", model, tmp_path / "out.npz")
    same_keys(load_vectors(tmp_path / "out.npz").index_to_key, [5, "5", 6])
    near = json.loads(tfw2v("neighbours", model, 5, "--json").stdout)["5"]
    assert {repr(word) for word, _ in near} == {"5", "6"}  # of the string, which comes first


def test_neighbours_and_similarity_find_integers(tfw2v, model):
    vectors = TFWord2Vec.load(str(model)).wv
    expected = vectors.most_similar(105, topn=3)
    found = lines(tfw2v, "neighbours", model, 105, "-n", 3)[1:]
    assert [row[:2] for row in found] == [["105", str(word)] for word, _ in expected]
    near = json.loads(tfw2v("neighbours", model, 105, "-n", 3, "--json").stdout)
    assert near == {"105": [[word, pytest.approx(cosine)] for word, cosine in expected]}
    analogy = lines(tfw2v, "neighbours", model, 105, 110, "--minus", 101, "-n", 1)[1]
    [(word, _)] = vectors.most_similar([105, 110], [101], topn=1)
    assert analogy[:2] == ["105 + 110 - 101", str(word)]
    shown = float(tfw2v("similarity", model, 105, 106).stdout)
    assert shown == pytest.approx(vectors.similarity(105, 106), abs=1e-6)


@pytest.mark.parametrize("word", ["5", "0105", "1_05", "x"])
def test_rows_are_not_taken_for_words(tfw2v, model, word):
    """gensim's methods take an integer that is not a word for the number of a row."""
    said = tfw2v("neighbours", model, word, status=2).stderr
    assert f"'{word}' is not in the vocabulary" in said
    assert tfw2v("similarity", model, 105, word, status=2).stdout == ""
    assert tfw2v("changes", model, model, "-w", word, status=2).stdout == ""


def test_negative_integers_follow_two_dashes(tfw2v, tmp_path):
    model = saved(tmp_path / "m.kv", -3, 3, 5)
    assert lines(tfw2v, "neighbours", model, "-n", 1, "--", -3)[1][0] == "-3"


def test_words_of_any_type_are_printed(tfw2v, tmp_path):
    model = saved(tmp_path / "m.kv", np.int64(4), b"12", ("a", 1), 2.5)
    words = json.loads(tfw2v("info", model, "--json").stdout)["most_frequent"]
    assert words == [4, "b'12'", ["a", 1], 2.5]
    near = json.loads(tfw2v("neighbours", model, 4, "--json").stdout)["4"]
    assert {str(word) for word, _ in near} == {"b'12'", "['a', 1]", "2.5"}


def test_close_integers_are_suggested(tfw2v, model):
    assert "(close: 105" in tfw2v("similarity", model, 1055, 106, status=2).stderr


def test_vectors_of_integers_are_printed(model):
    vectors = TFWord2Vec.load(str(model)).wv
    result = CliRunner().invoke(app, ["vectors", str(model)], input="105\n5\n106\n")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["105", "106"] and "'5' is not in" in result.stderr
    np.testing.assert_allclose(np.array(rows[0][1:], np.float32), vectors[105], rtol=1e-6)
    command = ["vectors", str(model), "--sentences"]
    result = CliRunner().invoke(app, command, input="105 106\n")
    expected = vectors.get_mean_vector([105, 106])
    np.testing.assert_allclose([*map(float, result.stdout.split())], expected, rtol=1e-5)


def test_info_prints_integers_as_numbers(tfw2v, model):
    words = TFWord2Vec.load(str(model)).wv.index_to_key[:10]
    assert json.loads(tfw2v("info", model, "--json").stdout)["most_frequent"] == words


def test_evaluation_files_name_integers(tfw2v, model, tmp_path):
    (tmp_path / "pairs").write_text("105\t106\t9\n105\t120\t1\n106\t107\t8\n5\t105\t2\n")
    (tmp_path / "questions").write_text(": circle\n105 106 107 108\n5 6 7 8\n")
    files = [tmp_path / "pairs", tmp_path / "questions"]
    found = json.loads(tfw2v("evaluate", model, *files, "--no-standard", "--json").stdout)
    [pairs] = found["pairs"].values()
    assert (pairs["pairs"], pairs["used"]) == (4, 3) and pairs["spearman"] is not None
    [questions] = found["analogies"].values()
    assert questions["gensim"]["counted"] == 1 and questions["all"]["counted"] == 2


def test_held_out_loss_reads_digits_as_integers(tfw2v, model, tmp_path):
    (tmp_path / "text").write_text("\n".join(" ".join(map(str, walk)) for walk in WALKS))
    arguments = ("evaluate", model, "--text", tmp_path / "text", "--no-standard", "--json")
    found = json.loads(tfw2v(*arguments).stdout)["held_out_loss"]
    assert found == pytest.approx(TFWord2Vec.load(str(model)).held_out_loss(WALKS))


def test_training_on_a_text_is_refused(tfw2v, model, tmp_path):
    (tmp_path / "text").write_text("105 106\n")
    arguments = ("train", tmp_path / "text", "--init", model, "-o", tmp_path / "out")
    said = tfw2v(*arguments, status=2).stderr
    assert "its words are integers, but those of a text are strings" in said
    assert not (tmp_path / "out").exists()


def test_models_of_integers_are_aligned_compared_and_merged(tfw2v, model, tmp_path):
    tfw2v("convert", model, tmp_path / "copy", "--to", "pretrained")
    tfw2v("align", model, tmp_path / "copy", "-o", tmp_path / "aligned")
    aligned = load_vectors(tmp_path / "aligned" / "copy")
    same_keys(aligned.index_to_key, load_vectors(model).index_to_key)
    rows = lines(tfw2v, "changes", model, tmp_path / "copy", "-w", 105)
    assert [row[0] for row in rows[1:]] == ["105", "105"] and rows[2][2] == "1.0000"
    assert len(lines(tfw2v, "changes", model, tmp_path / "copy", "-n", 2)) == 5
    shown = tfw2v("merge", model, tmp_path / "copy", "-o", tmp_path / "merged").stdout
    assert "30 words" in shown
    same_keys(sorted(load_vectors(tmp_path / "merged").index_to_key), [*range(100, 130)])


def test_projector_shows_integers(tfw2v, model, tmp_path):
    pytest.importorskip("tensorboard")
    tfw2v("projector", model, "--log-dir", tmp_path)
    [table] = tmp_path.glob("projector/words-*.tsv")
    cells = [row.split("\t")[0] for row in table.read_text().splitlines()]
    assert cells[1:] == [*map(str, load_vectors(model).index_to_key)]


def test_indexes_hold_integers(tfw2v, model, tmp_path):
    pytest.importorskip("usearch")
    tfw2v("index", model, tmp_path / "x")
    vectors = load_vectors(model)
    index = NeighbourIndex.load(tmp_path / "x")
    same_keys(index.keys, vectors.index_to_key)
    assert all(type(key) is int for key, _ in index.most_similar(vectors[105], topn=3))
    exact = lines(tfw2v, "neighbours", model, 105, "-n", 3)
    assert lines(tfw2v, "neighbours", model, 105, "-n", 3, "--index", tmp_path / "x") == exact


def test_tags_that_are_integers_are_found(tfw2v, tmp_path):
    documents = [TaggedDocument(walk, [n, f"t{n % 2}"]) for n, walk in enumerate(WALKS)]
    model = TFDoc2Vec(documents, **OPTIONS)
    path = tmp_path / "documents"
    model.save(str(path))
    near = json.loads(tfw2v("neighbours", path, 3, "--documents", "--json", "-n", 2).stdout)
    expected = model.dv.most_similar(3, topn=2)
    assert near == {"3": [[tag, pytest.approx(cosine)] for tag, cosine in expected]}
    shown = float(tfw2v("similarity", path, 3, "t1", "--documents").stdout)
    assert shown == pytest.approx(model.dv.similarity(3, "t1"), abs=1e-6)
    tfw2v("convert", path, tmp_path / "tags.npz", "--documents")
    same_keys(load_vectors(tmp_path / "tags.npz").index_to_key, model.dv.index_to_key)
    tfw2v("convert", path, tmp_path / "folder", "--to", "pretrained")
    loaded = load_saved(tmp_path / "folder")
    same_keys(loaded.dv.index_to_key, model.dv.index_to_key)
    same_keys(loaded.wv.index_to_key, model.wv.index_to_key)
    text = " ".join(map(str, WALKS[3]))
    result = CliRunner().invoke(app, ["vectors", str(path), "--infer"], input=text)
    inferred = TFDoc2Vec.load(str(path)).infer_vectors([WALKS[3]])[0]
    np.testing.assert_allclose([*map(float, result.stdout.split())], inferred, rtol=1e-5)


def test_models_from_integers_keep_them():
    model = TFWord2Vec.from_vectors(vectors_of(7, 0, 3), min_count=1, workers=1)
    same_keys(model.wv.index_to_key, [7, 0, 3])
    model.partial_fit([[7, 0, 3], [3, 9]] * 3)
    same_keys(model.wv.index_to_key, [7, 0, 3, 9])
