"""Our classes under the names of gensim's: gensim's code that looks up its class still works."""

import copy
import pickle
import subprocess
import sys
import threading
import types

import gensim.models
import numpy as np
import pytest
from gensim.models import doc2vec, fasttext, word2vec
from gensim.models.doc2vec import Doc2Vec, TaggedDocument
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import TFFastText, TFWord2Vec, patch_gensim

GENSIMS = {TFWord2Vec: word2vec.Word2Vec, TFFastText: fasttext.FastText}
OURS = pytest.mark.parametrize("ours", list(GENSIMS))


@pytest.fixture(params=["assigned", "patched"])
def in_place(request, monkeypatch):
    """Replace gensim's classes by assignments, as a user might, and by `patch_gensim`."""
    if request.param == "patched":
        with patch_gensim():
            yield
        return
    for module in (gensim.models, word2vec, fasttext):
        monkeypatch.setattr(module, "Word2Vec", TFWord2Vec)
    for module in (gensim.models, fasttext):
        monkeypatch.setattr(module, "FastText", TFFastText)
    yield


def trained(made, **more):
    small = {"bucket": 50} if issubclass(made, GENSIMS[TFFastText]) else {}
    few = {"sentences": common_texts, "min_count": 1, "vector_size": 4, "sample": 0}
    return made(**few | small | more)


def same(model, other):
    return np.array_equal(model.wv.vectors, other.wv.vectors)


def trains(model, **text):
    before = model.wv.vectors.copy()
    model.train(**text, total_examples=9, total_words=29, epochs=1)
    return not np.array_equal(before, model.wv.vectors)


@OURS
def test_our_models_load_pickle_and_copy_while_patched(in_place, ours, tmp_path):
    model = trained(ours)
    model.save(str(tmp_path / "model"))
    for other in (
        ours.load(str(tmp_path / "model")),
        getattr(gensim.models, GENSIMS[ours].__name__).load(str(tmp_path / "model")),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
    ):
        assert type(other) is ours and same(model, other)
    assert trains(ours.load(str(tmp_path / "model")), corpus_iterable=common_texts)
    assert model.predict_output_word(["human", "trees"])
    if ours is TFWord2Vec:
        other = ours(vector_size=4)
        other.reset_from(model)
        assert len(trained(ours, sg=1, hs=1, negative=0).score(common_texts)) >= len(common_texts)


@OURS
def test_gensims_models_copy_as_gensims_and_load_as_ours(in_place, ours, tmp_path):
    gensims = GENSIMS[ours]
    (tmp_path / "text").write_text("".join(" ".join(text) + "\n" for text in common_texts))
    model = trained(gensims, sentences=None, corpus_file=str(tmp_path / "text"))
    for other in (copy.deepcopy(model), copy.copy(model), trained(ours).to_gensim()):
        assert type(other) is gensims
    assert same(model, copy.deepcopy(model))
    model.build_vocab([["new", "words"]], update=True)
    assert trains(model, corpus_file=str(tmp_path / "text"))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        # a pickle names gensim's class, whose name now stands for ours
        other = pickle.loads(pickle.dumps(model, protocol))
        assert type(other) is ours and same(model, other)
    model.save(str(tmp_path / "model"))
    assert type(gensims.load(str(tmp_path / "model"))) is ours


def test_old_files_of_gensim_load_as_our_class(in_place):
    for model in (
        TFWord2Vec.load(datapath("word2vec_old")),
        gensim.models.Word2Vec.load(datapath("model-from-gensim-3.8.0.w2v")),
    ):
        assert type(model) is TFWord2Vec and len(model.wv)


def test_gensims_fasttext_loader_returns_our_class(in_place, tmp_path):
    model = fasttext.load_facebook_model(datapath("crime-and-punishment.bin"))
    assert type(model) is TFFastText
    fasttext.save_facebook_model(model, str(tmp_path / "model.bin"))
    assert same(model, TFFastText.load_facebook_model(tmp_path / "model.bin"))


