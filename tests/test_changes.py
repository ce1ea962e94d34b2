"""Changes by callbacks and other threads during training: each row of the table in the docs."""

import functools
import re
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from gensim.models import Doc2Vec, FastText, Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.training.session import Training

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-gensim.md"
DRAWS = np.random.default_rng(1).zipf(1.3, (100, 12)).clip(max=39)
CORPUS = [[f"w{number}" for number in sentence] for sentence in DRAWS]
DOCUMENTS = [TaggedDocument(words, [place % 7]) for place, words in enumerate(CORPUS)]
OURS = {Word2Vec: TFWord2Vec, FastText: TFFastText, Doc2Vec: TFDoc2Vec}
ARRAYS = ("wv.vectors", "wv.vectors_vocab", "wv.vectors_ngrams", "dv.vectors", "syn1neg")


class Change(CallbackAny2Vec):
    """Callback that changes a model after the second of three epochs, and records the third."""

    def __init__(self, change):
        self.change, self.epochs, self.seen, self.loss, self.moved = change, 0, [], 0, {}

    def arrays(self, model):
        for name in ARRAYS:
            place, _, attribute = name.rpartition(".")
            holder = getattr(model, place, None) if place else model
            if (array := getattr(holder, attribute, None)) is not None:
                yield name, array

    def on_epoch_begin(self, model):
        self.loss_before = model.running_training_loss
        self.before = {name: array.copy() for name, array in self.arrays(model)}

    def on_epoch_end(self, model):
        self.epochs += 1
        self.loss = model.running_training_loss - self.loss_before
        self.moved = {name: abs(array - self.before[name]) for name, array in self.arrays(model)}
        if self.epochs == 2:
            self.change(model)


class Counted(CallbackAny2Vec):
    """Callback that counts epochs."""

    epochs = 0

    def on_epoch_begin(self, model):
        self.epochs += 1


class Run(NamedTuple):
    model: object
    words: int  # trained
    loss: float  # loss of the third epoch
    moved: dict  # absolute changes of each array in the third epoch


def built(model_class, **options):
    corpus = DOCUMENTS if issubclass(model_class, Doc2Vec) else CORPUS
    options = {"vector_size": 8, "min_count": 1, "sample": 0.01, "workers": 1, "seed": 1} | options
    if corpus is CORPUS:
        options = {"sg": 1} | options
    if issubclass(model_class, FastText):
        options |= {"bucket": 50}
    model = model_class(**options)
    model.build_vocab(corpus)
    return model, corpus


def run(model_class, change, **options):
    model, corpus = built(model_class, **options)
    callback = Change(change)
    options = {} if isinstance(model, Doc2Vec) else {"compute_loss": True}
    model.callbacks = [callback]
    counts = model.train(
        corpus, total_examples=len(corpus), epochs=3, callbacks=model.callbacks, **options
    )
    return Run(model, counts and counts[0], callback.loss, callback.moved)  # gensim's Doc2Vec: None


@functools.cache
def unchanged(model_class, **options):
    return run(model_class, lambda model: None, **options)


def setting(**values):
    def change(model):
        for name, value in values.items():
            setattr(model, name, value)

    return change


def replaced(holder, name, value=0):
    def change(model):
        vectors = getattr(model, holder)
        array = getattr(vectors, name)
        rows = len(vectors.vectors) if "lockf" in name else array.shape
        if name == "vectors_ngrams_lockf":
            rows = 50
        setattr(vectors, name, np.full(rows, value, np.float32))

    return change


def in_place(holder, name, value=0):
    return lambda model: getattr(getattr(model, holder), name).fill(value)


def of_samples(model):
    model.wv.expandos["sample_int"][:] = 0


def of_noise(model):
    model.ns_exponent = 3
    model.make_cum_table()


def one_more_callback(model):
    model.callbacks.append(Counted())


def stays(name):
    return lambda now, before: now.moved[name].max() == 0 < before.moved[name].max()


def is_less(now, before):
    return now < 0.85 * before


def same_vectors(now, before):
    return np.array_equal(now.model.wv.vectors, before.model.wv.vectors)


def other_vectors(now, before):
    return not same_vectors(now, before)


LOSS = [lambda now, before: is_less(now.loss, before.loss)]
MORE_LOSS = [lambda now, before: is_less(before.loss, now.loss)]
FREEZES = [stays("wv.vectors")]

