"""Whenever user code runs, a model's arrays are in C order, as gensim's: any library reads them."""

import copy
import ctypes
import hashlib
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts
from safetensors.numpy import load_file, save_file

from gensim_tfw2v import (
    SubModels,
    TFDoc2Vec,
    TFFastText,
    TFWord2Vec,
    align_models,
    merge_models,
    train_slice,
)
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.tables import Divergence
from gensim_tfw2v.training.model_arrays import weights_of
from gensim_tfw2v.training.session import Training
from gensim_tfw2v.training.weights import Weights

DOCUMENTS = [TaggedDocument(text, [number]) for number, text in enumerate(common_texts)]

MODELS = {
    "CBOW": (TFWord2Vec, {}),
    "skip-gram": (TFWord2Vec, {"sg": 1}),
    "trees": (TFWord2Vec, {"hs": 1, "negative": 0}),
    "both": (TFWord2Vec, {"hs": 1}),
    "two threads": (TFWord2Vec, {"deterministic": True, "workers": 2}),
    "DM": (TFDoc2Vec, {}),
    "DBOW": (TFDoc2Vec, {"dm": 0, "dbow_words": 1, "hs": 1}),
    "DM concatenated": (TFDoc2Vec, {"dm_concat": 1, "window": 2}),
    "FastText": (TFFastText, {"bucket": 50}),
}
EACH_MODEL = pytest.mark.parametrize("name", MODELS)


def saved(array, path):
    save_file({"x": array}, path)
    return load_file(path)["x"].tobytes()


def written(array, path):
    path.write_bytes(array)
    return path.read_bytes()


def dumped(array, path):
    array.tofile(path)
    return path.read_bytes()


#: Functions that return the bytes of an array as libraries read them.
READERS = {
    "safetensors": saved,
    "file": written,
    "tofile": dumped,
    "C": lambda array, path: ctypes.string_at(array.ctypes.data, array.nbytes),
    "frombuffer": lambda array, path: np.frombuffer(array, np.float32).tobytes(),
    "memoryview": lambda array, path: memoryview(array).cast("B").cast("f").tobytes(),
}


class Moments:
    """Compares what each library reads of a model's arrays with their elements."""

    def __init__(self, folder):
        self.path = folder / "x"
        self.names = []

    def check(self, moment, model, empty=False):
        for place, (_, arrays) in zip(("", "wv.", "dv."), weights_of(model), strict=False):
            for name, array in arrays.items():
                label = f"{place}{name}: {moment}"
                assert array.flags.c_contiguous and array.dtype == np.float32, label
                assert not len(array) if empty else np.any(array) or name != "vectors", label
                expected = np.array(array.tolist(), np.float32).tobytes()
                for reader, read in READERS.items() if len(array) else ():
                    assert read(array, self.path) == expected, f"{label}, {reader}"
                assert hashlib.sha256(array).digest() == hashlib.sha256(expected).digest(), label
        self.names.append(moment)


class AtEvents(CallbackAny2Vec):
    """Check the arrays in each event, and call a function at the end of the first epoch."""

    def __init__(self, moments, at_end=lambda model: None):
        self.moments = moments
        self.at_end = at_end

    def on_train_begin(self, model):
        self.moments.check("on_train_begin", model)

    def on_train_end(self, model):
        self.moments.check("on_train_end", model)

    def on_epoch_begin(self, model):
        self.moments.check("on_epoch_begin", model)

    def on_epoch_end(self, model):
        self.moments.check("on_epoch_end", model)
        self.at_end(model)


@pytest.fixture
def moments(tmp_path):
    return Moments(tmp_path)


def corpus_of(model):
    return DOCUMENTS if model.has_documents else common_texts


def new(name, **options):
    """Return a model with a vocabulary and initial weights."""
    class_, own = MODELS[name]
    model = class_(**{"vector_size": 10, "min_count": 1, "sample": 0, "workers": 1} | own | options)
    model.build_vocab(corpus_of(model))
    return model


def train(model, epochs=2, **options):
    model.train(corpus_of(model), total_examples=len(common_texts), epochs=epochs, **options)


