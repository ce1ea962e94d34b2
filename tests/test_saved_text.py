"""Vectors as text: the same bytes as gensim's own `save_word2vec_format`."""

import errno
import gzip
import logging
import os

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gensim_tfw2v import word2vec_writer as module
from gensim_tfw2v.keyed import keyed

save = KeyedVectors.save_word2vec_format
gensims = save.__wrapped__

#: NumPy before 2.3 writes numbers from 1e6 to 1e16 without an exponent.
IS_SAME_FORM = str(np.float32(1e6)) == "1e+06"
LARGEST = np.inf if IS_SAME_FORM else 999999


@pytest.fixture
def vectors():
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(2345, 7)) * 10.0 ** rng.integers(-6, 6, (2345, 1))).astype(np.float32)
    made = keyed([f"wört%{row}" for row in range(len(rows))], rows)
    made.expandos["count"] = rng.integers(1, 50, len(rows))
    made.expandos["rank"] = rng.permutation(len(rows)).astype(np.float32)
    return made


def written(saves, vectors, path, **options):
    path.unlink(missing_ok=True)
    saves(vectors, str(path), **options)
    return path.read_bytes()


def of_bits(bits):
    numbers = np.asarray(bits, np.uint32).view(np.float32)
    return numbers[~(abs(numbers) > LARGEST)].reshape(-1, 1)


def of_numbers(rows):
    made = keyed([f"w{row}" for row in range(len(rows))], rows)
    made.expandos["count"] = np.arange(len(rows), 0, -1)
    return made


def edges():
    """All exponents, with some mantissas and both signs; powers of ten and their neighbours."""
    mantissas = np.array([0, 1, 2, 1 << 22, (1 << 23) - 1], np.uint32)
    bits = (np.arange(512, dtype=np.uint32)[:, None] << 23 | mantissas).ravel()
    tens = (10.0 ** np.arange(-45, 39)).astype(np.float32)
    near = [np.nextafter(tens, np.float32(0)), tens, np.nextafter(tens, np.float32(np.inf))]
    return np.concatenate([bits, np.concatenate(near).view(np.uint32)])


def test_numbers_at_edges_equal_gensims(tmp_path):
    rows = of_numbers(of_bits(edges()))
    assert {b"nan", b"inf", b"-inf", b"0.0", b"-0.0", b"1e-45"} <= set(
        written(save, rows, tmp_path / "ours").split()
    )
    assert written(save, rows, tmp_path / "ours") == written(gensims, rows, tmp_path / "theirs")


def test_random_numbers_equal_gensims(tmp_path):
    rng = np.random.default_rng(2)
    rows = of_numbers(of_bits(rng.integers(0, 1 << 32, 100_000, dtype=np.uint32)))
    ours = written(save, rows, tmp_path / "ours")
    assert ours == written(gensims, rows, tmp_path / "theirs")
    read = KeyedVectors.load_word2vec_format(str(tmp_path / "ours")).vectors
    np.testing.assert_array_equal(read, rows.vectors)
    finite = ~np.isnan(read)
    assert (read.view(np.uint32) == rows.vectors.view(np.uint32))[finite].all()


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20, unique=True),
    st.data(),
    st.sampled_from(["", "*", "%s "]),
)
def test_any_words_and_numbers_equal_gensims(tmp_path_factory, words, data, prefix):
    shape = len(words), data.draw(st.integers(1, 5))
    numbers = data.draw(arrays.arrays(np.uint32, shape)).view(np.float32)
    rows = keyed(words, np.where(abs(numbers) > LARGEST, np.float32(1), numbers))
    rows.expandos["count"] = np.arange(len(words))
    path = tmp_path_factory.mktemp("saved") / "text"
    assert written(save, rows, path, prefix=prefix) == written(gensims, rows, path, prefix=prefix)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("numbers", [1, 20, 1 << 17])
def test_chunks_and_threads_change_no_byte(
    vectors, tmp_path, monkeypatch, threads, numbers, binary
):
    monkeypatch.setattr(module, "NUMBERS_PER_PART", numbers)
    monkeypatch.setattr("gensim_tfw2v.processes.threads.usable_cores", lambda: range(threads))
    monkeypatch.setattr(module, "usable_cores", lambda: range(threads))
    ours = written(save, vectors, tmp_path / "ours", binary=binary)
    assert ours == written(gensims, vectors, tmp_path / "theirs", binary=binary)


