"""`KeyList` and `KeyIndex` do what a list and a dict of the same keys do."""

import copy
import gc
import json
import pickle
import random
import sys
import threading
from collections.abc import MutableMapping, MutableSequence

import numpy as np
import pandas as pd
import pytest

from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from tests.keys.examples import EXAMPLES, OBJECTS, STRINGS, make_keys

pytestmark = pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")


@pytest.fixture(params=EXAMPLES)
def words(request):
    return EXAMPLES[request.param]


@pytest.fixture
def key_list(words):
    return KeyList(make_keys(words))


@pytest.fixture
def key_index(words):
    return KeyIndex(make_keys(words))


@pytest.fixture
def indices(words):
    return {word: index for index, word in enumerate(words)}


def outcome(function, *arguments):
    """Return the result of a call, or the exception that it raises, in a form that compares."""
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), error.args
    return type(result), result


def changed_views(words):
    """Return views that have been turned into a list and a dict, without a change of the keys."""
    key_list, key_index = KeyList(make_keys(words)), KeyIndex(make_keys(words))
    key_list.append("added")
    key_list.pop()
    key_index["added"] = 0
    del key_index["added"]
    assert key_list.compact_keys is None
    assert key_index.compact_keys is None
    return key_list, key_index


@pytest.mark.parametrize("is_changed", [False, True])
def test_any_object_is_looked_up_as_in_a_dict_and_a_list(
    is_changed, words, key_list, key_index, indices
):
    if is_changed:
        key_list, key_index = changed_views(words)
    for sought in OBJECTS:
        expected = outcome(indices.__getitem__, sought)
        assert outcome(key_index.__getitem__, sought) == expected, sought
        assert key_index.get(sought) == indices.get(sought)
        assert key_index.get(sought, "default") == indices.get(sought, "default")
        assert (sought in key_index) is (sought in indices)
        assert (sought in key_list) is (sought in words)
        assert outcome(key_list.index, sought)[0] == outcome(words.index, sought)[0]
        assert key_list.count(sought) == words.count(sought)


def test_each_key_has_its_index_and_each_index_its_key(words, key_list, key_index):
    assert [key_index[word] for word in words] == [*range(len(words))]
    assert [key_list[index] for index in range(len(words))] == words
    assert [key_list[index - len(words)] for index in range(len(words))] == words
    assert {type(key) for key in key_list} == {type(word) for word in words}


@pytest.mark.parametrize("is_changed", [False, True])
def test_objects_without_a_hash_are_refused_by_the_dict_and_missing_in_the_list(
    is_changed, words, key_list, key_index
):
    if is_changed:
        key_list, key_index = changed_views(words)
    for function in (key_index.__getitem__, key_index.get, key_index.__contains__):
        assert outcome(function, ["a"])[0] is TypeError
    assert ["a"] not in key_list
    assert key_list.count(["a"]) == 0
    with pytest.raises(ValueError, match="is not in list"):
        key_list.index(["a"])


@pytest.mark.parametrize(
    "item",
    [
        *(
            slice(None),
            slice(3),
            slice(-3, None),
            slice(None, None, -1),
            slice(5, 2),
            slice(1, 9, 3),
        ),
        *(
            0,
            -1,
            1999,
            10**6,
            -(10**6),
            2**70,
            -(2**70),
            True,
            np.int64(1),
            np.int8(-1),
            1.0,
            "a",
            None,
        ),
    ],
    ids=repr,
)
def test_items_and_slices_are_those_of_a_list(item, words, key_list):
    expected_type, expected = outcome(words.__getitem__, item)
    item_type, items = outcome(key_list.__getitem__, item)
    assert item_type is expected_type
    if not issubclass(item_type, Exception):
        assert items == expected
    elif expected_type is IndexError:
        assert items == ("list index out of range",) or "cannot fit" in str(expected)


