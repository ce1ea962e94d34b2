"""TFFastText keeps gensim's contract: rows of n-grams, unknown words, files, streams, clusters."""

import itertools
import random

import numpy as np
import pytest
from gensim.models import FastText, fasttext
from gensim.models.callbacks import CallbackAny2Vec
from gensim.test.utils import common_texts, datapath, lee_corpus_list

from gensim_tfw2v import TFFastText, TFWord2Vec
from gensim_tfw2v.kernel.sizes import choose_span
from gensim_tfw2v.model import OWN
from gensim_tfw2v.training.subwords import Subwords, adjust_vectors
from gensim_tfw2v.training.vocabulary import Vocabulary

STEMS = (("kick", "goal", "team", "play"), ("bank", "loan", "cred", "fund"))
ENDS = ("ing", "ed", "s", "ment", "able", "ness")
HELD = {"kickable": 0, "teamed": 0, "loaning": 1, "fundness": 1}
SMALL = {"vector_size": 12, "min_count": 1, "bucket": 500, "workers": 1}
OBJECTIVES = [
    {"sg": sg, **softmax} for sg in (0, 1) for softmax in ({}, {"hs": 1, "negative": 0}, {"hs": 1})
]


@pytest.fixture(scope="module")
def texts():
    """Sentences of two topics; the words of HELD, made of known parts, occur in none."""
    rng = random.Random(1)
    words = [
        [s + e for s, e in itertools.product(stems, ENDS) if s + e not in HELD] for stems in STEMS
    ]
    return [rng.choices(words[rng.randrange(2)], k=10) for _ in range(1500)]


def assert_knows_topics(model):
    """Assert that unknown words are nearer to their topic, even to words of other stems."""
    for word, topic in HELD.items():
        assert word not in model.wv.key_to_index
        others = [
            model.wv.n_similarity([word], [s + "s" for s in stems if not word.startswith(s)])
            for stems in STEMS
        ]
        assert others[topic] > others[1 - topic] + 0.1, (word, others)


def rows_of(model):
    return [model.wv.vectors_vocab, model.wv.vectors_ngrams, model.syn1neg]


def assert_same_rows(one, other, **tolerance):
    for a, b in zip(rows_of(one), rows_of(other), strict=True):
        np.testing.assert_allclose(a, b, **{"rtol": 0, "atol": 1e-6} | tolerance)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_unknown_words_have_the_topic_of_their_parts(objective, texts):
    model = TFFastText(texts, **SMALL | {"workers": 2}, epochs=5, **objective)
    assert_knows_topics(model)


@pytest.mark.parametrize(
    "where",
    [
        {"cluster": "local:ps=2,worker=2"},
        {"regime": "synchronous"},
        {"regime": "submodels:models=2"},
        {"regime": "submodels:models=2,merging=concat"},
        {"cluster": "local:ps=1,worker=2", "regime": "submodels:models=2,merging=pca"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("shared_forks")
def test_clusters_and_regimes_learn_the_topics(where, texts):
    model = TFFastText(texts, **SMALL | {"workers": 2}, epochs=5, sg=1, **where)
    assert_knows_topics(model)
    size = 24 if "concat" in str(where) else 12
    assert model.wv.vectors.shape == model.syn1neg.shape == (len(model.wv), size)
    assert model.wv.vectors_ngrams.shape == (500, size)
    assert model.traffic.bytes_per_token > 0


@pytest.mark.parametrize(
    "options",
    [
        {"regime": "downpour"},
        {"regime": "sandblaster"},
        {"cluster": "local:ps=1,worker=1", "layout": "columns"},
        {"tables_dir": "tables"},
    ],
    ids=str,
)
def test_options_without_n_gram_support_raise(options):
    with pytest.raises(ValueError, match="FastText"):
        TFFastText(**SMALL, **options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"min_n": -1}, ValueError),
        ({"max_n": 2.5}, TypeError),
        ({"bucket": "many"}, TypeError),
        ({"word_ngrams": 2}, NotImplementedError),
        ({"no_option": 1}, TypeError),
    ],
    ids=str,
)
def test_bad_options_raise(options, error):
    with pytest.raises(error, match=next(iter(options))):
        TFFastText(common_texts, **SMALL | options)


