"""Vectors that are random or that a format leaves out: refused, or named on stderr."""

import json

import numpy as np
import pytest
from gensim.models import Doc2Vec, KeyedVectors, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.models.fasttext import FastTextKeyedVectors
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.model_files import load_vectors
from gensim_tfw2v.training.untrained import random_vectors_reason

OPTIONS = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 3, "epochs": 2}
DOCUMENTS = [TaggedDocument(text, [n]) for n, text in enumerate(common_texts)]
FASTTEXT = {"bucket": 50, **OPTIONS}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    TFFastText(common_texts, **FASTTEXT).save(str(folder / "ngrams"))
    TFFastText(common_texts, **FASTTEXT, max_n=0).save(str(folder / "no ngrams"))
    TFDoc2Vec(DOCUMENTS, **OPTIONS, dm=0).save(str(folder / "dbow"))
    Doc2Vec(DOCUMENTS, **OPTIONS, dm=0).save(str(folder / "gensims dbow"))
    TFDoc2Vec(DOCUMENTS, **OPTIONS, dm=0, dbow_words=1).save(str(folder / "dbow words"))
    TFDoc2Vec(DOCUMENTS, **OPTIONS).save(str(folder / "dm"))
    built = TFWord2Vec(**OPTIONS)
    built.build_vocab(common_texts)
    built.save(str(folder / "built"))
    TFWord2Vec(common_texts, **OPTIONS).save(str(folder / "trained"))
    return folder


@pytest.mark.parametrize("words", [None, 5])
def test_ngrams_are_kept_in_gensims_format(tfw2v, models, tmp_path, words):
    limit = () if words is None else ("--words", words)
    result = tfw2v("convert", models / "ngrams", tmp_path / "out.kv", *limit)
    assert result.stderr == ""
    expected = TFFastText.load(str(models / "ngrams")).wv
    found = FastTextKeyedVectors.load(str(tmp_path / "out.kv"))
    assert found.index_to_key == expected.index_to_key[:words]
    for word in ("system", "unseen"):
        np.testing.assert_allclose(found[word], expected[word], atol=1e-7)
    shown = tfw2v("neighbours", tmp_path / "out.kv", "unseen", "-n", 1).stdout
    assert shown.splitlines()[1].startswith("unseen\t")


@pytest.mark.parametrize("name", ["out.txt", "out.bin", "out.npz", "folder"])
def test_ngrams_that_are_not_written_are_named(tfw2v, models, tmp_path, name):
    to = ("--to", "sentence-transformers") if name == "folder" else ()
    said = tfw2v("convert", models / "ngrams", tmp_path / name, *to).stderr
    assert said.startswith(f"tfw2v: {tmp_path / name}: only the vectors of whole words are written")
    assert said.count("\n") == 1 and "gensim, fasttext, pretrained" in said
    assert tfw2v("convert", models / "no ngrams", tmp_path / f"no {name}", *to).stderr == ""


@pytest.mark.parametrize("arguments", [("--to", "fasttext"), ("--to", "pretrained")])
def test_formats_of_full_models_need_no_notice(tfw2v, models, tmp_path, arguments):
    assert tfw2v("convert", models / "ngrams", tmp_path / "out", *arguments).stderr == ""
    assert len(load_vectors(tmp_path / "out")["unseen"]) == 4


def test_words_without_any_ngram_are_unknown(tfw2v, models):
    said = tfw2v("neighbours", models / "no ngrams", "unseen", status=2).stderr
    assert "'unseen' is not in the vocabulary" in said


@pytest.mark.parametrize("name", ["dbow", "gensims dbow"])
@pytest.mark.parametrize(
    ("command", "has_option"),
    [
        (["neighbours", "MODEL", "user"], True),
        (["similarity", "MODEL", "user", "system"], True),
        (["index", "MODEL", "OUT"], True),
        (["evaluate", "MODEL"], False),
        (["vectors", "MODEL"], False),
        (["changes", "MODEL", "MODEL"], False),
        (["align", "MODEL", "MODEL", "-o", "OUT"], False),
        (["merge", "MODEL", "MODEL", "-o", "OUT"], False),
    ],
    ids=lambda command: command[0] if isinstance(command, list) else "",
)
def test_random_vectors_of_words_are_refused(tfw2v, models, tmp_path, name, command, has_option):
    if command[0] == "index":
        pytest.importorskip("usearch")
    if command[0] == "align":
        command = ["align", "MODEL", models / "dm", "-o", "OUT"]
    typed = [{"MODEL": models / name, "OUT": tmp_path / "out"}.get(one, one) for one in command]
    result = tfw2v(*typed, status=2)
    said = f"{models / name}: its vectors of words are random: PV-DBOW (dm=0) without dbow_words"
    assert said in result.stderr and "train it with --dbow-words" in result.stderr
    assert ("use --documents" in result.stderr) == has_option
    assert result.stdout == "" and not list(tmp_path.glob("out/*"))


def test_documents_of_these_models_are_used(tfw2v, models):
    model = TFDoc2Vec.load(str(models / "dbow"))
    [(tag, _)] = model.dv.most_similar(1, topn=1)
    shown = tfw2v("neighbours", models / "dbow", 1, "--documents", "-n", 1).stdout
    assert shown.splitlines()[1].startswith(f"1\t{tag}\t")