@EACH_MODEL
def test_arrays_are_in_c_order_whenever_user_code_runs(name, moments, tmp_path):
    model = new(name)
    moments.check("build_vocab", model)
    for when in ("first", "second"):  # the first training run is in place
        train(model, callbacks=[AtEvents(moments)])
        moments.check(f"{when} training", model)
    model.save(str(tmp_path / "model"))
    loaded = type(model).load(str(tmp_path / "model"))
    for each in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        moments.check("copied", each)
        train(each, callbacks=[AtEvents(moments)])
        moments.check("copy was trained", each)
    model.build_vocab(
        corpus_of(model)
        + [["more"] * 5 if not model.has_documents else TaggedDocument(["more"] * 5, ["tag"])],
        update=True,
    )
    moments.check("update=True", model)
    train(model, callbacks=[AtEvents(moments)])
    moments.check("training after update=True", model)
    model.init_weights()
    moments.check("init_weights", model)
    train(model)
    moments.check("training after init_weights", model)
    events = "on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end"
    assert [moments.names.count(event) for event in events] == [6, 12, 12, 6]


def interrupt(model):
    os.kill(os.getpid(), signal.SIGINT)


def fail(*args, **options):
    raise OSError("disk full")


def diverge(model):
    model._get_next_alpha = lambda *_: float("inf")


def interrupt_in_epoch(monkeypatch, model):
    original = by_ctypes.KernelTables.train

    def train(*args, **options):
        interrupt(model)
        return original(*args, **options)

    monkeypatch.setattr(by_ctypes.KernelTables, "train", train)


ENDS = {
    "interrupt in an epoch": (KeyboardInterrupt, interrupt_in_epoch),
    "error in an epoch": (OSError, lambda patch, model: patch.setattr(Training, "count", fail)),
    "divergence in the first epoch": (Divergence, lambda patch, model: diverge(model)),
}
CALLBACKS = {
    "interrupt in a callback": (KeyboardInterrupt, interrupt),
    "error in a callback": (OSError, fail),
    "divergence after a callback": (Divergence, diverge),
}


@EACH_MODEL
@pytest.mark.parametrize("end", [*ENDS, *CALLBACKS])
def test_arrays_are_in_c_order_after_a_training_that_failed(name, end, moments, monkeypatch):
    model = new(name)
    error, act = (ENDS | CALLBACKS)[end]
    at_end = act if end in CALLBACKS else lambda model: None
    with monkeypatch.context() as patch, pytest.raises(error) as raised:
        if end in ENDS:
            act(patch, model)
        train(model, epochs=3, callbacks=[AtEvents(moments, at_end)])
    moments.check("failed", model, empty="are lost" in str(raised.value))
    if "are lost" in str(raised.value):
        model.init_weights()
    vars(model).pop("_get_next_alpha", None)
    train(model)
    moments.check("training after a failure", model)


def test_interrupts_wait_until_all_rows_are_moved():
    model = TFWord2Vec(vector_size=100)
    model.build_vocab_from_freq({str(word): 10 for word in range(20_000)})
    weights = Weights(model, None)
    weights.load(is_local=True)
    vectors, outputs = model.wv.vectors, model.syn1neg
    outputs[:] = np.arange(outputs.size).reshape(outputs.shape)
    expected = vectors.copy(), outputs.copy()
    for seconds in np.linspace(0.02, 0.03, 10):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            while True:
                weights.move_apart()
                assert not model.wv.vectors.flags.c_contiguous
                weights.move_together()
        weights.move_together()
        assert model.wv.vectors is vectors and model.syn1neg is outputs
        for array, before in zip((vectors, outputs), expected, strict=True):
            np.testing.assert_array_equal(array, before)


@EACH_MODEL
@pytest.mark.parametrize("sets_view", [False, True])
def test_failed_epoch_keeps_the_numbers_of_each_row(name, sets_view, moments, monkeypatch):
    """Rows that were not trained keep their initial numbers, whatever was moved."""
    model = new(name)
    before = copy.deepcopy(weights_of(model))

    def set_view_and_fail(*args, **options):
        if sets_view:  # as another thread may
            model.wv.vectors = model.wv.vectors[:]
        fail()

    monkeypatch.setattr(by_ctypes.KernelTables, "train", set_view_and_fail)
    with pytest.raises(OSError, match="disk full"):
        train(model)
    moments.check("failed", model)
    for (_, arrays), (_, expected) in zip(weights_of(model), before, strict=True):
        for array_name, array in arrays.items():
            np.testing.assert_array_equal(array, expected[array_name])


def in_epoch(monkeypatch, call):
    """Call a function in a thread that trains, before it does."""
    original = by_ctypes.KernelTables.train

    def train(*args, **options):
        call()
        return original(*args, **options)

    monkeypatch.setattr(by_ctypes.KernelTables, "train", train)