#: Cases of each row of the table: (class, change, check of the third epoch).
CASES = {
    "`alpha`, `min_alpha`, `batch_words`, `window`, `shrink_windows`, `negative`, `sg`, "
    "`cbow_mean`, `compute_loss`, `workers`": [
        (Word2Vec, setting(alpha=0.0, min_alpha=0.0), FREEZES[0]),
        (
            Word2Vec,
            setting(batch_words=20),
            lambda now, before: is_less(
                now.model.min_alpha_yet_reached, before.model.min_alpha_yet_reached
            ),
        ),
        (Word2Vec, setting(window=1), LOSS[0]),
        (Word2Vec, setting(shrink_windows=False), MORE_LOSS[0]),
        (Doc2Vec, setting(window=1), other_vectors),
        (Word2Vec, setting(negative=10), MORE_LOSS[0]),
        (Word2Vec, setting(sg=0), LOSS[0]),
        (Word2Vec, setting(sg=0, cbow_mean=0), LOSS[0]),
        (FastText, setting(sg=0), other_vectors),
        (Word2Vec, setting(compute_loss=False), lambda now, before: now.loss == 0),
        (Word2Vec, setting(workers=2), lambda now, before: now.words == before.words),
    ],
    "`epochs`": [
        (
            Word2Vec,
            setting(epochs=30),
            lambda now, before: is_less(
                before.moved["wv.vectors"].max(), now.moved["wv.vectors"].max()
            ),
        ),
    ],
    '`cum_table`, `sample`, `wv.expandos["sample_int"]`': [
        (Word2Vec, of_noise, lambda now, before: now.loss != before.loss),
        (Word2Vec, of_samples, lambda now, before: is_less(now.words, before.words)),
        (Word2Vec, setting(sample=0), lambda now, before: is_less(before.words, now.words)),
    ],
    "`wv.vectors_lockf`, `wv.vectors_vocab_lockf`, `wv.vectors_ngrams_lockf`, `dv.vectors_lockf`": [
        (Word2Vec, replaced("wv", "vectors_lockf"), FREEZES[0]),
        (Word2Vec, in_place("wv", "vectors_lockf"), FREEZES[0]),
        (Doc2Vec, replaced("wv", "vectors_lockf"), FREEZES[0]),
        (Doc2Vec, replaced("dv", "vectors_lockf"), stays("dv.vectors")),
        (Doc2Vec, in_place("dv", "vectors_lockf"), stays("dv.vectors")),
        (FastText, replaced("wv", "vectors_vocab_lockf"), stays("wv.vectors_vocab")),
        (FastText, in_place("wv", "vectors_vocab_lockf"), stays("wv.vectors_vocab")),
        (FastText, replaced("wv", "vectors_ngrams_lockf"), stays("wv.vectors_ngrams")),
        (FastText, in_place("wv", "vectors_ngrams_lockf"), stays("wv.vectors_ngrams")),
    ],
    "`wv.vectors`, `dv.vectors`, `syn1neg`, `syn1`": [
        (Word2Vec, in_place("wv", "vectors"), other_vectors),
        (Word2Vec, replaced("wv", "vectors"), other_vectors),
        (Word2Vec, lambda model: model.syn1neg.fill(0), other_vectors),
        (Doc2Vec, in_place("dv", "vectors"), other_vectors),
        (FastText, in_place("wv", "vectors_vocab"), other_vectors),
    ],
    "`running_training_loss`, list of callbacks": [
        (
            Word2Vec,
            setting(running_training_loss=0.0),
            lambda now, before: (
                now.model.running_training_loss == now.loss
                and now.loss == pytest.approx(before.loss, rel=1e-4)
            ),
        ),
        (Word2Vec, one_more_callback, lambda now, before: now.model.callbacks[1].epochs == 1),
    ],
    "`seed`": [
        (Word2Vec, setting(seed=7), same_vectors),
    ],
    "`random`": [
        (TFWord2Vec, lambda model: model.random.seed(7), same_vectors),
    ],
}

