from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v.merged import unite

counters = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9), min_size=1)


def united(*counts):
    return unite([list(one) for one in counts], [np.array(list(one.values())) for one in counts])


@given(st.lists(counters, min_size=1, max_size=4))
def test_union_has_every_word_once_with_its_row(counts):
    words, _, rows_of = united(*counts)
    assert sorted(words) == sorted(set().union(*counts))
    for rows, one in zip(rows_of, counts, strict=True):
        assert [words[row] for row in rows] == list(one)


@given(st.lists(counters, min_size=1, max_size=4))
def test_counts_are_summed_unless_all_agree(counts):
    words, summed, _ = united(*counts)
    total = dict(zip(words, summed.tolist(), strict=True))
    if all(
        one[word] == other[word]
        for one in counts
        for other in counts
        for word in one.keys() & other.keys()
    ):
        assert total == {word: count for one in counts for word, count in one.items()}
    else:
        assert total == sum(map(Counter, counts), Counter())


def test_words_are_sorted_by_count_with_ties_in_order():
    assert united({"a": 1, "b": 2}, {"c": 2, "a": 3})[0] == ["a", "b", "c"]


def test_equal_vocabularies_keep_their_order():
    assert united({"a": 1, "b": 5}, {"a": 2, "b": 5})[0] == ["a", "b"]
