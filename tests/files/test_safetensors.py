"""Safetensors files: read back, and refused if the header does not describe the data."""

import json

import numpy as np
import pytest

from gensim_tfw2v import row_blocks
from gensim_tfw2v.files.safetensors import read_tensors, write_tensors

ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)
DTYPES = {"ids": "I64", "rows": "F32", "empty": "U32"}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 2 * ROWS[0].nbytes)
    ids = np.array([3, -(2**40)])
    tensors = {"ids": ("I64", [ids]), "rows": ("F32", [ROWS[:1], ROWS[1:].astype(float)])}
    write_tensors(tmp_path / "x", tensors | {"empty": ("U32", [np.zeros((0, 4))])})
    return tmp_path / "x"


def with_header(path, change):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def test_tensors_are_read_back(path):
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0
    with_header(path, lambda header: header.update(__metadata__={"format": "pt"}))
    read = read_tensors(path, DTYPES)
    np.testing.assert_array_equal(read["rows"], ROWS)
    assert read["ids"].tolist() == [3, -(2**40)] and read["empty"].shape == (0, 4)
    assert read["rows"].flags.writeable and read["rows"].dtype == np.float32


def test_tensors_are_those_of_the_safetensors_package(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    np.testing.assert_array_equal(safetensors.load_file(path)["rows"], ROWS)
    safetensors.save_file({"rows": ROWS, "ids": np.arange(2)}, path)
    np.testing.assert_array_equal(read_tensors(path, DTYPES)["rows"], ROWS)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64"},
        {"dtype": ["F32"]},
        {"shape": [5, 4]},
        {"shape": [-5, -3]},
        {"shape": [5.0, 3.5]},
        {"shape": [2**62, 2**62]},
        {"shape": "15"},
        {"shape": None},
        {"data_offsets": [0, 60]},
        {"data_offsets": [16, 72]},
        {"data_offsets": [-44, 16]},
        {"more": 1},
    ],
    ids=str,
)
def test_wrong_entries_are_refused(path, entry):
    with_header(path, lambda header: header["rows"].update(entry))
    with pytest.raises((TypeError, ValueError)):
        read_tensors(path, DTYPES)


@pytest.mark.parametrize("change", [
    lambda content: content[:-1],
    lambda content: content + b"x",
    lambda content: content[:5],
    lambda content: (2**63).to_bytes(8, "little") + content[8:],
    lambda content: b"",
    lambda content: content.replace(b'"ids"', b'"idx"'),
    lambda content: content.replace(b'"ids": ', b'"rows":'),
])  # fmt: skip
def test_damaged_files_are_refused(path, change):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match="truncated|bytes of elements|unknown tensors|repeats|key"):
        read_tensors(path, DTYPES)
