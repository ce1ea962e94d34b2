"""Vocabularies that become compact, those that do not, and work on their keys."""

import copy
import enum
import zlib

import numpy as np
import pytest
from gensim.models import KeyedVectors

from gensim_tfw2v import keys, sorted_keys  # noqa: F401  sorts compact keys
from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.compact import (
    checksum,
    compact,
    compact_keys,
    is_large,
    key_blocks,
    keys_of,
    set_keys,
    set_words,
)
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from gensim_tfw2v.keys.key_table import MAX_KEYS
from tests.keys.examples import EXAMPLES, make_keys

pytestmark = pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")


class Color(str, enum.Enum):
    """Strings of a subclass."""

    RED = "red"


def make_vectors(words, indices=None):
    vectors = KeyedVectors(2)
    vectors.index_to_key = list(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    if indices is not None:
        vectors.key_to_index = indices
    return vectors


@pytest.mark.usefixtures("compact_keys")
@pytest.mark.parametrize("words", [["a", "b"], [1, 0], [7, -5]])
def test_strings_and_integers_become_compact(words):
    vectors = make_vectors(words)
    compact(vectors)
    assert isinstance(vectors.index_to_key, KeyList)
    assert isinstance(vectors.key_to_index, KeyIndex)
    assert keys_of(vectors.index_to_key) is keys_of(vectors.key_to_index)
    assert vectors.index_to_key == words
    same = copy.copy(vectors)
    compact(same)
    assert same.index_to_key is vectors.index_to_key


@pytest.mark.usefixtures("compact_keys")
def test_tags_that_are_the_numbers_of_their_rows_become_compact():
    vectors = make_vectors(range(5), {})
    compact(vectors)
    assert keys_of(vectors.index_to_key).is_range
    assert vectors.key_to_index == {}


@pytest.mark.usefixtures("compact_keys")
@pytest.mark.parametrize(
    "vectors",
    [
        make_vectors([]),
        make_vectors(["a", 1]),
        make_vectors([True, False]),
        make_vectors([1.0, 2.0]),
        make_vectors([2**63, 1]),
        make_vectors([np.int64(1), np.int64(2)]),
        make_vectors([Color.RED]),
        make_vectors([("a",), None]),
        make_vectors(["a", "b"], {"b": 1, "a": 0}),
        make_vectors(["a", "b"], {"a": 1, "b": 0}),
        make_vectors(["a", "b"], {"a": 0}),
        make_vectors([0, 1, "a"], {"a": 2}),
        make_vectors([1, 0], {}),
        make_vectors(["a", "a"], {"a": 0}),
    ],
    ids=lambda vectors: repr(vectors.key_to_index),
)
def test_other_keys_stay_a_list_and_a_dict(vectors):
    words, indices = vectors.index_to_key, vectors.key_to_index
    compact(vectors)
    assert vectors.index_to_key is words
    assert vectors.key_to_index is indices


def test_small_vocabularies_stay_a_list_and_a_dict(monkeypatch):
    monkeypatch.setattr(keys, "MIN_WORDS", 3)
    vectors = make_vectors(["a", "b"])
    compact(vectors)
    assert type(vectors.index_to_key) is list
    vectors = make_vectors(["a", "b", "c"])
    compact(vectors)
    assert isinstance(vectors.index_to_key, KeyList)
    assert [is_large(n) for n in (0, 2, 3, MAX_KEYS, MAX_KEYS + 1)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    monkeypatch.setattr("gensim_tfw2v.keys.compact.IS_SUPPORTED", False)
    assert not is_large(3)


@pytest.mark.parametrize("name", EXAMPLES)
def test_checksum_and_blocks_are_those_of_a_list(name):
    words = EXAMPLES[name]
    compact_list = KeyList(make_keys(words))
    text = "\n".join(map(str, words)).encode("utf-8", "surrogatepass")
    assert checksum(words) == checksum(compact_list) == zlib.crc32(text)
    assert [word for block in key_blocks(compact_list) for word in block] == words
    assert max(map(len, key_blocks(range(50_000)))) == 1 << 14


def test_views_share_the_keys_from_which_they_are_made():
    words = make_keys(["a", "b"])
    assert compact_keys(words) is words
    assert compact_keys(KeyList(words)) is words
    assert compact_keys(KeyIndex(words)) is words
    changed = KeyList(words)
    changed.append("c")
    assert list(compact_keys(changed)) == ["a", "b", "c"]
    assert compact_keys(range(3)).is_range
    assert compact_keys(["a", 1]) is None


@pytest.mark.usefixtures("compact_keys")
@pytest.mark.parametrize("words", [["b", "a", "c", "d", "e"], [3, 1, 7, 0, 2]])
def test_sorted_compact_words_are_those_that_gensim_sorts(words):
    plain = make_vectors(words)
    plain.vectors = np.arange(10.0).reshape(5, 2)
    plain.expandos = {"count": np.array([2, 5, 2, 5, 1]), "other": np.arange(5)}
    sorted_vectors = copy.deepcopy(plain)
    compact(sorted_vectors)
    for vectors in (plain, sorted_vectors):
        vectors.sort_by_descending_frequency()
    assert isinstance(sorted_vectors.index_to_key, KeyList)
    assert sorted_vectors.index_to_key == plain.index_to_key == [words[i] for i in (3, 1, 2, 0, 4)]
    assert sorted_vectors.key_to_index == plain.key_to_index
    assert np.array_equal(sorted_vectors.vectors, plain.vectors)
    for name, values in plain.expandos.items():
        assert np.array_equal(sorted_vectors.expandos[name], values)
    empty = make_vectors([])
    set_keys(empty, make_keys([]))
    empty.sort_by_descending_frequency()  # has no counts
    assert empty.index_to_key == []
    twice = make_vectors(["a", "a"])
    twice.expandos["count"] = np.array([1, 2])
    twice.sort_by_descending_frequency()
    assert twice.key_to_index == {"a": 1}


@pytest.mark.parametrize("min_words", [1, 10])
def test_vectors_do_not_share_a_list_of_words(min_words, monkeypatch):
    monkeypatch.setattr(keys, "MIN_WORDS", min_words)
    words = ["a", "b"]
    vectors = make_vectors([])
    set_words(vectors, words)
    vectors.index_to_key.append("c")
    words.append("d")
    assert vectors.index_to_key == ["a", "b", "c"]
    first, second = make_vectors([]), make_vectors([])
    set_words(first, words)
    set_words(second, first.index_to_key)
    first.index_to_key.append("e")
    assert second.index_to_key == words


@pytest.mark.usefixtures("compact_keys")
def test_words_that_occur_twice_stay_a_list_and_a_dict():
    vectors = make_vectors([])
    for words, kind in ((["a", "b"], KeyList), (["a", "b", "a"], list), (["a", 1], list)):
        set_words(vectors, iter(words))
        assert type(vectors.index_to_key) is kind
        assert vectors.index_to_key == words
        assert vectors.key_to_index == {word: row for row, word in enumerate(words)}