#: Cases of each row of the table that raises: (class, change, error, message).
REFUSED = {
    "`hs`, `vector_size`": [
        (TFWord2Vec, setting(hs=1), ValueError, "hs=1 needs a Huffman tree"),
        (TFWord2Vec, setting(vector_size=9), ValueError, "wv.vectors has the shape"),
        (TFWord2Vec, setting(window="wide"), TypeError, "window must be a whole number"),
    ],
    "words, tags and the shapes of arrays (changed by `wv.add_vector`, for example)": [
        (
            model_class,
            change,
            RuntimeError,
            "must stay the same during training: .*shapes",
        )
        for model_class in OURS.values()
        for change in (
            lambda model: model.wv.add_vectors(["new"], np.ones((1, 8), np.float32)),
            lambda model: setattr(model, "syn1neg", model.syn1neg[:-1].copy()),
        )
    ],
    "`cluster`, `regime`, `layout`, `wire`, `checkpoint_dir`, `log_dir`, `deterministic`, "
    "`learn_hidden`": [
        (
            TFWord2Vec,
            setting(**{name: value}),
            RuntimeError,
            f"must stay the same during training: {attribute}",
        )
        for name, value, attribute in (
            ("cluster", "local:ps=1,worker=1", "cluster"),
            ("regime", "downpour", "regime"),
            ("wire", "float32", "wire"),
            ("checkpoint_dir", "folder", "checkpoint_dir"),
            ("log_dir", "folder", "log"),
            ("deterministic", True, "deterministic"),
            ("learn_hidden", False, "learn_hidden"),
        )
    ],
}

METHODS = {
    "build_vocab": lambda model, corpus: model.build_vocab(corpus, update=True),
    "build_vocab_from_freq": lambda model, corpus: model.build_vocab_from_freq({"w1": 9}),
    "scan_vocab": lambda model, corpus: model.scan_vocab(corpus),
    "prepare_vocab": lambda model, corpus: model.prepare_vocab(update=True, min_count=1),
    "init_weights": lambda model, corpus: model.init_weights(),
    "update_weights": lambda model, corpus: model.update_weights(),
    "reset_from": lambda model, corpus: model.reset_from(built(type(model))[0]),
    "create_binary_tree": lambda model, corpus: model.create_binary_tree(),
}


def rows(cases):
    return [(row, *case) for row, of_row in cases.items() for case in of_row]


