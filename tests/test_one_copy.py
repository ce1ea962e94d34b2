"""A new model is trained in place, so its arrays are in memory once; other models keep theirs."""

import copy
import logging
import os
import pickle
import signal
from collections import namedtuple

import numpy as np
import psutil
import pytest
from gensim.models import Doc2Vec, KeyedVectors, Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.kernel.native.padded_rows import STRIDE, RowMemory, new_rows
from gensim_tfw2v.kernel.tables import Divergence

DOCUMENTS = [TaggedDocument(text, [number]) for number, text in enumerate(common_texts)]
CORPORA = {TFWord2Vec: common_texts, TFDoc2Vec: DOCUMENTS, TFFastText: common_texts}
EACH_CLASS = pytest.mark.parametrize("class_", [TFWord2Vec, TFDoc2Vec])


def new(class_=TFWord2Vec, **options):
    """Return a model with a vocabulary and initial weights."""
    given = {"vector_size": 10, "min_count": 1, "sample": 0, "workers": 1, "hs": 1} | options
    model = class_(**given)
    model.build_vocab(CORPORA[class_])
    return model


def train(model, epochs=1, **options):
    corpus = CORPORA[type(model)]
    model.train(corpus, total_examples=len(corpus), epochs=epochs, **options)


def arrays(model):
    found = {"wv": model.wv.vectors}
    if model.has_documents:
        found["dv"] = model.dv.vectors
    return found | {name: vars(model)[name] for name in ("syn1neg", "syn1") if name in vars(model)}


def is_roomy(array):
    """Return whether the kernels can train an array in place, or one that it is a part of."""
    return array.flags.c_contiguous and RowMemory.find(array) is not None


def assert_equal(one, other):
    for name, array in arrays(one).items():
        np.testing.assert_array_equal(array, arrays(other)[name], err_msg=name)


@EACH_CLASS
def test_views_taken_before_training_stay_valid(class_):
    model = new(class_)
    before = arrays(model)
    rows = {name: (array[:3], array[:3].copy()) for name, array in before.items()}
    train(model, epochs=2)
    train(model)  # trains copies, and writes them into the same arrays
    for name, array in arrays(model).items():
        assert array is before[name] and is_roomy(array)
        view, initial = rows[name]
        np.testing.assert_array_equal(view, array[:3])
        assert (view != initial).any(), name


@EACH_CLASS
@pytest.mark.parametrize("size", [10, STRIDE], ids=["padding", "no padding"])
@pytest.mark.parametrize("options", [{}, {"negative": 0}, {"hs": 0}], ids=str)
def test_training_in_place_equals_training_of_copies(class_, options, size):
    model = new(class_, vector_size=size, **options)
    other = copy.deepcopy(model)  # its arrays have no room for padding
    train(model, epochs=3)
    train(other, epochs=3)
    assert is_roomy(model.wv.vectors) and not is_roomy(other.wv.vectors)
    assert_equal(model, other)
    train(model)
    train(other)
    assert_equal(model, other)


def test_padding_stays_zero(monkeypatch):
    """The kernels compute with whole SIMD vectors, so the padding takes part in sums."""
    paddings = []
    move_together = RowMemory.move_together

    def look(memory):
        if memory.is_apart:
            rows = memory.array
            padded = np.lib.stride_tricks.as_strided(rows, (len(rows), STRIDE))
            assert rows.any()
            paddings.append(padded[:, 10:].copy())
        move_together(memory)

    monkeypatch.setattr(RowMemory, "move_together", look)
    train(new(TFDoc2Vec), epochs=2)
    assert len(paddings) == 2 * 3  # epochs, tables
    assert not any(padding.any() for padding in paddings)


