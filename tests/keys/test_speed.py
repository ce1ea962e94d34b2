"""Single look-ups in compact vocabularies are about as fast as in a dict."""

import timeit

import numpy as np
import pytest

from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from tests.keys.examples import make_keys

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys"),
]

N_WORDS = 1_000_000

STATEMENTS = {
    "item": ("for key in keys: key_to_index[key]", 2.0),
    "get": ("for key in keys: key_to_index.get(key)", 2.0),
    "in": ("for key in keys: key in key_to_index", 2.0),
    "key": ("for index in indices: index_to_key[index]", 6.0),
}


@pytest.mark.parametrize("kind", ["strings", "integers"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_look_ups_take_at_most_so_many_times_as_long(name, kind):
    statement, limit = STATEMENTS[name]
    draws = np.random.default_rng(1)
    words = draws.permutation(N_WORDS).tolist()
    if kind == "strings":
        words = [f"word{number}" for number in words]
    indices = draws.integers(N_WORDS, size=200_000).tolist()
    names = {"indices": indices, "keys": [words[index] for index in indices]}
    keys = make_keys(words)
    plain = {"index_to_key": words, "key_to_index": dict(zip(words, range(N_WORDS), strict=True))}
    compact = {"index_to_key": KeyList(keys), "key_to_index": KeyIndex(keys)}
    times = {}
    for _ in range(7):  # alternating, because the machine's speed changes
        for version, views in (("plain", plain), ("compact", compact)):
            seconds = timeit.timeit(statement, globals=names | views, number=1)
            times[version] = min(seconds, times.get(version, seconds))
    assert times["compact"] <= limit * times["plain"], times
