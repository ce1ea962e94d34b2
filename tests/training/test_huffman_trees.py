"""Huffman trees in compact form: the same as gensim's, in 8 bytes per word."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import _assign_binary_codes
from gensim.test.utils import common_texts
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import TFWord2Vec, keys
from gensim_tfw2v.kernel.word_arrays import huffman_tree
from gensim_tfw2v.training.huffman import Paths, create_tree, decode, encode, select
from gensim_tfw2v.training.huffman_tree import NO_BRANCH, HuffmanTree
from gensim_tfw2v.training.path_array import PathArray

OPTIONS = {"vector_size": 4, "min_count": 1, "hs": 1, "workers": 1, "seed": 3, "epochs": 3}


def vocabulary(counts):
    vectors = KeyedVectors(1)
    vectors.index_to_key = range(len(counts))
    vectors.expandos["count"] = np.array(counts)
    return vectors


def with_gensims_tree(counts):
    vectors = vocabulary(counts)
    _assign_binary_codes(vectors)
    return vectors


def with_tree(counts):
    vectors = vocabulary(counts)
    create_tree(vectors, lambda: _assign_binary_codes(vectors))
    return vectors


def check_paths(vectors, expected):
    for name in ("point", "code"):
        check_equal(vectors.expandos[name], expected.expandos[name])


def check_equal(array, expected):
    assert array.dtype == expected.dtype and array.shape == expected.shape
    assert array.size == expected.size and array.ndim == expected.ndim
    assert {path.dtype for path in array} == {path.dtype for path in expected}
    assert list(map(len, array)) == list(map(len, expected))
    if len(expected):
        np.testing.assert_array_equal(np.hstack(array), np.hstack(expected))


@pytest.fixture(params=["stored", "compact"])
def each_form(request, monkeypatch):
    """Run a test with stored paths, and with paths that are computed when they are read."""
    monkeypatch.setattr(keys, "MIN_WORDS", 1 if request.param == "compact" else 10**9)
    return request.param


@given(st.lists(st.integers(0, 5), min_size=2, max_size=80))
def test_tree_of_few_words_with_equal_counts_is_gensims(counts):
    check_paths(with_tree(counts), with_gensims_tree(counts))


@pytest.mark.parametrize("order", ["descending", "random", "ascending"])
@pytest.mark.parametrize("n_words", [2, 7, 8, 100, 2499, 2500, 2501, 9_999])
def test_tree_of_zipfs_counts_is_gensims(n_words, order, each_form):
    counts = np.sort(np.maximum(1, 3 * n_words // np.arange(1, n_words + 1)))
    if order == "descending":
        counts = counts[::-1]
    if order == "random":
        counts = np.random.default_rng(1).permutation(counts)
    check_paths(with_tree(counts), with_gensims_tree(counts))


def test_tree_of_many_words_with_equal_counts_is_gensims():
    counts = np.random.default_rng(2).integers(1, 4, 100_000)
    check_paths(with_tree(counts), with_gensims_tree(counts))


def test_no_words_have_no_tree_and_one_word_has_an_empty_path(each_form):
    assert with_tree(np.zeros(0, np.int64)).expandos.keys() == {"count"}
    for name in ("point", "code"):
        assert [len(path) for path in with_tree([7]).expandos[name]] == [0]


@pytest.mark.parametrize(
    "counts",
    [
        np.array([3.5, 1.25, 1.25, 0.5, 0.5]),
        np.array([5, 3, 3, 1], np.float32),
        np.array([5, 3, 3, 1], np.uint8),
        np.array([100, 100, 90, 90], np.uint8),  # whose sums overflow
        np.array([2**62, 2**62, 1, 1]),
        np.array([3, 2, -1, -1]),
    ],
)
def test_tree_of_unusual_counts_is_gensims(counts):
    with np.errstate(over="ignore"):
        check_paths(with_tree(counts), with_gensims_tree(counts))


def test_tree_without_the_compiled_library_is_gensims(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.compiled_library.load_optional", lambda: None)
    assert HuffmanTree.build(np.array([2, 1])) is None
    check_paths(with_tree([5, 3, 3, 1]), with_gensims_tree([5, 3, 3, 1]))


def test_messages_are_gensims(caplog):
    caplog.set_level("INFO")
    counts = [9, 5, 5, 1, 1]
    with_tree(counts)
    messages = [record.getMessage() for record in caplog.records]
    caplog.clear()
    with_gensims_tree(counts)
    assert messages == [record.getMessage() for record in caplog.records]


@pytest.fixture
def compact(compact_keys):
    """Compact arrays ``point`` and ``code``, and gensim's."""
    counts = np.random.default_rng(5).integers(1, 9, 50)
    ours, gensims = with_tree(counts).expandos, with_gensims_tree(counts).expandos
    assert isinstance(ours["point"], PathArray) and isinstance(ours["code"], PathArray)
    return [(ours[name], gensims[name]) for name in ("point", "code")]


