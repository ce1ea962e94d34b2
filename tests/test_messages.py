"""Values quoted in messages are cut to a short length; numbers and JSON are read strictly."""

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.messages import number, quoted, strict_json, whole_number


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


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("-3", -3), ("+3", 3), ("007", 7)])
def test_whole_numbers_are_read(text, value):
    assert whole_number(text) == value


@pytest.mark.parametrize("text", ["", "-", "1_0", " 1", "1\n", "\u0663", "1.0", "1e3", "0x1"])
def test_other_texts_are_no_whole_numbers(text):
    with pytest.raises(ValueError, match="is not a whole number"):
        whole_number(text)


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0.0), ("-1.5", -1.5), ("2.", 2.0), (".5", 0.5), ("1E-3", 1e-3)]
)
def test_decimal_numbers_are_read(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text", ["", ".", "1_0", " 1", "1\n", "\u0663.5", "nan", "inf", "-Infinity", "1e999", "0x1"]
)
def test_other_texts_are_no_decimal_numbers(text):
    with pytest.raises(ValueError, match="is not a finite number"):
        number(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 1}', "a key twice"),
        (b'{"a": {"b": 1, "b": 2}}', "a key twice"),
        (b'{"a": NaN}', "finite"),
        (b'{"a": 1e999}', "finite"),
        (b"[1]", "not a JSON object"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
    ids=["twice", "twice inside", "nan", "infinite", "list", "deep"],
)
def test_json_that_is_not_strict_is_rejected(text, message):
    with pytest.raises(ValueError, match=message):
        strict_json(text)


def test_strict_json_is_read():
    assert strict_json(b'{"a": [1, 2.5, {"a": null}]}') == {"a": [1, 2.5, {"a": None}]}