@pytest.mark.parametrize("bucket", [0, 1, 40, 5000])
def test_adjust_vectors_equals_gensim_bit_for_bit(bucket):
    model = FastText(common_texts, **SMALL | {"bucket": bucket})
    expected = model.wv.vectors.copy()
    model.wv.vectors = np.zeros_like(expected)
    adjust_vectors(model.wv)
    np.testing.assert_array_equal(model.wv.vectors, expected)


@pytest.mark.parametrize("bucket", [1, 40, 5000])
def test_rows_with_equal_updates_are_merged(bucket):
    wv = FastText(common_texts, **SMALL | {"bucket": bucket}, epochs=1).wv
    subwords = Subwords.of(wv, np.ones(len(wv)))
    rows = subwords.gather(wv)
    assert len(rows) <= len(wv) + len(subwords.buckets)
    assert subwords.weights.sum() == len(wv) + len(subwords.buckets)
    for word, vector in enumerate(wv.vectors):
        first, end = subwords.lists.offsets[word : word + 2]
        own = subwords.lists.entries[first:end]
        np.testing.assert_allclose(
            rows[own].sum(0) / (1 + len(wv.buckets_word[word])), vector, rtol=0, atol=1e-6
        )
        assert subwords.weights[own].sum() == 1 + len(wv.buckets_word[word])
    vocab, ngrams = wv.vectors_vocab.copy(), wv.vectors_ngrams.copy()
    updates = np.random.default_rng(0).normal(size=rows.shape).astype(np.float32)
    merged = subwords.merge_rows(wv, rows)
    trained_rows = rows + subwords.weights[:, None] * updates
    assert not subwords.are_in(wv, trained_rows, merged)
    subwords.scatter(wv, trained_rows, merged)
    assert subwords.are_in(wv, trained_rows, merged)
    np.testing.assert_allclose(wv.vectors_vocab - vocab, updates[: len(wv)], atol=1e-5)
    changes = (wv.vectors_ngrams - ngrams)[subwords.buckets]
    np.testing.assert_allclose(changes, updates[subwords.rows_of_buckets], atol=1e-5)
    unused = np.setdiff1d(np.arange(bucket), subwords.buckets)
    np.testing.assert_array_equal(wv.vectors_ngrams[unused], ngrams[unused])
    trained = wv.vectors.copy()
    adjust_vectors(wv)
    np.testing.assert_allclose(trained, wv.vectors, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "n_grams", [{"max_n": 1}, {"max_n": 2, "bucket": 50}, {"max_n": 3}], ids=str
)
@pytest.mark.parametrize("sg", [0, 1])
def test_n_grams_of_nearly_all_words_do_not_diverge(sg, n_grams):
    news = {"corpus_file": datapath("lee_background.cor"), "sg": sg, "workers": 1, "epochs": 2}
    options = SMALL | {"min_count": 5, "vector_size": 50, "min_n": 1} | n_grams | news
    ours, gensims = TFFastText(**options), FastText(**options)
    lengths = [np.linalg.norm(model.wv.vectors, axis=1).mean() for model in (ours, gensims)]
    assert 0.5 * lengths[1] < lengths[0] < 1.2 * lengths[1]
    losses = [
        model.held_out_loss(lee_corpus_list) for model in (ours, TFFastText.take_over(gensims))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.02) and losses[0] < 6 * np.log(2)


def test_unused_buckets_do_not_change(texts):
    untrained, model = (TFFastText(**SMALL, sg=1) for _ in range(2))
    for each in (untrained, model):
        each.build_vocab(texts)
    model.train(texts, total_examples=len(texts), epochs=1)
    used = np.unique(np.concatenate(model.wv.buckets_word))
    changed = np.any(model.wv.vectors_ngrams != untrained.wv.vectors_ngrams, axis=1)
    np.testing.assert_array_equal(np.flatnonzero(changed), used)


