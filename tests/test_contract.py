"""Contract of gensim's Word2Vec: each test runs on gensim's class and on TFWord2Vec."""

import copy
import logging
import pickle

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.word2vec import LineSentence
from gensim.test.utils import common_texts, datapath, lee_corpus_list

from gensim_tfw2v import TFWord2Vec

LEE = datapath("lee_background.cor")


@pytest.fixture(params=[Word2Vec, TFWord2Vec], ids=["gensim", "tfw2v"])
def model_class(request):
    return request.param


class Recorder(CallbackAny2Vec):
    """Callback that records every call, and the vectors after each epoch."""

    def __init__(self):
        self.calls, self.vectors = [], []

    def on_train_begin(self, model):
        self.calls.append("train begin")

    def on_epoch_begin(self, model):
        self.calls.append("epoch begin")

    def on_epoch_end(self, model):
        self.calls.append("epoch end")
        self.vectors.append(model.wv.vectors.copy())

    def on_train_end(self, model):
        self.calls.append("train end")


@pytest.mark.parametrize("sg", [0, 1])
@pytest.mark.parametrize("source", ["sentences", "corpus_file"])
def test_constructor_builds_and_trains_the_model(model_class, sg, source, caplog):
    corpus = {
        "sentences": {"sentences": LineSentence(LEE)},
        "corpus_file": {"corpus_file": LEE},
    }[source]
    with caplog.at_level(logging.INFO):
        model = model_class(**corpus, sg=sg, vector_size=16, epochs=2, workers=2)
    assert len(model.wv) == 1762
    assert model.wv.vectors.shape == model.syn1neg.shape == (1762, 16)
    assert model.wv.vectors.dtype == model.syn1neg.dtype == np.float32
    assert model.wv.index_to_key[:3] == ["the", "to", "of"]
    assert (model.corpus_count, model.corpus_total_words) == (300, 59890)
    assert (model.train_count, model.epochs, model.layer1_size) == (1, 2, 16)
    assert model.total_train_time > 0
    assert model.wv.norms is None
    if source == "sentences":  # with files, gensim leaves it at alpha
        assert model.min_alpha_yet_reached < 0.005
    events = [event["event"] for event in model.lifecycle_events]
    assert events == ["prepare_vocab"] * 3 + ["build_vocab"] + ["train"] * 2 + ["created"]
    assert "59890 raw words and 300 sentences" in caplog.text
    if source == "sentences":  # gensim's threads count some words of a file twice
        assert "EPOCH 1: training on 59890 raw words" in caplog.text
    assert np.abs(model.syn1neg).max() > 0.01


def test_train_returns_and_counts_words(model_class):
    model = model_class(vector_size=8, min_count=1, sample=0, workers=1)
    model.build_vocab(common_texts)
    trained, raw = model.train(common_texts, total_examples=model.corpus_count, epochs=3)
    assert trained == raw == 3 * 29
    model.train(common_texts, total_examples=model.corpus_count, epochs=3)
    assert model.train_count == 2


def test_subsampling_keeps_the_expected_number_of_words(model_class):
    model = model_class(vector_size=8, sample=1e-3, workers=1)
    model.build_vocab(corpus_file=LEE)
    trained, raw = model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=4)
    keep = (model.wv.expandos["sample_int"].astype(float) + 1) / 2**32
    expected = 4 * (model.wv.expandos["count"] * keep).sum()
    assert raw == 4 * 59890
    assert trained == pytest.approx(expected, rel=0.01)


def test_callbacks_are_called_in_order_with_current_vectors(model_class):
    recorder = Recorder()
    model = model_class(
        common_texts, min_count=1, epochs=3, callbacks=[recorder], vector_size=5, sample=0
    )
    assert recorder.calls == [
        "train begin", *["epoch begin", "epoch end"] * 3, "train end",
    ]  # fmt: skip
    assert (recorder.vectors[0] != recorder.vectors[1]).any()
    np.testing.assert_array_equal(recorder.vectors[2], model.wv.vectors)


def test_callback_may_change_the_vectors(model_class):
    class Freeze(CallbackAny2Vec):
        def on_epoch_begin(self, model):
            model.wv.vectors[:] = 0.25
            model.syn1neg[:] = 0

        def on_epoch_end(self, model):
            assert np.abs(model.wv.vectors - 0.25).max() < 0.2

    model_class(common_texts, min_count=1, epochs=4, callbacks=[Freeze()], vector_size=5)


def test_callback_may_save_and_pickle(model_class, tmp_path):
    class Saver(CallbackAny2Vec):
        def on_epoch_end(self, model):
            model.save(str(tmp_path / "model"))
            self.copy = pickle.loads(pickle.dumps(model))

    saver = Saver()
    model = model_class(common_texts, min_count=1, epochs=2, callbacks=[saver], vector_size=5)
    loaded = model_class.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(saver.copy.syn1neg, model.syn1neg)


