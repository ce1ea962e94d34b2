"""Words as users type them, and the keys that they stand for."""

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import TFDoc2Vec, TFFastText
from gensim_tfw2v.evaluation import neighbour_agreement
from gensim_tfw2v.keyed import keyed
from gensim_tfw2v.typed_words import find_key, has_key, read_integer, typed_form

OPTIONS = {"vector_size": 4, "min_count": 1, "workers": 1}


@given(st.lists(st.integers(), min_size=1, unique=True))
def test_typed_integers_are_found(keys):
    vectors = keyed(keys, np.zeros((len(keys), 2), np.float32))
    assert [find_key(typed_form(key), vectors) for key in keys] == keys


@given(st.text(), st.lists(st.integers(0, 20), unique=True))
def test_only_keys_are_found(text, keys):
    vectors = keyed(keys, np.zeros((len(keys), 2), np.float32))
    assert find_key(text, vectors) == next((key for key in keys if str(key) == text), None)


@pytest.mark.parametrize("text", ["07", "+7", " 7", "1_0", "7.0", "\u0667", "", "-0", "9" * 5000])
def test_other_spellings_are_no_integers(text):
    assert read_integer(text) is None


def test_a_string_comes_before_an_integer():
    vectors = keyed([5, "5"], np.eye(2, dtype=np.float32))
    assert find_key("5", vectors) == "5" and find_key(5, vectors) == 5


@pytest.mark.parametrize("key", [1.5, ("a", 1), b"a", True, None])
def test_keys_of_other_types_cannot_be_typed(key):
    assert typed_form(key) is None


def test_tags_that_are_their_own_rows_are_keys():
    documents = [TaggedDocument(text, [n, f"t{n}"]) for n, text in enumerate(common_texts)]
    vectors = TFDoc2Vec(documents, **OPTIONS).dv
    assert find_key("3", vectors) == 3 and find_key("t3", vectors) == "t3"
    row_of_string = len(vectors) - 1
    assert row_of_string in vectors and not has_key(vectors, row_of_string)
    assert neighbour_agreement(vectors, vectors, k=2).overlap == 1


def test_fasttexts_vectors_have_words_with_ngrams():
    vectors = TFFastText(common_texts, **OPTIONS, bucket=20, min_n=3).wv
    assert find_key("unseen", vectors) == "unseen" and not has_key(vectors, "unseen")
    assert find_key("", vectors) is None
