"""Models with `tables_dir` equal those in memory; their arrays are mapped from files."""

import errno
import os
import tempfile

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v import TFDoc2Vec, TFWord2Vec, row_blocks
from gensim_tfw2v.files import mapped
from gensim_tfw2v.training import model_arrays
from tests.disks import small_disk

SENTENCES = [[f"w{n % 40}", f"w{n % 7}", f"w{n % 11}"] for n in range(300)]


@pytest.mark.parametrize("options", [{}, {"hs": 1, "negative": 0}, {"hs": 1}], ids=str)
def test_tables_dir_gives_the_same_weights_as_in_memory(options, tmp_path, monkeypatch):
    monkeypatch.setattr(model_arrays, "ROWS_AT_A_TIME", 7)
    options = {"vector_size": 5, "min_count": 1, "seed": 3, "workers": 1, **options}
    inside, outside = (
        TFWord2Vec(SENTENCES, tables_dir=folder, **options)
        for folder in (None, tmp_path / "tables")
    )
    assert isinstance(outside.wv.vectors, np.memmap)
    np.testing.assert_array_equal(outside.wv.vectors, inside.wv.vectors)
    for name in ("syn1neg", "syn1"):
        assert hasattr(outside, name) == hasattr(inside, name)
        if hasattr(inside, name):
            np.testing.assert_array_equal(getattr(outside, name), getattr(inside, name))
            assert isinstance(getattr(outside, name), np.memmap)
    again, expected = tmp_path / "again", TFWord2Vec(vector_size=5, min_count=1, seed=3)
    untrained = TFWord2Vec(vector_size=5, min_count=1, seed=3, tables_dir=again)
    for model in (untrained, expected):
        model.build_vocab(SENTENCES)
    np.testing.assert_array_equal(untrained.wv.vectors, expected.wv.vectors)


@pytest.mark.parametrize("options", [{"dm": 0}, {"dm_concat": 1, "hs": 1}], ids=str)
def test_tables_dir_gives_the_same_document_vectors_as_in_memory(options, tmp_path, monkeypatch):
    monkeypatch.setattr(model_arrays, "ROWS_AT_A_TIME", 7)
    options = {"vector_size": 5, "min_count": 1, "seed": 3, "workers": 1, **options}
    documents = [TaggedDocument(words, [number]) for number, words in enumerate(SENTENCES)]
    inside, outside = (TFDoc2Vec(tables_dir=of, **options) for of in (None, tmp_path))
    for model in (inside, outside):
        model.dv.add_vectors([f"t{n}" for n in range(3)], np.eye(3, 5))  # kept by build_vocab
        model.build_vocab(documents)
        np.testing.assert_array_equal(model.dv.vectors[:3], np.eye(3, 5))
        model.train(documents, total_examples=300, epochs=2)
    of_file = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    for name in ("wv", "dv"):
        found, expected = (getattr(model, name).vectors for model in (outside, inside))
        np.testing.assert_array_equal(found, expected)
        assert found.base is outside.wv.vectors.base
    np.testing.assert_array_equal(of_file, outside.wv.vectors.base)
    np.testing.assert_array_equal(outside.syn1neg, inside.syn1neg)


def test_saved_vectors_load_with_mmap(tmp_path):
    model = TFWord2Vec(SENTENCES, vector_size=5, min_count=1, tables_dir=tmp_path / "tables")
    model.wv.save(str(tmp_path / "wv"), separately=["vectors"])
    found = KeyedVectors.load(str(tmp_path / "wv"), mmap="r")
    assert isinstance(found.vectors, np.memmap)
    np.testing.assert_array_equal(found.vectors, model.wv.vectors)


def test_second_model_in_the_folder_leaves_the_first_unchanged(tmp_path):
    first = TFWord2Vec(SENTENCES, vector_size=5, min_count=1, tables_dir=tmp_path)
    before = np.array(first.wv.vectors)
    TFWord2Vec(SENTENCES, vector_size=5, min_count=1, seed=9, tables_dir=tmp_path)
    np.testing.assert_array_equal(first.wv.vectors, before)