@pytest.mark.parametrize(
    "options",
    [
        {"prefix": "*ü "},
        {"total_vec": 0},
        {"total_vec": 99999},
        {"write_header": False},
        {"sort_attr": "rank"},
        {"sort_attr": "missing"},
        {"binary": True},
        {"binary": True, "prefix": "*ü "},
        {"binary": True, "sort_attr": "rank"},
    ],
)
def test_options_equal_gensims(vectors, tmp_path, caplog, options):
    said = []
    for saves in (save, gensims):
        caplog.clear()
        with caplog.at_level(logging.INFO, "gensim.models.keyedvectors"):
            written(saves, vectors, tmp_path / "text", **options)
        said.append((tmp_path.joinpath("text").read_bytes(), caplog.messages))
    assert said[0] == said[1] and said[0][1]


def test_a_vocabulary_file_equals_gensims(vectors, tmp_path):
    save(vectors, str(tmp_path / "ours"), str(tmp_path / "words"))
    assert (tmp_path / "ours").read_bytes() == written(gensims, vectors, tmp_path / "theirs")
    assert (tmp_path / "words").read_text("utf-8").count("\n") == len(vectors)


def test_text_is_appended(vectors, tmp_path):
    once = written(save, vectors, tmp_path / "text")
    save(vectors, str(tmp_path / "text"), append=True, write_header=False)
    assert (tmp_path / "text").read_bytes() == once + once.partition(b"\n")[2]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("names", [[], ["a", "b"]])
def test_integer_tags_come_first(tmp_path, names, binary):
    documents = KeyedVectors(2, count=3 + len(names))
    documents.vectors = np.random.default_rng(3).random((3 + len(names), 2), np.float32)
    documents.index_to_key = [0, 1, 2, *names]
    documents.key_to_index = {name: 3 + row for row, name in enumerate(names)}
    documents.expandos["doc_count"] = np.arange(3 + len(names))
    options = {"prefix": "*dt_", "sort_attr": "doc_count", "binary": binary}
    ours = written(save, documents, tmp_path / "ours", **options)
    assert ours == written(gensims, documents, tmp_path / "theirs", **options)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types_equal_gensims(vectors, tmp_path, dtype):
    vectors.vectors = vectors.vectors.astype(dtype)
    assert written(save, vectors, tmp_path / "a") == written(gensims, vectors, tmp_path / "b")


def test_vectors_of_another_shape_are_refused(vectors, tmp_path):
    vectors.vectors = vectors.vectors[:-1]
    with pytest.raises(AssertionError):
        save(vectors, str(tmp_path / "text"))


def test_rows_may_be_a_view(vectors, tmp_path):
    wide = np.zeros((len(vectors), 14), np.float32)
    wide[:, ::2] = vectors.vectors
    expected = written(save, vectors, tmp_path / "text")
    vectors.vectors = wide[:, ::2]
    assert written(save, vectors, tmp_path / "text") == expected


def test_compressed_text_equals_gensims(vectors, tmp_path):
    text = gzip.decompress(written(save, vectors, tmp_path / "ours.gz"))
    assert text == written(gensims, vectors, tmp_path / "theirs")


def test_without_the_library_gensims_method_saves(vectors, tmp_path, monkeypatch):
    expected = written(gensims, vectors, tmp_path / "theirs")
    monkeypatch.setattr(module, "_format_rows", lambda: None)
    assert written(save, vectors, tmp_path / "ours") == expected


def test_vectors_without_words_are_only_a_header(tmp_path):
    assert written(save, keyed([], np.zeros((0, 3), np.float32)), tmp_path / "none") == b"0 3\n"


def test_a_full_disk_raises(vectors):
    with pytest.raises(OSError) as raised:
        save(vectors, "/dev/full")
    assert raised.value.errno == errno.ENOSPC


def test_a_closed_pipe_raises(vectors):
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        save(vectors, writer)


@pytest.mark.parametrize("binary", [False, True])
def test_integer_keys_that_are_also_in_the_dict_are_written_once(tmp_path, binary):
    rows = np.random.default_rng(3).random((4, 2), np.float32)
    vectors = keyed([0, 1, "2", "wört"], rows)
    texts = keyed(["0", "1", "2", "wört"], rows)
    ours = written(save, vectors, tmp_path / "ours", binary=binary)
    assert ours == written(gensims, texts, tmp_path / "theirs", binary=binary)


@pytest.mark.parametrize("binary", [False, True])
def test_integer_with_the_digits_of_a_string_is_refused(tmp_path, binary):
    vectors = keyed([0, 1, "1"], np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="have the same digits"):
        save(vectors, str(tmp_path / "x"), binary=binary)
