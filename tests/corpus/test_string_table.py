"""Words in compiled tables: in memory, and from a number on in files."""

import random

import numpy as np
import pytest

from gensim_tfw2v.corpus import string_table
from gensim_tfw2v.corpus.scanner import library
from gensim_tfw2v.corpus.string_table import StringTable
from gensim_tfw2v.keys import view_types
from tests.corpus.reference import ODD, decoded, line_sentences, scan_sentences, scan_texts
from tests.keys.examples import STRINGS

pytestmark = pytest.mark.skipif(
    library() is None or not view_types.IS_SUPPORTED, reason="Python without compact keys"
)

#: Strings that a text may contain as words.
WORDS = [word for word in STRINGS if word and not any(map(str.isspace, word))]


@pytest.fixture(params=[0, 5, 500], autouse=True)
def few_words_in_memory(request, monkeypatch):
    """Limit the words in memory: they are moved after the first batch, a later one or none."""
    monkeypatch.setattr(string_table, "MAX_WORDS_IN_MEMORY", request.param)


def batches_of(words):
    draws = random.Random(1)
    return [draws.choices(words, k=size) for size in (1, 3, 0, 3000, 40)]


def joined(words, separator):
    return "".join(f"{word}{separator}" for word in words).encode("utf-8", "surrogatepass")


def test_encoded_words_are_numbered_and_counted_in_order(tmp_path):
    table = StringTable(tmp_path, separator=b"\0")
    ids = {}
    counts = []
    for batch in batches_of([word for word in STRINGS if "\0" not in word]):
        expected = [ids.setdefault(word, len(ids)) for word in batch]
        assert table.encode(joined(batch, "\0"), len(batch)).tolist() == expected
        assert len(table) == len(ids)
        counts += expected
    assert table.encode(b"a\0b\0", 1) is None  # the word contains a zero byte
    words, word_counts = table.finish()
    assert list(words) == list(ids)
    assert word_counts.tolist() == np.bincount(counts).tolist()


def test_counts_of_added_words_are_summed(tmp_path):
    table = StringTable(tmp_path, separator=b"\n")
    expected = {}
    for times, batch in enumerate(batches_of(WORDS), 1):
        batch = list(dict.fromkeys(batch))
        ids = table.add(joined(batch, "\n"), np.full(len(batch), times))
        for word in batch:
            expected[word] = expected.get(word, 0) + times
        order = list(expected)
        assert [order[index] for index in ids] == batch
    words, counts = table.finish()
    assert dict(zip(words, counts.tolist(), strict=True)) == expected
    assert list(words) == list(expected)


@pytest.mark.parametrize("is_compact", [False, True])
def test_odd_texts_and_lists_are_counted_and_encoded(is_compact, monkeypatch, tmp_path):
    if is_compact:
        monkeypatch.setattr("gensim_tfw2v.keys.MIN_WORDS", 1)
    path = tmp_path / "text"
    for content in ODD.values():
        path.write_bytes(content)
        sentences = line_sentences(path)
        for scan in (scan_texts([path]), scan_sentences(sentences)):
            with scan:
                expected = {}
                for word in (word for sentence in sentences for word in sentence):
                    expected[word] = expected.get(word, 0) + 1
                assert list(scan.raw_vocab.items()) == list(expected.items())
                words = list(expected)
                with scan.encode({word: i for i, word in enumerate(words)}) as corpus:
                    assert decoded(corpus, words) == sentences


def test_other_words_after_many_strings_are_counted_with_them():
    sentences = [["a", "b", "c", "a"], ["d"] * 9, [f"w{i}" for i in range(300_000)], [1, 2, None]]
    sentences += [["a", (3,), "w1"]]
    with scan_sentences(sentences) as scan:
        assert scan.raw_vocab["a"] == 3
        assert scan.raw_vocab["w1"] == 2
        assert scan.raw_vocab[(3,)] == scan.raw_vocab[None] == scan.raw_vocab[1] == 1
        assert len(scan.raw_vocab) == 4 + 300_000 + 4
