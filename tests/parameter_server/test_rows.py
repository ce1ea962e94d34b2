"""Rows distributed to shards behave as one table."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.parameter_server import layout as layout_module
from gensim_tfw2v.parameter_server.rows import RowLayout, parts_of
from gensim_tfw2v.parameter_server.shard_ops import CompiledShardOps, TensorFlowShardOps

SIZE = 3


@pytest.fixture(params=[TensorFlowShardOps, CompiledShardOps], autouse=True, scope="module")
def access(request):
    """Run all tests with both implementations of access to rows on the ps."""
    if request.param is CompiledShardOps and load_ops() is None:
        pytest.skip("the compiled kernels are missing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_module, "TensorFlowShardOps", request.param)
        yield


def table(number, shards):
    array = np.random.default_rng(number).normal(size=(number, SIZE)).astype(np.float32)
    layout = RowLayout(number, SIZE, shards)
    layout.load(array)
    return layout, array


@pytest.mark.parametrize("number", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_exported_rows_equal_loaded_rows(number, shards, monkeypatch):
    monkeypatch.setattr(layout_module, "BLOCK_BYTES", 4 * 4 * SIZE)
    layout, array = table(number, shards)
    found = np.full_like(array, np.nan)
    layout.export(found)
    np.testing.assert_array_equal(found, array)
    assert sum(len(shard.numpy()) for shard in layout.shards) == number


@settings(max_examples=30)
@given(st.integers(1, 4), st.lists(st.integers(0, 10), unique=True))
def test_fetch_and_push_equal_numpy(shards, ids):
    layout, array = table(11, shards)
    split = layout.split(tf.constant(ids, tf.int32))
    np.testing.assert_array_equal(layout.fetch(split, tf.float32), array[ids])
    changes = np.arange(len(ids) * SIZE, dtype=np.float32).reshape(-1, SIZE)
    layout.push(split, tf.constant(changes), tf.float32)
    array[ids] += changes
    found = np.empty_like(array)
    layout.export(found)
    np.testing.assert_allclose(found, array, atol=1e-6)


@pytest.mark.parametrize("shards", [1, 2])
def test_concurrent_pushes_are_not_lost(shards):
    rows = 100_000  # many rows, so that pushes overlap
    layout, array = table(rows, shards)

    @tf.function(autograph=False)
    def push():
        layout.push(layout.split(tf.range(rows)), tf.ones([rows, SIZE]), tf.float32)

    push()
    threads = [threading.Thread(target=lambda: [push() for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = np.empty_like(array)
    layout.export(found)
    np.testing.assert_allclose(found, array + 81, rtol=1e-5)


def test_only_sent_rows_are_rounded():
    layout, array = table(4, 2)
    split = layout.split(tf.range(4))
    travelled = layout.fetch(split, tf.bfloat16)
    fetched = tf.cast(travelled, tf.float32).numpy()
    assert travelled.dtype == tf.bfloat16 and not np.array_equal(fetched, array)
    np.testing.assert_allclose(fetched, array, rtol=2**-8)
    layout.push(split, tf.zeros([4, SIZE]), tf.bfloat16)
    found = np.empty_like(array)
    layout.export(found)
    np.testing.assert_array_equal(found, array)


def test_single_nonfinite_row_is_found():
    layout, array = table(9, 2)
    assert layout.finite()
    array[7, 1] = np.inf
    layout.load(array)
    assert not layout.finite()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("drop_others", [False, True])
def test_staged_changes_are_added_once(shards, drop_others):
    """Two changes out of three are added first; then the third, unless it was dropped."""
    layout, array = table(7, shards)
    ids = [[0, 3, 6], [3, 5], [1, 3]]

    @tf.function(autograph=False)
    def stage(ids, number):
        changes = tf.cast(number, tf.float32) * tf.ones([tf.size(ids), SIZE])
        split = layout.split(ids)
        layout.stage(split, parts_of(split, changes), number)

    @tf.function(autograph=False)
    def add(numbers):
        layout.add_staged(numbers, tf.float32, tf.add, drop_others)

    @tf.function(autograph=False)
    def drop():
        layout.add_staged(tf.constant([], tf.int64), tf.float32)

    for number, rows in enumerate(ids, 1):
        stage(tf.constant(rows), tf.constant(number, tf.int64))
        array[rows] += number if number < 3 else 0
    add(tf.constant([1, 2], tf.int64))
    if drop_others:
        stage(tf.constant(ids[0]), tf.constant(3, tf.int64))
    add(tf.constant([3], tf.int64))
    array[ids[0] if drop_others else ids[2]] += 3
    found = np.empty_like(array)
    layout.export(found)
    np.testing.assert_allclose(found, array, atol=1e-6)

    stage(tf.constant([2]), tf.constant(4, tf.int64))
    drop()
    stage(tf.constant([4]), tf.constant(4, tf.int64))
    add(tf.constant([4], tf.int64))
    array[4] += 4
    layout.export(found)
    np.testing.assert_allclose(found, array, atol=1e-6)
