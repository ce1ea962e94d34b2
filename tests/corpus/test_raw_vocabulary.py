"""Counts of a large corpus behave as a dict."""

import copy
import pickle

import numpy as np
import pytest

from gensim_tfw2v.corpus.raw_vocabulary import RawVocabulary
from gensim_tfw2v.keys import view_types
from tests.keys.examples import EXAMPLES, make_keys

pytestmark = pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")


@pytest.fixture(params=EXAMPLES)
def pair(request):
    """A raw vocabulary, and the dict that it behaves as."""
    words = EXAMPLES[request.param]
    counts = np.arange(3, 3 + len(words))
    expected = dict(zip(words, counts.tolist(), strict=True))
    return RawVocabulary(make_keys(words), counts), expected


def assert_equal(raw_vocab, expected):
    assert raw_vocab == expected
    assert expected == raw_vocab
    assert len(raw_vocab) == len(expected)
    assert list(raw_vocab) == list(raw_vocab.keys()) == list(expected)
    assert list(raw_vocab.values()) == list(expected.values())
    assert list(raw_vocab.items()) == list(expected.items())
    assert repr(raw_vocab) == repr(expected)
    assert {type(count) for count in raw_vocab.values()} <= {int}


def test_counts_are_those_of_a_dict(pair):
    raw_vocab, expected = pair
    assert_equal(raw_vocab, expected)
    for word in [*list(expected)[::100], "missing", 10**30, None]:
        assert raw_vocab.get(word, 0) == expected.get(word, 0)
        assert (word in raw_vocab) == (word in expected)
    with pytest.raises(KeyError, match="missing"):
        raw_vocab["missing"]
    assert raw_vocab.compact_counts is not None


CHANGES = {
    "set": lambda counts: counts.__setitem__("new", 5),
    "set again": lambda counts: counts.__setitem__("a", 5),
    "delete": lambda counts: counts.pop("only", None),
    "update": lambda counts: counts.update({5: 1, "b": 2}),
    "clear": lambda counts: counts.clear(),
    "set default": lambda counts: counts.setdefault("new", 3),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_those_of_a_dict(pair, change):
    raw_vocab, expected = pair
    assert CHANGES[change](raw_vocab) == CHANGES[change](expected)
    assert_equal(raw_vocab, expected)


def test_copies_and_pickles_are_dicts(pair):
    raw_vocab, expected = pair
    for _ in range(2):
        for copied in (pickle.loads(pickle.dumps(raw_vocab)), copy.deepcopy(raw_vocab)):
            assert type(copied) is dict
            assert list(copied.items()) == list(expected.items())
        assert type(raw_vocab.copy()) is dict
        assert raw_vocab.copy() == expected
        raw_vocab["new"] = 1
        expected["new"] = 1
