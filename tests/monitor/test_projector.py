import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from gensim.models import KeyedVectors
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from gensim_tfw2v.monitor import projector
from gensim_tfw2v.monitor.projector import write_projector
from gensim_tfw2v.monitor.word_groups import MAX_CLUSTERS, bands, norms
from tests.monitor.projector_files import embeddings, read
from tests.served import tensorboard

ODD_WORDS = [
    *(
        "a\tb",
        "a\nb",
        "\r",
        "\r\n",
        "",
        " ",
        "\x00",
        "\x85",
        "\u2028",
        "\ud800",
        "\u3000",
        "\ufeff",
    ),
    *('"', "\\t", "naïve", "漢字", "می\u200cخواهم", "👩\u200d🚀", "constructor", "12.50"),
]


def vectors_of(words, values=None, counts=None):
    values = np.asarray(
        np.random.default_rng(3).normal(size=(len(words), 5)) if values is None else values,
        dtype=np.float32,
    )
    vectors = KeyedVectors(values.shape[1], count=len(words))
    vectors.index_to_key = list(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.vectors = values
    if counts is not None:
        for word, count in zip(words, counts, strict=True):
            vectors.set_vecattr(word, "count", count)
    return vectors


def test_projector_files_hold_vectors_and_metadata(tmp_path):
    vectors = vectors_of(["the", "cat", "sat"], counts=[30, 20, 20])
    written = write_projector(vectors, tmp_path)
    embedding, values, table = read(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in written] == [
        embedding.tensor_path, embedding.metadata_path, "projector_config.pbtxt",
    ]  # fmt: skip
    assert embedding.tensor_path.endswith(".bytes")
    np.testing.assert_array_equal(values, vectors.vectors)
    assert table == [
        ["word", "rank", "count", "log10 rank", "ranks", "cluster"],
        ["the", "1", "30", "0.000", "1-100", table[1][-1]],
        ["cat", "2", "20", "0.301", "1-100", table[1][-1]],
        ["sat", "3", "20", "0.477", "1-100", table[1][-1]],
    ]
    assert table[1][-1] in {"the", "cat", "sat"}


def test_documents_are_a_second_tensor(tmp_path):
    words = vectors_of([f"w{number}" for number in range(60)])
    documents = KeyedVectors(3)
    documents.index_to_key, documents.vectors = range(2000), np.random.rand(2000, 3)
    written = write_projector(words, tmp_path, 100, documents=documents)
    of_words, of_documents = embeddings(tmp_path)
    assert (of_words.tensor_name, of_documents.tensor_name) == ("vectors", "documents")
    assert len(read(tmp_path, of_words)[2]) == 1 + 60
    _, values, table = read(tmp_path, of_documents)
    np.testing.assert_array_equal(values, documents.vectors[:100].astype(np.float32))
    assert table[0] == ["tag", "rank", "log10 rank", "ranks", "cluster"]
    assert [row[0] for row in table[1:]] == [str(tag) for tag in range(100)]
    (state,) = json.loads((tmp_path / of_documents.bookmarks_path).read_text())
    assert state["selectedLabelOption"] == "tag" and len(state["projections"]) == 100
    names = {path.name for path in (tmp_path / "projector").iterdir()}
    assert names == {path.name for path in written[:-1]} and len(names) == 6
    write_projector(words, tmp_path, documents=KeyedVectors(3))  # not trained yet
    assert len(list((tmp_path / "projector").iterdir())) == 3 and len(embeddings(tmp_path)) == 1


def test_most_frequent_words_are_written_in_order(tmp_path):
    vectors = vectors_of(["a", "b", "c", "d"], counts=[1, 7, 1, 9])
    write_projector(vectors, tmp_path, words=3)
    _, values, table = read(tmp_path)
    assert [row[:3] for row in table[1:]] == [["d", "1", "9"], ["b", "2", "7"], ["a", "3", "1"]]
    np.testing.assert_array_equal(values, vectors.vectors[[3, 1, 0]])


@pytest.mark.parametrize("counts", [None, [3, 2, 1]], ids=["no counts", "ranks as counts"])
def test_without_counts_the_first_words_are_written(tmp_path, counts):
    vectors = vectors_of(["x", "y", "z"], counts=counts)
    write_projector(vectors, tmp_path, words=2)
    _, values, table = read(tmp_path)
    assert [row[:3] for row in table[1:]] == [["x", "1", "0.000"], ["y", "2", "0.301"]]
    np.testing.assert_array_equal(values, vectors.vectors[:2])


@given(st.lists(st.text(st.characters(), max_size=6), min_size=1, max_size=20, unique=True))
def test_words_with_any_characters_give_one_row_each(tmp_path, words):
    vectors = vectors_of(words)
    write_projector(vectors, tmp_path)
    _, values, table = read(tmp_path)
    assert [row[1] for row in table] == ["rank", *map(str, range(1, len(words) + 1))]
    assert all(len(row) == 5 and all(row) for row in table)
    for word, (shown, *_) in zip(words, table[1:], strict=True):
        if word.isprintable() and word:
            assert shown == word
    np.testing.assert_array_equal(values, vectors.vectors)


def test_words_of_one_direction_form_a_cluster(tmp_path):
    rng = np.random.default_rng(5)
    middles = np.eye(MAX_CLUSTERS, 12)
    own = np.arange(300) * len(middles) // 300
    values = middles[own] + rng.normal(scale=0.01, size=(300, 12))
    values *= rng.uniform(0.1, 10, size=(300, 1))
    write_projector(vectors_of([f"w{number}" for number in range(300)], values), tmp_path)
    shown = [row[-1] for row in read(tmp_path)[2][1:]]
    # each cluster has the name of one of its words
    assert [own[int(name[1:])] for name in shown] == own.tolist()
    assert len(set(shown)) == len(middles)
    write_projector(vectors_of(["a", "b"], np.zeros((2, 3))), tmp_path)


def test_bands_cover_all_ranks_by_powers_of_ten():
    assert [name for name, _ in bands(2500)] == ["1-100", "101-1000", "1001-10000"]
    assert dict(bands(200_000))["from 100001"] == slice(100_000, 200_000)
    for words in (1, 100, 101, 123_456):
        covered = [range(words)[of] for _, of in bands(words)]
        assert [rank for of in covered for rank in of] == list(range(words))


def test_norms_are_grouped_by_band():
    counts = np.random.default_rng(1).permutation(25_000) + 1
    values = counts[:, None] * [3.0, 4.0]
    found = norms(vectors_of([f"w{n}" for n in range(len(counts))], values, counts.tolist()))
    assert list(found) == ["1-100", "101-1000", "1001-10000", "10001-100000"]
    np.testing.assert_allclose(found["101-1000"], 5.0 * np.arange(24_900, 24_000, -1))
    assert 5_000 < len(found["10001-100000"]) <= 10_000


@given(
    st.lists(
        # floats whose bytes can be text, such as 0.5 and those without a zero byte
        st.sampled_from([0.0, 0.5, 2.0, 3.0517578e-05, 0.1, -1.5, 1.4e-45, 3.4e38])
        | st.floats(width=32, allow_nan=False, allow_infinity=False)
        | st.integers(0, 2**31 - 1).map(lambda bits: np.uint32(bits & 0x7F7F7F7F).view("<f4")),
        min_size=1,
        max_size=12,
    )
)
def test_tensorboard_reads_the_exact_vectors(tmp_path, values):
    """Calls TensorBoard's own functions, as its server does."""
    from tensorboard.plugins.projector import projector_plugin as plugin

    values = np.array(values, dtype=np.float32)
    values[~np.isfinite(values)] = 1
    values = np.stack([values, values[::-1]])
    write_projector(vectors_of(["a", "b"], values), tmp_path)
    config = tmp_path / "projector_config.pbtxt"
    (embedding,) = text_format.Parse(config.read_text(), ProjectorConfig()).embeddings
    path = plugin._rel_to_abs_asset_path(embedding.tensor_path, str(config))
    try:
        found = plugin._read_tensor_tsv_file(path)
    except UnicodeDecodeError:
        found = plugin._read_tensor_binary_file(path, embedding.tensor_shape)
    np.testing.assert_array_equal(found, values)


def test_rewriting_reuses_file_names_only_for_the_same_words(tmp_path):
    words = ["a", "b", "c"]
    first = write_projector(vectors_of(words), tmp_path)
    again = write_projector(vectors_of(words, np.ones((3, 5)) / 3), tmp_path)
    assert again == first  # same words: a running TensorBoard finds the new vectors
    assert (read(tmp_path)[1] == np.float32(1 / 3)).all()
    others = write_projector(vectors_of(["a", "b", "d"]), tmp_path)
    assert not set(others[:2]) & set(first[:2])  # different words: it must not mix the two
    names = sorted(path.name for path in (tmp_path / "projector").iterdir())
    assert names == sorted(path.name for path in others[:2])


def test_reader_never_sees_partial_files(tmp_path):
    vectors = vectors_of([f"w{number}" for number in range(2000)])
    (tensor, table, config) = write_projector(vectors, tmp_path, laid_out=False)
    ended = threading.Event()
    sizes = {path: {path.stat().st_size} for path in (tensor, table, config)}

    looks = []

    def look():
        while not ended.is_set():
            for path, found in sizes.items():
                found.add(len(path.read_bytes()))
            looks.append(len(looks))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for factor in range(2, 30):
            vectors.vectors /= factor
            write_projector(vectors, tmp_path, laid_out=False)
            assert reader.is_alive()
    finally:
        ended.set()
        reader.join()
    assert looks and [len(found) for found in sizes.values()] == [1, 1, 1]


def test_failed_write_keeps_the_old_files(tmp_path, monkeypatch):
    vectors = vectors_of(["a", "b"])
    write_projector(vectors, tmp_path)
    before = read(tmp_path)[1]
    vectors.vectors = vectors.vectors * 2

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(projector.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_projector(vectors, tmp_path)
    np.testing.assert_array_equal(read(tmp_path)[1], before)
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize(
    ("vectors", "words", "message"),
    [
        (vectors_of(["a"]), 0, "words must be at least 1, got 0"),
        (KeyedVectors(3), 10, "vocabulary is empty"),
        (vectors_of(["a", "b"], [[1, 2], [3, np.nan]]), 10, "NaN or infinite"),
    ],
)
def test_invalid_vectors_or_words_raise(tmp_path, vectors, words, message):
    with pytest.raises(ValueError, match=message):
        write_projector(vectors, tmp_path / "new", words)
    assert not (tmp_path / "new").exists()


def test_words_are_cut_to_the_limit_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(projector, "MAX_WORDS", 3)
    write_projector(vectors_of("abcdef"), tmp_path)
    assert len(read(tmp_path)[1]) == 3


def test_run_of_a_training_gets_no_second_event_file(tmp_path):
    (tmp_path / "events.out.tfevents.1.host").touch()
    write_projector(vectors_of(["a"]), tmp_path)
    assert [path.name for path in tmp_path.glob("*tfevents*")] == ["events.out.tfevents.1.host"]


def test_write_projector_needs_no_tensorflow(tmp_path):
    code = (
        "import sys; from gensim.models import KeyedVectors\n"
        "from gensim_tfw2v.monitor.projector import write_projector\n"
        "vectors = KeyedVectors(2); vectors.add_vectors(['a', 'b'], [[1, 2], [3, 4]])\n"
        f"write_projector(vectors, {str(tmp_path)!r})\n"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_running_tensorboard_serves_current_vectors(tmp_path):
    """Covers nested runs, odd words, and files that are rewritten while it runs."""
    first, second = vectors_of(ODD_WORDS), vectors_of(["x", "y"], [[0.5, 0.5], [0.5, 2]])
    write_projector(first, tmp_path / "first")
    write_projector(second, tmp_path / "nested" / "second")

    def check(served, run, vectors):
        (embedding,) = served.json(f"data/plugin/projector/info?run={run}")["embeddings"]
        assert embedding["tensorShape"] == list(vectors.vectors.shape)
        values = np.frombuffer(served.projector(f"tensor?run={run}&name=vectors"), np.float32)
        np.testing.assert_array_equal(values, vectors.vectors.ravel())
        table = served.projector(f"metadata?run={run}&name=vectors").decode()
        assert table.count("\n") == len(vectors) + 1

    with tensorboard(tmp_path) as served:
        served.wait_for(["first", "nested/second"])
        runs = served.json("data/plugin/projector/runs")
        assert sorted(runs) == ["first", "nested/second"]
        check(served, "first", first)
        check(served, "nested/second", second)
        first.vectors = first.vectors * 2
        write_projector(first, tmp_path / "first")
        check(served, "first", first)
        write_projector(second, tmp_path / "first")
        check(served, "first", second)