@pytest.mark.parametrize("index", [0, 49, -1, -50, np.int64(3), np.uint8(7)])
def test_word_of_a_compact_array_has_gensims_path(compact, index):
    for array, expected in compact:
        np.testing.assert_array_equal(array[index], expected[index])
        assert array[index].dtype == expected[index].dtype
        assert array[index] is array[index]  # gensim's code reads the memory without a reference


@pytest.mark.parametrize("index", [50, -51, "word", 1.5, None])
def test_index_that_numpy_refuses_is_refused(compact, index):
    for array, expected in compact:
        if index is None:
            continue
        with pytest.raises(IndexError):
            expected[index]
        with pytest.raises(IndexError):
            array[index]


@pytest.mark.parametrize(
    "index",
    [
        slice(None),
        slice(10),
        slice(40, 5, -3),
        (slice(0, 20),),
        slice(0, 0),
        [3, 1, -1, 3],
        np.arange(50)[::-1],
        np.arange(50) % 3 == 0,
    ],
)
def test_part_of_a_compact_array_is_compact_and_has_gensims_paths(compact, index):
    for array, expected in compact:
        part = array[index]
        assert isinstance(part, PathArray)
        check_equal(part, expected[index])


def test_compact_array_converts_to_numpy(compact):
    for array, expected in compact:
        for converted in (np.asarray(array), np.array(array), array[:9][:5].__array__()):
            check_equal(converted, expected[: len(converted)])
        np.testing.assert_array_equal(np.hstack(array), np.hstack(expected))
        assert repr(array) == repr(np.asarray(array))


def test_paths_of_a_compact_array_cannot_be_changed_in_place(compact):
    for array, _ in compact:
        for path in (array[3], next(iter(array))):
            with pytest.raises(ValueError, match="read-only"):
                path[0] = 1


def test_assigned_paths_are_kept(compact):
    for array, expected in compact:
        first = array[0]
        copied = array.copy()
        array[3] = expected[3] = np.zeros(2, expected[0].dtype)
        array[-2:] = expected[-2:] = expected[:2]
        check_equal(array, expected)
        np.testing.assert_array_equal(first, expected[0])
        assert isinstance(array[1:3], np.ndarray)
        check_equal(array.copy(), expected)
        check_equal(copy.deepcopy(array), expected)
        assert len(copied[3]) != 2 or expected[3].any()


def test_methods_of_numpy_arrays_turn_a_compact_array_into_one(compact):
    for array, expected in compact:
        check_equal(array.reshape(5, 10)[2], expected.reshape(5, 10)[2])
        assert array.tree is None
        array.fill(expected[7])
        expected.fill(expected[7])
        check_equal(array, expected)
        with pytest.raises(AttributeError, match="'PathArray' object has no attribute 'missing'"):
            _ = array.missing


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, PathArray.copy])
def test_copies_of_a_compact_array_are_compact_and_independent(compact, duplicate):
    for array, expected in compact:
        copied = duplicate(array)
        check_equal(copied, expected)
        assert copied.tree is array.tree is not None
        copied[0] = np.zeros(3, expected[0].dtype)
        check_equal(array, expected)


