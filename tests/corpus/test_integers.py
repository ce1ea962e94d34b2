"""Integers as words: read from arrays and lists as Python would read lists of ints."""

import math
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.corpus import integer_sentences, integer_table, scanner, shard_files
from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from tests.corpus.reference import decoded, open_corpus

ROOT = Path(__file__).parents[2]
LISTS = (np.random.default_rng(3).zipf(1.3, (500, 12)) % 97 - 20).tolist()
ARRAY = np.array(LISTS, np.int64)
OFFSETS = 12 * np.arange(501)

compiled = pytest.mark.skipif(scanner.library() is None, reason="the compiled library is missing")


class Restartable:
    """Iterable that is not a sequence."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        return iter(self.make())


def reused_array():
    """Yield all sentences in the same array."""
    words = np.empty(12, np.int32)
    for row in ARRAY:
        words[:] = row
        yield words


def scanned(source) -> tuple[list, list[list], int]:
    """Return (word, count) pairs, all sentences, and the number of items of a corpus."""
    with scan_corpus(open_corpus(source)) as scan:
        known = {word: index for index, word in enumerate(scan.raw_vocab)}
        with scan.encode(known) as corpus:
            return list(scan.raw_vocab.items()), decoded(corpus, list(known)), scan.corpus_count


def counted(sentences) -> tuple[list, list[list], int]:
    """Return what `scanned` returns, computed by Python."""
    longest = shard_files.MAX_SENTENCE
    parts = [s[i : i + longest] for s in sentences for i in range(0, len(s), longest)]
    return list(Counter(chain.from_iterable(sentences)).items()), parts, len(sentences)


def on_disk(folder) -> np.ndarray:
    path = folder / "walks.npy"
    np.save(path, ARRAY.astype(np.int32))
    return np.load(path, mmap_mode="r")


SOURCES = {
    "lists": lambda _: LISTS,
    "tuples": lambda _: tuple(map(tuple, LISTS)),
    "NumPy integers": lambda _: [list(row) for row in ARRAY],
    "mixed integers": lambda _: [[*row[:6], *map(np.int16, row[6:])] for row in LISTS],
    "int8": lambda _: ARRAY.astype(np.int8),
    "int16": lambda _: ARRAY.astype(np.int16),
    "int32": lambda _: ARRAY.astype(np.int32),
    "int64": lambda _: ARRAY,
    "big-endian": lambda _: ARRAY.astype(">i4"),
    "Fortran order": lambda _: np.asfortranarray(ARRAY),
    "strided": lambda _: np.repeat(np.repeat(ARRAY, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda _: ARRAY[::-1, ::-1].copy()[::-1, ::-1],
    "memory-mapped": on_disk,
    "rows": lambda _: list(ARRAY),
    "rows of a file": lambda folder: list(on_disk(folder)),
    "rows of several types": lambda _: [*ARRAY[:9].astype("i2"), *ARRAY[9:].astype(">i4")],
    "rows and lists": lambda _: [*ARRAY[:9], *LISTS[9:50], *ARRAY[50:]],
    "generator of rows": lambda _: (row for row in ARRAY),
    "iterator of lists": lambda _: iter(LISTS),
    "iterable of one array": lambda _: Restartable(reused_array),
    "generators": lambda _: [iter(row) for row in LISTS],
    "ragged": lambda _: (ARRAY.ravel(), OFFSETS.astype(np.uint16)),
    "batches": lambda _: SimpleNamespace(
        integer_batches=lambda: (
            (ARRAY[i : i + 9].ravel(), np.full(len(ARRAY[i : i + 9]), 12)) for i in range(0, 500, 9)
        )
    ),
    "batches of other words": lambda _: Batchless(LISTS),
}


class Batchless(list):
    """Corpus with the method of integers, whose words may be any objects."""

    def integer_batches(self):
        return None


@pytest.fixture(params=["compiled", "pure Python"])
def way(request, monkeypatch) -> str:
    if request.param == "pure Python":
        monkeypatch.setattr("gensim_tfw2v.corpus.word_ids.library", lambda: None)
    elif scanner.library() is None:
        pytest.skip("the compiled library is missing")
    return request.param


@pytest.mark.parametrize("batch", [7, 1000, 1 << 17])
@pytest.mark.parametrize("name", SOURCES)
def test_integers_of_any_source_are_read_as_lists_of_ints(name, batch, way, tmp_path, monkeypatch):
    monkeypatch.setattr(integer_sentences, "BATCH_WORDS", batch)
    monkeypatch.setattr("gensim_tfw2v.corpus.integer_arrays.BATCH_WORDS", batch)
    pairs, sentences, n_items = scanned(SOURCES[name](tmp_path))
    assert (pairs, sentences, n_items) == counted(LISTS)
    assert {type(word) for word, _ in pairs} == {int}


@compiled
@pytest.mark.parametrize("name", SOURCES)
def test_integers_are_not_looked_up_as_objects(name, tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a word became an object")

    monkeypatch.setattr("gensim_tfw2v.corpus.word_ids.WordIds.__missing__", refuse)
    monkeypatch.setattr("gensim_tfw2v.corpus.word_ids.KnownWordIds.__missing__", refuse)
    source = SOURCES[name](tmp_path)
    if "gener" not in name and "iterator" not in name:
        with encode_corpus(open_corpus(source), {3: 0, -4: 1, "3": 2}) as corpus:
            assert decoded(corpus, [3, -4]) == known_words(LISTS, [3, -4])
    assert scanned(source)[2] == 500


def known_words(sentences, words) -> list[list]:
    kept = ([word for word in sentence if word in words] for sentence in sentences)
    return [sentence for sentence in kept if sentence]


@pytest.mark.parametrize("keys", [[3, -4, 70], [np.int32(3), "3", 70, b"70", 2**70], [3.0, True]])
def test_integers_are_encoded_by_a_vocabulary_with_other_words(keys, way):
    known = {key: index for index, key in enumerate(keys)}
    for source in ARRAY, LISTS:
        with encode_corpus(open_corpus(source), known) as corpus:
            assert decoded(corpus, keys) == known_words(LISTS, keys)


@pytest.mark.parametrize("source", [ARRAY, LISTS, [["a"]]], ids=["array", "lists", "strings"])
def test_empty_vocabulary_knows_no_word(source, way):
    with encode_corpus(open_corpus(source), {}) as corpus:
        assert decoded(corpus, []) == []


RAGGED = [[5, 6, 5], [], [7], [5] * 25, [], [-9, 6]]


@pytest.mark.parametrize("source", ["lists", "rows", "ragged", "float rows"])
def test_long_sentences_are_cut_and_empty_ones_skipped(source, way, monkeypatch):
    monkeypatch.setattr(shard_files, "MAX_SENTENCE", 10)
    offsets = np.cumsum([0, *map(len, RAGGED)])
    corpora = {
        "lists": RAGGED,
        "rows": [np.array(row, np.int32) for row in RAGGED],
        "ragged": (np.array(sum(RAGGED, []), np.int8), offsets),
        "float rows": [np.array(row, np.int32 if row else float) for row in RAGGED],
    }
    assert scanned(corpora[source]) == counted(RAGGED)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_arrays_without_words_are_empty_corpora(shape, way):
    assert scanned(np.zeros(shape, np.int32)) == ([], [], shape[0])


@compiled
def test_extreme_and_many_integers_keep_their_order(way):
    values = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 30_000)
    values[:3] = -(2**63), 2**63 - 1, 0
    values = np.concatenate([values, values[::-1]]).reshape(-1, 60)
    assert scanned(values) == counted(values.tolist())


LARGE = ARRAY.astype(np.uint64) + np.uint64(2**63)
OBJECTS = {
    "uint64": (LARGE, LARGE.tolist()),
    "rows of uint64": (list(LARGE), LARGE.tolist()),
    "ragged uint64": ((LARGE.ravel(), OFFSETS), LARGE.tolist()),
    "large ints": ([[2**64, 1], [1, -(2**63) - 1]],) * 2,
    "large after small": ([*ARRAY, [2**64]], [*LISTS, [2**64]]),
    "floats": ([[1, 2.5], [2.5, 1.0]],) * 2,
    "booleans": ([[True, False], [False, 2]],) * 2,
    "Boolean array": (ARRAY > 0, (ARRAY > 0).tolist()),
    "None": ([[1, 2], [None, 1]],) * 2,
    "strings": ([["1", "2"], [1, 2]],) * 2,
    "strings, then arrays": ([["1", "2"], *ARRAY], [["1", "2"], *LISTS]),
    "object array": (np.array([[1, "a"], ["a", 2]], object), [[1, "a"], ["a", 2]]),
    "string array": (np.array([["x", "y"], ["y", "z"]]), [["x", "y"], ["y", "z"]]),
    "float array": (ARRAY / 2, (ARRAY / 2).tolist()),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_words_other_than_integers_stay_what_they_are(name, way):
    source, sentences = OBJECTS[name]
    pairs, *found = scanned(source)
    expected, *rest = counted(sentences)
    assert pairs == expected and found == rest
    python = {np.bool_: bool, np.float64: float, np.str_: str}
    kinds = [python.get(type(word), type(word)) for word, _ in pairs]
    assert kinds == [type(word) for word, _ in expected]


words = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**65), 2**65),
    st.sampled_from(["a", "1", "b\0", None, 1.0, 2.5, True, ()]),
)
rows = st.one_of(
    st.lists(st.integers(-3, 9), max_size=8).map(lambda row: np.array(row, np.int16)),
    st.lists(st.integers(-3, 9), max_size=8),
    st.lists(st.integers(0, 9), max_size=8).map(lambda row: np.array(row, np.uint64)),
    st.lists(words, max_size=4),
)


@given(
    sentences=st.lists(rows, max_size=30),
    batch=st.integers(1, 30),
    longest=st.integers(1, 6),
    as_list=st.booleans(),
)
@settings(max_examples=200)
def test_kinds_of_sentences_may_change_anywhere(sentences, batch, longest, as_list):
    lists = [row.tolist() if isinstance(row, np.ndarray) else row for row in sentences]
    source = sentences if as_list else Restartable(lambda: sentences)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("integer_sentences", "sentences"):
            patch.setattr(f"gensim_tfw2v.corpus.{module}.BATCH_WORDS", batch)
        patch.setattr(shard_files, "MAX_SENTENCE", longest)
        patch.setattr(shard_files, "SHARD_ENTRIES", 10)
        expected = counted(lists)
        assert scanned(source) == expected
        known = {word: index for index, (word, _) in enumerate(expected[0][::2])}
        with encode_corpus(open_corpus(source), known) as corpus:
            assert decoded(corpus, list(known)) == known_words(expected[1], known)


@pytest.mark.parametrize("first", [[1, 2], ["a", "b"]], ids=["integers", "strings"])
def test_iterators_in_a_list_are_read_once(first, way):
    sentences = [first, ["b", "a"], ["a"]]
    assert scanned(list(map(iter, sentences))) == counted(sentences)


@pytest.mark.parametrize("shape", [(6,), (1, 2, 3), ()])
def test_arrays_of_other_dimensions_are_refused_with_a_cure(shape):
    with pytest.raises(ValueError, match=r"shape \(.*must have the shape \(sentences, words\): "):
        open_corpus(np.zeros(shape, np.int32))


@pytest.mark.parametrize(
    "offsets", [[0, 2], [1, 3], [0, 2, 1, 3], [], [0, 2**64 - 1], [-1, 3]], ids=str
)
def test_tuple_of_two_arrays_without_valid_offsets_is_refused_with_both_cures(offsets):
    kind = np.uint64 if offsets[-1:] == [2**64 - 1] else np.int64
    with pytest.raises(ValueError, match=r"pass a list of them; if they are \(values, offsets\)"):
        open_corpus((np.arange(3), np.array(offsets, kind)))


def test_list_of_two_arrays_is_two_sentences():
    assert scanned([np.arange(3), np.array([0, 3])]) == counted([[0, 1, 2], [0, 3]])


@compiled
@pytest.mark.parametrize("lengths", [[2, 2], [4, -1], [3, 1], []], ids=str)
def test_batches_whose_lengths_do_not_add_up_are_refused(lengths):
    corpus = SimpleNamespace(integer_batches=lambda: [(np.arange(3), np.array(lengths, np.int64))])
    with pytest.raises(ValueError, match="a batch has 3 integers, but the lengths of its"):
        scanned(corpus)


@compiled
def test_too_many_different_integers_are_refused(monkeypatch):
    monkeypatch.setattr(integer_table, "MAX_WORDS", 300)
    monkeypatch.setattr("gensim_tfw2v.corpus.integer_arrays.BATCH_WORDS", 100)
    assert len(scanned(np.arange(200).reshape(2, 100))[0]) == 200
    with pytest.raises(ValueError, match="more than 300 different integers"):
        scanned(np.arange(400).reshape(4, 100))


MEMORY = """
import resource, sys
import numpy as np
from gensim_tfw2v.corpus.encode import scan_corpus
from tests.corpus.reference import open_corpus
walks = np.load(sys.argv[1], mmap_mode="r")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with scan_corpus(open_corpus(walks[:1000])):
    before = peak()
