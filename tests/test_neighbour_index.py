"""Indexes find what gensim's exact search finds, and damaged or foreign ones are refused."""

import copy
import json
import os
import pickle
import signal
import threading
import time
import zlib

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts, datapath
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import NeighbourIndex, TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.keyed import keyed

pytest.importorskip("usearch")

DTYPES = ("float32", "bfloat16", "int8", "binary")


@pytest.fixture(scope="module")
def model():
    """A model of 2,700 words."""
    corpus = datapath("lee_background.cor")
    return TFWord2Vec(  # untrained vectors all point in one direction: no index finds their order
        corpus_file=corpus,
        vector_size=50,
        min_count=3,
        epochs=20,
        alpha=0.05,
        workers=1,
        progress=False,
    )


@pytest.fixture(scope="module", params=DTYPES)
def index(model, request):
    return model.index(dtype=request.param)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """A saved index."""
    path = tmp_path_factory.mktemp("index") / "words.index"
    model.index().save(path)
    return path


def exact(vectors, word):
    """Return all words with their cosines, the nearest first."""
    rows = vectors.vectors.astype(float)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vectors[word])
    cosines = rows @ vectors[word] / np.maximum(lengths, 1e-30)
    return sorted(zip(vectors.index_to_key, cosines, strict=True), key=lambda each: -each[1])


def test_nearest_words_are_found_with_exact_cosines(model, index):
    shares = []
    for word in model.wv.index_to_key[::300]:
        found = model.wv.most_similar(word, topn=10, indexer=index)
        expected = exact(model.wv, word)
        cosines = dict(expected)
        assert len(found) == 10 and found == sorted(found, key=lambda each: -each[1])
        for other, cosine in found:
            assert cosine == pytest.approx(cosines[other], abs=1e-5)
        shares.append(len(dict(found).keys() & dict(expected[:10]).keys()) / 10)
    assert np.mean(shares) > (0.9 if index.dtype == "binary" else 0.98)


def test_topn_is_the_number_of_words(model, index):
    query = model.wv["government"]
    for topn in (1, 10, 500):
        found = index.most_similar(query, topn)
        assert len({word for word, _ in found}) == topn
    assert len(index.most_similar(query, 10**9)) == len(model.wv)