@EACH_CLASS
def test_files_and_copies_have_no_padding(class_, tmp_path):
    model = new(class_)
    train(model)
    name = str(tmp_path / "model")
    model.save(name, sep_limit=0)  # each array in a file
    np.save(tmp_path / "array.npy", model.wv.vectors)
    assert (tmp_path / "array.npy").stat().st_size == 128 + model.wv.vectors.size * 4
    gensims = {TFWord2Vec: Word2Vec, TFDoc2Vec: Doc2Vec}[class_]
    model.to_gensim().save(name + ".gensims")
    copies = [class_.load(name), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for other in (*copies, gensims.load(name + ".gensims")):
        for array_name, array in arrays_of_any(other).items():
            assert array.flags.c_contiguous and not is_roomy(array)
            np.testing.assert_array_equal(array, arrays(model)[array_name])
    copies.append(class_.load(name + ".gensims"))
    train(model)
    for other in copies:
        views = arrays(other)
        train(other)
        assert_equal(other, model)
        if class_ is TFWord2Vec:  # words and tags from files are joined into one array first
            for array_name, array in arrays(other).items():
                np.testing.assert_array_equal(array, views[array_name])


def arrays_of_any(model):
    """Return the arrays of a model, also of gensim's class."""
    model = model if hasattr(model, "has_documents") else TFWord2Vec.take_over(model)
    return arrays(model)


def test_vectors_are_exported_and_queried_as_before(tmp_path):
    model = new()
    train(model)
    other = copy.deepcopy(model)
    assert model.wv.most_similar("graph") == other.wv.most_similar("graph")
    for binary in (True, False):
        for name, of in (("one", model), ("other", other)):
            of.wv.save_word2vec_format(str(tmp_path / name), binary=binary)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    model.wv.save(str(tmp_path / "kv"), sep_limit=0)
    found = KeyedVectors.load(str(tmp_path / "kv"), mmap="r")
    np.testing.assert_array_equal(found.vectors, model.wv.vectors)


OTHERS = {
    "C order": np.array,
    "Fortran order": np.asfortranarray,
    "float64": lambda array: array.astype(np.float64),
    "some columns": lambda array: np.repeat(array, 2, axis=1)[:, : array.shape[1]],
    "some columns of roomy rows": lambda array: wider(array)[:, : array.shape[1]],
    "some rows of roomy rows": lambda array: taller(array)[: len(array)],
    "read-only": lambda array: np.frombuffer(array.tobytes(), np.float32).reshape(array.shape),
    "reversed": lambda array: array[::-1],
}


def taller(array):
    """Return the array followed by another row, which must not change."""
    rows = new_rows(len(array) + 1, array.shape[1])
    rows[:-1] = array
    rows[-1] = 100
    return rows


def wider(array):
    """Return the array with two more columns: what follows a row is not zero."""
    rows = new_rows(len(array), array.shape[1] + 2)
    rows[:, :-2] = array
    rows[:, -2:] = 100
    return rows


@EACH_CLASS
@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("name", ["wv", "syn1neg"])
def test_replaced_arrays_are_trained_as_copies(class_, name, form):
    model = new(class_)
    other = OTHERS[form](arrays(model)[name] + 0.01)
    plain = copy.deepcopy(model)
    for of, array in ((model, other), (plain, np.array(other, np.float32))):
        if name == "wv":
            of.wv.vectors = array
        else:
            of.syn1neg = array
    train(model, epochs=2)
    train(plain, epochs=2)
    assert_equal(model, plain)
    if class_ is TFWord2Vec and form == "C order":
        assert arrays(model)[name] is other


def test_values_put_into_the_arrays_are_trained():
    model = new()
    view, other = model.wv.vectors, np.full((len(model.wv), 10), 0.01, np.float32)
    model.wv.vectors[:] = other
    plain = copy.deepcopy(model)
    train(model)
    train(plain)
    assert model.wv.vectors is view
    assert_equal(model, plain)


@EACH_CLASS
def test_words_added_before_or_after_training_are_trained(class_):
    texts = [["new", "human", "graph"]] * 3
    if class_ is TFDoc2Vec:
        texts = [TaggedDocument(text, ["new tag"]) for text in texts]
    for is_trained in (False, True):
        model = new(class_)
        if is_trained:
            train(model)
        view, before = model.wv.vectors, model.wv.vectors.copy()
        model.build_vocab(texts, update=True)
        np.testing.assert_array_equal(model.wv.vectors[: len(before)], before)
        plain = copy.deepcopy(model)
        for of in (model, plain):
            train(of)
        assert_equal(model, plain)
        np.testing.assert_array_equal(view, before)  # gensim's code has made larger arrays


def test_arrays_in_files_are_trained_and_stay_mapped(tmp_path):
    for class_ in (TFWord2Vec, TFDoc2Vec):
        model, plain = new(class_, tables_dir=tmp_path / class_.__name__), new(class_)
        before = arrays(model)
        for of in (model, plain):
            train(of, epochs=2)
        assert_equal(model, plain)
        assert all(array is before[name] for name, array in arrays(model).items())
        assert not any(map(is_roomy, before.values()))


class Explode(CallbackAny2Vec):
    """Make training diverge in its second epoch."""

    epoch = 0

    def on_epoch_end(self, model):
        self.good = {name: array.copy() for name, array in arrays(model).items()}
        model._get_next_alpha = lambda *_: float("inf")


@EACH_CLASS
def test_diverged_new_model_says_how_to_get_vectors(class_):
    model, expected = new(class_), new(class_)
    with pytest.raises(Divergence, match=r"diverged: .* vectors are lost.* init_weights\(\)"):
        train(model, epochs=3, callbacks=[Explode()])
    del model._get_next_alpha
    with pytest.raises(RuntimeError, match="must initialize vectors before training"):
        train(model)
    model.init_weights()
    assert_equal(model, expected)
    train(model)
    again = new(class_)
    with pytest.raises(Divergence, match="are lost"):
        train(again, epochs=3, callbacks=[Explode()])
    del again._get_next_alpha
    again.build_vocab(CORPORA[class_])
    assert_equal(again, expected)


@pytest.mark.parametrize("how", ["trained", "loaded", "copied", "checkpoints", "interrupted"])
def test_other_models_keep_the_vectors_of_the_last_epoch(how, tmp_path):
    model = new(**({"checkpoint_dir": str(tmp_path / "kept")} if how == "checkpoints" else {}))
    if how == "trained":
        train(model)
    elif how == "loaded":
        model.save(str(tmp_path / "model"))
        model = TFWord2Vec.load(str(tmp_path / "model"))
    elif how == "copied":
        model = copy.deepcopy(model)
    elif how == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            train(model, callbacks=[Interrupt()])
    explode = Explode()
    with pytest.raises(Divergence) as caught:
        train(model, epochs=3, callbacks=[explode])
    assert "lost" not in str(caught.value)
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, explode.good[name])


