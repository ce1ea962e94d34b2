"""One training run per model at a time; different models are trained in parallel."""

import copy
import gc
import pickle
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from gensim.models import KeyedVectors
from gensim.models.callbacks import CallbackAny2Vec
from gensim.test.utils import common_texts

from gensim_tfw2v import TFFastText, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.options.regimes import REGIMES
from gensim_tfw2v.parameter_server.scratch import WorkerVariables
from gensim_tfw2v.processes.threads import in_threads

LIMIT = 60


def built(**options):
    model = TFWord2Vec(min_count=1, vector_size=4, workers=1, sample=0, **options)
    model.build_vocab(common_texts)
    return model


class Call(CallbackAny2Vec):
    """Callback that calls a function once, after the first epoch."""

    def __init__(self, function):
        self.function, self.given, self.error = function, None, None

    def on_epoch_end(self, model):
        if self.function is None:
            return
        function, self.function = self.function, None
        try:
            self.given = function(model)
        except Exception as error:
            self.error = error


def in_a_thread(function):
    def call(model):
        given = []

        def run():
            try:
                given.append(function(model))
            except Exception as error:
                given.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(LIMIT)
        return given[0]

    return call


def train(model, **options):
    return model.train(common_texts, total_examples=9, epochs=3, **options)


@pytest.mark.parametrize(
    "second", [train, lambda model: model.partial_fit([["new", "words"] * 9])], ids=["train", "fit"]
)
@pytest.mark.parametrize("where", [lambda call: call, in_a_thread], ids=["callback", "thread"])
def test_concurrent_training_raises_and_the_first_continues(where, second):
    alone, model, call = built(), built(), Call(where(second))
    train(alone)
    assert train(model, callbacks=[call]) == (87, 87)
    error = call.error or call.given
    assert isinstance(error, RuntimeError)
    assert "this model is being trained" in str(error)
    np.testing.assert_array_equal(model.wv.vectors, alone.wv.vectors)
    assert model.train_count == 1
    train(model)  # the model is free again


def test_callback_may_copy_pickle_and_evaluate_the_model():
    def look(model):
        twin = copy.deepcopy(model)
        train(twin)
        train(pickle.loads(pickle.dumps(model)))
        return model.held_out_loss(common_texts), twin

    model, call = built(), Call(look)
    train(model, callbacks=[call])
    assert call.error is None
    loss, twin = call.given
    assert 0 < loss < 10
    assert (twin.train_count, model.train_count) == (1, 1)


def test_failed_training_allows_the_next():
    model = built()
    with pytest.raises(RuntimeError, match="none of the corpus's"):
        model.train([["no"]], total_examples=1, epochs=1)
    with pytest.raises(ValueError, match="start_alpha"):
        train(model, start_alpha=float("nan"))
    assert train(model) == (87, 87)


def test_two_models_can_train_in_parallel():
    alone = built()
    train(alone)
    models, barrier = [built(), built()], threading.Barrier(2)

    class Meet(CallbackAny2Vec):
        def on_epoch_begin(self, model):
            barrier.wait(LIMIT)

    threads = [
        threading.Thread(target=train, args=[model], kwargs={"callbacks": [Meet()]})
        for model in models
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    for model in models:
        np.testing.assert_array_equal(model.wv.vectors, alone.wv.vectors)


QUERIES = {
    "most_similar": lambda wv: wv.most_similar("human"),
    "similarity": lambda wv: wv.similarity("human", "trees"),
    "get_vector": lambda wv: wv.get_vector("human", norm=True),
    "similar_by_vector": lambda wv: wv.similar_by_vector(np.ones(4, np.float32)),
    "get_normed_vectors": lambda wv: wv.get_normed_vectors(),
    "doesnt_match": lambda wv: wv.doesnt_match(["human", "trees", "user"]),
    "most_similar_cosmul": lambda wv: wv.most_similar_cosmul("human"),
}


@pytest.mark.parametrize("of", ["words", "n-grams"])
def test_queries_during_training_do_not_fail(of):
    model = built()
    if of == "n-grams":
        model = TFFastText(common_texts, min_count=1, vector_size=4, sample=0, bucket=50)
    errors, reads, ended = [], 0, threading.Event()

    def read():
        nonlocal reads
        while not ended.is_set():
            for name, query in QUERIES.items():
                try:
                    query(model.wv)
                except Exception as error:
                    errors.append((name, error))
                reads += 1

    reader, switching = threading.Thread(target=read), sys.getswitchinterval()
    reader.start()
    sys.setswitchinterval(1e-6)
    try:
        trainings, deadline = 0, time.monotonic() + LIMIT
        while trainings < 3 or reads <= 100 and time.monotonic() < deadline:
            model.train(common_texts, total_examples=9, epochs=40)
            trainings += 1
    finally:
        sys.setswitchinterval(switching)
        ended.set()
        reader.join(LIMIT)
    assert reads > 100 and errors == []
    np.testing.assert_array_equal(model.wv.norms, np.linalg.norm(model.wv.vectors, axis=1))


@pytest.mark.parametrize("regime", [None, "submodels:models=2"])
def test_norms_are_never_none_during_training(regime):
    class Watched(KeyedVectors):
        taken = False

        @property
        def norms(self):
            return vars(self)["norms"]

        @norms.setter
        def norms(self, value):
            self.taken |= value is None
            vars(self)["norms"] = value

    model = built(regime=regime)
    model.wv.__class__ = Watched
    model.wv.fill_norms()
    train(model)
    assert not model.wv.taken
    np.testing.assert_array_equal(model.wv.norms, np.linalg.norm(model.wv.vectors, axis=1))


@pytest.mark.parametrize("regime", [*sorted(REGIMES.keys() - {"submodels"}), "submodels:models=2"])
def test_repeated_trainings_leave_no_threads_or_variables(regime, monkeypatch):
    names, name = [], WorkerVariables.name

    def noted(variables, what):
        names.append(name(variables, what))
        return names[-1]

    monkeypatch.setattr(WorkerVariables, "name", noted)

    def variables():
        gc.collect()
        return sum(type(one).__name__ == "ResourceVariable" for one in gc.get_objects())

    train(built(regime=regime, sg=1))
    before, variables_before = psutil.Process().num_threads(), variables()
    for _ in range(2):
        train(built(regime=regime, sg=1))
    deadline = time.monotonic() + 30
    # the system may still count a thread that Python has joined
    while (number := psutil.Process().num_threads()) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert number <= before and variables() <= variables_before
    assert names and not any(
        tf.raw_ops.VarIsInitializedOp(
            resource=tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=of_worker)
        )
        for of_worker in names
    )


def test_timeout_error_of_work_in_threads_is_raised():
    def fail(item, stop):
        raise TimeoutError(f"no answer for {item}")

    with pytest.raises(TimeoutError, match="no answer for 7"):
        list(in_threads(fail, [7]))
