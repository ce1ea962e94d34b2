"""Models whose arrays, words or tags a program changes between two training runs."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from gensim.models import Doc2Vec, KeyedVectors, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.kernel.native import by_ctypes

DOCUMENTS = [TaggedDocument(text, [number]) for number, text in enumerate(common_texts)]
CORPORA = {TFWord2Vec: common_texts, TFFastText: common_texts, TFDoc2Vec: DOCUMENTS}
NEW = ["new", "human", "graph"]

FORMS = {
    "fortran": np.asfortranarray,
    "strided": lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    "reversed": lambda array: array[::-1].copy()[::-1],
    "float64": lambda array: array.astype(np.float64),
    "big-endian": lambda array: array.astype(">f4"),
    "matrix": np.matrix,
}


def small(class_, **options):
    options = {"bucket": 50} | options if class_ is TFFastText else options
    given = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 1, "hs": 1} | options
    return class_(CORPORA[class_], **given)


def train(model, texts=None, epochs=1):
    corpus = CORPORA[type(model)] if texts is None else texts
    model.train(corpus, total_examples=len(corpus), epochs=epochs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("class_", "names"),
    [
        (TFWord2Vec, ["wv.vectors", "syn1neg", "syn1"]),
        (TFFastText, ["wv.vectors_vocab", "wv.vectors_ngrams", "syn1neg"]),
        (TFDoc2Vec, ["wv.vectors", "dv.vectors", "syn1"]),
    ],
)
def test_arrays_of_any_layout_and_dtype_train_to_the_same_bits(class_, names, form):
    expected = small(class_)
    model = copy.deepcopy(expected)
    for name in names:
        *holder, attribute = name.split(".")
        owner = getattr(model, holder[0]) if holder else model
        setattr(owner, attribute, FORMS[form](getattr(owner, attribute)))
    train(expected)
    train(model)
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)
    np.testing.assert_array_equal(model.syn1neg, expected.syn1neg)


@pytest.mark.parametrize("add", [("new",), ("new", "newer")], ids=str)
@pytest.mark.parametrize(
    ("class_", "options"),
    [
        (TFWord2Vec, {}),
        (TFWord2Vec, {"hs": 0, "sg": 1}),
        (TFWord2Vec, {"negative": 0}),
        (TFFastText, {}),
        (TFDoc2Vec, {"dm_concat": 1}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_words_added_by_add_vector_can_be_trained(class_, options, add):
    model = small(class_, **options)
    if len(add) == 1:
        model.wv.add_vector(*add, np.ones(4))
    else:
        model.wv.add_vectors(list(add), np.ones((len(add), 4)))
    if class_ is TFDoc2Vec:
        assert np.isfinite(model.infer_vector(NEW)).all()
    train(model)
    np.testing.assert_allclose(model.wv["new"], 1, atol=1e-3)  # FastText: it shares n-grams
    updated = copy.deepcopy(model)
    texts = [TaggedDocument(NEW, [0])] * 3 if class_ is TFDoc2Vec else [NEW] * 3
    train(model, texts, epochs=20)
    assert (model.wv["new"] != 1).all()
    updated.build_vocab(texts, update=True)
    assert updated.wv.get_vecattr("new", "count") == 3
    train(updated, texts)


@pytest.mark.parametrize("ns_exponent", [0.75, 0, -0.5])
@pytest.mark.parametrize("class_", CORPORA)
def test_words_added_before_saving_can_be_trained(class_, ns_exponent, tmp_path):
    model = small(class_, ns_exponent=ns_exponent)
    model.wv.add_vector("new", np.ones(4))
    model.save(str(tmp_path / "model"))
    loaded = class_.load(str(tmp_path / "model"))
    np.testing.assert_allclose(loaded.wv["new"], 1, atol=1e-6)
    assert loaded.cum_table[-2] == loaded.cum_table[-1]  # the word is not drawn
    texts = [TaggedDocument(NEW, [0])] * 3 if class_ is TFDoc2Vec else [NEW] * 3
    for one in (model, loaded):
        train(one, texts, epochs=20)
    assert (loaded.wv["new"] != 1).all()
    np.testing.assert_allclose(loaded.wv.vectors, model.wv.vectors, atol=1e-6)
    for name in ("syn1", "syn1neg"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))


@pytest.mark.parametrize("change", ["train", "build_vocab"])
def test_words_that_gensim_has_added_and_saved_can_be_trained(change, tmp_path):
    """The loaded `cum_table` has the added words, and the output layer lacks them."""
    plain = small(TFWord2Vec).to_gensim()
    n_words = len(plain.wv)
    plain.wv.add_vector("new", np.ones(4))
    plain.save(str(tmp_path / "model"))
    model = TFWord2Vec.load(str(tmp_path / "model"))
    if change == "build_vocab":
        model.build_vocab([["newer"]], update=True)
    train(model, [NEW] * 3)
    assert len(model.syn1neg) == len(model.syn1) == len(model.wv) == len(model.cum_table)
    assert len(model.wv) == n_words + (1 if change == "train" else 2)


@pytest.mark.parametrize("mmap", [None, "r"])
@pytest.mark.parametrize("class_", CORPORA)
def test_models_are_saved_to_and_loaded_from_path_objects(class_, mmap, tmp_path):
    model = small(class_)
    model.save(tmp_path / "model", sep_limit=0)
    loaded = class_.load(tmp_path / "model", mmap=mmap)
    assert type(loaded) is class_
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)


def test_short_output_layer_raises():
    model = small(TFWord2Vec)
    model.syn1neg = model.syn1neg[:-1]
    with pytest.raises(ValueError, match="syn1neg has the shape"):
        train(model)


@pytest.mark.parametrize("hook", ["prepare_vocab", "make_cum_table", "update_weights"])
@pytest.mark.parametrize("class_", CORPORA)
def test_interrupted_build_vocab_update_changes_nothing(class_, hook, monkeypatch):
    model = small(class_)
    before = copy.deepcopy(model)

    def interrupted(*args, **kwargs):
        own(*args, **kwargs)
        raise KeyboardInterrupt

    own = getattr(model, hook)
    texts = [[f"word{number}", "human"] for number in range(9)]
    if class_ is TFDoc2Vec:
        texts = [TaggedDocument(text, ["tag", 20]) for text in texts]
    with monkeypatch.context() as patched:
        patched.setattr(class_, hook, lambda self, *args, **kwargs: interrupted(*args, **kwargs))
        with pytest.raises(KeyboardInterrupt):
            model.build_vocab(texts, update=True)
    for part in ("wv", "dv") if class_ is TFDoc2Vec else ("wv",):
        ours, was = getattr(model, part), getattr(before, part)
        assert ours.index_to_key == was.index_to_key and ours.key_to_index == was.key_to_index
        np.testing.assert_array_equal(ours.vectors, was.vectors)
    np.testing.assert_array_equal(model.wv.expandos["count"], before.wv.expandos["count"])
    model.build_vocab(texts, update=True)
    train(model, texts)
    assert len(model.syn1neg) == len(model.wv) == len(before.wv) + 9


def test_tags_are_added_as_in_gensim():
    documents = [*DOCUMENTS, TaggedDocument(["human"], [70_000])]
    ours, gensims = (
        class_(documents, vector_size=2, min_count=1, epochs=1) for class_ in (TFDoc2Vec, Doc2Vec)
    )
    for model in (ours, gensims):
        model.dv.add_vector("one", np.ones(2))
        model.dv.add_vectors(["two", 80_000], np.ones((2, 2)))
    assert ours.dv.index_to_key == gensims.dv.index_to_key
    assert ours.dv.key_to_index == gensims.dv.key_to_index
    for tag in ("one", "three", 70_000, 80_000, 90_000, np.int64(7)):
        assert (tag in ours.dv) == (tag in gensims.dv)
        assert ours.dv.get_index(tag, -1) == gensims.dv.get_index(tag, -1)
    assert ours.dv.vectors.shape == gensims.dv.vectors.shape


def test_range_of_tags_becomes_a_list_when_loaded(tmp_path):
    model = small(TFDoc2Vec)
    model.dv.index_to_key = range(len(model.dv))
    model.save(str(tmp_path / "model"))
    assert TFDoc2Vec.load(str(tmp_path / "model")).dv.index_to_key == list(range(9))


def test_every_loader_returns_our_class(tmp_path):
    path = datapath("lee_fasttext.bin")
    assert type(TFFastText.load_fasttext_format(path)) is TFFastText
    for class_ in CORPORA:
        name = str(tmp_path / class_.__name__)
        small(class_).to_gensim().save(name)
        assert type(class_.load(name)) is type(TFWord2Vec.load(name)) is class_


@pytest.mark.parametrize("word", [b"the", 3, None, ("a", "b")])
def test_non_string_words_raise(word):
    with pytest.raises(TypeError, match="must be strings"):
        small(TFDoc2Vec).infer_vector(["human", word])


def test_vocabulary_of_numbers_accepts_numbers_in_inference():
    model = TFDoc2Vec([TaggedDocument([1, 2, 3], [0])] * 5, vector_size=2, min_count=1)
    assert np.isfinite(model.infer_vector([1, np.int64(2), 99, "a"])).all()


@pytest.mark.parametrize("class_", [Word2Vec, TFWord2Vec])
def test_sentence_longer_than_a_batch_has_one_learning_rate(class_):
    model = class_([list("abcdefghij") * 3], min_count=1, batch_words=4, epochs=1, alpha=0.02)
    assert model.min_alpha_yet_reached == 0.02


@pytest.mark.skipif(not by_ctypes.is_available(), reason="the kernels are not compiled")
@pytest.mark.parametrize("value", ["", " ", "PORTABLE", " portable ", "bogus", "sse4"])
def test_isa_is_case_insensitive_and_unknown_values_raise(value):
    program = (
        "from gensim_tfw2v.kernel.native import by_ctypes\n"
        "try:\n    print(by_ctypes.variant())\nexcept ValueError as error:\n    print(error)"
    )
    environment = {**os.environ, "TFW2V_ISA": value}
    said = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    if value in ("bogus", "sse4"):
        assert f"TFW2V_ISA={value!r} is no kernel" in said and "portable, or unset it" in said
    else:
        assert said.strip() == ("portable" if value.strip() else by_ctypes.variant())


def test_vector_added_after_from_vectors_gets_an_output_row():
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    model = TFWord2Vec.from_vectors(vectors, min_count=1)
    model.wv.add_vector("c", np.ones(2))
    train(model, [["a", "b", "c"]] * 3)
    assert len(model.syn1neg) == 3