class Interrupt(CallbackAny2Vec):
    """Interrupt training after its first epoch."""

    def on_epoch_end(self, model):
        self.trained = {name: array.copy() for name, array in arrays(model).items()}
        os.kill(os.getpid(), signal.SIGINT)


def test_interrupted_new_model_keeps_what_was_trained():
    model, interrupt = new(), Interrupt()
    view, initial = model.wv.vectors, model.wv.vectors.copy()
    with pytest.raises(KeyboardInterrupt):
        train(model, epochs=3, callbacks=[interrupt])
    assert model.wv.vectors is view and (view != initial).any()
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, interrupt.trained[name])


def test_failed_build_vocab_does_not_make_a_trained_model_new(monkeypatch):
    model = new()
    train(model)
    trained = model.wv.vectors.copy()
    monkeypatch.setattr(TFWord2Vec, "add_lifecycle_event", failing)
    with pytest.raises(OSError, match="failed"):
        model.build_vocab(common_texts[:4])
    monkeypatch.undo()
    np.testing.assert_array_equal(model.wv.vectors, trained)
    model._get_next_alpha = lambda *_: float("inf")
    with pytest.raises(Divergence) as caught:
        train(model)
    assert "lost" not in str(caught.value)
    np.testing.assert_array_equal(model.wv.vectors, trained)


def failing(*args, **kwargs):
    raise OSError("failed")


