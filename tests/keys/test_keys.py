"""Keys in compiled tables."""

import os
from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v.keys import key_table, view_types
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.keys.string_keys import StringKeys
from tests.keys.examples import EXAMPLES, STRINGS, make_keys

pytestmark = pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")


@pytest.fixture(params=EXAMPLES)
def words(request):
    return EXAMPLES[request.param]


@pytest.fixture
def mapped_from_the_first_byte(monkeypatch):
    monkeypatch.setattr(key_table, "MIN_FILE_BYTES", 1)


def test_find_all_equals_single_look_ups(words):
    keys = make_keys(words)
    for sought in EXAMPLES.values():
        expected = [keys.find(key) for key in sought]
        assert keys.find_all(make_keys(sought)).tolist() == expected
        assert keys.find_all(iter(sought)).tolist() == expected
        if sought and isinstance(sought[0], int):
            assert keys.find_all(np.array(sought)).tolist() == expected


def test_selected_keys_have_the_order_of_the_indices(words):
    keys = make_keys(words)
    indices = np.random.default_rng(1).permutation(len(words))
    for part in (indices, indices[: len(words) // 2], indices[:0]):
        selected = keys.select(part)
        assert list(selected) == [words[index] for index in part]
        new_indices = {index: new_index for new_index, index in enumerate(part.tolist())}
        expected = [new_indices.get(index, -1) for index in range(len(words))]
        assert selected.find_all(words).tolist() == expected


def test_index_out_of_range_is_not_selected():
    for index in (len(STRINGS), -1):
        with pytest.raises(IndexError, match="out of range"):
            make_keys(STRINGS).select(np.array([0, index]))


@pytest.mark.usefixtures("mapped_from_the_first_byte")
def test_mapped_keys_leave_no_file_in_their_folder(tmp_path, words):
    arrays = IntegerKeys(np.array(words), tmp_path) if words and words[0] == 2 else None
    keys = arrays or make_keys(words)
    if isinstance(keys, StringKeys):
        keys = StringKeys.build(keys.text, keys.offsets, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert list(keys) == words
    assert keys.find_all(words).tolist() == [*range(len(words))]


@pytest.mark.usefixtures("mapped_from_the_first_byte")
def test_large_keys_lie_in_deleted_files(tmp_path):
    keys = StringKeys.from_strings(STRINGS, tmp_path)
    maps = [
        line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line
    ]
    assert len(maps) == 3
    assert all("(deleted)" in line for line in maps)
    child = os.fork()
    if not child:  # a forked process shares the files
        os._exit(0 if keys.find("word 17") == STRINGS.index("word 17") else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("name", ["strings", "one string", "no strings"])
def test_saved_strings_are_opened(tmp_path, name):
    words = EXAMPLES[name]
    make_keys(words).save(tmp_path / "keys")
    keys = StringKeys.open(tmp_path / "keys")
    assert list(keys) == words
    assert keys.find_all(words).tolist() == [*range(len(words))]
    assert keys.equals(make_keys(words))


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "keys"
    keys = make_keys(STRINGS)

    def refusal():
        with pytest.raises(ValueError) as error:
            StringKeys.open(path)
        return str(error.value)

    def save(text=keys.text, offsets=keys.offsets, slots=keys.slots):
        StringKeys(text, offsets, slots).save(path)

    save()
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "bytes of elements" in refusal()
    path.write_bytes(content.replace(b"keys 1", b"keys 2"))
    assert "keys 2" in refusal()
    path.write_bytes(b"")
    assert "truncated" in refusal()
    save(offsets=keys.offsets[::-1])
    assert "offsets" in refusal()
    save(text=keys.text[:-1])
    assert "offsets" in refusal()
    save(slots=keys.slots[:-1])
    assert "hash table" in refusal()
    save(slots=np.ones_like(keys.slots))
    assert "hash table" in refusal()
    out_of_range = keys.slots.copy()
    out_of_range[0] = 2**12 - 1
    save(slots=out_of_range)
    assert "hash table" in refusal()


@pytest.mark.parametrize("words", [["a", "b", "a"], ["", ""], [0, 1, 1], [7, 9, 7], [0, 5, 5]])
def test_equal_keys_are_refused(words):
    with pytest.raises(ValueError, match="occurs 2 times|as an earlier one"):
        make_keys(words)


def test_too_many_keys_are_refused():
    with pytest.raises(ValueError, match="can have at most 2,147,483,646: raise min_count"):
        IntegerKeys(range(2**31))


def test_offsets_that_do_not_fit_the_text_are_refused():
    for offsets in ([0, 2], [0, 2, 1, 3], [1, 3], [], [0, 4]):
        with pytest.raises(ValueError, match="offsets"):
            StringKeys.build(b"abc", np.array(offsets, np.int64))


def test_kinds_of_integers_take_the_documented_memory():
    n = 1000
    bytes_of = {
        "range": np.arange(n),
        "permutation": np.arange(n)[::-1],
        "integers": 7 * np.arange(n),
    }
    sizes = {
        name: sum(array.nbytes for array in IntegerKeys(values)._arrays.values())
        for name, values in bytes_of.items()
    }
    assert sizes == {"range": 0, "permutation": 8 * n, "integers": 16 * n + 4}


def test_strings_of_a_text_are_found():
    keys = make_keys(STRINGS)
    sought = ["word 17", "", "missing", "漢字", "\ud800", "word 17"]
    text = "".join(f"{word}\0" for word in sought).encode("utf-8", "surrogatepass")
    assert keys.find_terminated(text, len(sought)).tolist() == [*map(keys.find, sought)]
    assert keys.find_terminated(text, len(sought) - 1) is None
    assert keys.find_terminated(b"", 0).tolist() == []


def test_strings_that_contain_a_byte_are_marked():
    keys = make_keys([*STRINGS, "a\nb\n", "end\n"])
    assert keys.contain(b"\n").tolist() == ["\n" in word for word in keys]
    assert keys.contain(b"7").tolist() == ["7" in word for word in keys]


def test_joined_blocks_are_the_keys_with_separators():
    assert b"".join(make_keys(STRINGS).joined_blocks(b"\n")) == "".join(
        f"{word}\n" for word in STRINGS
    ).encode("utf-8", "surrogatepass")
