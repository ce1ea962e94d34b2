"""Values quoted in messages are cut to a short length."""

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.messages import quoted


@pytest.mark.parametrize("value", ["a", b"a", 5, -1.5, None, [1, "a"], {"a": (1, 2)}, np.int64(3)])
def test_short_values_are_quoted_in_full(value):
    assert quoted(value) == repr(value)


def doubled(value, times):
    for _ in range(times):
        value = [value] * 9
    return value


@pytest.mark.parametrize(
    "value",
    [
        "a" * 10**6,
        10**5000,  # Python refuses to convert it to text
        [10**5000],
        list(range(10**6)),
        doubled("a", 9),
        doubled("a" * 1000, 2),
        np.zeros(10**6),
        {str(n): n for n in range(10**5)},
    ],
    ids=["text", "number", "numbers", "list", "nested", "texts", "array", "dict"],
)
def test_long_values_are_cut(value):
    assert len(quoted(value)) < 1000


@pytest.mark.parametrize(
    "options",
    [
        {"layout": "a" * 10**6},
        {"cluster": "a" * 10**6},
        {"regime": "a" * 10**6},
        {"encoded_dir": doubled("a", 7)},
        {"vector_size": 10**5000},
        {"alpha": 10**5000},
        {"window": "9" * 5000},
        {"seed": 10**5000},
    ],
    ids=lambda options: next(iter(options)),
)
def test_error_names_the_option_and_quotes_it_short(options):
    with pytest.raises((TypeError, ValueError), match=next(iter(options))) as caught:
        TFWord2Vec(**options)
    assert len(str(caught.value)) < 1000