@pytest.mark.parametrize("name", ["both", "DBOW"])
def test_other_threads_read_the_rows_during_an_epoch(name, monkeypatch):
    model = new(name)
    initial = copy.deepcopy(weights_of(model))
    query = model.wv.most_similar("graph")
    copies = []

    def look():
        for (_, arrays), (_, expected) in zip(weights_of(model), initial, strict=True):
            for array_name, array in arrays.items():
                assert not array.flags.c_contiguous
                np.testing.assert_array_equal(array, expected[array_name])
        assert model.wv.most_similar("graph") == query
        copies.append(copy.deepcopy(model))

    in_epoch(monkeypatch, look)
    train(model, epochs=1)
    for (_, arrays), (_, expected) in zip(weights_of(copies[0]), initial, strict=True):
        for array_name, array in arrays.items():
            assert array.flags.c_contiguous
            np.testing.assert_array_equal(array, expected[array_name])


CHANGES = {
    "copies": lambda model: setattr(model.wv, "vectors", model.wv.vectors.copy()),
    "views": lambda model: setattr(model.wv, "vectors", model.wv.vectors[:]),
    "gensim's model": lambda model: model.to_gensim(),
    "earlier arrays": lambda model: setattr(model.wv, "vectors", model.earlier),
}


@pytest.mark.parametrize("name", ["both", "DBOW"])
@pytest.mark.parametrize("change", CHANGES)
def test_arrays_that_a_thread_sets_during_an_epoch_get_the_trained_rows(
    name, change, moments, monkeypatch
):
    model, expected = new(name), new(name)
    train(expected, epochs=2)
    model.earlier = model.wv.vectors
    with monkeypatch.context() as patch:
        in_epoch(patch, lambda: CHANGES[change](model))
        train(model, epochs=2, callbacks=[AtEvents(moments)])
    moments.check("changed", model)
    for (_, arrays), (_, trained) in zip(weights_of(model), weights_of(expected), strict=True):
        for array_name, array in arrays.items():
            np.testing.assert_array_equal(array, trained[array_name], array_name)


def made(class_=TFWord2Vec, **options):
    return class_(common_texts, **{"vector_size": 10, "min_count": 1, "sample": 0} | options)


SOURCES = {
    "constructor": made,
    "null word": lambda: made(null_word=1),
    "sub-models": lambda: made(regime=SubModels(models=2, rate=0.9), hs=1),
    "sub-models by PCA": lambda: made(regime=SubModels(models=2, rate=0.9, merging="pca")),
    "sub-models of FastText": lambda: made(
        TFFastText, regime=SubModels(models=2, rate=0.9), bucket=50
    ),
    "merged": lambda: merge_models([made(), made(seed=2)]),
    "merged by PCA": lambda: merge_models([made(), made(seed=2)], "pca"),
    "merged side by side": lambda: merge_models([made(), made(seed=2)], "concat"),
    "aligned": lambda: align_models([made(hs=1), made(seed=2, hs=1)])[1],
    "slice": lambda: train_slice(made(), common_texts),
    "from vectors": lambda: TFWord2Vec.from_vectors(in_columns(made().wv)),
}


def in_columns(vectors):
    vectors.vectors = np.asfortranarray(vectors.vectors)
    return vectors


@pytest.mark.parametrize("source", SOURCES)
def test_arrays_of_each_source_are_in_c_order(source, moments):
    moments.check(source, SOURCES[source]())


@pytest.mark.parametrize("name", ["both", "DM", "FastText"])
def test_arrays_of_a_folder_are_in_c_order(name, moments, tmp_path):
    model = new(name)
    train(model)
    model.save_pretrained(tmp_path / "folder")
    moments.check("from_pretrained", type(model).from_pretrained(tmp_path / "folder"))


@pytest.mark.parametrize("name", ["both", "DM"])
def test_mapped_arrays_are_in_c_order(name, moments, tmp_path):
    model = new(name, tables_dir=str(tmp_path / "tables"))
    train(model, callbacks=[AtEvents(moments)])
    moments.check("tables_dir", model)
    model.save(str(tmp_path / "model"), sep_limit=0)
    mapped = type(model).load(str(tmp_path / "model"), mmap="r")
    moments.check("mapped", mapped)
    train(mapped, callbacks=[AtEvents(moments)])
    moments.check("training of mapped arrays", mapped)