@pytest.mark.parametrize(
    ("dtype", "error"), [("float32", 1e-6), ("bfloat16", 0.01), ("int8", 0.01), ("binary", 0.6)]
)
def test_a_loaded_index_finds_the_same(model, tmp_path, dtype, error):
    index = model.index(dtype=dtype, connectivity=8, expansion_search=200)
    index.save(tmp_path / "x")
    assert {path.name for path in tmp_path.iterdir()} == {"x", "x.json"}
    query = model.wv["government"]
    found = index.most_similar(query, 5)
    assert NeighbourIndex.load(tmp_path / "x", model.wv).most_similar(query, 5) == found
    alone = NeighbourIndex.load(tmp_path / "x")
    cosines = dict(exact(model.wv, "government"))
    for word, cosine in alone.most_similar(query, 5):
        assert cosine == pytest.approx(cosines[word], abs=error)
    alone.save(tmp_path / "y")
    for end in ("", ".json"):
        assert (tmp_path / f"y{end}").read_bytes() == (tmp_path / f"x{end}").read_bytes()


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf\xe9/x"])
def test_an_index_is_saved_under_a_path_that_is_not_utf8(model, saved, tmp_path, name):
    path = tmp_path / os.fsdecode(name)
    try:
        path.parent.mkdir(exist_ok=True)
        (path.parent / os.fsdecode(b"\xe9")).touch()
    except OSError:
        pytest.skip("the file system has only names in UTF-8")
    NeighbourIndex.load(saved, model.wv).save(path)
    for end in ("", ".json"):
        written = path.with_name(f"{path.name}{end}").read_bytes()
        assert written == saved.with_name(f"{saved.name}{end}").read_bytes()
    found = NeighbourIndex.load(path, model.wv)
    assert found.most_similar(model.wv["government"], 5)


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=5), min_size=1, unique=True))
def test_any_words_are_saved_and_loaded(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("words") / "x"
    vectors = keyed(words, np.eye(len(words), 8, dtype=np.float32))
    NeighbourIndex(vectors, progress=False).save(path)
    assert NeighbourIndex.load(path, vectors).keys == words


@given(st.data())
def test_damage_is_found(saved, tmp_path_factory, data):
    copy = tmp_path_factory.mktemp("damaged") / "x"
    ends = "", ".json"
    for end in ends:
        copy.with_name(f"x{end}").write_bytes(saved.with_name(f"{saved.name}{end}").read_bytes())
    damaged = copy.with_name(f"x{data.draw(st.sampled_from(ends))}")
    content = bytearray(damaged.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged.write_bytes(content)
    try:
        loaded = NeighbourIndex.load(copy)
    except ValueError as error:
        assert f"{copy}: is damaged, or not an index" in str(error)
    else:  # upper and lower case of an escape sequence, for example
        assert loaded.keys == NeighbourIndex.load(saved).keys


def test_missing_files_are_named(saved, tmp_path):
    for name, missing in ("none", "none"), ("graph", "graph.json"), ("keys", "keys"):
        if name == "graph":
            (tmp_path / "graph").write_bytes(saved.read_bytes())
        if name == "keys":
            (tmp_path / "keys.json").write_bytes(saved.with_name("words.index.json").read_bytes())
        with pytest.raises(FileNotFoundError) as error:
            NeighbourIndex.load(tmp_path / name)
        assert error.value.filename == str(tmp_path / missing)


def test_an_index_of_other_vectors_is_refused(model, saved):
    words = model.wv.index_to_key
    rows = model.wv.vectors
    number = f"{len(words):,}"
    for others, message in {
        keyed(words[:-1], rows[:-1]): rf"it has {number} words, expected {len(words) - 1:,}",
        keyed(words, rows[:, :-1]): "it has 50 dimensions, expected 49",
        keyed(["x", *words[1:]], rows): f"its word 1 is '{words[0]}', expected 'x'",
        keyed(words, -rows): "the words are the same, but not their vectors",
    }.items():
        with pytest.raises(ValueError, match=f"is an index of other vectors: {message}"):
            NeighbourIndex.load(saved, others)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int4"}, "dtype is 'int4': use 'float32' or 'bfloat16'"),
        ({"connectivity": 1}, "connectivity must be at least 2, got 1"),
        ({"expansion_search": -1}, "expansion_search must be at least 1, got -1"),
        ({"workers": -1}, "workers must be at least 1, got -1"),
    ],
)
def test_invalid_options_raise(model, options, message):
    with pytest.raises(ValueError, match=message):
        model.index(**options)


def test_invalid_vectors_raise():
    rows = np.ones((2, 4), np.float32)
    for wrong in np.nan, np.inf:
        rows[1, 2] = wrong
        with pytest.raises(ValueError, match="the vector of 'y' has NaN or infinite elements"):
            NeighbourIndex(keyed(["x", "y"], rows))
    with pytest.raises(ValueError, match="at least one vector"):
        NeighbourIndex(keyed([], rows[:0]))
    vectors = keyed(["x"], rows[:1])
    vectors.vectors = np.ones((2, 4), np.float32)
    with pytest.raises(ValueError, match="1 keys have 2 vectors"):
        NeighbourIndex(vectors)
    for other in None, rows, ["x"]:
        with pytest.raises(
            TypeError, match="must be gensim's KeyedVectors or a model with wv, got"
        ):
            NeighbourIndex(other)


