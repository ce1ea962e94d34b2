"""Additions to gensim's Word2Vec: `from_vectors`, `partial_fit`, `corrected_cbow` and losses."""

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import TFWord2Vec

LEE = datapath("lee_background.cor")


@pytest.fixture(scope="module")
def lee():
    return Word2Vec(corpus_file=LEE, vector_size=16, workers=1, epochs=2)


@pytest.mark.parametrize("hs", [0, 1])
def test_model_from_vectors_can_be_trained(lee, tmp_path, hs):
    path = str(tmp_path / "vectors.bin")
    lee.wv.save_word2vec_format(path, binary=True)
    vectors = KeyedVectors.load_word2vec_format(path, binary=True)
    model = TFWord2Vec.from_vectors(vectors, hs=hs, negative=0 if hs else 5, workers=1)
    assert model.wv.index_to_key == lee.wv.index_to_key
    np.testing.assert_array_equal(model.wv.vectors, vectors.vectors)
    model.build_vocab([["the", "brand-new"]] * 9, update=True)
    assert "brand-new" in model.wv and len(model.wv) == len(vectors) + 1
    np.testing.assert_array_equal(model.wv["the"], vectors["the"])
    model.train(corpus_file=LEE, total_words=59890, epochs=2)
    assert not np.array_equal(model.wv["the"], vectors["the"])
    assert not np.shares_memory(vectors.vectors, model.wv.vectors)


def test_from_vectors_keeps_their_counts(lee):
    model = TFWord2Vec.from_vectors(lee.wv)
    assert model.wv.expandos["count"].tolist() == lee.wv.expandos["count"].tolist()


def test_from_vectors_accepts_counts_of_all_words(lee):
    counts = {word: 5 + place for place, word in enumerate(lee.wv.index_to_key)}
    model = TFWord2Vec.from_vectors(lee.wv, counts)
    assert {word: model.wv.get_vecattr(word, "count") for word in counts} == counts
    for word in ("the", "to"):
        np.testing.assert_array_equal(model.wv[word], lee.wv[word])
    del counts["the"]
    with pytest.raises(ValueError, match=r"counts lacks 1 of the 1762 words, the first 'the'"):
        TFWord2Vec.from_vectors(lee.wv, counts)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0, -1, 1.5, 2**63, "3", None])
def test_from_vectors_with_invalid_counts_raises(lee, bad):
    counts = dict.fromkeys(lee.wv.index_to_key, 5) | {"to": bad}
    with pytest.raises(ValueError, match="the count of 'to' is .*: use whole numbers from 1 up"):
        TFWord2Vec.from_vectors(lee.wv, counts)


def test_words_without_counts_follow_zipfs_law(lee, tmp_path):
    path = str(tmp_path / "vectors.txt")
    lee.wv.save_word2vec_format(path)
    model = TFWord2Vec.from_vectors(KeyedVectors.load_word2vec_format(path))
    counts = model.wv.expandos["count"]
    assert counts[[0, 1, 2, 1761]].tolist() == [1762, 881, 588, 1]


def test_partial_fit_trains_on_successive_parts():
    model = TFWord2Vec(vector_size=8, min_count=2, workers=1, sample=0)
    trained, raw = model.partial_fit(iter(common_texts * 2))  # a generator will do
    assert trained == raw == 58
    known, before = list(model.wv.index_to_key), model.wv.vectors.copy()
    model.partial_fit([["new", "words", "computer"]] * 3, epochs=2, alpha=0.01)
    assert model.wv.index_to_key == [*known, "new", "words"]
    changed = (model.wv.vectors[: len(known)] != before).any(axis=1)
    assert [known[row] for row in np.flatnonzero(changed)] == ["computer"]
    assert model.train_count == 2
    assert (model.alpha, model.min_alpha) == (0.025, 0.0001)


def test_partial_fit_without_new_words_keeps_the_vocabulary():
    model = TFWord2Vec(vector_size=8, min_count=1, workers=1)
    model.partial_fit(common_texts)
    words = list(model.wv.index_to_key)
    model.partial_fit(common_texts[:3])
    assert model.wv.index_to_key == words


def test_partial_fit_accepts_a_file():
    model = TFWord2Vec(vector_size=8, workers=1)
    assert model.partial_fit(corpus_file=LEE)[1] == 59890


@pytest.mark.parametrize("cbow_mean", [0, 1])
def test_corrected_cbow_moves_inputs_by_the_gradient(cbow_mean):
    sentence = [["a", "b", "c", "d"]]
    options = {
        "vector_size": 6, "min_count": 1, "sample": 0, "window": 3, "shrink_windows": False,
        "cbow_mean": cbow_mean, "hs": 1, "negative": 0, "workers": 1, "alpha": 1e-3,
        "min_alpha": 1e-3, "epochs": 1,
    }  # fmt: skip
    moved = []
    for corrected in (False, True):
        model = TFWord2Vec(corrected_cbow=corrected, **options)
        model.build_vocab(sentence)
        model.syn1[:] = np.random.default_rng(1).normal(0, 1, model.syn1.shape)
        before = model.wv.vectors.copy()
        model.train(sentence, total_examples=1, epochs=1)
        moved.append(model.wv.vectors - before)
    # each window holds three words: gensim's update of a mean is three times the gradient
    ratio = 1 / 3 if cbow_mean else 3
    np.testing.assert_allclose(moved[1], moved[0] * ratio, rtol=2e-2, atol=1e-6)


def test_corrected_cbow_is_saved_but_not_in_to_gensim(tmp_path):
    model = TFWord2Vec(common_texts, min_count=1, corrected_cbow=True)
    model.save(str(tmp_path / "model"))
    assert TFWord2Vec.load(str(tmp_path / "model")).corrected_cbow is True
    assert not {"corrected_cbow", "mean_losses"} & set(vars(model.to_gensim()))


@pytest.mark.parametrize(
    "options",
    [
        {"sg": 1},
        pytest.param({"sg": 0}, marks=pytest.mark.slow),
        pytest.param({"sg": 1, "hs": 1, "negative": 0}, marks=pytest.mark.slow),
        {"sg": 0, "hs": 1, "negative": 0},
    ],
)
def test_losses_have_gensims_scale(options):
    options = {**options, "corpus_file": LEE, "compute_loss": True, "workers": 1, "epochs": 3}
    model = TFWord2Vec(**options)
    assert model.get_latest_training_loss() == pytest.approx(
        Word2Vec(**options).get_latest_training_loss(), rel=0.05
    )
    assert len(model.mean_losses) == 3
    # the loss of a pair of negative sampling starts at 6 log 2
    assert model.mean_losses == sorted(model.mean_losses, reverse=True)
    if not options.get("hs"):
        assert 2 < model.mean_losses[0] < 6 * np.log(2)
    model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=1, compute_loss=False)
    assert model.mean_losses == []
