"""Early stopping, and the weights that the model has afterwards."""

import math

import numpy as np
import pytest
from gensim.models.callbacks import CallbackAny2Vec
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import EarlyStopping, TensorBoardLog, TFFastText, TFWord2Vec
from gensim_tfw2v.evaluation import evaluate_analogies, evaluate_pairs

LEE = datapath("lee_background.cor")
OPTIONS = {"corpus_file": LEE, "vector_size": 4, "workers": 1, "seed": 3}


class Scores:
    """Monitor that returns the next score at each epoch, and copies the model's arrays."""

    def __init__(self, *scores):
        self.scores, self.arrays = list(scores), []

    def __call__(self, model):
        arrays = (model.wv.vectors, model.wv.vectors_vocab) if model.has_subwords else (
            model.wv.vectors, model.syn1neg
        )  # fmt: skip
        self.arrays.append([array.copy() for array in arrays])
        return self.scores[len(self.arrays) - 1]


class Events(CallbackAny2Vec):
    def __init__(self):
        self.seen = ""

    def on_train_begin(self, model):
        self.seen += "("

    def on_epoch_begin(self, model):
        self.seen += "<"

    def on_epoch_end(self, model):
        self.seen += ">"

    def on_train_end(self, model):
        self.seen += ")"


@pytest.mark.parametrize("model_class", [TFWord2Vec, TFFastText])
def test_training_stops_with_the_weights_of_the_best_epoch(model_class):
    scores, events = Scores(1, 3, 2, 2.5, 9), Events()
    stopping = EarlyStopping(scores, patience=2)
    options = OPTIONS | ({"bucket": 50} if model_class is TFFastText else {})
    model = model_class(**options, epochs=5, callbacks=[events, stopping])
    assert events.seen == "(<><><><>)"
    assert stopping.history == model.history == [1, 3, 2, 2.5]
    assert (model.best_epoch, model.best_score, model.train_count) == (1, 3, 1)
    vectors, others = scores.arrays[1]
    np.testing.assert_array_equal(model.wv.vectors, vectors)
    held = model.syn1neg if model_class is TFWord2Vec else model.wv.vectors_vocab
    np.testing.assert_array_equal(held, others)
    trained, raw = model.train(corpus_file=LEE, total_words=59_890, epochs=1)
    assert raw == 59_890 and not np.array_equal(model.wv.vectors, vectors)


@pytest.mark.parametrize("is_file", [False, True])
def test_stopped_train_returns_the_words_it_trained(is_file, tmp_path):
    model = TFWord2Vec(common_texts, min_count=1, epochs=1, sample=0)
    stopping = EarlyStopping(Scores(1, 0), patience=0)
    corpus = {"corpus_iterable": common_texts, "total_examples": 9}
    if is_file:
        path = tmp_path / "corpus"
        path.write_text("".join(f"{' '.join(words)}\n" for words in common_texts))
        corpus = {"corpus_file": str(path), "total_words": 29}
    counted = model.train(**corpus, epochs=5, callbacks=(stopping,))
    assert counted == (2 * 29, 2 * 29)
    assert "training on 58 raw words" in model.lifecycle_events[-1]["msg"]


@pytest.mark.parametrize(
    ("options", "epochs", "best"),
    [
        ({"mode": "min"}, 3, 0),
        ({"min_delta": 1.5, "patience": 3}, 5, 3),
        ({}, 5, 4),
    ],
    ids=str,
)
def test_mode_patience_and_min_delta_set_the_stop(options, epochs, best):
    stopping = EarlyStopping(Scores(1, 2, math.nan, 3, 4), **options)
    TFWord2Vec(common_texts, min_count=1, epochs=5, callbacks=[stopping])
    assert (len(stopping.history), stopping.best_epoch) == (epochs, best)


def test_restore_best_weights_false_keeps_the_last_weights():
    scores = Scores(2, 1)
    stopping = EarlyStopping(scores, patience=1, restore_best_weights=False)
    model = TFWord2Vec(**OPTIONS, epochs=5, callbacks=[stopping])
    np.testing.assert_array_equal(model.wv.vectors, scores.arrays[1][0])


def test_stop_training_set_by_a_callback_ends_training(tmp_path):
    class Stopping(Events):
        def on_epoch_end(self, model):
            model.stop_training = True

    events = Events()
    model = TFWord2Vec(**OPTIONS, epochs=5, callbacks=[Stopping(), events])
    assert events.seen == "(<>)"
    once = TFWord2Vec(**OPTIONS, epochs=5)
    once.save(str(tmp_path / "model"))
    model.save(str(tmp_path / "model"))
    assert not TFWord2Vec.load(str(tmp_path / "model")).stop_training
    assert "stop_training" not in vars(model.to_gensim())


def test_training_by_gensims_code_stops_early():
    class Own(TFWord2Vec):
        def _do_train_job(self, sentences, alpha, inits):
            return super()._do_train_job(sentences, alpha, inits)

    stopping = EarlyStopping(Scores(2, 1), patience=1)
    model = Own(min_count=1, sample=0)
    model.build_vocab(common_texts)
    counted = model.train(common_texts, total_examples=9, epochs=5, callbacks=[stopping])
    assert counted == (58, 58) and model.best_epoch == 0


