"""Tables in files that ps tasks have written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from gensim_tfw2v.files.sharded_rows import ShardedRows, load_tables, save_description
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.parameter_server import shard_ops
from gensim_tfw2v.parameter_server.rows import RowLayout
from gensim_tfw2v.parameter_server.shard_ops import CompiledShardOps

pytestmark = pytest.mark.skipif(load_ops() is None, reason="the compiled ops are missing")


def save(array, n_shards, folder):
    """Let a layout save an array; return the table that is loaded from the folder."""
    layout = RowLayout(*array.shape, n_shards, CompiledShardOps())
    layout.load(array)
    save_description(folder, [layout.save(folder, "inputs")])
    return load_tables(folder)["inputs"]


@pytest.fixture
def array():
    return np.random.default_rng(0).normal(size=(101, 5)).astype(np.float32)


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("n_restored_shards", [1, 3])
def test_restored_table_equals_the_saved_one(
    n_shards, n_restored_shards, array, tmp_path, monkeypatch
):
    monkeypatch.setattr(shard_ops, "FILE_BLOCK_BYTES", 200)  # several blocks per file
    table = save(array, n_shards, tmp_path)
    table.check()
    layout = RowLayout(*array.shape, n_restored_shards, CompiledShardOps())
    assert layout.restore(table) == (n_shards == n_restored_shards)
    if n_shards != n_restored_shards:
        layout.load(table)
    exported = np.empty_like(array)
    layout.export(exported)
    np.testing.assert_array_equal(exported, array)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 120), st.integers(0, 120))
def test_slices_are_those_of_the_array(tmp_path_factory, start, stop):
    array = np.random.default_rng(0).normal(size=(101, 5)).astype(np.float32)
    table = save(array, 4, tmp_path_factory.mktemp("shards"))
    np.testing.assert_array_equal(table[start:stop], array[start:stop])
    assert table.shape == array.shape and len(table) == 101


def test_files_are_in_the_safetensors_format(array, tmp_path):
    table = save(array, 3, tmp_path)
    for shard in range(3):
        np.testing.assert_array_equal(load_file(table.path(shard))["rows"], array[shard::3])


def test_table_with_fewer_rows_than_shards(tmp_path):
    array = np.ones((2, 3), np.float32)
    table = save(array, 4, tmp_path)
    table.check()
    np.testing.assert_array_equal(table[:], array)
    assert RowLayout(2, 3, 4, CompiledShardOps()).restore(table)


@pytest.mark.parametrize("offset", [3, 60, -1])
def test_any_changed_byte_is_found(offset, array, tmp_path):
    table = save(array, 3, tmp_path)
    content = bytearray(table.path(1).read_bytes())
    content[offset] ^= 1
    table.path(1).write_bytes(content)
    with pytest.raises(ValueError, match="inputs-00002-of-00003.safetensors has a wrong"):
        table.check()


def test_changed_and_truncated_files_are_not_restored(array, tmp_path):
    table = save(array, 3, tmp_path)
    layout = RowLayout(*array.shape, 3, CompiledShardOps())
    content = bytearray(table.path(1).read_bytes())
    content[-1] ^= 1
    table.path(1).write_bytes(content)
    with pytest.raises(OSError, match="was changed: it has a wrong checksum"):
        layout.restore(table)
    table.path(1).write_bytes(content[:-4])
    with pytest.raises(OSError, match=r"inputs-00002-of-00003\.safetensors: the file is truncated"):
        layout.restore(table)


def test_impossible_file_raises(array, tmp_path):
    layout = RowLayout(*array.shape, 2, CompiledShardOps())
    with pytest.raises(OSError, match="inputs-0000.*: No such file or directory$"):
        layout.save(tmp_path / "missing", "inputs")
    assert RowLayout(*array.shape, 2).save(tmp_path, "inputs") is None  # TensorFlow's own ops


def test_folder_without_a_description_has_no_tables(tmp_path):
    assert load_tables(tmp_path) == {}


def test_description_is_restored(tmp_path):
    table = ShardedRows(tmp_path, "inputs", (7, 3), (1, -(2**63), 5))
    assert ShardedRows.of(tmp_path, "inputs", table.describe()) == table
