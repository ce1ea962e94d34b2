import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.merging import METHODS


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Paths of two models of overlapping parts of a corpus, with arrays in separate files."""
    folder = tmp_path_factory.mktemp("parts")
    with open(datapath("lee_background.cor"), encoding="utf-8") as file:
        texts = [line.split() for line in file][:60]
    paths = [folder / "first", folder / "second"]
    for path, part in zip(paths, (texts[:40], texts[20:]), strict=True):
        Word2Vec(part, vector_size=8, epochs=1, workers=1).save(str(path), sep_limit=0)
    return paths


@pytest.mark.parametrize("method", METHODS)
def test_merging_models_reports_words_and_outputs(tfw2v, parts, tmp_path, method):
    shown = tfw2v("merge", *parts, "-o", tmp_path / "merged", "--method", method).stdout
    models, merged = (
        [Word2Vec.load(str(path)) for path in parts],
        TFWord2Vec.load(str(tmp_path / "merged")),
    )
    known = [set(model.wv.index_to_key) for model in models]
    both = len(known[0] & known[1])
    assert set(merged.wv.index_to_key) == known[0] | known[1]
    assert merged.vector_size == (16 if method == "concat" else 8)
    assert merged.syn1neg.any()
    lines = shown.splitlines()
    assert lines[0] == f"{'merged':<11}2 models by {method}"
    assert lines[1] == (
        f"{'vocabulary':<11}{len(merged.wv):,} words x {merged.vector_size} dimensions"
    )
    assert lines[2] == f"{'words':<11}{both:,} in all"
    assert lines[3].startswith(f"{'words':<11}{len(merged.wv) - both:,} in 1 of 2: ")
    assert lines[3].endswith(", …")
    assert lines[4] == f"{'outputs':<11}syn1neg merged"
    assert lines[5].startswith("time ")
    assert lines[6] == f"{'saved':<11}{tmp_path / 'merged'}"


@pytest.mark.parametrize("form", ["model.gz", "vectors.kv", "text.txt", "binary.bin", "glove.txt"])
def test_merging_a_model_with_its_copy_in_any_format_keeps_it(tfw2v, models, tmp_path, form):
    """The result has the axes of the first model."""
    given = [models["model"], models[form]]
    shown = tfw2v("merge", *given, "-o", tmp_path / "merged").stdout
    assert f"syn1neg {'merged' if form == 'model.gz' else 'starts from 0'}" in shown
    merged, model = (Word2Vec.load(str(path)) for path in (tmp_path / "merged", given[0]))
    assert set(merged.wv.index_to_key) == set(model.wv.index_to_key)
    for word in model.wv.index_to_key:
        np.testing.assert_allclose(merged.wv[word], model.wv[word], atol=1e-4)


def test_merging_a_single_model_keeps_it(tfw2v, models, tmp_path):
    tfw2v("merge", models["model"], "-o", tmp_path / "merged", "--method", "concat")
    merged, model = (Word2Vec.load(str(p)) for p in (tmp_path / "merged", models["model"]))
    assert merged.wv.index_to_key == model.wv.index_to_key
    np.testing.assert_array_equal(merged.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(merged.syn1neg, model.syn1neg)


@pytest.mark.parametrize("options", [(), ("--binary",)])
def test_vectors_option_saves_the_merged_vectors(tfw2v, parts, tmp_path, options):
    arguments = ("-o", tmp_path / "m", "--vectors", tmp_path / "v", "--vector-size", 3, *options)
    shown = tfw2v("merge", *parts, *arguments).stdout
    assert shown.splitlines()[-1] == f"{'saved':<11}{tmp_path / 'v'}"
    vectors = KeyedVectors.load_word2vec_format(str(tmp_path / "v"), binary=bool(options))
    merged = Word2Vec.load(str(tmp_path / "m"))
    np.testing.assert_allclose(vectors.vectors, merged.wv.vectors, atol=1e-6)
    assert vectors.vector_size == 3


def test_bad_input_is_rejected(tfw2v, models, parts, tmp_path):
    def message(*arguments):
        error = tfw2v("merge", *arguments, status=2).stderr
        assert not list(tmp_path.iterdir())
        return error

    out = ("-o", tmp_path / "m")
    assert message(tmp_path / "missing", *out) == f"tfw2v: {tmp_path / 'missing'}: no such file\n"
    unknown = message(*parts, *out, "--method", "mean")
    assert unknown == "tfw2v: --method is 'mean': use alir, pca or concat\n"
    assert "--vectors FILE" in message(*parts, *out, "--binary")
    assert "is both --output and --vectors" in message(*parts, *out, "--vectors", tmp_path / "m")
    assert "is one of the inputs" in message(*parts, "-o", parts[0])
    assert "no such folder" in message(*parts, "-o", tmp_path / "no" / "m")
    assert "--vector-size is 9: give a whole number from 1 to 8" in message(
        *parts, *out, "--vector-size", 9
    )
    assert "concatenated rows have 16" in message(
        *parts, *out, "--vector-size", 9, "--method", "concat"
    )


def test_nodes_of_different_huffman_trees_are_not_merged(tfw2v, corpus, tmp_path):
    for number, count in enumerate((1, 2)):
        options = {"hs": 1, "vector_size": 8, "epochs": 1, "workers": 1, "min_count": count}
        Word2Vec(corpus_file=str(corpus), **options).save(str(tmp_path / str(number)))
    for second, said in ((0, "syn1 merged"), (1, "syn1 starts from 0")):
        given = [tmp_path / str(number) for number in (0, second)]
        shown = tfw2v("merge", *given, "-o", tmp_path / "merged").stdout
        assert f"syn1neg merged, {said}\n" in shown


def test_models_without_common_words_need_concat(tfw2v, parts, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("2 3\nåå 1 2 3\nßß 3 2 1\n")
    error = tfw2v("merge", *parts, other, "-o", tmp_path / "m", status=2).stderr
    assert "have no word in common" in error and "concat" in error
    tfw2v("merge", *parts, other, "-o", tmp_path / "m", "--method", "concat")
    assert len(Word2Vec.load(str(tmp_path / "m")).wv["åå"]) == 8 + 8 + 3