def test_compute_loss_gives_a_falling_loss(model_class):
    model = model_class(
        corpus_file=LEE, sg=1, vector_size=32, epochs=1, compute_loss=True, workers=1
    )
    first = model.get_latest_training_loss()
    # gensim sums in float32, so that only the order of magnitude can be compared
    assert 300_000 < first < 900_000
    model.train(
        corpus_file=LEE, total_words=59890, epochs=1, start_alpha=0.025, end_alpha=0.02,
        compute_loss=True,
    )  # fmt: skip
    assert 0 < model.get_latest_training_loss() < first
    model.train(corpus_file=LEE, total_words=59890, epochs=1)
    assert model.get_latest_training_loss() == 0


def test_second_training_changes_vectors_and_alpha(model_class):
    model = model_class(common_texts, min_count=1, vector_size=6)
    before = model.wv.vectors.copy()
    model.train(common_texts, total_examples=9, epochs=2, start_alpha=0.05, end_alpha=0.01)
    assert (model.wv.vectors != before).any()
    assert (model.alpha, model.min_alpha) == (0.05, 0.01)


def test_vocabulary_update_adds_and_trains_new_words(model_class):
    model = model_class(common_texts, min_count=1, vector_size=6)
    old = dict(model.wv.key_to_index)
    new = [["graph", "network", "network", "router"], ["router", "graph", "network"]]
    model.build_vocab(new, update=True)
    assert len(model.wv) == len(old) + 2
    assert all(model.wv.key_to_index[word] == index for word, index in old.items())
    model.train(new, total_examples=model.corpus_count, epochs=2)
    assert np.isfinite(model.wv["router"]).all()


