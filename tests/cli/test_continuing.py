"""tfw2v train --init, and more epochs on a checkpoint."""

import numpy as np
import pytest
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.kernel.tables import UnitTask
from gensim_tfw2v.training.checkpoints import CheckpointError, Checkpoints

NEW = "the zorgle of the zorgle said\n" * 20


@pytest.fixture
def text(tmp_path):
    """A corpus with a new word."""
    path = tmp_path / "new.txt"
    path.write_text(NEW)
    return path


@pytest.mark.parametrize("form", ["model", "vectors.kv", "text.txt", "binary.bin"])
def test_new_words_are_added_to_a_model_or_vectors(tfw2v, models, text, tmp_path, form):
    output, options = tmp_path / "out", ("--epochs", 3, "--alpha", 0.05, "--sample", 0)
    shown = tfw2v("train", text, "-o", output, "--init", models[form], *options).stdout
    before, after = Word2Vec.load(str(models["model"])), Word2Vec.load(str(output))
    assert after.wv.index_to_key == [*before.wv.index_to_key, "zorgle", "said"][: len(after.wv)]
    assert f"{len(after.wv):,} words x 8" in shown and "120 words, 3 epochs" in shown
    assert (after.epochs, after.alpha, after.vector_size) == (3, 0.05, 8)
    assert not np.array_equal(after.wv["the"], before.wv["the"])
    rare = before.wv.index_to_key[-1]
    np.testing.assert_allclose(after.wv[rare], before.wv[rare], atol=1e-6)


def test_missing_options_default_to_the_model(tfw2v, corpus, tmp_path):
    model, output = (
        TFWord2Vec(corpus_file=str(corpus), vector_size=8, sg=1, window=3),
        tmp_path / "o",
    )
    model.save(str(tmp_path / "model"))
    tfw2v("train", corpus, "-o", output, "--init", tmp_path / "model", "--negative", 7, "--sg")
    found = Word2Vec.load(str(output))
    assert (found.sg, found.window, found.epochs, found.negative) == (1, 3, 5, 7)
    # the same training run in Python
    model.negative = 7
    model.build_vocab(corpus_file=str(corpus), update=True)
    model.train(corpus_file=str(corpus), total_examples=model.corpus_count, epochs=5,
                total_words=model.corpus_total_words)  # fmt: skip
    assert found.corpus_total_words == model.corpus_total_words
    assert found.wv.get_vecattr("the", "count") == model.wv.get_vecattr("the", "count")


def test_init_uses_early_stopping_and_prints_this_training(tfw2v, tmp_path):
    corpus = datapath("lee_background.cor")
    small = ("--vector-size", 4, "--workers", 1)
    stops = ("--early-stopping", "ws353", "--patience", 1)
    first = tfw2v("train", corpus, "-o", tmp_path / "m", *small, *stops, "--epochs", 30).stdout
    assert "best " in first
    again = ("train", corpus, "--init", tmp_path / "m", "--workers", 1)
    tfw2v(*again, "-o", tmp_path / "stopped", *stops, "--epochs", 30)
    stopped = TFWord2Vec.load(str(tmp_path / "stopped"))
    assert 1 < len(stopped.history) < 30 and max(stopped.history) == stopped.best_score
    # training without early stopping doesn't print or keep the results of an earlier run
    shown = tfw2v(*again, "-o", tmp_path / "whole", "--epochs", 3).stdout
    assert "best " not in shown and "words, 3 epochs" in shown
    whole = TFWord2Vec.load(str(tmp_path / "whole"))
    assert (list(whole.history), whole.best_epoch, whole.best_score) == ([], None, None)


def test_init_computes_the_loss_if_asked_or_if_the_model_does(tfw2v, models, corpus, tmp_path):
    options = ("--init", models["model"], "--compute-loss")
    assert "nats per prediction" in tfw2v("train", corpus, "-o", tmp_path / "a", *options).stdout
    shown = tfw2v("train", corpus, "-o", tmp_path / "b", "--init", tmp_path / "a").stdout
    assert "nats per prediction" in shown  # options that are not set are the model's


def test_init_adds_new_words_to_fasttext(tfw2v, corpus, text, tmp_path):
    model = TFFastText(corpus_file=str(corpus), vector_size=8, bucket=500, epochs=1)
    model.save(str(tmp_path / "model"))
    tfw2v("train", text, "-o", tmp_path / "out", "--init", tmp_path / "model")
    assert "zorgle" in TFFastText.load(str(tmp_path / "out")).wv.key_to_index


def test_init_adds_new_documents_to_doc2vec(tfw2v, corpus, tmp_path):
    """Lines of a file that has grown keep their tags, and new lines get new ones."""
    lines = corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "first").write_text("".join(lines[:20]), encoding="utf-8")
    model = TFDoc2Vec(corpus_file=str(tmp_path / "first"), vector_size=8, dm=0, epochs=1)
    model.save(str(tmp_path / "model"))
    arguments = ("train", corpus, "-o", tmp_path / "out", "--init", tmp_path / "model")
    tfw2v(*arguments, "--doc2vec", "--dbow", "--dbow-words", "--epochs", 2)
    found = TFDoc2Vec.load(str(tmp_path / "out"))
    assert found.dv.index_to_key == list(range(30))
    assert (found.dbow_words, found.epochs, found.sg) == (True, 2, 1) and "dm" not in vars(found)
    assert "--dm cannot change" in tfw2v(*arguments, "--doc2vec", "--dm", status=2).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--vector-size", 9), "--vector-size cannot change when training continues"),
        (("--hs",), "--hs cannot change"),
        (("--negative", 0, "--hs"), "has"),
        (("--negative", 0), "--negative cannot change"),
        (("--negative", 0, "--no-hs"), "leaves nothing to train"),
        (("--sg",), "--sg cannot change"),
        (("--fasttext",), "--fasttext cannot change"),
        (("--doc2vec",), "--doc2vec cannot change"),
        (("--tables-dir", "t"), "--tables-dir cannot change"),
    ],
)
def test_unchangeable_options_are_rejected(tfw2v, models, text, tmp_path, options, message):
    arguments = ("train", text, "-o", tmp_path / "out", "--init", models["model"], *options)
    assert message in tfw2v(*arguments, status=2).stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--init", "--compass"])
