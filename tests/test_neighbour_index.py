"""Indexes find what gensim's exact search finds, and damaged or foreign ones are refused."""

import os
import signal
import threading
import time

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
    cosines = rows @ vectors[word] / np.linalg.norm(rows, axis=1) / np.linalg.norm(vectors[word])
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
    with pytest.raises(FileNotFoundError, match="missing.json"):
        NeighbourIndex.load(tmp_path / "missing")
    (tmp_path / "half.json").write_bytes(saved.with_name(f"{saved.name}.json").read_bytes())
    with pytest.raises(FileNotFoundError, match="half"):
        NeighbourIndex.load(tmp_path / "half")


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
    for rows in (np.full((1, 4), np.nan, np.float32), np.empty((0, 4), np.float32)):
        with pytest.raises(ValueError, match="at least one vector, and finite"):
            NeighbourIndex(keyed(["x"][: len(rows)], rows))
    index = NeighbourIndex(keyed(["x"], np.ones((1, 4), np.float32)))
    with pytest.raises(ValueError, match=r"the query has shape \(3,\), the index needs \(4,\)"):
        index.most_similar(np.ones(3))


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