@pytest.mark.parametrize("form", ["save", "pickle", "deepcopy"])
def test_saved_or_copied_model_equals_the_original(model_class, form, tmp_path):
    model = model_class(common_texts, min_count=1, vector_size=6, seed=3)
    if form == "save":
        model.save(str(tmp_path / "m"))
        copied = model_class.load(str(tmp_path / "m"))
    else:
        copied = copy.deepcopy(model) if form == "deepcopy" else pickle.loads(pickle.dumps(model))
    assert type(copied) is model_class
    np.testing.assert_array_equal(copied.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(copied.syn1neg, model.syn1neg)
    np.testing.assert_array_equal(copied.cum_table, model.cum_table)
    copied.train(common_texts, total_examples=9, epochs=1)


def test_saved_vectors_load_as_keyed_vectors(model_class, tmp_path):
    model = model_class(common_texts, min_count=1, vector_size=6)
    model.wv.save(str(tmp_path / "kv"))
    model.wv.save_word2vec_format(str(tmp_path / "kv.txt"))
    for loaded in (
        KeyedVectors.load(str(tmp_path / "kv"), mmap="r"),
        KeyedVectors.load_word2vec_format(str(tmp_path / "kv.txt")),
    ):
        np.testing.assert_allclose(loaded["graph"], model.wv["graph"], atol=1e-6)


def test_predict_output_word_returns_sorted_words(model_class):
    model = model_class(common_texts, min_count=1, vector_size=6)
    words = model.predict_output_word(["graph", "trees"], topn=3)
    assert len(words) == 3
    assert words[0][1] >= words[1][1]


BAD = {
    "no corpus": (lambda c: built(c).train(epochs=1, total_examples=1), TypeError),
    "both corpora": (lambda c: c(common_texts, corpus_file=LEE), TypeError),
    "no vocabulary": (
        lambda c: c().train(common_texts, total_examples=1, epochs=1), RuntimeError
    ),
    "empty corpus": (lambda c: c([], min_count=1), RuntimeError),
    "words too rare": (lambda c: c(common_texts, min_count=100), RuntimeError),
    "generator": (lambda c: c((s for s in common_texts), min_count=1), TypeError),
    "not iterable": (lambda c: c(5), TypeError),
    "missing file": (lambda c: c(corpus_file="/no/such/file"), TypeError),
    "compressed file": (lambda c: c(corpus_file=LEE + ".gz"), TypeError),
    "no epochs": (lambda c: built(c).train(common_texts, total_examples=9), ValueError),
    "no totals": (lambda c: built(c).train(common_texts, epochs=1), ValueError),
    "file without words": (
        lambda c: built(c).train(corpus_file=LEE, total_examples=9, epochs=1), ValueError
    ),
    "nothing to train": (
        lambda c: built(c, negative=0).train(common_texts, total_examples=9, epochs=1), ValueError
    ),
}  # fmt: skip


def built(model_class, **options):
    model = model_class(min_count=1, vector_size=4, **options)
    model.build_vocab(common_texts)
    return model


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_gensims_errors(model_class, name):
    call, error = BAD[name]
    with pytest.raises(error):
        call(model_class)


def test_string_as_a_sentence_logs_a_warning(model_class, caplog):
    model_class(["graph", "trees"], min_count=1, vector_size=4)
    assert "Each 'sentences' item should be a list of words" in caplog.text


def test_wrong_total_examples_logs_a_warning(model_class, caplog):
    model = built(model_class)
    model.train(common_texts, total_examples=100, epochs=1)
    assert "supplied example count (9) did not equal expected count (100)" in caplog.text


def test_empty_iterator_logs_a_warning(model_class, caplog):
    model = built(model_class)
    before = model.wv.vectors.copy()
    assert model.train([], total_examples=9, epochs=1) == (0, 0)
    assert "train() called with an empty iterator" in caplog.text
    np.testing.assert_array_equal(model.wv.vectors, before)


def test_unknown_words_are_counted_but_not_trained(model_class):
    model = built(model_class, sample=0)
    trained, raw = model.train([["no", "such"], ["trees"]], total_examples=2, epochs=2)
    assert (trained, raw) == (2, 6)


def test_words_may_be_any_hashable_objects(model_class):
    model = model_class([[1, 2, 3, 2], [2, 3, (4, 5)]] * 3, min_count=1, vector_size=4)
    assert model.wv.index_to_key[0] == 2
    assert (4, 5) in model.wv.key_to_index


def test_str_shows_class_vocabulary_size_and_alpha(model_class):
    model = built(model_class)
    assert str(model) == f"{model_class.__name__}<vocab=12, vector_size=4, alpha=0.025>"
    if model_class is TFWord2Vec:
        assert repr(model) == str(model)  # gensim's is an address


@pytest.mark.parametrize("sg", [0, 1])
@pytest.mark.parametrize("negative", [0, 5])
def test_hierarchical_softmax_trains_all_inner_nodes(model_class, sg, negative):
    options = {"sg": sg, "hs": 1, "negative": negative, "vector_size": 16, "min_count": 10}
    untrained = model_class(**options)
    untrained.build_vocab(lee_corpus_list)
    model = model_class(lee_corpus_list, **options, epochs=2, workers=2, compute_loss=True)
    assert hasattr(model, "syn1neg") == bool(negative)
    assert model.syn1.shape == model.wv.vectors.shape
    for name in ("syn1", "syn1neg")[: 1 + bool(negative)]:
        assert np.isfinite(getattr(model, name)).all()
    assert np.count_nonzero(model.syn1.any(axis=1)) == len(model.wv) - 1  # its inner nodes
    assert (model.wv.vectors != untrained.wv.vectors).any(axis=1).all()
    assert model.get_latest_training_loss() > 0


@pytest.mark.parametrize("sg", [0, 1])
@pytest.mark.parametrize("hs", [0, 1])
def test_locked_vectors_do_not_change(model_class, sg, hs):
    model = model_class(
        min_count=1, vector_size=8, sg=sg, hs=hs, negative=5 * (1 - hs), sample=0, alpha=0.1
    )
    model.build_vocab(common_texts)
    before = model.wv.vectors.copy()
    model.wv.vectors_lockf = np.array([0.0, 1.0] * 6, np.float32)
    model.train(common_texts, total_examples=9, epochs=5)
    np.testing.assert_array_equal(model.wv.vectors[::2], before[::2])
    assert (model.wv.vectors[1::2] != before[1::2]).any(axis=1).all()
    model.wv.vectors_lockf = np.zeros(1, np.float32)
    before = model.wv.vectors.copy()
    model.train(common_texts, total_examples=9, epochs=1)
    np.testing.assert_array_equal(model.wv.vectors, before)


def test_locks_scale_updates(model_class):
    moved = []
    for lock in (1.0, 0.5):
        model = model_class(
            min_count=1, vector_size=8, sample=0, workers=1, seed=2, alpha=1e-4, min_alpha=1e-4
        )
        model.build_vocab(common_texts)
        # output rows start as zeros, from which inputs would learn nothing
        model.syn1neg[:] = np.random.default_rng(0).normal(size=model.syn1neg.shape)
        before = model.wv.vectors.copy()
        model.wv.vectors_lockf = np.full(1, lock, np.float32)
        model.train(common_texts, total_examples=9, epochs=1)
        moved.append(model.wv.vectors - before)
    np.testing.assert_allclose(moved[1], 0.5 * moved[0], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"hs": 1}, {"null_word": 1, "sample": 0}])
def test_attributes_of_words_equal_gensims(options):
    ours, gensims = (
        class_(min_count=2, vector_size=4, **options) for class_ in (TFWord2Vec, Word2Vec)
    )
    texts = list(lee_corpus_list)
    updates = (False,) if options.get("null_word") else (False, True)  # gensim adds another one
    for update in updates:
        for model in (ours, gensims):
            model.build_vocab(texts, update=update)
        assert ours.wv.key_to_index == gensims.wv.key_to_index
        assert ours.wv.expandos.keys() == gensims.wv.expandos.keys()
        for name, values in gensims.wv.expandos.items():
            assert ours.wv.expandos[name].dtype == values.dtype
            np.testing.assert_array_equal(
                np.hstack(ours.wv.expandos[name]), np.hstack(values), err_msg=name
            )
        texts = [["new", "new", *text] for text in texts[:50]]
    assert "set_vecattr" not in vars(ours.wv)


def test_attributes_of_another_type_are_refused(model_class):
    model = model_class(min_count=1)
    model.wv.index_to_key = ["a", "b"]
    model.wv.expandos["count"] = np.zeros(2, np.float32)
    model.raw_vocab = {"a": 2, "b": 1}
    with pytest.raises(TypeError, match="conflicts with its existing type"):
        model.prepare_vocab()
