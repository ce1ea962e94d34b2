"""Random keys, which are looked up by a library compiled with sanitizers.

Run by ``sanitized_program.py``. The arrays have no spare room, so reading behind their ends is an
error.
"""

import random

import numpy as np

from gensim_tfw2v.keys.growing_strings import GrowingStrings
from gensim_tfw2v.keys.joined_strings import JoinedStrings
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from tests.keys.examples import EXAMPLES, OBJECTS, make_keys

PIECES = ["a", "\0", "\n", "é", "漢", "\U0001f9ec", "\ud800", "word", "x" * 40]


def random_words(draws):
    """Return distinct strings of all lengths."""
    n_words = draws.choice((1, 2, 20, 2000))
    return [*{"".join(draws.choices(PIECES, k=draws.randrange(9))) for _ in range(n_words)}]


def count(words):
    """Count words in a table that grows, in two batches with common words."""
    growing = GrowingStrings(None)
    batches = [words[: len(words) // 2], words]
    for batch in batches:
        encoded = [word.encode("utf-8", "surrogatepass") for word in batch]
        offsets = np.cumsum([0, *map(len, encoded)])
        strings = JoinedStrings(np.frombuffer(b"".join(encoded), np.uint8), offsets)
        assert growing.add(strings).tolist() == [*range(len(batch))]
    counted_words, counts = growing.finish()
    assert list(counted_words) == words
    assert counts.tolist() == [2] * len(batches[0]) + [1] * (len(words) - len(batches[0]))


def look_up(words):
    """Look up words and other objects; return the number of keys that were found."""
    keys = make_keys(words)
    key_list, key_index = KeyList(keys), KeyIndex(keys)
    indices = {word: index for index, word in enumerate(words)}
    assert key_list == words
    assert [key_index[word] for word in words] == [*range(len(words))]
    for sought in OBJECTS:
        assert key_index.get(sought) == indices.get(sought), sought
        assert (sought in key_list) == (sought in words)
    other_words = words[::-2]
    assert keys.find_all(make_keys(other_words)).tolist() == [indices[w] for w in other_words]
    chosen = np.arange(len(words))[::-3]
    assert list(keys.select(chosen)) == [words[index] for index in chosen]
    assert make_keys(["missing"]).find_all(keys).max(initial=-1) == -1
    key_index["new"] = 1
    key_list.append("new")
    assert key_index["new"] == 1
    assert key_list[-1] == "new"
    for error, wrong in ((KeyError, "missing"), (TypeError, [])):
        try:
            KeyIndex(keys)[wrong]
        except error:
            continue
        raise AssertionError("a missing key was found")
    return len(words)


def main():
    draws = random.Random(1)
    n_keys = sum(map(look_up, EXAMPLES.values()))
    for _ in range(60):
        words = random_words(draws)
        count(words)
        n_keys += look_up(words)
    print(n_keys)


if __name__ == "__main__":
    main()