def test_negative_may_be_0_if_the_model_has_hierarchical_softmax(tfw2v, corpus, tmp_path, option):
    model = Word2Vec(corpus_file=str(corpus), vector_size=4, hs=1, negative=0, workers=1)
    model.save(str(tmp_path / "model"))
    arguments = ("train", corpus, "-o", tmp_path / "out", option, tmp_path / "model")
    tfw2v(*arguments, "--negative", 0, "--workers", 1)
    found = TFWord2Vec.load(str(tmp_path / "out"))
    assert (found.hs, found.negative) == (1, 0)
    assert not np.array_equal(found.wv["the"], model.wv["the"])


def test_vectors_without_an_objective_are_rejected(tfw2v, models, text, tmp_path):
    arguments = ("train", text, "-o", tmp_path / "out", "--init", models["vectors.kv"])
    said = tfw2v(*arguments, "--negative", 0, status=2).stderr
    assert "--negative 0 without --hs leaves nothing to train" in said


@pytest.mark.parametrize(
    ("init", "message"), [("missing", "no such file"), ("new.txt", "not vectors in a known format")]
)
def test_invalid_init_files_are_rejected(tfw2v, text, tmp_path, init, message):
    result = tfw2v("train", text, "-o", tmp_path / "out", "--init", tmp_path / init, status=2)
    assert message in result.stderr


def test_output_over_the_init_model_is_rejected(tfw2v, models, text):
    result = tfw2v("train", text, "-o", models["model"], "--init", models["model"], status=2)
    assert "is the model to continue; give the output a different name" in result.stderr


def test_corpus_of_rare_unknown_words_is_rejected(tfw2v, models, tmp_path):
    (tmp_path / "rare.txt").write_text("xx yy zz\n")
    result = tfw2v(
        "train", tmp_path / "rare.txt", "-o", tmp_path / "o", "--init", models["model"], status=2
    )
    assert "no word that is frequent enough; lower --min-count" in result.stderr


@pytest.fixture
def finished(tfw2v, corpus, tmp_path):
    """Return a function that trains up to `epochs` epochs; two are done already."""

    def train(epochs, *options, status=0):
        arguments = ("--checkpoint-dir", tmp_path / "c", "--vector-size", 8, "--workers", 1, "--sg")
        output = ("-o", tmp_path / "model")
        return tfw2v(
            "train", corpus, *output, *arguments, "--epochs", epochs, *options, status=status
        )

    train(2)
    return train


def test_finished_training_resumes_with_more_epochs(finished, tmp_path, monkeypatch):
    rates = {}
    monkeypatch.setattr(
        "gensim_tfw2v.training.epoch.UnitTask",
        lambda unit, epoch, key, alphas: (
            rates.setdefault(epoch, alphas) and UnitTask(unit, epoch, key, alphas)
        ),
    )
    before = Word2Vec.load(str(tmp_path / "model"))
    result = finished(4)
    assert "2 of 4 epochs" in result.stderr and "had been trained before" in result.stdout
    # learning rates as in one training run of four epochs: from half of alpha downwards
    assert rates[2][0] == pytest.approx((0.025 + 0.0001) / 2)
    after = Word2Vec.load(str(tmp_path / "model"))
    assert after.epochs == 4 and not np.array_equal(after.wv.vectors, before.wv.vectors)
    again = finished(4)  # trains nothing
    assert "4 of 4 epochs are trained" in again.stderr and "words/s" not in again.stdout
    np.testing.assert_array_equal(
        Word2Vec.load(str(tmp_path / "model")).wv.vectors, after.wv.vectors
    )


@pytest.mark.parametrize(
    ("epochs", "options", "message"),
    [
        (1, (), "it has --epochs 2, this one has --epochs 1; resume it with its own options"),
        (4, ("--alpha", 0.01), "it has --alpha 0.025, this one has --alpha 0.01"),
    ],
)
def test_other_changes_to_a_finished_training_are_rejected(finished, epochs, options, message):
    assert message in finished(epochs, *options, status=2).stderr


def test_unfinished_training_rejects_different_epochs(tmp_path):
    checkpoints = Checkpoints(tmp_path, {"epochs": 5})
    checkpoints.save({}, {"epoch": 3})
    checkpoints.wait()
    with pytest.raises(CheckpointError, match="has epochs=5, this one has epochs=10"):
        Checkpoints(tmp_path, {"epochs": 10}).load_latest(lambda arrays, state: state)
    assert checkpoints.load_latest(lambda arrays, state: state) == {"epoch": 3}
