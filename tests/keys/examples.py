"""Keys of all kinds, and objects to look up among them."""

from fractions import Fraction

import numpy as np

from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.keys.string_keys import StringKeys

STRINGS = [
    *("a", "", "\n", "\0", "a\0", " ", "é", "漢字", "\U0001f9ec", "\U00010000"),
    *("\ud800", "\ud800\udc00", "x" * 7, "x" * 8, "x" * 9, "x" * 300),
    *(f"word {number}" for number in range(3000)),
]

#: Lists of keys by a name.
EXAMPLES = {
    "strings": STRINGS,
    "one string": ["only"],
    "no strings": [],
    "range": [*range(2000)],
    "permutation": [2, 0, 1, *range(1999, 2, -1)],
    "integers": [5, -1, -7, 2**63 - 1, -(2**63), 2**61 - 1, -2, *range(100, 2000)],
}


class LowerCase(str):
    """String that equals others whatever their case, as a key of a dict."""

    def __eq__(self, other):
        return isinstance(other, str) and str.__eq__(self.lower(), other.lower())

    def __hash__(self):
        return hash(self.lower())


class Five:
    """Object that equals 5."""

    def __eq__(self, other):
        return other == 5

    def __hash__(self):
        return hash(5)


#: Objects to look up, of any type.
OBJECTS = [
    *("a", "", "A", "\ud800", "\udfff", "b" * 300, "漢", np.str_("a"), LowerCase("WORD 17")),
    *(0, 1, 5, -1, -2, -7, 1999, 2000, -(2**63), 2**63 - 1, 2**63, 10**40, 2**61 - 1, 2**61),
    *(0.0, 1.0, -1.0, 1.5, 5 + 0j, 1j, float(2**62), float("nan"), float("inf"), True, False),
    *(
        np.int64(5),
        np.int8(-7),
        np.uint64(2**63),
        np.float32(5),
        np.bool_(True),
        Fraction(5),
        Five(),
    ),
    *(None, (), ("a",), b"a", frozenset(), str, len, object()),
]


def make_keys(words):
    """Return compact keys with these words."""
    if words and isinstance(words[0], int):
        return IntegerKeys(np.array(words))
    return StringKeys.from_strings(words)