def test_locked_rows_do_not_change(texts):
    model = TFFastText(**SMALL, sg=1)
    model.build_vocab(texts)
    before = [rows.copy() for rows in rows_of(model)]
    model.wv.vectors_ngrams_lockf = np.zeros(1, np.float32)
    model.wv.vectors_vocab_lockf = np.ones(len(model.wv), np.float32)
    model.wv.vectors_vocab_lockf[3] = 0
    model.train(texts, total_examples=len(texts), epochs=1)
    vocab, ngrams, _ = rows_of(model)
    np.testing.assert_array_equal(ngrams, before[1])
    stayed = np.all(vocab == before[0], axis=1)
    assert np.flatnonzero(stayed).tolist() == [3]


@pytest.mark.parametrize("where", [{}, {"log_dir": "log"}], ids=["default", "log_dir"])
def test_single_worker_reproduces_the_same_bits(where, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models = [TFFastText(texts, **SMALL, seed=3, epochs=2, **options) for options in (where, {})]
    assert_same_rows(*models, atol=0)


def test_max_n_0_equals_word2vec(texts):
    options = {"vector_size": 12, "min_count": 1, "workers": 1, "sg": 1, "epochs": 2}
    words, subwords = TFWord2Vec(**options), TFFastText(**options, max_n=0)
    for model in (words, subwords):
        model.build_vocab(texts)
    subwords.wv.vectors_vocab = words.wv.vectors.copy()
    for model in (words, subwords):
        model.train(texts, total_examples=len(texts), epochs=2)
    np.testing.assert_allclose(subwords.wv.vectors, words.wv.vectors, rtol=0, atol=1e-5)


def test_compute_loss_gives_falling_losses(texts):
    model = TFFastText(texts, **SMALL, sg=1, epochs=3, compute_loss=True)
    assert model.get_latest_training_loss() > 0
    first, _, last = model.mean_losses
    assert last < first < 6 * np.log(2)
    assert model.held_out_loss(texts[:200]) == pytest.approx(last, abs=0.2)
    with pytest.raises(TypeError, match="compute_loss"):
        FastText(compute_loss=True)


def test_callbacks_get_the_vectors_of_their_epoch(texts):
    class Freeze(CallbackAny2Vec):
        def __init__(self):
            self.seen = []

        def on_epoch_end(self, model):
            self.seen.append(model.wv["kickable"].copy())
            model.wv.vectors_ngrams[:] = 0  # the next epoch starts from these

    freeze = Freeze()
    model = TFFastText(texts, **SMALL, sg=1, epochs=3, callbacks=[freeze])
    assert not np.allclose(freeze.seen[0], freeze.seen[1])
    np.testing.assert_array_equal(model.wv["kickable"], np.zeros(12))


def test_models_are_saved_without_callbacks(texts, tmp_path):
    path = str(tmp_path / "model")

    class Save(CallbackAny2Vec):  # pickle refuses a class of a function
        def on_epoch_end(self, model):
            model.save(path)

    model = TFFastText(texts[:9], **SMALL, epochs=1, callbacks=[Save()])
    assert model.callbacks == TFFastText.load(path).callbacks == ()
    model.save(path)


def test_partial_fit_adds_and_trains_new_words(texts):
    model = TFFastText(**SMALL, sg=1)
    model.partial_fit(texts)
    known = len(model.wv)
    model.partial_fit([["kickable", "goals", "teams"], ["fundness", "banks", "loans"]] * 50)
    assert set(model.wv.index_to_key[known:]) == {"kickable", "fundness"}
    assert model.wv.vectors.shape == model.wv.vectors_vocab.shape == (known + 2, 12)
    assert model.wv.similarity("kickable", "goals") > model.wv.similarity("kickable", "banks")


def test_files_can_be_exchanged_with_gensim(texts, tmp_path):
    model = TFFastText(texts, **SMALL, epochs=2)
    model.to_gensim().save(str(tmp_path / "plain"))
    plain = FastText.load(str(tmp_path / "plain"))
    assert type(plain) is FastText
    assert_same_rows(plain, model, atol=0)
    assert not vars(plain).keys() & {*OWN, "mean_losses"}
    plain.save(str(tmp_path / "plain"))
    loaded = TFFastText.load(str(tmp_path / "plain"))
    assert type(loaded) is TFFastText
    loaded.train(texts, total_examples=len(texts), epochs=5)
    assert_knows_topics(loaded)


def test_facebook_models_are_loaded_trained_and_saved(texts, tmp_path):
    path = tmp_path / "model.bin"
    model = TFFastText(texts, **SMALL, sg=1)
    model.save_facebook_model(path)
    loaded = TFFastText.load_facebook_model(path)
    assert type(loaded) is TFFastText
    assert_same_rows(loaded, model, atol=0)
    loaded.train(texts, total_examples=len(texts), epochs=2)
    loaded.save_facebook_model(path)
    back = fasttext.load_facebook_model(str(path))
    assert_same_rows(back, loaded, atol=0)
    np.testing.assert_array_equal(back.wv["kickable"], loaded.wv["kickable"])
    classifier = datapath("crime-and-punishment.bin")  # written by fastText itself
    assert len(TFFastText.load_facebook_model(classifier).wv) > 0


@pytest.mark.parametrize("where", [{}, {"regime": "submodels:models=2"}], ids=str)
def test_interrupted_training_resumes_from_its_checkpoint(where, texts, tmp_path, caplog):
    class Killed(Exception):
        pass

    class Kill(CallbackAny2Vec):
        def on_epoch_begin(self, model):
            if model.mean_losses and len(model.mean_losses) == 2:
                raise Killed

    options = {**SMALL, "sg": 1, "epochs": 4, "seed": 5, "compute_loss": True, **where}
    whole = TFFastText(texts, **options)
    if not where:  # callbacks cannot interrupt sub-models between epochs
        with pytest.raises(Killed):
            TFFastText(texts, **options, checkpoint_dir=tmp_path, callbacks=[Kill()])
    else:
        TFFastText(texts, **options, checkpoint_dir=tmp_path)
    caplog.set_level("INFO", "gensim_tfw2v")
    model = TFFastText(texts, **options, checkpoint_dir=tmp_path)
    assert ("sub-model 2 is restored from" if where else "resumed from") in caplog.text
    assert_same_rows(model, whole, atol=1e-4)


def test_from_vectors_raises():
    with pytest.raises(TypeError, match="a FastText model contains more .*: load a whole model"):
        TFFastText.from_vectors(FastText(common_texts, **SMALL).wv)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda wv: setattr(wv, "vectors_ngrams", wv.vectors_ngrams[:9]), ValueError, "buckets"),
        (lambda wv: setattr(wv, "vectors_vocab", None), TypeError, "vectors_vocab"),
        (lambda wv: wv.vectors_ngrams.__setitem__(7, np.nan), ValueError, "bucket 7"),
        (lambda wv: setattr(wv, "buckets_word", None), ValueError, "recalc_char_ngram_buckets"),
        (lambda wv: setattr(wv, "vectors_ngrams_lockf", np.ones(3)), ValueError, "buckets"),
    ],
    ids=["shape", "none", "nan", "lists", "locks"],
)
def test_inconsistent_arrays_raise(change, error, said):
    model = TFFastText(common_texts, **SMALL)
    change(model.wv)
    with pytest.raises(error, match=said):
        model.train(common_texts, total_examples=len(common_texts), epochs=1)


@pytest.mark.parametrize(
    ("n_grams", "span"),
    [({}, 512), ({"bucket": 1000}, 128), ({"min_n": 1, "max_n": 3}, 64), ({"max_n": 0}, 512)],
    ids=str,
)
def test_span_is_short_if_words_share_many_n_grams(n_grams, span):
    model = TFFastText(**{"min_n": 3, "vector_size": 4} | n_grams)
    model.build_vocab(corpus_file=datapath("lee_background.cor"))
    vocabulary = Vocabulary.of(model)
    overlap = vocabulary.subwords.ngram_overlap
    assert choose_span(overlap, 0.9, skipgram=False) == span
    shorter = choose_span(overlap, 90, skipgram=False)  # effective step 100 times as long
    assert shorter == 1 or 100 * shorter * overlap <= 4
    assert choose_span(overlap, 0.9, skipgram=True) == (1 if overlap > 0.05 else span)
    if overlap > 0.05:
        assert choose_span(overlap, 1.1, skipgram=False) == 1
