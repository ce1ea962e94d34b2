"""Corpora are encoded with a compact vocabulary as with a dict, without an object per key."""

import random

import pytest

from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.compact import find_indices
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.keys import Keys
from tests.corpus.reference import decoded, encode_sentences, encode_texts, open_corpus
from tests.corpus.test_protocol import EXAMPLES
from tests.keys.examples import make_keys

pytestmark = pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")


@pytest.mark.parametrize("name", EXAMPLES)
def test_corpus_of_each_kind_is_encoded_without_reading_the_keys(name, tmp_path, monkeypatch):
    source = EXAMPLES[name].make(tmp_path)
    with scan_corpus(open_corpus(source)) as scan:
        words = list(scan.raw_vocab)[::-1]
    vocabularies = [words, words[:2], words[1:2]]
    expected = []
    for vocabulary in vocabularies:
        with encode_corpus(
            open_corpus(source), {word: index for index, word in enumerate(vocabulary)}
        ) as encoded:
            expected.append((decoded(encoded, vocabulary), encoded.total_raw_words))
    compact = [KeyIndex(make_keys(vocabulary)) for vocabulary in vocabularies]

    def refuse(*_):
        raise AssertionError("a key became an object")

    monkeypatch.setattr(Keys, "__iter__", refuse)
    monkeypatch.setattr(Keys, "blocks", refuse)
    actual = []
    for vocabulary, key_to_index in zip(vocabularies, compact, strict=True):
        with encode_corpus(open_corpus(source), key_to_index) as encoded:
            actual.append((decoded(encoded, vocabulary), encoded.total_raw_words))
    assert actual == expected


#: Words of any type; no text can contain those with blanks, newlines or surrogates.
ODD = [
    "a",
    "b",
    "",
    "a b",
    "new\nline",
    "zero\0",
    "漢字",
    "\ud800",
    0,
    1,
    -7,
    2**70,
    1.0,
    True,
    None,
]


@pytest.mark.parametrize("seed", range(4))
def test_sentences_of_any_objects_are_encoded_as_with_a_dict(seed):
    draws = random.Random(seed)
    words = [ODD[:8], ["a", "b", "漢字"], [0, 1, -7], [1, 0, 2]][seed]
    for kinds in (ODD, words, ODD[:2], [0, 1, 7], [[0], 1]):
        hashable = [word for word in kinds if word != [0]]
        sentences = [draws.choices(hashable, k=draws.randrange(5)) for _ in range(50)]
        expected_index = {word: index for index, word in enumerate(words)}
        with (
            encode_sentences(sentences, expected_index) as expected,
            encode_sentences(sentences, KeyIndex(make_keys(words))) as encoded,
        ):
            assert decoded(encoded, words) == decoded(expected, words)
            assert encoded.total_raw_words == expected.total_raw_words
            assert encoded.total_sentences == expected.total_sentences


def test_text_is_encoded_with_the_strings_that_can_occur_in_it(tmp_path):
    path = tmp_path / "text"
    path.write_text("a b zero\0 漢字 a\n\nunknown b\n")
    for words in (ODD[:8], ["b", "a"], [0, 1]):
        known = {word: index for index, word in enumerate(words)}
        with (
            encode_texts([path], known) as expected,
            encode_texts([path], KeyIndex(make_keys(words))) as encoded,
        ):
            assert decoded(encoded, words) == decoded(expected, words)


def test_indices_of_words_are_those_of_a_dict():
    words = ["a", "", 7, 3, "b", 3.0, None, ("a",)]
    for known in (["b", "a"], [3, 7], [0, 1, 2, 3], [2, 3, 0, 1]):
        indices = {word: index for index, word in enumerate(known)}
        expected = [indices.get(word, -2) for word in words]
        for key_to_index in (indices, KeyIndex(make_keys(known))):
            assert find_indices(key_to_index, words, -2).tolist() == expected
            assert find_indices(key_to_index, range(5), -2).tolist() == [
                indices.get(word, -2) for word in range(5)
            ]
    keys = IntegerKeys(range(3))
    assert find_indices(KeyIndex(keys), keys).tolist() == [0, 1, 2]