def test_views_equal_lists_and_dicts_both_ways(words, key_list, key_index, indices):
    assert key_list == words
    assert words == key_list
    assert key_index == indices
    assert indices == key_index
    assert key_list == KeyList(make_keys(words))
    assert key_index == KeyIndex(make_keys(words))
    assert key_index == dict(reversed(indices.items()))
    assert key_list != [*words, "more"]
    assert key_index != {**indices, "more": 1}
    assert key_list != tuple(words)
    assert key_index != words
    if len(words) > 1:
        other_words = [words[1], words[0], *words[2:]]
        assert key_list != other_words
        assert other_words != key_list
        assert key_list != KeyList(make_keys(other_words))
        assert key_index != KeyIndex(make_keys(other_words))
        assert key_index != {word: index for index, word in enumerate(other_words)}


def test_views_of_different_kinds_of_keys_differ():
    strings, integers = make_keys(["0", "1"]), make_keys([0, 1])
    assert KeyList(strings) != KeyList(integers)
    assert KeyIndex(strings) != KeyIndex(integers)
    assert KeyList(make_keys([])) == KeyList(make_keys([0]).select(np.zeros(0, int))) == []


def test_whole_views_convert_as_a_list_and_a_dict(words, key_list, key_index, indices):
    assert list(key_list) == [*key_list] == words
    assert list(key_index) == words
    assert dict(key_index) == {**key_index} == dict(key_index.items()) == indices
    assert list(dict(key_index)) == words
    assert list(key_index.keys()) == words
    assert list(key_index.values()) == list(indices.values())
    assert list(key_index.items()) == list(indices.items())
    assert [*reversed(key_list)] == [*reversed(key_index)] == words[::-1]
    assert [*reversed(key_index.items())] == [*reversed(indices.items())]
    assert [*reversed(key_index.values())] == [*reversed(indices.values())]
    assert sorted(key_list) == sorted(words)
    assert set(key_list) == key_index.keys() == set(words)
    assert key_index.keys() & {"a", 0} == indices.keys() & {"a", 0}
    assert len(key_list) == len(key_index) == len(words)
    assert bool(key_list) is bool(key_index) is bool(words)
    assert repr(key_list) == repr(words)
    assert repr(key_index) == repr(indices)
    assert str(key_index) == str(indices)
    assert max(key_index.values(), default=-1) == len(words) - 1
    assert len(words) not in key_index.values()
    assert (1 in key_index.values()) is (len(words) > 1)


def test_libraries_read_views_as_a_list_and_a_dict(words, key_list, key_index, indices):
    assert np.array_equal(np.array(key_list), np.array(words))
    assert np.array(key_list).dtype == np.array(words).dtype
    if "\ud800" not in words:  # pandas refuses surrogates
        assert pd.Index(key_list).equals(pd.Index(words))
        assert pd.Series(key_list).equals(pd.Series(words))
        assert pd.DataFrame({"n": range(len(words))}, index=key_list).index.tolist() == words
    assert json.dumps(dict(key_index)) == json.dumps(indices)
    assert json.dumps(list(key_list)) == json.dumps(words)
    if words:
        assert random.Random(1).choice(key_list) == random.Random(1).choice(words)
        assert random.Random(1).sample(key_list, 1) == random.Random(1).sample(words, 1)
    if isinstance((*words, "")[0], str):
        assert " ".join(key_list) == " ".join(words)
    assert isinstance(key_list, MutableSequence)
    assert isinstance(key_index, MutableMapping)
    assert np.fromiter(key_index.values(), np.int32).tolist() == list(indices.values())


