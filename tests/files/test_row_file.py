"""Rows in files equal the rows of arrays."""

import sys
import threading

import numpy as np
import pytest

from gensim_tfw2v.files import row_file
from gensim_tfw2v.files.row_file import RowFile, copy_rows, file_of


def test_slices_are_those_of_an_array(tmp_path, monkeypatch):
    monkeypatch.setattr(row_file, "COPIED_BYTES", 4 * 3 * 2)  # two rows at a time
    file = RowFile.create(tmp_path / "rows.npy", (7, 3))
    array = np.zeros((7, 3), np.float32)
    for rows in slice(2, 6), slice(None), slice(6, None), slice(3, 3), slice(5, 2):
        values = np.random.default_rng(1).normal(size=array[rows].shape)
        file[rows] = values
        array[rows] = values
        np.testing.assert_array_equal(file[rows], array[rows])
    np.testing.assert_array_equal(np.load(file.path), array)
    assert file.shape == array.shape and len(file) == 7
    other = RowFile.create(tmp_path / "other.npy", (7, 3))
    copy_rows(file, other)
    np.testing.assert_array_equal(np.load(other.path), array)


def test_threads_may_write_different_rows(tmp_path):
    file = RowFile.create(tmp_path / "rows.npy", (4000, 5))

    def write(thread):
        for row in range(thread, 4000, 4):
            file[row : row + 1] = np.full((1, 5), row, np.float32)

    threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    np.testing.assert_array_equal(np.load(file.path)[:, 0], np.arange(4000))


def test_truncated_file_raises(tmp_path):
    file = RowFile.create(tmp_path / "rows.npy", (70, 3))
    with open(file.path, "r+b") as truncated:
        truncated.truncate(500)
    with pytest.raises(OSError, match=r"rows\.npy was truncated"):
        file[:]


@pytest.mark.parametrize(
    "array", [np.zeros((3, 2)), np.zeros(6, np.float32), np.zeros((3, 2), np.float32, "F")]
)
def test_file_of_a_different_array_raises(array, tmp_path):
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(ValueError, match="expected rows of float32 in C order, got float"):
        RowFile(tmp_path / "rows.npy")


def test_only_a_whole_mapped_array_has_a_file(tmp_path):
    path = RowFile.create(tmp_path / "rows.npy", (6, 3)).path
    mapped = np.load(path, "r+")
    assert file_of(mapped) == file_of(mapped[:]) == file_of(mapped.reshape(9, 2)) == path
    for other in mapped[1:], mapped[:, :2], mapped.T, np.array(mapped), np.zeros((0, 3)):
        assert file_of(other) is None
    path.rename(tmp_path / "renamed.npy")
    assert file_of(mapped) is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list mapped files")
@pytest.mark.parametrize("is_link", [False, True])
def test_array_of_a_file_that_was_replaced_has_no_file(tmp_path, is_link):
    path = RowFile.create(tmp_path / "rows.npy", (6, 3)).path
    if is_link:
        path = tmp_path / "link.npy"
        path.symlink_to("rows.npy")
    mapped = np.load(path, "r")
    assert file_of(mapped).samefile(path)
    new_path = RowFile.create(tmp_path / "new.npy", (6, 3)).path
    new_path.replace(path.resolve())
    assert file_of(mapped) is None
    assert file_of(np.load(path, "r")).samefile(path)


def test_bytes_after_the_array_are_ignored(tmp_path):
    array = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", array)
    with open(tmp_path / "rows.npy", "ab") as file:
        file.write(b"a mark")
    np.testing.assert_array_equal(RowFile(tmp_path / "rows.npy", is_writable=False)[:], array)
