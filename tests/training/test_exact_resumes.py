"""A training that is interrupted and resumed has the bits of an uninterrupted one."""

import numpy as np
import pytest
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.training.session import Training

SENTENCES = list(LineSentence(datapath("lee_background.cor")))[:120]
DOCUMENTS = [TaggedDocument(words, [place]) for place, words in enumerate(SENTENCES)]
ARRAYS = ("vectors", "vectors_vocab", "vectors_ngrams", "syn1neg", "syn1")
OPTIONS = {"vector_size": 12, "min_count": 2, "epochs": 3, "seed": 5, "workers": 1}
CLASSES = {
    "skip-gram": (TFWord2Vec, SENTENCES, {"sg": 1}),
    "CBOW with both losses": (TFWord2Vec, SENTENCES, {"hs": 1}),
    "FastText": (TFFastText, SENTENCES, {"bucket": 300, "min_n": 2, "max_n": 4}),
    "DM": (TFDoc2Vec, DOCUMENTS, {}),
    "DBOW": (TFDoc2Vec, DOCUMENTS, {"dm": 0, "dbow_words": 1}),
}


class Ended(Exception):
    """Stands for the end of the user's program."""


class EndedAt(CallbackAny2Vec):
    """End the program at the end of an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, model):
        self.epoch -= 1
        if self.epoch == 0:
            raise Ended


def weights(model):
    """Return copies of all trained arrays by the path of their attributes."""
    holders = {"": model, "wv.": model.wv, "dv.": getattr(model, "dv", None)}
    return {
        prefix + name: np.array(vars(holder)[name])
        for prefix, holder in holders.items()
        for name in ARRAYS
        if isinstance(vars(holder or object).get(name), np.ndarray)
    }


def assert_same(model, expected):
    found = weights(model)
    assert found.keys() == expected.keys() and len(found) > 1
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name], rows, name)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_killed_and_resumed_at_any_epoch_equals_uninterrupted(name, deterministic, tmp_path):
    kind, corpus, options = CLASSES[name]
    options = OPTIONS | options | {"deterministic": deterministic}
    expected = weights(kind(corpus, **options))
    for epoch in 1, 2, 3:
        options["checkpoint_dir"] = tmp_path / str(epoch)
        with pytest.raises(Ended):
            kind(corpus, **options, callbacks=[EndedAt(epoch)])
        assert_same(kind(corpus, **options), expected)
    assert_same(kind(corpus, **options), expected)  # a finished training, run again


@pytest.mark.parametrize("name", CLASSES)
def test_killed_and_resumed_in_an_epoch_equals_uninterrupted(name, tmp_path, monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.kernel.sizes.UNIT_ENTRIES", 1024)
    monkeypatch.setattr("gensim_tfw2v.kernel.sizes.PAIRED_ENTRIES", 1024)
    kind, corpus, options = CLASSES[name]
    options = OPTIONS | options
    expected = weights(kind(corpus, **options))
    save = Training.save
    n_units = []

    def save_and_end(training):
        save(training)
        if training.position.done:
            n_units.append(len(training.position.done))
            raise Ended

    options |= {"checkpoint_dir": tmp_path, "checkpoint_minutes": 1e-9}
    with monkeypatch.context() as patch:
        patch.setattr(Training, "save", save_and_end)
        for _ in range(3):
            with pytest.raises(Ended):
                kind(corpus, **options)
    assert len(n_units) == len(set(n_units)) == 3 and n_units == sorted(n_units)
    assert_same(kind(corpus, **options), expected)
