"""Strings that are counted in a table that grows."""

import errno
import random
from collections import Counter

import numpy as np
import pytest

from gensim_tfw2v.files import growing_array
from gensim_tfw2v.keys import growing_strings, view_types
from gensim_tfw2v.keys.growing_strings import GrowingStrings
from gensim_tfw2v.keys.joined_strings import JoinedStrings
from gensim_tfw2v.keys.string_keys import StringKeys
from tests.keys.examples import STRINGS

pytestmark = pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")


@pytest.fixture
def growing(monkeypatch, tmp_path):
    """An empty table, which grows often."""
    monkeypatch.setattr(growing_strings, "FIRST_CAPACITY", 2)
    return GrowingStrings(tmp_path)


def join(strings):
    """Join strings of any characters."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    sizes = [len(text) for text in encoded]
    return JoinedStrings(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *sizes]))


def add_batches(growing, batches, times=None):
    """Add batches of strings; compare their indices with those in a dict, which is returned."""
    indices = {}
    for batch in batches:
        expected = [indices.setdefault(string, len(indices)) for string in batch]
        assert growing.add(join(batch), times and np.full(len(batch), times)).tolist() == expected
        assert len(growing) == len(indices)
    return indices


def test_strings_are_numbered_and_counted_as_in_a_dict(growing):
    draws = random.Random(1)
    batches = [draws.choices(STRINGS, k=size) for size in (0, 1, 50, 3000, 7, 3000)]
    indices = add_batches(growing, batches)
    words, counts = growing.finish()
    assert list(words) == list(indices)
    expected = Counter(string for batch in batches for string in batch)
    assert dict(zip(words, counts.tolist(), strict=True)) == expected


def test_counts_of_parts_are_added(growing):
    for times, part in ((5, STRINGS[:40]), (7, STRINGS[20:60])):
        growing.add(join(part), np.full(len(part), times))
    _, counts = growing.finish()
    assert counts.tolist() == [5] * 20 + [12] * 20 + [7] * 20


@pytest.mark.usefixtures("compact_keys")
def test_many_strings_become_keys_without_files_in_the_folder(growing, tmp_path):
    add_batches(growing, [STRINGS, STRINGS[::3]])
    words, counts = growing.finish()
    assert isinstance(words, StringKeys)
    assert list(words) == STRINGS
    assert words.find_all(iter(STRINGS)).tolist() == [*range(len(STRINGS))]
    assert counts.sum() == len(STRINGS) + len(STRINGS[::3])
    assert list(tmp_path.iterdir()) == []


def test_no_strings_are_a_list(growing):
    growing.add(join([]))
    words, counts = growing.finish()
    assert list(words) == []
    assert len(counts) == 0


def test_full_disk_is_an_error_that_says_how_much_is_needed(growing, monkeypatch, tmp_path):
    def fill_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(growing_array, "allocate", fill_disk)
    with pytest.raises(OSError, match="needs .* MB") as error:
        growing.add(join(STRINGS))
    assert error.value.errno == errno.ENOSPC
    assert error.value.filename == str(tmp_path)


@pytest.mark.parametrize("separator", ["\0", "\n"])
def test_split_text_gives_the_strings_between_separators(separator):
    strings = [string for string in STRINGS if separator not in string]
    text = "".join(f"{string}{separator}" for string in strings)
    joined = JoinedStrings.split(text.encode("utf-8", "surrogatepass"), separator.encode())
    assert joined.n_strings == len(strings)
    assert joined.to_list() == strings
    assert JoinedStrings.split(b"", b"\n").to_list() == []