def table():
    text = PAGE.read_text("utf-8").split("## Changes during training\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {attribute: cells for attribute, *cells in lines[2:]}


def test_docs_table_has_a_row_for_each_case():
    page = table()
    methods = next(row for row in page if "`init_weights`" in row)
    assert set(re.findall(r"`(\w+)`", methods)) == METHODS.keys() | {"train", "partial_fit"}
    assert page.keys() - {methods, "`save`"} == CASES.keys() | REFUSED.keys()
    for row in REFUSED:
        assert page[row][0].startswith("Refused")
    for row, cases in CASES.items():
        is_same = page[row][1] == "Same"
        assert is_same == all(model_class in OURS for model_class, *_ in cases)


@pytest.mark.parametrize(("row", "model_class", "change", "is_so"), rows(CASES))
def test_change_in_a_callback_acts_as_documented(row, model_class, change, is_so):
    for one in dict.fromkeys([model_class, OURS.get(model_class, model_class)]):
        assert is_so(run(one, change), unchanged(one)), one


@pytest.mark.parametrize(("row", "model_class", "change", "error", "message"), rows(REFUSED))
def test_refused_change_raises_and_keeps_the_trained_vectors(
    row, model_class, change, error, message
):
    model, corpus = built(model_class)
    alone, _ = built(model_class)
    # stopped early, not epochs=2, so that the learning rate falls as over three epochs
    stop = Change(lambda model: setattr(model, "stop_training", True))
    alone.train(corpus, total_examples=len(corpus), epochs=3, callbacks=[stop])
    with pytest.raises(error, match=message):
        model.train(corpus, total_examples=len(corpus), epochs=3, callbacks=[Change(change)])
    words = len(alone.wv)
    # FastText recomputes its means at the end
    np.testing.assert_allclose(model.wv.vectors[:words], alone.wv.vectors, rtol=1e-5)


def once_within_an_epoch(monkeypatch, change):
    """Call a function once, from another thread, after a work unit of the second epoch."""
    count, errors = Training.count, []

    def counted(training, log, report):
        count(training, log, report)
        if training.position.epoch == 1 and not errors:
            errors.append(None)
            thread = threading.Thread(target=call, args=[training._model])
            thread.start()
            thread.join(60)

    def call(model):
        try:
            change(model)
        except Exception as error:
            errors[0] = error

    monkeypatch.setattr(Training, "count", counted)
    return errors


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model_class", OURS.values())
def test_methods_that_replace_arrays_raise_during_training(model_class, method, monkeypatch):
    model, corpus = built(model_class)
    errors = once_within_an_epoch(monkeypatch, lambda model: METHODS[method](model, corpus))
    model.train(corpus, total_examples=len(corpus), epochs=3)
    assert isinstance(errors[0], RuntimeError) and "is being trained" in str(errors[0])
    same = unchanged(model_class).model
    np.testing.assert_array_equal(model.wv.vectors, same.wv.vectors)
    assert model.corpus_count == same.corpus_count
    model.init_weights()  # allowed afterwards


@pytest.mark.parametrize("model_class", OURS.values())
def test_vectors_added_within_an_epoch_raise_at_its_end(model_class, monkeypatch):
    """The vectors of that epoch are kept, and so are the added ones."""
    added = np.ones((2, 8), np.float32)
    model, corpus = built(model_class)
    alone, _ = built(model_class)
    stop = Change(lambda model: setattr(model, "stop_training", True))
    alone.train(corpus, total_examples=len(corpus), epochs=3, callbacks=[stop])
    errors = once_within_an_epoch(
        monkeypatch, lambda model: model.wv.add_vectors(["new", "newer"], added)
    )
    with pytest.raises(RuntimeError, match="during training: shapes"):
        model.train(corpus, total_examples=len(corpus), epochs=3)
    assert errors == [None]
    words = len(alone.wv)
    assert len(model.wv) == len(model.wv.vectors) == words + 2
    # FastText recomputes its means at the end
    np.testing.assert_allclose(model.wv.vectors[:words], alone.wv.vectors, rtol=1e-5)
    np.testing.assert_array_equal(model.wv.vectors[words:], added)
    np.testing.assert_array_equal(model.syn1neg, alone.syn1neg)
    if isinstance(model, Doc2Vec):
        np.testing.assert_array_equal(model.dv.vectors, alone.dv.vectors)


@pytest.mark.parametrize("model_class", OURS.values())
def test_model_can_be_saved_during_training(model_class, tmp_path, monkeypatch):
    def save(model):
        model.save(str(tmp_path / f"{threading.get_ident()}.model"))

    model, corpus = built(model_class)
    errors = once_within_an_epoch(monkeypatch, save)
    model.train(corpus, total_examples=len(corpus), epochs=3, callbacks=[Change(save)])
    assert errors == [None]
    np.testing.assert_array_equal(model.wv.vectors, unchanged(model_class).model.wv.vectors)
    saved = list(tmp_path.glob("*.model"))
    assert saved
    for path in saved:
        assert len(model_class.load(str(path)).wv) == len(model.wv)


@pytest.mark.parametrize(
    "options",
    [
        {"deterministic": True},
        pytest.param({"regime": "synchronous"}, marks=pytest.mark.slow),
        pytest.param({"cluster": "local:ps=1,worker=1"}, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_locks_set_in_a_callback_apply_in_each_regime(options):
    frozen = run(TFWord2Vec, in_place("wv", "vectors_lockf"), **options)
    assert frozen.moved["wv.vectors"].max() == 0 < frozen.moved["syn1neg"].max()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"deterministic": True, "log_dir": "log", "checkpoint_dir": "kept"},
        pytest.param({"regime": "submodels:models=2,merging=concat"}, marks=pytest.mark.slow),
        pytest.param({"cluster": "local:ps=1,worker=1", "log_dir": "l"}, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_changed_alpha_keeps_the_regime_open(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    regimes = []

    class Look(CallbackAny2Vec):
        def on_epoch_end(self, model):
            regimes.append(model._state.training.regime)
            if "submodels" not in str(model.regime):
                model.alpha *= 0.9

    model, corpus = built(TFWord2Vec, **options)
    model.train(corpus, total_examples=len(corpus), epochs=3, callbacks=[Look()])
    assert regimes == [regimes[0]] * 3


def test_change_during_sub_models_raises():
    with pytest.raises(RuntimeError, match="during training: window. .* With sub-models"):
        run(TFWord2Vec, setting(window=1), regime="submodels:models=2")


def test_changes_before_the_first_epoch_apply():
    class Narrow(CallbackAny2Vec):
        def on_train_begin(self, model):
            model.window = 1

    class Locked(CallbackAny2Vec):
        def on_epoch_begin(self, model):
            model.wv.vectors_lockf = np.zeros(3, np.float32)

    model, corpus = built(TFWord2Vec)
    model.train(corpus, total_examples=len(corpus), epochs=1, callbacks=[Narrow()])
    narrow, _ = built(TFWord2Vec, window=1)
    narrow.train(corpus, total_examples=len(corpus), epochs=1)
    np.testing.assert_array_equal(model.wv.vectors, narrow.wv.vectors)
    with pytest.raises(ValueError, match="vectors_lockf has 3 factors"):
        model.train(corpus, total_examples=len(corpus), epochs=1, callbacks=[Locked()])