@pytest.mark.parametrize("name", ["dbow words", "dm", "trained", "ngrams"])
def test_trained_vectors_are_used(tfw2v, models, name):
    assert tfw2v("neighbours", models / name, "user").stderr == ""
    assert tfw2v("evaluate", models / name, "--no-standard").stderr == ""


def test_random_vectors_are_converted_with_a_notice(tfw2v, models, tmp_path):
    said = tfw2v("convert", models / "dbow", tmp_path / "out.txt").stderr.splitlines()
    assert "out.txt: its vectors of words are random: PV-DBOW" in said[0]
    assert "only the vectors of words are written; --documents writes those of doc" in said[1]
    assert tfw2v("convert", models / "dbow", tmp_path / "tags.kv", "--documents").stderr == ""
    assert tfw2v("convert", models / "dbow", tmp_path / "all", "--to", "pretrained").stderr == ""
    said = tfw2v("convert", models / "dm", tmp_path / "words.kv").stderr
    assert said.count("\n") == 1 and "--documents writes" in said


def test_a_file_named_like_a_model_holds_only_vectors(tfw2v, models, tmp_path):
    said = tfw2v("convert", models / "trained", tmp_path / "out.model").stderr
    assert "out.model: only vectors are written (KeyedVectors)" in said and "--to pretrain" in said
    assert tfw2v("convert", models / "trained", tmp_path / "out.kv").stderr == ""
    assert tfw2v("convert", tmp_path / "out.kv", tmp_path / "out.model").stderr == ""


def test_models_that_were_never_trained_are_refused(tfw2v, models, tmp_path):
    said = tfw2v("neighbours", models / "built", "user", status=2).stderr
    assert "random: the model has a vocabulary, but was never trained; train it first" in said
    assert "was never trained" in tfw2v("convert", models / "built", tmp_path / "out").stderr


def test_info_prints_which_vectors_are_trained(tfw2v, models):
    for name, expected in (("dbow", (0, 0)), ("dbow words", (0, 1)), ("dm", (1, 0))):
        found = json.loads(tfw2v("info", models / name, "--json").stdout)
        assert (found["dm"], found["dbow_words"]) == expected
    assert "dm" not in json.loads(tfw2v("info", models / "trained", "--json").stdout)


def test_vectors_that_were_set_are_not_random():
    model = Word2Vec(common_texts, **OPTIONS)
    assert random_vectors_reason(TFWord2Vec.from_vectors(model.wv)) == ""
    new = TFDoc2Vec(**OPTIONS, dm=0)
    new.build_vocab(DOCUMENTS)
    assert random_vectors_reason(new) and random_vectors_reason(new, documents=True)
    new.wv.vectors = np.ones_like(new.wv.vectors)
    assert random_vectors_reason(new) == "" and random_vectors_reason(new, documents=True)


def test_merge_names_what_it_leaves_out(tfw2v, models, tmp_path):
    for name, count in (("ngrams", 2), ("dm", 2), ("trained", 0)):
        arguments = ("merge", models / name, models / name, "-o", tmp_path / name)
        said = tfw2v(*arguments).stderr
        assert said.count(f"{models / name}: only its vectors of words are merged") == count


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fasttext", "--bucket", 50], ["only the vectors of whole words are written"]),
        (["--doc2vec"], ["only the vectors of words are written; tfw2v convert --documents"]),
        (["--doc2vec", "--dbow"], ["are random: PV-DBOW", "only the vectors of words"]),
        ([], []),
    ],
    ids=["fasttext", "dm", "dbow", "words"],
)
def test_training_names_what_its_vectors_leave_out(tfw2v, tmp_path, options, said):
    (tmp_path / "text").write_text("\n".join(map(" ".join, common_texts)))
    arguments = ("--vectors", tmp_path / "v.txt", "--min-count", 1, "--vector-size", 4, *options)
    printed = tfw2v("train", tmp_path / "text", "-o", tmp_path / "m", *arguments).stderr
    lines = [line for line in printed.splitlines() if "v.txt: " in line]
    assert len(lines) == len(said)
    assert all(text in line for text, line in zip(said, lines, strict=True))


def test_models_from_fasttexts_vectors_warn_of_ngrams(models, caplog):
    TFWord2Vec.from_vectors(TFFastText.load(str(models / "ngrams")).wv)
    assert "only the vectors of whole words are taken, and none of FastText's n" in caplog.text
    caplog.clear()
    TFWord2Vec.from_vectors(TFWord2Vec.load(str(models / "trained")).wv)
    assert "whole words" not in caplog.text


def test_align_names_ngrams_that_it_leaves_out(tfw2v, models, tmp_path):
    vectors = TFFastText.load(str(models / "ngrams")).wv
    for name in ("a", "b"):
        vectors.save(str(tmp_path / f"{name}.vec"))
    arguments = ("align", tmp_path / "a.vec", tmp_path / "b.vec", "-o", tmp_path / "out")
    assert tfw2v(*arguments).stderr.count("only the vectors of whole words are written") == 2
    found = KeyedVectors.load_word2vec_format(str(tmp_path / "out" / "b.vec"))
    assert found.index_to_key == vectors.index_to_key