def test_monitor_accepts_sets_files_and_loss(tmp_path):
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions"
    pairs.write_text("the\tof\t1\nthe\tsaid\t2\nfire\tnew\t3\n")
    questions.write_text(": one\nthe of in to\n")
    found = {}
    for monitor in ("ws353", pairs, questions, "loss"):
        stopping = EarlyStopping(monitor)
        found[monitor] = TFWord2Vec(**OPTIONS, epochs=1, callbacks=[stopping])
    wv = found["ws353"].wv
    assert found["ws353"].history == [evaluate_pairs(wv, "ws353").spearman]
    assert found[pairs].history == [evaluate_pairs(wv, pairs).spearman]
    assert found[questions].history == [evaluate_analogies(wv, questions).total]
    assert found["loss"].history == found["loss"].mean_losses != []


@pytest.mark.parametrize(
    ("scores", "patience", "epochs", "best"),
    [
        ([math.nan] * 9, 2, 2, None),
        ([math.nan] * 9, 0, 1, None),
        ([1, math.nan, math.nan, 5], 2, 3, 0),
        ([math.nan, 1, 2, 0, math.nan, 9], 2, 5, 2),
        ([math.inf] * 9, 2, 3, 0),
    ],
)
def test_scores_that_are_not_numbers_are_no_improvement(caplog, scores, patience, epochs, best):
    stopping = EarlyStopping(Scores(*scores), patience=patience)
    model = TFWord2Vec(**OPTIONS, epochs=9, callbacks=[stopping])
    assert (len(model.history), model.best_epoch) == (epochs, best)
    said = [record for record in caplog.records if "is NaN, which counts" in record.getMessage()]
    assert len(said) == sum(map(math.isnan, scores[:epochs]))
    assert np.isfinite(model.wv.vectors).all()


@pytest.mark.parametrize("score", [None, "0.5", [1, 2], object()])
def test_monitor_that_returns_no_number_is_named(score):
    def quality(model):
        return score

    with pytest.raises(TypeError, match="of EarlyStopping, quality, returned .* epoch 0"):
        TFWord2Vec(**OPTIONS, epochs=9, callbacks=[EarlyStopping(quality)])


def test_invalid_monitor_or_options_raise():
    with pytest.raises(FileNotFoundError, match="ws354"):
        EarlyStopping("ws354")
    with pytest.raises(TypeError, match="monitor is 353: pass the name of a set"):
        EarlyStopping(353)
    with pytest.raises(ValueError, match="mode is 'up': use"):
        EarlyStopping("loss", mode="up")
    with pytest.raises(ValueError, match="patience must be at least 0"):
        EarlyStopping("loss", patience=-1)
    for monitor in ("ws353", "questions-words"):
        model = TFWord2Vec(min_count=1)
        model.build_vocab(common_texts)
        with pytest.raises(ValueError, match="too few of its words"):
            model.train(
                common_texts, total_examples=9, epochs=2, callbacks=[EarlyStopping(monitor)]
            )
        assert model.train_count == 0


def test_resuming_a_stopped_training_trains_nothing_more(tmp_path):
    scores = Scores(1, 3, 2)
    stopping = EarlyStopping(scores, patience=1)
    log = TensorBoardLog(tmp_path / "log", projector_words=10)
    folders = {"checkpoint_dir": tmp_path / "checkpoints", "log_dir": log}
    TFWord2Vec(**OPTIONS, **folders, epochs=6, callbacks=[stopping])
    assert list((tmp_path / "log" / "projector").iterdir())
    again = EarlyStopping(Scores(5))
    resumed = TFWord2Vec(**OPTIONS, **folders, epochs=6, callbacks=[again])
    np.testing.assert_array_equal(resumed.wv.vectors, scores.arrays[1][0])
    np.testing.assert_array_equal(np.isnan(again.history), [True] * 5 + [False])
    said = [event["msg"] for event in resumed.lifecycle_events if "took" in event.get("msg", "")]
    assert said[0].startswith("training on 0 raw words (0 effective")


def test_sub_models_are_scored_after_merging():
    stopping = EarlyStopping(Scores(2))
    TFWord2Vec(**OPTIONS, epochs=3, regime="submodels:models=2", callbacks=[stopping])
    np.testing.assert_array_equal(np.isnan(stopping.history), [True, True, False])


def test_early_stopping_on_a_cluster_keeps_the_best_vectors(shared_forks):
    scores = Scores(2, 1)
    stopping = EarlyStopping(scores, patience=1)
    model = TFWord2Vec(**OPTIONS, epochs=4, cluster="local:ps=1,worker=1", callbacks=[stopping])
    assert model.history == [2, 1]
    np.testing.assert_array_equal(model.wv.vectors, scores.arrays[0][0])


def test_callbacks_may_be_an_iterator():
    events = Events()
    stopping = EarlyStopping(Scores(2, 1), patience=1)
    model = TFWord2Vec(min_count=1, sample=0)
    model.build_vocab(common_texts)
    model.train(common_texts, total_examples=9, epochs=5, callbacks=iter([events, stopping]))
    assert events.seen == "(<><>)" and model.best_epoch == 0


def test_loss_of_a_text_without_predictions_is_nan(caplog):
    stopping = EarlyStopping("loss", patience=2)
    words = [[word] for text in common_texts for word in text]
    model = TFWord2Vec(words, min_count=1, sample=0, epochs=5, callbacks=[stopping])
    assert model.mean_losses == [] and len(model.history) == 2
    assert all(map(math.isnan, model.history))
    assert "29 words in 29 sentences" in caplog.text and "is NaN" in caplog.text
