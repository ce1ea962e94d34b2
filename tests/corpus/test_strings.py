"""Words are converted to UTF-8 without changing them, for any strings."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v.corpus import strings
from gensim_tfw2v.corpus.strings import join_strings

#: Strings of each number of bytes per character, as Python stores them.
ALPHABETS = ("ab c\n", "aé\xff", "a\u0100жизнь\ud800\udfff\uffff", "a🧬\U0010ffff\ud83e")


class Word(str):
    """Strings that may define equality."""

    __slots__ = ()


@pytest.fixture(params=["compiled", "pure Python"])
def joined(request, monkeypatch):
    if request.param == "pure Python":
        monkeypatch.setattr(strings, "_python_functions", lambda: None)
    elif strings._python_functions() is None:
        pytest.skip("this Python lacks the functions")
    return join_strings


def utf8(sentences):
    return "".join(f"{word}\0" for words in sentences for word in words).encode(
        "utf-8", "surrogatepass"
    )


@given(
    st.lists(
        st.lists(st.one_of([st.text(alphabet, max_size=40) for alphabet in ALPHABETS])).flatmap(
            lambda words: st.sampled_from([words, tuple(words)])
        )
    )
)
def test_any_strings_of_lists_and_tuples_are_joined(sentences):
    assert join_strings(sentences) == utf8(sentences)


@pytest.mark.parametrize("character", ["a", "é", "ж", "🧬"], ids=ascii)
def test_strings_of_each_length_are_joined(joined, character):
    lengths = [*range(70), 4095, 4096, 100_000, 3, 1_000_000, 0]
    words = [character * length for length in lengths] + ["x" * length for length in lengths]
    assert joined([words, [], words]) == utf8([words, words])


@pytest.mark.parametrize("sentences", [[], [[]], [(), []], [[""]], [["", ""], ("",)]], ids=repr)
def test_empty_sentences_and_empty_words_are_joined(joined, sentences):
    assert joined(sentences) == utf8(sentences)


def test_null_characters_are_kept(joined):
    assert joined([["\0", "a\0b", "\0é"]]) == utf8([["\0", "a\0b", "\0é"]])


@pytest.mark.parametrize("place", [0, 31, 32, 99])
@pytest.mark.parametrize("word", [Word("a"), np.str_("a"), b"a", 1, None, ("a",), []], ids=repr)
def test_words_that_are_not_exactly_strings_are_refused(joined, word, place):
    words = ["b"] * 99
    words.insert(place, word)
    assert joined([["c"], words]) is None
    assert joined([["c"], tuple(words)]) is None


def test_strings_do_not_grow(joined):
    words = ["é" * 50, "ж" * 50, "🧬" * 50, "\ud800"]
    sizes = list(map(sys.getsizeof, words))
    joined([words])
    assert list(map(sys.getsizeof, words)) == sizes


def test_references_are_released(joined):
    words = [["a" * 3, "é" * 3], ("ж" * 3,), ["a" * 3, 1]]
    objects = [words, *words, *(word for sentence in words for word in sentence), True, str, list]
    joined(words)  # what is made once
    gc.collect()
    before = list(map(sys.getrefcount, objects))
    for _ in range(1000):
        joined(words[:2])
        joined(words)
    gc.collect()
    after = list(map(sys.getrefcount, objects))
    assert max(abs(x - y) for x, y in zip(before, after, strict=True)) < 100
