"""The private state of a model is one object, which copies and files leave out."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from gensim.models import Doc2Vec, FastText, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.stored_model import OWN
from gensim_tfw2v.training.model_state import ModelState

#: Attributes beyond gensim's that files keep, as docs/coming-from-gensim.md lists them.
SAVED = {*OWN, "mean_losses", "history", "best_epoch", "best_score", "kernel", "learn_hidden"}

PAIRS = {TFWord2Vec: Word2Vec, TFFastText: FastText, TFDoc2Vec: Doc2Vec}


def used(class_):
    """Return a model whose training and queries have used all of its private state."""
    documents = [TaggedDocument(words, [index]) for index, words in enumerate(common_texts)]
    corpus = documents if issubclass(class_, Doc2Vec) else common_texts
    options = {"bucket": 10} if issubclass(class_, FastText) else {}
    model = class_(corpus, vector_size=4, min_count=1, workers=1, **options)
    model.train(corpus, total_examples=model.corpus_count, epochs=1)
    if issubclass(class_, Doc2Vec):
        model.infer_vector(["graph"])
    return model


@pytest.mark.parametrize("class_", PAIRS)
def test_private_state_is_one_object_that_nothing_keeps(class_, tmp_path):
    model = used(class_)
    assert {name for name in vars(model) if name.startswith("_")} == {"_state"}
    model.save(str(tmp_path / "ours"))
    loaded = class_.load(str(tmp_path / "ours"))
    used(PAIRS[class_]).save(str(tmp_path / "gensims"))
    gensims = vars(PAIRS[class_].load(str(tmp_path / "gensims"))).keys()
    assert gensims <= vars(loaded).keys() <= gensims | SAVED
    private = {name for name in gensims if name.startswith("_")}
    for copied in (loaded, model.to_gensim(), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert {name for name in vars(copied) if name.startswith("_")} <= private
    for copied in (loaded, copy.copy(model), copy.deepcopy(model)):
        assert copied._state is not model._state
        assert vars(copied._state).keys() == vars(ModelState()).keys()
        assert copied._state.training is copied._state.frozen is copied._state.config is None


def test_state_is_created_once_by_concurrent_threads(monkeypatch):
    def make_slowly():
        time.sleep(0.01)
        return ModelState()

    model = TFWord2Vec()
    del model._state
    monkeypatch.setattr("gensim_tfw2v.model.ModelState", make_slowly)
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda _: model._state, range(100)))
    assert {id(state) for state in states} == {id(model._state)}