def test_lists_and_dicts_combine_with_views(words, key_list, key_index, indices):
    assert key_list + ["z"] == [*words, "z"]
    assert ["z"] + key_list == ["z", *words]
    assert key_list + key_list == key_list * 2 == 2 * key_list == words * 2
    assert key_index | {"z": 1} == indices | {"z": 1}
    assert {"z": 1} | key_index == {"z": 1} | indices
    combined = ["z"]
    combined += key_list
    assert combined == ["z", *words]
    updated = {"z": 1}
    updated.update(key_index)
    assert updated == {"z": 1, **indices}
    assert (key_list < [*words, "z"]) is True
    assert (key_list >= [*words, "z"]) is False
    assert list(zip(key_list, range(3), strict=False)) == list(zip(words, range(3), strict=False))


#: Changes of a list, each a function that is called with the list.
LIST_CHANGES = [
    lambda keys: keys.append("new"),
    lambda keys: keys.extend(["new", "newer"]),
    lambda keys: keys.insert(1, "new"),
    lambda keys: keys.pop(),
    lambda keys: keys.pop(0),
    lambda keys: keys.remove("a"),
    lambda keys: keys.remove("missing"),
    lambda keys: keys.clear(),
    lambda keys: keys.reverse(),
    lambda keys: keys.sort(key=str),
    lambda keys: keys.__setitem__(0, "new"),
    lambda keys: keys.__setitem__(slice(0, 1), ["new", "newer"]),
    lambda keys: keys.__delitem__(0),
    lambda keys: keys.__delitem__(slice(0, 2)),
    lambda keys: keys.__iadd__(["new"]) is keys,
]

#: Changes of a dict.
DICT_CHANGES = [
    lambda index: index.update({"new": 7}),
    lambda index: index.update(new=7),
    lambda index: index.setdefault("new", 7),
    lambda index: index.setdefault("a", 7),
    lambda index: index.pop("a"),
    lambda index: index.pop("missing"),
    lambda index: index.pop("missing", 3),
    lambda index: index.popitem(),
    lambda index: index.clear(),
    lambda index: index.__setitem__("a", 99),
    lambda index: index.__setitem__("new", 99),
    lambda index: index.__delitem__("a"),
    lambda index: index.__delitem__("missing"),
    lambda index: index.__ior__({"new": 7}) is index,
]


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_changed_list_is_a_changed_list_and_its_copies_stay(change, words, key_list):
    plain = list(words)
    copies = [key_list.copy(), copy.copy(key_list), copy.deepcopy(key_list)]
    assert outcome(change, key_list)[0] is outcome(change, plain)[0]
    assert key_list == plain
    assert [key_list[index] for index in range(len(plain))] == plain
    assert len(key_list) == len(plain)
    for unchanged in copies:
        assert unchanged == words
        assert unchanged.compact_keys is not None
    changed = key_list.copy()
    changed.append("again")
    assert key_list == plain


@pytest.mark.parametrize("change", DICT_CHANGES)
def test_changed_dict_is_a_changed_dict_and_its_copies_stay(change, key_index, indices):
    plain = dict(indices)
    copies = [key_index.copy(), copy.copy(key_index), copy.deepcopy(key_index)]
    assert outcome(change, key_index) == outcome(change, plain)
    assert key_index == plain
    assert list(key_index.items()) == list(plain.items())
    assert [*reversed(key_index.items())] == [*reversed(plain.items())]
    assert {key: key_index[key] for key in plain} == plain
    assert len(key_index) == len(plain)
    for unchanged in copies:
        assert unchanged == indices
        assert unchanged.compact_keys is not None
    changed = key_index.copy()
    changed["again"] = 1
    assert key_index == plain


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_views_are_a_list_and_a_dict_of_the_same_strings(protocol, words, indices):
    keys = make_keys(words)
    pickled = pickle.dumps({"index": KeyIndex(keys), "list": KeyList(keys)}, protocol)
    assert b"gensim_tfw2v" not in pickled
    loaded = pickle.loads(pickled)
    assert type(loaded["list"]) is list
    assert type(loaded["index"]) is dict
    assert loaded == {"index": indices, "list": words}
    assert list(loaded["index"]) == words
    assert all(key is word for key, word in zip(loaded["index"], loaded["list"], strict=True))
    key_list, key_index = changed_views(words)
    loaded = pickle.loads(pickle.dumps((key_list, key_index), protocol))
    assert type(loaded[0]) is list
    assert loaded == (words, indices)