def test_invalid_queries_raise(model, index):
    for query, shape in (np.ones(3), r"\(3,\)"), (np.ones((2, 50)), r"\(2, 50\)"):
        with pytest.raises(ValueError, match=rf"has shape {shape}, the index needs \(50,\)"):
            index.most_similar(query)
    for wrong in np.nan, np.inf, -np.inf:
        query = model.wv["government"].copy()
        query[3] = wrong
        with pytest.raises(ValueError, match="a query has NaN or infinite elements"):
            index.most_similar(query)
        with pytest.raises(ValueError, match="a query has NaN or infinite elements"):
            index.search(np.stack([model.wv["government"], query]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_vector_of_zeros_has_cosines_of_zero(dtype):
    rows = np.eye(4, dtype=np.float32)
    rows[0] = 0
    index = NeighbourIndex(keyed(list("abcd"), rows), dtype)
    assert {cosine for _, cosine in index.most_similar(rows[0], 4)} == {0.0}
    assert dict(index.most_similar(rows[1], 4)) == {"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0}


def test_tags_and_unknown_words_are_queried(tmp_path):
    documents = [TaggedDocument(words, [tag]) for tag, words in enumerate(common_texts)]
    model = TFDoc2Vec(documents, vector_size=8, min_count=1, epochs=1)
    model.index(documents=True).save(tmp_path / "x")
    index = NeighbourIndex.load(tmp_path / "x", model.dv)
    assert model.dv.most_similar(3, topn=1, indexer=index)[0][0] == 3
    fasttext = TFFastText(common_texts, vector_size=8, min_count=1, epochs=1, bucket=100)
    found = fasttext.wv.most_similar("systems", topn=3, indexer=fasttext.index())
    assert dict(found) == pytest.approx(dict(fasttext.wv.most_similar("systems", topn=3)))


def test_an_interrupt_ends_building():
    rows = np.random.default_rng(0).standard_normal((200_000, 64), np.float32)
    vectors = keyed(range(len(rows)), rows)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    start = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        NeighbourIndex(vectors, workers=1, progress=False)
    assert time.process_time() - start < 10
    timer.join()


def test_a_failed_save_keeps_the_older_files(model, saved, tmp_path):
    with pytest.raises(ValueError, match="is no file"):
        NeighbourIndex.load(saved).save("/dev/null")
    index = NeighbourIndex(
        KeyedVectors.load_word2vec_format(datapath("euclidean_vectors.bin"), binary=True)
    )
    before = saved.read_bytes()
    index.keys[0] = object()
    with pytest.raises(TypeError):
        index.save(saved)
    assert saved.read_bytes() == before


def train_small():
    options = {"min_count": 1, "sample": 0, "workers": 1, "progress": False}
    return TFWord2Vec(common_texts, vector_size=16, **options)


@pytest.mark.parametrize("is_queried", [False, True])
def test_an_index_is_refused_after_further_training(is_queried):
    model = train_small()
    index = model.index()
    array = model.wv.vectors
    if is_queried:
        model.wv.most_similar("system", indexer=index)
    query = model.wv["system"].copy()
    model.train(common_texts, total_examples=model.corpus_count, epochs=1)
    for search in (
        lambda: model.wv.most_similar("system", indexer=index),
        lambda: index.most_similar(query),
        lambda: index.search(query[None]),
        lambda: index.subset(["system"]),
        index.check,
    ):
        for _ in range(2):
            with pytest.raises(ValueError, match="have changed since the index was built"):
                search()
    if model.wv.vectors is array:  # trained in place
        assert model.index().most_similar(model.wv["system"], 1)[0][0] == "system"


@pytest.mark.parametrize(
    "change",
    [
        lambda wv: wv.add_vector("unheard", np.ones(50, np.float32)),
        lambda wv: wv.__setitem__("government", np.ones(50, np.float32)),
        lambda wv: wv.unit_normalize_all(),
        lambda wv: wv.sort_by_descending_frequency(),
        lambda wv: setattr(wv, "vectors", wv.vectors[::-1]),
        lambda wv: wv.vectors.__imul__(-1),
        lambda wv: wv.vectors.__setitem__(slice(None), np.roll(wv.vectors, 1, axis=1)),
    ],
)
def test_changed_vectors_are_refused(model, change):
    words = model.wv.index_to_key[::-1]
    vectors = keyed(words, model.wv.vectors[::-1].copy())
    vectors.expandos["count"] = np.arange(len(words))
    index = NeighbourIndex(vectors, workers=1)
    query = vectors["minister"].copy()
    assert index.most_similar(query, 1)[0][0] == "minister"
    change(vectors)
    for _ in range(2):
        with pytest.raises(ValueError, match="have changed since the index was built: "):
            index.most_similar(query)


def test_single_rows_that_were_written_are_found(model):
    vectors = keyed(model.wv.index_to_key, model.wv.vectors.copy())
    index = NeighbourIndex(vectors, workers=1)
    row = vectors.get_index("minister")
    before = vectors.vectors[row].copy()
    nearest = [key for key, _ in vectors.most_similar("government", topn=1)][0]
    vectors.most_similar("government", indexer=index)

    vectors.vectors[row] = -before  # is queried
    with pytest.raises(ValueError, match="the vector of 'minister' has changed"):
        vectors.most_similar("minister", indexer=index)
    vectors.vectors[row] = before
    assert vectors.most_similar("minister", topn=1, indexer=index)[0][0] == "minister"

    row = vectors.get_index(nearest)  # is a result
    vectors.vectors[row] *= 2
    with pytest.raises(ValueError, match=f"the vector of '{nearest}' has changed"):
        vectors.most_similar("government", indexer=index)
    vectors.vectors[row] /= 2
    assert vectors.most_similar("government", topn=2, indexer=index)[1][0] == nearest

    farthest = vectors.get_index(exact(vectors, "government")[-1][0])
    vectors.vectors[farthest] = vectors["government"]  # would be a result
    with pytest.raises(ValueError, match="a vector of words .* has changed"):
        for _ in range(len(vectors) // 8 + 8):
            index.most_similar(vectors["government"], 3)
    for search in index.check, lambda: index.most_similar(vectors["government"]):
        with pytest.raises(ValueError, match="have changed since the index was built"):
            search()


def test_renamed_keys_are_found_or_refused(model):
    vectors = keyed(model.wv.index_to_key, model.wv.vectors)
    index = NeighbourIndex(vectors, workers=1)
    vectors.index_to_key[vectors.get_index("government")] = "x"
    assert index.most_similar(model.wv["government"], 1)[0][0] == "x"
    with pytest.raises(ValueError, match="is 'government', expected 'x'"):
        index.check()
    vectors.index_to_key.append("y")
    with pytest.raises(ValueError, match=r"it has .* keys, expected"):
        index.most_similar(model.wv["government"])


def test_an_index_of_a_different_model_is_refused(model, saved):
    words = model.wv.index_to_key
    for index in model.index(workers=1), NeighbourIndex.load(saved):
        generator = np.random.default_rng(0)
        for rows, keys in (
            (generator.standard_normal(model.wv.vectors.shape, np.float32), words),
            (model.wv.vectors[:-1], words[:-1]),
            (model.wv.vectors[:, :-1], words),
            (model.wv.vectors, words[::-1]),
        ):
            with pytest.raises(ValueError, match=r"(index of other vectors|has shape)"):
                keyed(keys, rows).most_similar("government", indexer=index)
        for equal in copy.deepcopy(model.wv), keyed(words, np.asfortranarray(model.wv.vectors)):
            nearest = equal.most_similar("government", topn=5, indexer=index)
            expected = dict(exact(model.wv, "government")[:5])
            assert dict(nearest) == pytest.approx(expected, abs=1e-5)
            with pytest.raises(ValueError, match="index of other vectors"):
                keyed(words, -model.wv.vectors).most_similar("government", indexer=index)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("repeated", [np.zeros(16), np.linspace(-1, 2, 16)])
def test_neighbours_are_found_among_many_equal_vectors(tmp_path, dtype, repeated):
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((3000, 16), np.float32)
    are_equal = generator.permutation(3000) < 1500
    rows[are_equal] = repeated
    if not repeated.any():
        rows[are_equal] *= generator.choice([-1, 1], (1500, 16))  # -0 equals 0
    vectors = keyed([f"w{row}" for row in range(3000)], rows)
    index = NeighbourIndex(vectors, dtype, workers=1)
    index.save(tmp_path / "x")
    shares = []
    for row in range(0, 3000, 100):
        expected = np.array(sorted(dict(exact(vectors, f"w{row}")).values())[::-1])
        cosines = [cosine for _, cosine in index.most_similar(rows[row], 10)]
        shares.append(np.mean(np.array(cosines) >= expected[9] - 1e-5))
    assert np.mean(shares) > 0.98
    for loaded in index, NeighbourIndex.load(tmp_path / "x", vectors):
        keys = [key for key, _ in loaded.most_similar(rows[5], 1000)]
        assert len(set(keys)) == 1000
    for each in index, NeighbourIndex.load(tmp_path / "x"):
        keys = [key for key, _ in each.most_similar(rows[5], 3000)]
        assert sorted(keys) == sorted(vectors.index_to_key)


def test_all_vectors_may_be_equal():
    for rows in np.zeros((500, 4), np.float32), np.ones((500, 4), np.float32):
        index = NeighbourIndex(keyed(range(500), rows))
        assert [key for key, _ in index.most_similar(np.ones(4), 500)] == list(range(500))
        assert {cosine for _, cosine in index.most_similar(np.ones(4))} == {rows[0, 0]}


def test_an_index_of_equal_vectors_by_the_first_version_is_loaded(tmp_path):
    from usearch.index import Index

    generator = np.random.default_rng(0)
    rows = generator.standard_normal((40, 8), np.float32)
    rows[:20] = rows[0]
    graph = Index(ndim=8, metric="cos", dtype="f32")
    graph.add(np.arange(40), rows)  # equal rows are nodes of their own
    data = bytes(graph.save())
    keys = [f"w{row}" for row in range(40)]
    header = {"dtype": "float32", "expansion_search": 64, "vectors": zlib.crc32(rows), "keys": keys}
    text = json.dumps(header, sort_keys=True).encode()
    header["checksum"] = zlib.crc32(text, zlib.crc32(data))
    (tmp_path / "x").write_bytes(data)
    (tmp_path / "x.json").write_text(json.dumps(header))
    vectors = keyed(keys, rows)
    assert NeighbourIndex.load(tmp_path / "x", vectors).most_similar(rows[30], 1)[0][0] == "w30"
    assert len(NeighbourIndex.load(tmp_path / "x").most_similar(rows[30], 40)) == 40
    NeighbourIndex(vectors, "float32").save(tmp_path / "y")
    NeighbourIndex(keyed(keys[19:], rows[19:]), "float32").save(tmp_path / "z")
    assert json.loads((tmp_path / "z.json").read_text()).keys() == header.keys()
    added = {"equal": [[*range(20)]]}
    assert added.items() <= json.loads((tmp_path / "y.json").read_text()).items()


def test_keys_are_kept_exactly_or_refused(tmp_path):
    keys = ["x", 3, "3", np.int64(7), np.str_("y"), -1, 2**70, "\ud800"]
    vectors = keyed(keys, np.eye(len(keys), dtype=np.float32))
    NeighbourIndex(vectors).save(tmp_path / "x")
    loaded = NeighbourIndex.load(tmp_path / "x", vectors).keys
    assert loaded == keys and [type(key) for key in loaded[:5]] == [str, int, str, int, str]
    before = (tmp_path / "x").read_bytes(), (tmp_path / "x.json").read_bytes()
    for key in 1.5, b"12", True, np.True_, np.float32(2), (1, 2), None, frozenset([1]):
        index = NeighbourIndex(keyed(["x", key], np.eye(2, dtype=np.float32)))
        assert index.most_similar(np.eye(2)[1], 1) == [(key, 1)]
        with pytest.raises(TypeError, match=rf"key .* is of type {type(key).__name__};"):
            index.save(tmp_path / "x")
        assert pickle.loads(pickle.dumps(index)).keys == ["x", key]
    assert ((tmp_path / "x").read_bytes(), (tmp_path / "x.json").read_bytes()) == before
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_find_the_same(model, saved, duplicate):
    query = model.wv["government"]
    for index in (
        model.index(),
        NeighbourIndex.load(saved),
        model.index().subset(lambda x: "e" in x),
    ):
        assert duplicate(index).most_similar(query) == index.most_similar(query)
        assert duplicate(index).search(query[None], 3)[0] == index.search(query[None], 3)[0]


def test_a_saved_model_holds_its_index(tmp_path):
    model = train_small()
    model.nearest = model.index()
    expected = model.wv.most_similar("system", indexer=model.nearest)
    model.save(str(tmp_path / "model"))
    loaded = TFWord2Vec.load(str(tmp_path / "model"))
    assert loaded.wv.most_similar("system", indexer=loaded.nearest) == expected
    loaded.train(common_texts, total_examples=model.corpus_count, epochs=1)
    with pytest.raises(ValueError, match="have changed since"):
        loaded.wv.most_similar("system", indexer=loaded.nearest)
    assert model.wv.most_similar("system", indexer=model.nearest) == expected


def test_topn_of_zero_or_none_is_as_in_gensim(model, saved):
    query = model.wv["government"]
    expected = model.wv.most_similar("government", topn=None)
    for index, error in (model.index(), 1e-5), (NeighbourIndex.load(saved), 0.02):
        assert index.most_similar(query, 0) == index.most_similar(query, -1) == []
        assert index.most_similar(query, topn=None) == pytest.approx(expected, abs=error)
        some = index.subset(model.wv.index_to_key[5:9])
        assert some.most_similar(query, topn=None) == pytest.approx(expected[5:9], abs=error)
        with pytest.raises(TypeError):
            index.most_similar(query, 2.5)


def test_a_model_stands_for_its_words(model, saved):
    assert NeighbourIndex.load(saved, model).most_similar(model.wv["government"], 1)[0][0]
    assert NeighbourIndex(train_small(), workers=1).keys[0] == "system"
    NeighbourIndex.load(saved).check(model)
    with pytest.raises(TypeError, match="a model with wv, got dict"):
        NeighbourIndex.load(saved, {})
    with pytest.raises(ValueError, match="was loaded without vectors"):
        NeighbourIndex.load(saved).check()


def test_many_queries_are_searched_as_single_ones(model, saved, index):
    queries = model.wv.vectors[:600]
    for each in index, NeighbourIndex.load(saved), index.subset(model.wv.index_to_key[::2]):
        for topn, workers in (3, None), (10**9, 2):
            keys, cosines = each.search(queries[::50] if topn > 3 else queries, topn, workers)
            for row in 0, 7, -1:
                expected = each.most_similar(queries[::50][row] if topn > 3 else queries[row], topn)
                assert list(zip(keys[row], cosines[row].tolist(), strict=True)) == expected
    keys, cosines = index.search(queries[:0])
    assert (keys, cosines.shape) == ([], (0, 10))
    keys, cosines = index.search(queries[:2], 0)
    assert (keys, cosines.shape) == ([[], []], (2, 0))
    with pytest.raises(ValueError, match=r"has shape \(50,\), the index needs"):
        index.search(queries[0])


def test_subsets_find_only_their_keys(model, saved, index):
    words = model.wv.index_to_key
    far = [word for word, _ in exact(model.wv, "government")[-40:]]
    for keys in words[::7], words[:-1], far, words[5:6], lambda key: len(key) == 4:
        for each in index, NeighbourIndex.load(saved):
            chosen = set(filter(keys, words)) if callable(keys) else set(keys)
            some = each.subset(keys)
            expected = [pair for pair in exact(model.wv, "government") if pair[0] in chosen]
            assert {key for key, _ in some.most_similar(model.wv["government"], 10**9)} == chosen
            nearest = model.wv.most_similar("government", topn=20, indexer=some)
            assert len(nearest) == min(20, len(chosen))
            n_right = len(dict(nearest).keys() & dict(expected[:20]).keys())
            assert n_right >= 0.85 * len(nearest)
    assert index.subset([]).most_similar(model.wv["government"]) == []
    assert index.subset([]).search(model.wv.vectors[:2])[0] == [[], []]
    assert index.subset(words[:9]).subset(words[8:]).most_similar(model.wv["a"])[0][0] == words[8]
    with pytest.raises(KeyError, match="'unheard' is not in the index"):
        index.subset(["government", "unheard"])
    with pytest.raises(TypeError, match="must be a list or a function"):
        index.subset("government")


def test_a_subset_cannot_be_saved(index, tmp_path):
    with pytest.raises(ValueError, match="save the whole index"):
        index.subset(["government"]).save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_first_vectors_are_all_found_though_threads_build_the_index():
    vectors = keyed(range(5000), np.random.default_rng(0).standard_normal((5000, 16)))
    index = NeighbourIndex(vectors, "float32", workers=4)
    keys, _ = index.search(vectors.vectors, 1)
    assert [key for (key,) in keys] == list(range(5000))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_any_length_are_found(dtype):
    generator = np.random.default_rng(0)
    directions = generator.standard_normal((800, 16))
    lengths = np.array([1e-20, 1e-15, 1, 1e15, 1e30])[np.arange(800) % 5]
    rows = (directions * lengths[:, None]).astype(np.float32)
    rows[7] = 0
    index = NeighbourIndex(keyed(range(800), rows), dtype)
    with np.errstate(over="ignore", under="ignore"):
        for row in range(0, 800, 25):
            key, cosine = index.most_similar(rows[row], 1)[0]
            assert key == row and cosine == pytest.approx(1)
    assert {cosine for _, cosine in index.most_similar(rows[7])} == {0}
    assert set(index.search(rows[7:8])[1][0]) == {0}


def test_a_word_without_direction_is_refused():
    vectors = keyed(["a", "b"], np.array([[0, 0], [1, 2]], np.float32))
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ValueError, match="a word whose vector is all"),
    ):
        vectors.most_similar("a", indexer=NeighbourIndex(vectors))


@pytest.mark.parametrize("dtype", DTYPES)
def test_few_and_short_vectors_are_indexed(dtype, tmp_path):
    for rows in np.ones((1, 1)), np.array([[1.0], [-2.0]]), np.eye(3, 9):
        vectors = keyed([*map(str, range(len(rows)))], rows.astype(np.float32))
        NeighbourIndex(vectors, dtype).save(tmp_path / "x")
        index = NeighbourIndex.load(tmp_path / "x", vectors)
        assert index.most_similar(rows[-1])[0] == (vectors.index_to_key[-1], 1)


def test_mapped_and_other_arrays_are_indexed(model, tmp_path):
    model.wv.save(str(tmp_path / "x"), sep_limit=0)
    vectors = KeyedVectors.load(str(tmp_path / "x"), mmap="r")
    assert isinstance(vectors.vectors, np.memmap)
    wide = np.zeros((len(vectors), 64), np.float32)
    wide[:, :50] = vectors.vectors
    for array in vectors.vectors, wide[:, :50], wide[:, :50].astype(float), wide[:, :50].T.copy().T:
        index = NeighbourIndex(keyed(vectors.index_to_key, array), workers=1)
        nearest = dict(index.most_similar(model.wv["government"], 5))
        assert nearest == pytest.approx(dict(exact(model.wv, "government")[:5]), abs=1e-5)


def test_an_interrupt_of_a_search_is_raised(model, index):
    queries = np.repeat(model.wv.vectors, 20, axis=0)
    for search in (
        lambda: [index.most_similar(query, 20) for query in queries],
        lambda: index.search(queries, 20, workers=2),
    ):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            search()
        timer.join()