@pytest.mark.parametrize("n_words", [0, 1, 2, 50])
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickles_of_compact_arrays_load_without_this_package(compact, n_words, protocol):
    program = (
        "import pickle, sys; array = pickle.load(sys.stdin.buffer); import numpy as np;"
        "assert type(array) is np.ndarray and array.dtype == object, array;"
        "assert 'gensim_tfw2v' not in sys.modules;"
        "print([(path.dtype.name, path.tolist()) for path in array])"
    )
    for array, expected in compact:
        content = pickle.dumps(array[:n_words], protocol)
        run = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True)
        paths = [(path.dtype.name, path.tolist()) for path in expected[:n_words]]
        assert run.stdout.decode() == f"{paths}\n", run.stderr.decode()
    changed, expected = compact[0]
    changed[3] = expected[3] = np.zeros(2, np.uint32)
    check_equal(pickle.loads(pickle.dumps(changed, protocol)), expected)


def test_threads_read_the_same_array(compact):
    array, expected = compact[0]
    found = [[] for _ in range(4)]

    def read(paths):
        for _ in range(20):
            paths.append([array[word] for word in range(50)])

    threads = [threading.Thread(target=read, args=(paths,)) for paths in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for paths in found:
        for once in paths:
            assert all(one is other for one, other in zip(once, found[0][0], strict=True))
    check_equal(array, expected)


def test_lists_of_a_tree_are_those_of_its_paths(each_form, monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.training.huffman_tree.WORDS_AT_A_TIME", 7)
    counts = np.random.default_rng(6).integers(1, 9, 50)
    paths = Paths.of(with_tree(counts))
    assert (paths.tree is None) == (each_form == "stored")
    gensims = with_gensims_tree(counts).expandos
    expected = huffman_tree(gensims["point"], gensims["code"])
    for array, right in zip(paths.lists(), expected, strict=True):
        assert array.dtype == right.dtype == np.int32
        np.testing.assert_array_equal(array, right)


def test_too_many_nodes_for_the_kernels_are_refused(monkeypatch):
    monkeypatch.setattr(HuffmanTree, "list_paths", lambda self, rows: (2**20 + 0 * rows, rows))
    with pytest.raises(ValueError, match=r"paths of 5,000 words have 5,242,880,000 nodes, .* hs=0"):
        HuffmanTree(np.zeros(9999, np.uint32), 5000).lists()


def test_compact_paths_are_compared_and_described_as_stored_ones(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.training.huffman_tree.WORDS_AT_A_TIME", 7)
    counts = [np.random.default_rng(seed).integers(1, 9, 50) for seed in (1, 2)]
    monkeypatch.setattr(keys, "MIN_WORDS", 10**9)
    stored = [Paths.of(with_tree(of_words)) for of_words in counts]
    monkeypatch.setattr(keys, "MIN_WORDS", 1)
    compact = [Paths.of(with_tree(of_words)) for of_words in counts]
    for one, other in zip(stored, compact, strict=True):
        assert one.tree is None and other.tree is not None
        assert one.checksum() == other.checksum()
        assert one.equal(other) and other.equal(one) and other.equal(other)
        np.testing.assert_array_equal(encode(one), encode(other))
        assert encode(other).dtype == np.uint32
    for first in (stored[0], compact[0]):
        for second in (stored[1], compact[1]):
            assert not first.equal(second)
    rows = np.random.default_rng(3).permutation(50)
    assert stored[0].select_words(rows).equal(compact[0].select_words(rows))
    assert stored[0].add_words(3).equal(compact[0].add_words(3))
    assert compact[0].add_words(3).tree is not None


@given(st.lists(st.integers(1, 9), min_size=2, max_size=30), st.data())
def test_selected_words_have_the_same_tree_in_both_forms(counts, data):
    rows = data.draw(st.lists(st.none() | st.integers(0, len(counts) - 1), unique=True))
    rows += [None] * data.draw(st.integers(0, 2))
    expected, expected_nodes = select(Paths.of(with_gensims_tree(counts)), rows)
    tree = HuffmanTree.build(np.array(counts))
    compact = Paths(PathArray(tree, is_code=False), PathArray(tree, is_code=True))
    selected, nodes = select(compact, rows)
    np.testing.assert_array_equal(nodes, expected_nodes)
    assert selected.equal(expected)


def test_leaving_out_words_leaves_no_tree(compact):
    paths = Paths(*(array for array, _ in compact)).select_words(np.arange(49))
    with pytest.raises(ValueError, match=r"wv.expandos\['point'\]"):
        encode(paths)


def test_different_trees_of_points_and_codes_are_no_tree(compact_keys):
    points, codes = with_tree([5, 4, 3, 2]).expandos, with_tree([9, 3, 2, 1]).expandos
    paths = Paths(points["point"], codes["code"])
    assert paths.tree is None
    with pytest.raises(ValueError, match="not the paths of a tree|differ"):
        encode(paths)


def test_decoded_tree_has_the_form_of_a_created_one(each_form):
    vectors = with_tree([5, 4, 3, 2, 1])
    decoded = decode(encode(Paths.of(vectors)), 5)
    assert (decoded.tree is None) == (each_form == "stored")
    assert decoded.equal(Paths.of(vectors))


def trained(**options):
    return TFWord2Vec(common_texts * 20, **OPTIONS | options)


def arrays_of(model):
    arrays = model.wv.vectors, model.syn1, getattr(model, "syn1neg", np.zeros(0))
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("options", [{"sg": 1}, {"sg": 0}, {"sg": 1, "negative": 0}])
def test_compact_tree_trains_the_same_bits(options, monkeypatch):
    expected = arrays_of(trained(**options))
    monkeypatch.setattr(keys, "MIN_WORDS", 1)
    model = trained(**options)
    assert isinstance(model.wv.expandos["point"], PathArray)
    assert arrays_of(model) == expected


def test_model_with_a_compact_tree_is_saved_and_loaded(tmp_path, monkeypatch):
    plain = trained()
    texts = common_texts[:3]
    monkeypatch.setattr(keys, "MIN_WORDS", 1)
    model = trained()
    score = model.score(texts)
    np.testing.assert_array_equal(score, plain.score(texts))
    path = str(tmp_path / "model")
    model.save(path)
    loaded = TFWord2Vec.load(path)
    assert isinstance(loaded.wv.expandos["point"], PathArray)
    np.testing.assert_array_equal(loaded.score(texts), score)
    model.to_gensim().save(path)
    gensims = Word2Vec.load(path)
    check_paths(gensims.wv, plain.wv)
    np.testing.assert_array_equal(gensims.score(texts), score)
    gensims.train(common_texts, total_examples=9, epochs=1)
    model.save_pretrained(tmp_path / "folder")
    loaded = TFWord2Vec.from_pretrained(tmp_path / "folder")
    assert isinstance(loaded.wv.expandos["code"], PathArray)
    check_paths(loaded.wv, plain.wv)
    monkeypatch.setattr(keys, "MIN_WORDS", 10**9)
    check_paths(TFWord2Vec.load(path).wv, plain.wv)


def test_gensims_training_reads_a_compact_tree_as_a_stored_one(monkeypatch):
    def train_with_gensim():
        model = trained(vector_size=20).to_gensim()
        model.train(common_texts * 50, total_examples=450, epochs=2)
        return arrays_of(model)

    expected = train_with_gensim()
    monkeypatch.setattr(keys, "MIN_WORDS", 1)
    assert train_with_gensim() == expected


def test_words_added_to_a_compact_tree_have_no_place_in_it(each_form):
    model = trained()
    points = [*model.wv.expandos["point"]]
    model.wv.add_vector("added", np.ones(4, np.float32))
    model.train(common_texts, total_examples=9, epochs=1)
    assert len(model.wv.get_vecattr("added", "point")) == 0
    assert len(model.wv.get_vecattr("added", "code")) == 0
    assert (Paths.of(model.wv).tree is None) == (each_form == "stored")
    for path, expected in zip(model.wv.expandos["point"], points, strict=False):
        np.testing.assert_array_equal(path, expected)


@pytest.mark.parametrize("learn_hidden", [True, False])
def test_update_of_the_vocabulary_keeps_or_renews_a_compact_tree(each_form, learn_hidden):
    model = trained()
    before = Paths.of(model.wv)
    n_words = len(before.points)
    model.learn_hidden = learn_hidden
    model.build_vocab([["more"] * 9, ["words"] * 5], update=True)
    after = Paths.of(model.wv)
    assert len(after.points) == n_words + 2
    assert (after.tree is None) == (each_form == "stored")
    if learn_hidden:
        check_paths(model.wv, with_gensims_tree(model.wv.expandos["count"]))
    else:
        assert after.equal(before.add_words(2))
        assert len(after.points[-1]) == 0
    model.train(common_texts, total_examples=9, epochs=1)


def test_failed_update_restores_the_tree(each_form, monkeypatch):
    model = trained()
    before = [*model.wv.expandos["point"]]
    model.learn_hidden = False

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Word2Vec, "add_lifecycle_event", fail)
    with pytest.raises(KeyboardInterrupt):
        model.build_vocab([["more"] * 9, ["words"] * 5], update=True)
    assert len(model.wv.expandos["point"]) == len(model.wv) == len(before)
    for path, expected in zip(model.wv.expandos["point"], before, strict=True):
        np.testing.assert_array_equal(path, expected)


def test_sorted_words_keep_their_paths(each_form):
    vectors = trained().wv
    paths = {word: vectors.get_vecattr(word, "point").tolist() for word in vectors.index_to_key}
    vectors.vectors = np.zeros((0, 4), np.float32)
    vectors.set_vecattr("human", "count", 10**6)
    vectors.sort_by_descending_frequency()
    assert vectors.index_to_key[0] == "human"
    sorted_paths = {word: vectors.get_vecattr(word, "point") for word in vectors.index_to_key}
    assert {word: path.tolist() for word, path in sorted_paths.items()} == paths


#: Prints bytes per word: the peak of creating a tree, and the tree; then the peak of all reading.
MEMORY = """
import numpy as np
from gensim.models import KeyedVectors
from gensim_tfw2v import keys
from gensim_tfw2v.training.huffman import Paths, create_tree, encode

def status(name):
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    return 1024 * int(lines[name].split()[0])

def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

keys.MIN_WORDS = 1
vectors = KeyedVectors(1)
n_words = 2_000_000
vectors.index_to_key = range(n_words)
vectors.expandos["count"] = np.maximum(1, 3 * n_words // np.arange(1, n_words + 1))
create_tree(vectors, None)  # warms up
del vectors.expandos["point"], vectors.expandos["code"]
before = status("VmRSS")
reset_peak()
create_tree(vectors, None)
print((status("VmHWM") - before) / n_words)
paths = Paths.of(vectors)
print(paths.tree.branches.nbytes / n_words)
before = status("VmRSS")
reset_peak()
paths.checksum()
assert paths.select_words(np.arange(n_words)).equal(paths)
assert len(encode(paths)) == n_words - 1
print((status("VmHWM") - before) / n_words)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's peaks of memory")
def test_tree_of_two_million_words_takes_eight_bytes_a_word():
    run = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    peak, size, reading = map(float, run.stdout.split())
    assert peak < 32
    assert size < 8
    assert reading < 50


def test_branches_of_a_tree_are_numbered_as_by_gensim():
    tree = HuffmanTree.build(np.array([9, 1, 2]))
    assert tree.branches.tolist() == [3, 0, 1, 2, NO_BRANCH]
    assert tree.path(1).tolist() == [2, 0] and tree.path(0).tolist() == [3]