def test_views_that_were_not_initialized_raise_an_error():
    for kind in (KeyList, KeyIndex):
        view = kind.__new__(kind)
        for use in (len, list, repr, lambda view: view[0], lambda view: 0 in view):
            with pytest.raises((RuntimeError, SystemError)):
                use(view)
    with pytest.raises(TypeError, match="get takes a key"):
        KeyIndex(make_keys(["a"])).get()


def test_look_ups_keep_no_reference():
    keys = make_keys(STRINGS)
    key_list, key_index = KeyList(keys), KeyIndex(keys)
    key, missing, default, odd = "word " + str(17), "missing" + str(1), object(), LowerCaseKey("A")
    sought = (key, missing, default, odd, keys, key_index, key_list)
    before = [*map(sys.getrefcount, sought)]
    for _ in range(300):
        key_index[key]
        key_index.get(missing, default)
        key_index.get(odd)
        assert missing not in key_index
        assert key in key_list
        with pytest.raises(KeyError):
            key_index[missing]
        with pytest.raises(KeyError):
            key_index[odd]
        key_list[7]
        key_list[7:9]
        key_list[np.int64(3)]
    assert [*map(sys.getrefcount, sought)] == before


class LowerCaseKey(str):
    """Subclass of str that inherits its equality."""


def test_released_views_release_their_keys():
    keys = make_keys(STRINGS)
    before = sys.getrefcount(keys)
    views = [kind(keys) for kind in (KeyList, KeyIndex) for _ in range(100)]
    assert sys.getrefcount(keys) == before + 200
    for view in views[::2]:
        view.clear()
    assert sys.getrefcount(keys) == before + 100
    del views, view
    assert sys.getrefcount(keys) == before


def test_view_that_contains_itself_is_collected():
    released = []

    class Witness:
        def __del__(self):
            released.append(1)

    key_list, key_index = KeyList(make_keys(["a"])), KeyIndex(make_keys(["a"]))
    key_list += [key_list, Witness()]
    key_index["self"] = key_index
    key_index["witness"] = Witness()
    del key_list, key_index
    gc.collect()
    assert released == [1, 1]


def test_threads_look_up_keys_while_a_view_is_changed():
    keys = make_keys(STRINGS)
    key_list, key_index = KeyList(keys), KeyIndex(keys)
    errors = []
    is_done = threading.Event()

    def look_up(seed):
        draws = random.Random(seed)
        try:
            while not is_done.is_set():
                index = draws.randrange(len(STRINGS))
                word = STRINGS[index]
                found = key_index[word], key_index.get(word), key_list[index], word in key_index
                assert found == (index, index, word, True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=look_up, args=(seed,)) for seed in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for number in range(200):
            key_index[f"new {number}"] = len(STRINGS) + number
            key_list.append(f"new {number}")
            KeyIndex.__init__(key_index, keys)  # compact again
            KeyList.__init__(key_list, keys)
    finally:
        is_done.set()
        for thread in threads:
            thread.join(60)
        sys.setswitchinterval(interval)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)


def test_threads_that_make_the_first_change_lose_none():
    n_threads, n_changes = 4, 50
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(20):
            keys = make_keys(STRINGS)
            key_list, key_index = KeyList(keys), KeyIndex(keys)
            start = threading.Barrier(n_threads)

            def change(thread, start=start, key_list=key_list, key_index=key_index):
                start.wait(60)
                for number in range(n_changes):
                    key_list.append((thread, number))
                    key_index[thread, number] = number

            threads = [threading.Thread(target=change, args=(n,)) for n in range(n_threads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert len(key_list) == len(key_index) == len(STRINGS) + n_threads * n_changes
    finally:
        sys.setswitchinterval(interval)