@EACH_CLASS
@pytest.mark.parametrize("how", ["trained", "loaded", "checkpoints"])
def test_other_models_are_trained_in_place_if_memory_is_scarce(
    class_, how, monkeypatch, caplog, tmp_path
):
    Memory = namedtuple("Memory", "available")
    model = new(class_)
    if how != "checkpoints":
        train(model)
    if how == "loaded":
        model.save(str(tmp_path / "model"))
        model = class_.load(str(tmp_path / "model"))
    plain, before = copy.deepcopy(model), arrays(model)
    if how == "checkpoints":
        model.checkpoint_dir = str(tmp_path / "kept")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(1))
    with caplog.at_level(logging.WARNING):
        train(model, epochs=2)
    assert caplog.text.count("training in place: copies of the vectors need") == 1
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(1 << 40))
    train(plain, epochs=2)
    assert_equal(model, plain)
    for name, array in arrays(model).items():
        assert is_roomy(array)
        assert (array is before[name]) == (how != "loaded")
    model.checkpoint_dir = None
    train(model)
    train(plain)
    assert_equal(model, plain)


@EACH_CLASS
def test_gensims_code_reads_the_trained_vectors(class_):
    options = {"negative": 0, "sg": 1} if class_ is TFWord2Vec else {"hs": 0}
    model = new(class_, **options)
    train(model, epochs=5)
    plain = copy.deepcopy(model)
    if class_ is TFWord2Vec:
        np.testing.assert_array_equal(model.score(common_texts), plain.score(common_texts))
    same, other = model.to_gensim(), plain.to_gensim()
    assert same.wv.vectors is model.wv.vectors
    for of in (same, other):
        of.random.seed(1)
        of.train(CORPORA[class_], total_examples=len(common_texts), epochs=1)
    np.testing.assert_array_equal(same.wv.vectors, other.wv.vectors)
    train(model)


def test_model_that_gensims_code_trains_equals_gensims():
    class Hooked(TFWord2Vec):
        def _do_train_job(self, *args):
            return super()._do_train_job(*args)

    options = {"vector_size": 10, "min_count": 1, "workers": 1, "seed": 1}
    expected = Word2Vec(common_texts, **options)
    model = Hooked(common_texts, **options)
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)


@pytest.mark.parametrize("options", [{}, {"dm": 0}, {"hs": 0}, {"dm_concat": 1}], ids=str)
@pytest.mark.parametrize("size", [10, STRIDE])
def test_inferred_vectors_do_not_depend_on_the_memory(options, size):
    model = new(TFDoc2Vec, vector_size=size, **options)
    train(model, epochs=3)
    plain = copy.deepcopy(model)
    documents = [text * 5 for text in common_texts]
    expected = plain.infer_vectors(documents)
    np.testing.assert_array_equal(model.infer_vectors(documents), expected)
    model.wv.vectors = model.wv.vectors.copy()  # elsewhere, unlike the outputs
    np.testing.assert_array_equal(model.infer_vectors(documents), expected)


@pytest.mark.parametrize("class_", CORPORA)
@pytest.mark.parametrize("regime", ["synchronous", "asynchronous"])
def test_regimes_train_roomy_arrays(class_, regime):
    model = new(class_, hs=0, regime=regime)
    plain = copy.deepcopy(model)
    plain.regime = regime
    train(model)
    train(plain)
    assert_equal(model, plain)


@pytest.mark.parametrize("words", ["abbccc", [3, 1, 3, 2, 1], ["a\n", "a\n", "c", "d", "d"]])
def test_vocabulary_without_rare_words_is_gensims(words):
    """Kept strings are copies, so that the memory of rare ones can be returned to the system."""
    texts = [[2 * word for word in words]]
    model = TFWord2Vec(min_count=2)
    expected = Word2Vec(min_count=2)
    for each in (model, expected):
        each.build_vocab(texts, keep_raw_vocab=True)
    assert model.wv.index_to_key == expected.wv.index_to_key
    assert list(model.wv.key_to_index.items()) == list(expected.wv.key_to_index.items())
    counted = {word: word for word in model.raw_vocab}
    is_copy = [counted[word] is not word for word in model.wv.index_to_key]
    assert is_copy == 2 * [isinstance(words[0], str)]
