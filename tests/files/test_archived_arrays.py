"""Arrays of .npz archives equal those that NumPy reads, and damage is noticed."""

import zipfile

import numpy as np
import pytest

from gensim_tfw2v import row_blocks
from gensim_tfw2v.files.archived_arrays import read_archived
from gensim_tfw2v.files.mapped import is_mapped

ROWS = np.random.default_rng(0).normal(size=(50, 7))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", ">f4", "U5"])
def test_arrays_equal_those_of_numpy(tmp_path, monkeypatch, save, dtype):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 100)
    save(tmp_path / "x.npz", other=np.arange(3), rows=ROWS.astype(dtype))
    rows = read_archived(tmp_path / "x.npz", "rows")
    np.testing.assert_array_equal(rows, ROWS.astype(dtype))
    assert is_mapped(rows) and rows.dtype == dtype


@pytest.mark.parametrize(
    "array", [np.asfortranarray(ROWS), np.array(3.5), np.zeros((0, 3)), np.zeros(0, "U3")]
)
def test_other_arrays_are_read_into_memory(tmp_path, array):
    np.savez(tmp_path / "x.npz", array=array)
    np.testing.assert_array_equal(read_archived(tmp_path / "x.npz", "array"), array)


def test_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, rows=ROWS)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(zipfile.BadZipFile, match="CRC"):
        read_archived(path, "rows")


@pytest.mark.parametrize(("change", "message"), [(-8, "truncated"), (8, "further bytes")])
def test_wrong_number_of_elements_is_noticed(tmp_path, change, message):
    np.save(tmp_path / "rows.npy", ROWS)
    content = (tmp_path / "rows.npy").read_bytes()
    content = content[:change] if change < 0 else content + bytes(change)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("rows.npy", content)
    with pytest.raises(ValueError, match=message):
        read_archived(tmp_path / "x.npz", "rows")


def test_huge_shape_needs_disk_space_and_is_refused(tmp_path):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000), }"
    header += b" " * (117 - len(header)) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("rows.npy", content)
    with pytest.raises((OSError, ValueError)):
        read_archived(tmp_path / "x.npz", "rows")