@pytest.mark.parametrize("reserves", [True, False], ids=["posix_fallocate", "writing zeros"])
def test_full_disk_raises_before_training(tmp_path, monkeypatch, reserves):
    if not reserves:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    with small_disk(tmp_path / "disk", "512k") as disk:
        model = TFWord2Vec(vector_size=2000, min_count=1, tables_dir=disk / "tables")
        with pytest.raises(OSError, match="No space left.*: syn1neg.npy needs 0.3 MB; free"):
            model.build_vocab(SENTENCES)
        assert [path.name for path in (disk / "tables").iterdir()] == ["vectors.npy"]
        with pytest.raises(OSError) as caught:
            mapped.save_array(disk / "rows.npy", np.zeros((100, 1000)))
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(disk))
        assert not (disk / "rows.npy").exists()


def test_disk_without_space_for_new_files_raises_before_training(tmp_path):
    with small_disk(tmp_path / "disk", "512k") as disk:
        model = TFWord2Vec(vector_size=500, min_count=1, tables_dir=disk, epochs=1)
        model.build_vocab(SENTENCES)
        model.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)  # in place
        model.wv.vectors.flags.writeable = False  # as after training on a cluster
        (disk / "other").write_bytes(bytes(300_000))
        before = np.array(model.wv.vectors)
        with pytest.raises(OSError, match="No space left.*: .* needs 0.1 MB; free"):
            model.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)
        assert sorted(path.suffix for path in disk.iterdir()) == ["", ".npy", ".npy"]
        np.testing.assert_array_equal(model.wv.vectors, before)
        os.remove(disk / "other")
        model.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)
        assert not np.array_equal(model.wv.vectors, before)
        assert sorted(path.suffix for path in disk.iterdir()) == [".npy", ".npy"]


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3), np.zeros((0, 4)), np.zeros(0, "i4")])
def test_saved_arrays_load_in_numpy(tmp_path, array):
    mapped.save_array(tmp_path / "array.npy", array)
    found = np.load(tmp_path / "array.npy")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
def test_room_is_taken_where_a_file_system_cannot_reserve_it(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    array = mapped.new_array(tmp_path / "array.npy", (700, 500))
    assert (tmp_path / "array.npy").stat().st_blocks * 512 >= array.nbytes and not array.any()


def test_other_errors_of_reserving_room_are_raised(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "posix_fallocate", fail, raising=False)
    with pytest.raises(OSError, match=r"Input/output error: array\.npy needs 1\.4 MB"):
        mapped.new_array(tmp_path / "array.npy", (700, 500))


@pytest.mark.parametrize("shape", [(), (3,), (700, 500), (0, 5)])
def test_temporary_array_is_zeros_and_leaves_no_file(tmp_path, monkeypatch, shape):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    array = mapped.temporary_array(shape, np.float64)
    assert array.shape == shape and array.dtype == float and not array.any()
    assert mapped.is_mapped(array) == (array.size > 0) and not [*tmp_path.iterdir()]
    array += 1
    assert (array == 1).all()


def test_temporary_array_that_does_not_fit_names_folder_and_size(tmp_path, monkeypatch):
    with small_disk(tmp_path / "disk", "512k") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(OSError, match=r"No space left.*: a temporary file needs 4\.0 MB; free"):
            mapped.temporary_array((1000, 1000))


def test_views_of_mapped_arrays_are_mapped():
    array = mapped.temporary_array((4, 3))
    assert all(map(mapped.is_mapped, (array, array[1:], array.T, np.asarray(array)[::2])))
    assert not any(map(mapped.is_mapped, (array + 1, np.zeros(3), np.array(array))))


@pytest.mark.parametrize("is_mapped", [True, False])
@pytest.mark.parametrize("indices", [None, np.array([3, 1, 1])])
@pytest.mark.parametrize("dtype", [None, np.float16])
def test_copied_rows_are_where_the_rows_are(monkeypatch, is_mapped, indices, dtype):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 30)
    rows = mapped.temporary_array((5, 3)) if is_mapped else np.zeros((5, 3), np.float32)
    rows[:] = np.arange(15).reshape(5, 3)
    copy = mapped.take_rows(rows, indices, dtype)
    expected = rows if indices is None else rows[indices]
    np.testing.assert_array_equal(copy, expected.astype(dtype or np.float32), strict=True)
    assert mapped.is_mapped(copy) == is_mapped and not np.shares_memory(copy, rows)