def test_doc2vec_loads_as_the_patched_class(in_place, tmp_path):
    texts = [TaggedDocument(text, [number]) for number, text in enumerate(common_texts)]
    model = Doc2Vec(texts, vector_size=4, min_count=1)
    model.save(str(tmp_path / "model"))
    for other in (Doc2Vec.load(str(tmp_path / "model")), pickle.loads(pickle.dumps(model))):
        assert type(other) is gensim.models.Doc2Vec and same(model, other)  # ours if patched
    assert model.infer_vector(common_texts[0]).shape == (4,)


@OURS
def test_model_saved_while_patched_loads_without_this_package(in_place, ours, tmp_path):
    model, name = trained(ours), GENSIMS[ours].__name__
    model.to_gensim().save(str(tmp_path / "model"))
    (tmp_path / "pickle").write_bytes(pickle.dumps(model.to_gensim()))
    program = f"""
import pickle, sys
from gensim.models import {name}
from numpy import load
for model in ({name}.load("model"), pickle.load(open("pickle", "rb"))):
    assert type(model) is {name}
    assert (model.wv.vectors == load("vectors.npy")).all()
    model.train([["human", "trees"]], total_examples=1, epochs=1)
assert "gensim_tfw2v" not in sys.modules
"""
    np.save(tmp_path / "vectors.npy", model.wv.vectors)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=300)


@OURS
def test_model_saved_while_patched_loads_afterwards(ours, tmp_path):
    with patch_gensim():
        model = trained(ours)
        model.save(str(tmp_path / "ours"))
        model.to_gensim().save(str(tmp_path / "gensims"))
        data = pickle.dumps(model), pickle.dumps(model.to_gensim())
    assert [type(pickle.loads(one)) for one in data] == [ours, GENSIMS[ours]]
    assert type(ours.load(str(tmp_path / "ours"))) is ours
    assert type(ours.load(str(tmp_path / "gensims"))) is ours
    assert type(GENSIMS[ours].load(str(tmp_path / "gensims"))) is GENSIMS[ours]


def named():
    """Return the classes that gensim's modules hold as `Word2Vec` and as `FastText`."""
    found = [vars(module)["Word2Vec"] for module in (gensim.models, word2vec, fasttext, doc2vec)]
    return {*found}, {gensim.models.FastText, fasttext.FastText}


def test_nested_patches_end_with_the_last(monkeypatch):
    ours, gensims = ({TFWord2Vec}, {TFFastText}), tuple({one} for one in GENSIMS.values())
    assert named() == gensims
    first = patch_gensim()
    with patch_gensim() as second:
        assert named() == ours
        first.restore()
        first.restore()
        assert named() == ours
        later = types.ModuleType("gensim.later")
        later.Word2Vec = TFWord2Vec  # as imported by a module while patched
        monkeypatch.setitem(sys.modules, later.__name__, later)
    second.restore()
    assert named() == gensims and later.Word2Vec is GENSIMS[TFWord2Vec]
    with pytest.raises(ZeroDivisionError), patch_gensim():
        1 / 0  # noqa: B018
    assert named() == gensims


def test_patches_in_parallel_threads_are_all_undone():
    wrong, begin = [], threading.Barrier(4)

    def work():
        begin.wait()
        for _ in range(50):
            with patch_gensim():
                wrong.extend({gensim.models.Word2Vec, fasttext.FastText} - {*GENSIMS})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and gensim.models.Word2Vec is GENSIMS[TFWord2Vec]


def test_class_set_by_others_is_not_patched(monkeypatch):
    class Mine(TFWord2Vec):
        pass

    monkeypatch.setattr(gensim.models, "Word2Vec", Mine)
    with patch_gensim():
        assert gensim.models.Word2Vec is Mine and word2vec.Word2Vec is TFWord2Vec
    assert gensim.models.Word2Vec is Mine