with scan_corpus(open_corpus(walks)) as scan:
    assert scan.total_words == walks.size
print(peak() - before)
"""


@compiled
def test_memory_of_an_array_on_disk_is_bounded(tmp_path):
    path = tmp_path / "walks.npy"
    np.save(path, np.random.default_rng(2).integers(0, 1000, (100_000, 100), np.int16))
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # the file is 20 MB, which the system may count as memory of the process; the ids are 40 MB
    assert int(run.stdout) < 45 * 1024  # KiB


def test_progress_counts_sentences_and_words(monkeypatch):
    monkeypatch.setattr(shard_files, "SHARD_ENTRIES", 1000)
    states = []
    text = open_corpus(ARRAY)
    assert (text.unit, text.total) == ("sentences", 500)
    with scan_corpus(text, progress=lambda *state: states.append(state)):
        pass
    assert states[-1] == (6000, 500, len(np.unique(ARRAY)), 0)
    assert len(states) >= math.ceil(6500 / 1000)


pa = pytest.importorskip("pyarrow")
NULLS = [[1, None, 2], None, [], [2, 3], [None], [3, 3, 1]]
WITHOUT = [[1, 2], [], [], [2, 3], [], [3, 3, 1]]


def encode_values(lists):
    return pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())


ARROW = {
    "list": lambda kind, rows: pa.array(rows, pa.list_(kind)),
    "large list": lambda kind, rows: pa.array(rows, pa.large_list(kind)),
    "list view": lambda kind, rows: pa.array(rows, pa.list_view(kind)),
    "large list view": lambda kind, rows: pa.array(rows, pa.large_list_view(kind)),
    "fixed size": lambda kind, rows: pa.array(
        [row and [*row, None, None, None][:3] for row in rows], pa.list_(kind, 3)
    ),
    "sliced": lambda kind, rows: pa.array([[rows[3][0]], *rows, rows[3]], pa.list_(kind))[1:-1],
    "chunked": lambda kind, rows: pa.chunked_array([rows[:2], [], rows[2:]], pa.list_(kind)),
    "encoded": lambda kind, rows: encode_values(pa.array(rows, pa.list_(kind))),
}


@pytest.mark.parametrize("kind", ["int8", "int64", "uint64", "large uint64", "string", "double"])
@pytest.mark.parametrize("name", ARROW)
def test_lists_of_pyarrow_are_sentences_without_their_nulls(name, kind, way):
    made = {"string": str, "double": float, "large uint64": lambda word: word + 2**63}
    to_word = made.get(kind, int)
    rows, expected = (
        [row and [word and to_word(word) for word in row] for row in some]
        for some in (NULLS, WITHOUT)
    )
    if name == "fixed size":
        rows[2] = None
    lists = ARROW[name](pa.type_for_alias(kind.split()[-1]), rows)
    pairs, *found = scanned(lists)
    expected_pairs, *rest = counted([row or [] for row in expected])
    assert (pairs, *found) == (expected_pairs, *rest)
    assert {type(word) for word, _ in pairs} == {type(to_word(1))}


def test_series_of_polars_and_pandas_are_sentences():
    pandas = pytest.importorskip("pandas")
    assert scanned(pandas.Series(LISTS)) == counted(LISTS)
    assert scanned(pandas.Series(list(ARRAY))) == counted(LISTS)
    polars = pytest.importorskip("polars")
    assert scanned(polars.Series(LISTS)) == counted(LISTS)
    assert scanned(polars.Series([["x"], ["y", "x"]])) == counted([["x"], ["y", "x"]])
    assert scanned([polars.Series(row) for row in LISTS]) == counted(LISTS)
    texts = ["ab a", "b"]
    letters = counted(list(map(list, texts)))  # as in gensim, each character is a word
    assert scanned(polars.Series(texts)) == scanned(pandas.Series(texts)) == letters


def test_tensors_are_arrays():
    tensorflow = pytest.importorskip("tensorflow")
    assert scanned(tensorflow.constant(LISTS)) == counted(LISTS)
    assert scanned([tensorflow.constant(row) for row in LISTS[:20]]) == counted(LISTS[:20])
    ragged = [["x"], *map(tensorflow.constant, LISTS[:3])]
    assert scanned(ragged) == counted([["x"], *LISTS[:3]])


class FakeTensor:
    """Tensor of PyTorch on the CPU, which shares its memory with the array that it becomes."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array

    def __iter__(self):
        return map(FakeTensor, self._array)

    def __len__(self):
        return len(self._array)


FakeTensor.__module__ = "torch"


def reused_tensor():
    """Yield all sentences in the same tensor."""
    for words in reused_array():
        yield FakeTensor(words)


@pytest.mark.parametrize("make", [reused_tensor, lambda: Restartable(reused_tensor)])
def test_tensor_that_is_filled_again_is_copied(make, way):
    assert scanned(make()) == counted(LISTS)


def test_tuple_of_two_tensors_is_ragged(way):
    tensors = FakeTensor(ARRAY.ravel()), FakeTensor(OFFSETS)
    for pair in (tensors, (tensors[0], OFFSETS), (ARRAY.ravel(), tensors[1])):
        assert scanned(pair) == counted(LISTS)
    with pytest.raises(ValueError, match=r"pass a list of them; if they are \(values, offsets\)"):
        open_corpus((FakeTensor(np.arange(3)), FakeTensor(np.arange(2))))
    assert scanned([FakeTensor(np.arange(3)), FakeTensor(np.arange(2))])[2] == 2
