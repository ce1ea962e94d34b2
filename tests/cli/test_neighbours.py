import json

import numpy as np
import pytest
from gensim.models import KeyedVectors


@pytest.fixture
def model(tmp_path):
    vectors = KeyedVectors(2)
    words = {"king": (1, 1), "queen": (1, -1), "man": (0.2, 1), "woman": (0.2, -1), "[b]": (-1, 0)}
    vectors.add_vectors(list(words), np.array(list(words.values()), dtype=np.float32))
    vectors.save(str(tmp_path / "model"))
    return tmp_path / "model"


def test_nearest_words_come_first(tfw2v, model):
    shown = tfw2v("neighbours", model, "king", "woman", "-n", 2).stdout
    order = [shown.index(word) for word in ("king", "man", "queen", "woman")]
    assert order == sorted(order)
    assert "[b]" in shown


def test_subtracted_words_make_one_query(tfw2v, model):
    shown = tfw2v("neighbours", model, "king", "woman", "--minus", "man", "--topn", 1).stdout
    assert "king + woman - man" in shown and "queen" in shown


def test_unknown_words_are_reported_and_known_ones_answered(tfw2v, model):
    result = tfw2v("neighbours", model, "kings", "queen")
    assert result.stderr == "tfw2v: 'kings' is not in the vocabulary (close: king)\n"
    assert "queen" in result.stdout


@pytest.mark.parametrize("arguments", [["KING", "zzz"], ["queen", "--minus", "KING"]])
def test_only_unknown_words_are_an_error(tfw2v, model, arguments):
    result = tfw2v("neighbours", model, *arguments, status=2)
    assert "'KING' is not in the vocabulary (close: king)" in result.stderr
    assert result.stdout == ""


@pytest.fixture
def with_zeros(tmp_path):
    """Vectors of two words, and of two words whose vectors are all 0."""
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b", "nil", "nought"], np.eye(4, 2, dtype=np.float32))
    vectors.save(str(tmp_path / "zeros"))
    return tmp_path / "zeros"


@pytest.mark.parametrize("arguments", [["nil"], ["nil", "--json"], ["a", "--minus", "nil"]])
def test_words_without_a_direction_have_no_neighbours(tfw2v, with_zeros, arguments):
    result = tfw2v("neighbours", with_zeros, *arguments, status=2)
    assert result.stderr == "tfw2v: 'nil' has a vector of length 0, so it has no neighbours\n"
    assert result.stdout == ""


def test_words_without_a_direction_are_no_neighbours(tfw2v, with_zeros):
    result = tfw2v("neighbours", with_zeros, "a", "nil", "--json")
    assert json.loads(result.stdout) == {"a": {"b": 0}}
    assert "'nil' has a vector of length 0" in result.stderr


def test_missing_model_is_reported(tfw2v, tmp_path):
    assert "no such file" in tfw2v("neighbours", tmp_path / "missing", "king", status=2).stderr


def test_process_prints_neighbours(process, model):
    result = process("neighbours", model, "king", "-n", 1)
    assert result.returncode == 0, result.stderr
    assert "man" in result.stdout
