"""Updated vocabularies, reports, events and logs equal those of gensim's `prepare_vocab`."""

import numpy as np
import pytest
from gensim.models import Word2Vec
from gensim.test.utils import common_texts
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import TFFastText, TFWord2Vec, keys
from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.key_list import KeyList
from tests.training.test_vocabulary_preparation import KINDS, assert_equal_vocabularies, compact

WORDS = st.dictionaries(
    st.text("abc\0", max_size=2), st.one_of(st.integers(1, 9), st.integers(1, 10**6)), min_size=1
)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
@given(
    first=WORDS,
    second=WORDS,
    options=st.fixed_dictionaries(
        {"min_count": st.integers(1, 4), "sample": st.sampled_from([0, 1e-3, 0.1, 3])},
        optional={"max_final_vocab": st.integers(3, 8), "hs": st.just(1)},
    ),
    keep_raw_vocab=st.booleans(),
)
def test_random_counts_extend_the_vocabulary_as_in_gensim(
    make, first, second, options, keep_raw_vocab
):
    is_empty = max(first.values()) < options["min_count"]
    if is_empty or options.get("max_final_vocab", 99) < len(first):
        return  # gensim refuses an empty vocabulary
    models = []
    for kind, wrap in ((Word2Vec, dict), (TFWord2Vec, make)):
        model = kind(vector_size=3, **options)
        model.build_vocab_from_freq(wrap(first))
        models.append((model, wrap))
    arguments = {"update": True, "keep_raw_vocab": keep_raw_vocab}
    assert_equal_vocabularies(second, models, arguments)


@pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")
def test_updated_compact_vocabulary_stays_compact(monkeypatch):
    monkeypatch.setattr(keys, "MIN_WORDS", 1)
    model = TFWord2Vec(vector_size=3, min_count=2)
    model.build_vocab_from_freq(compact({"a": 5, "b": 3, "é": 7, "c": 1}))
    rows = {word: model.wv[word].copy() for word in ("a", "b", "é")}
    model.raw_vocab = compact({"new": 9, "b": 3, "": 2, "c": 1})
    model.prepare_vocab(update=True)
    model.prepare_weights(update=True)
    assert isinstance(model.wv.index_to_key, KeyList)
    assert model.wv.index_to_key.compact_keys is not None
    assert model.wv.index_to_key == ["é", "a", "b", "new", ""]
    assert model.wv.key_to_index == {"é": 0, "a": 1, "b": 2, "new": 3, "": 4}
    assert model.wv.expandos["count"].tolist() == [7, 5, 6, 9, 2]
    for word, row in rows.items():
        np.testing.assert_array_equal(model.wv[word], row)


@pytest.mark.parametrize("words", [[3, 9], ["a", 7], [("a",)]], ids=str)
def test_words_other_than_strings_are_added_by_gensims_code(words):
    models = []
    for kind in (Word2Vec, TFWord2Vec):
        model = kind(vector_size=3, min_count=1)
        model.build_vocab_from_freq({"a": 4, "b": 2, "c": 1})
        models.append((model, dict))
    assert_equal_vocabularies(dict.fromkeys(words, 3), models, {"update": True})


@pytest.mark.parametrize("kind", [TFWord2Vec, TFFastText])
def test_new_integers_below_the_number_of_words_are_added(kind):
    """gensim takes them for rows: it adds no words, and changes those of the rows."""
    options = {"bucket": 9} if kind is TFFastText else {}
    model = kind(vector_size=3, min_count=1, workers=1, sample=0.1, **options)
    model.partial_fit([[10, 20, 30, 10], [20, 10]])
    before = model.wv.expandos["sample_int"].copy()
    model.partial_fit([[1, 2, 30, 0], [1, np.int64(2), 30]] * 9)
    assert model.wv.index_to_key == [10, 20, 30, 1, 2, 0]
    assert model.wv.key_to_index == {10: 0, 20: 1, 30: 2, 1: 3, 2: 4, 0: 5}
    assert model.wv.expandos["count"].tolist() == [3, 2, 19, 18, 18, 9]
    assert model.wv.expandos["sample_int"][:2].tolist() == before[:2].tolist()
    assert len(model.wv.vectors) == len(model.syn1neg) == 6


def test_new_integers_are_added_to_words_that_are_strings():
    model = TFWord2Vec(vector_size=3, min_count=1)
    model.build_vocab_from_freq({"a": 4, "b": 2, "c": 1})
    model.build_vocab_from_freq({"a": 1, 0: 5, True: 2}, update=True)
    assert model.wv.index_to_key == ["a", "b", "c", 0, True]
    assert model.wv.expandos["count"].tolist() == [5, 2, 1, 5, 2]


def test_partial_fit_of_texts_gives_the_vocabulary_of_gensim():
    parts = [[["a", "b", "a"], ["c"]], [["d", "a"], ["d", "b"]], [["e", "a", "c"]]]
    model = TFWord2Vec(vector_size=3, min_count=1)
    expected = Word2Vec(vector_size=3, min_count=1)
    for number, part in enumerate(parts):
        model.partial_fit(part)
        expected.build_vocab(part, update=number > 0)
    assert model.wv.index_to_key == expected.wv.index_to_key
    for name in ("count", "sample_int"):
        np.testing.assert_array_equal(model.wv.expandos[name], expected.wv.expandos[name])


def test_partial_fit_keeps_the_options_of_the_model():
    model = TFWord2Vec(common_texts, min_count=1, vector_size=3, sample=0, epochs=4)
    model.partial_fit(common_texts, epochs=2, alpha=0.01, compute_loss=True)
    assert (model.epochs, model.alpha, model.compute_loss) == (4, 0.025, False)
    assert len(model.mean_losses) == 2
