"""Vectors of files with duplicate words, for which gensim's loader leaves rows without a word."""

import logging

import numpy as np
import pytest
from gensim.models import KeyedVectors

from gensim_tfw2v import TFWord2Vec, merge_models
from gensim_tfw2v.evaluation import evaluate_analogies, evaluate_pairs, neighbour_agreement, summary
from gensim_tfw2v.keyed import held_counts, keyed, keyed_like, with_keys

TEXT = "6 2\na 1 2\na 3 4\nb 1 2\nc 2 1\nb 0 1\nd 5 1\n"
ROWS = [[1, 2], [1, 2], [2, 1], [5, 1]]


@pytest.fixture
def loaded(tmp_path):
    (tmp_path / "twice.txt").write_text(TEXT)
    return KeyedVectors.load_word2vec_format(str(tmp_path / "twice.txt"))


def named():
    """Return vectors with two preallocated rows, behind which gensim has added the words."""
    vectors = KeyedVectors(2, count=2)
    vectors.add_vectors(list("abcd"), np.array(ROWS, np.float32))
    return vectors


def test_duplicate_words_keep_the_first_vector(loaded, caplog):
    assert loaded.index_to_key == ["a", "b", "c", "d", None, None]
    for vectors in (loaded, named()):
        caplog.clear()
        found = with_keys(vectors)
        assert found.index_to_key == list("abcd") and len(found) == 4
        np.testing.assert_array_equal(found.vectors, ROWS)
        assert [found.get_index(word) for word in "abcd"] == [0, 1, 2, 3]
        assert "left out 2 of 6 rows" in caplog.text
        assert None in vectors.index_to_key  # the argument is unchanged
        found.add_vector("e", np.ones(2))
        assert found.get_index("e") == 4


def test_counts_of_words_are_kept():
    vectors = KeyedVectors(2, count=3)
    for word, count in (("a", 9), ("b", 8)):
        vectors.add_vector(word, np.ones(2))
        vectors.set_vecattr(word, "count", count)
    assert with_keys(vectors).expandos["count"].tolist() == [9, 8]


def test_words_without_counts_are_numbered_as_by_gensim(loaded):
    found = with_keys(loaded)
    assert found.expandos["count"].tolist() == [4, 3, 2, 1]
    assert held_counts(found) is None


def test_vectors_without_empty_rows_are_returned_as_is(caplog):
    plain, documents = KeyedVectors(2), KeyedVectors(2, count=2)
    plain.add_vectors(["a", "b"], np.eye(2))
    documents.index_to_key = [0, 1]
    assert with_keys(plain) is plain and with_keys(documents) is documents
    assert not caplog.records


def test_functions_of_vectors_ignore_rows_without_a_word(loaded, tmp_path, caplog):
    from gensim_tfw2v.monitor.projector import write_projector

    (tmp_path / "pairs.txt").write_text("a b 2\nb c 1\na d 3\n")
    (tmp_path / "analogies.txt").write_text("a b c d\n")
    whole = KeyedVectors(2)
    whole.add_vectors(list("abcd"), np.array(ROWS, np.float32))
    for vectors in (loaded, named()):
        for evaluate, name in ((evaluate_pairs, "pairs"), (evaluate_analogies, "analogies")):
            file = tmp_path / f"{name}.txt"
            assert evaluate(vectors, file) == evaluate(whole, file)
        assert neighbour_agreement(vectors, whole, k=2).overlap == 1
        assert summary(vectors)["words"] == 4
        write_projector(vectors, tmp_path / "log")
        merged = merge_models([vectors, whole], "concat", seed=1)
        assert merged.wv.index_to_key == list("abcd")
        model = TFWord2Vec.from_vectors(vectors)
        assert model.wv.index_to_key == list("abcd")
        np.testing.assert_array_equal(model.wv.vectors, ROWS)
        # Zipf's law, for the words only
        assert model.wv.expandos["count"].tolist() == [4, 2, 2, 1]
    warned = [record for record in caplog.records if record.name == with_keys.__module__]
    assert len(warned) == 2 * 7 and {one.levelno for one in warned} == {logging.WARNING}


def test_vectors_without_words_are_summarized_but_not_projected(tmp_path):
    from gensim_tfw2v.monitor.projector import write_projector

    nothing = KeyedVectors(2, count=3)
    assert summary(nothing)["words"] == 0
    with pytest.raises(ValueError, match="no vectors"):
        write_projector(nothing, tmp_path)


@pytest.mark.parametrize("keys", [["a", "b", "c"], [5, 6, 7], [0, 1, "c"]])
def test_keyed_like_has_the_same_words_and_other_rows(keys):
    vectors = keyed(keys, np.zeros((3, 2), np.float32))
    if keys[0] == 0:  # as in Doc2Vec
        vectors.key_to_index = {"c": 2}
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    vectors.expandos["count"] = np.arange(3)
    other = keyed_like(vectors, rows)
    assert other.index_to_key == keys and other.vector_size == 4 and other.expandos == {}
    np.testing.assert_array_equal([other[key] for key in keys], rows)
    assert (other.key_to_index is vectors.key_to_index) == (keys[0] != 0)
