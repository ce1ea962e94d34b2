"""Columns distributed to shards behave as one table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import Slices
from gensim_tfw2v.parameter_server import layout as layout_module
from gensim_tfw2v.parameter_server.columns import ColumnLayout, SlicedRows

SIZE = 5


def table(number, shards):
    array = np.random.default_rng(number).normal(size=(number, SIZE)).astype(np.float32)
    layout = ColumnLayout(number, SIZE, shards)
    layout.load(array)
    return layout, array


def joined(slices):
    return np.concatenate([part.numpy() for part in slices.parts], 1)


@pytest.mark.parametrize("number", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_exported_rows_equal_loaded_rows(number, shards, monkeypatch):
    monkeypatch.setattr(layout_module, "BLOCK_BYTES", 4 * 4 * SIZE)
    layout, array = table(number, shards)
    found = np.full_like(array, np.nan)
    layout.export(found)
    np.testing.assert_array_equal(found, array)
    assert sum(shard.shape[1] for shard in layout.shards) == SIZE
    assert layout.finite()


@settings(max_examples=30)
@given(st.integers(1, 5), st.lists(st.integers(0, 10), unique=True), st.booleans())
def test_read_and_add_equal_numpy(shards, ids, locked):
    layout, array = table(11, shards)
    rows = SlicedRows(layout, layout.link(tf.float32))
    given_ids = tf.constant(ids, tf.int32)
    read = rows.read(given_ids)
    np.testing.assert_array_equal(joined(read), array[ids])
    lock = np.linspace(0, 2, 11, dtype=np.float32)
    rows.add(given_ids, read.map(tf.square), tf.constant(lock) if locked else None)
    array[ids] += array[ids] ** 2 * (lock[ids, None] if locked else 1)
    found = np.empty_like(array)
    layout.export(found)
    np.testing.assert_allclose(found, array, rtol=1e-5)


def test_products_of_slices_equal_products_of_rows():
    layout, array = table(6, 3)
    link = layout.link(tf.bfloat16)
    read = SlicedRows(layout, link).read(tf.range(6))
    weights = tf.random.stateless_normal([4, 6], [1, 2])
    product = read.map(lambda x, w: tf.matmul(w, x), tensors=[weights])
    np.testing.assert_allclose(joined(product), weights.numpy() @ array, atol=0.05)
    scores = read.total(lambda x, y: tf.matmul(x, y, transpose_b=True), read, keep_dtype=True)
    np.testing.assert_allclose(scores, array @ array.T, rtol=1e-5)
    # to each of 3 shards: 6 ids, 24 bfloat16 weights; from each: 36 products
    assert link.traffic().numpy().tolist() == [3 * 36 * 4, 3 * (6 * 4 + 24 * 2)]


def test_each_tensor_is_sent_once():
    layout, _ = table(6, 2)
    link = layout.link(tf.float32)
    ids = tf.range(6)
    for _ in range(3):
        SlicedRows(layout, link).read(ids)
    assert link.traffic().numpy().tolist() == [0, 2 * 6 * 4]
    link.begin()
    assert link.traffic().numpy().tolist() == [0, 0]


def test_whole_rows_are_not_sent():
    rows = Slices([tf.ones([2, 3])])
    assert rows.link is None
    assert rows.total(tf.reduce_sum).numpy() == 6


def test_more_shards_than_columns_are_rejected():
    with pytest.raises(ValueError, match="vector_size=5 columns to 6 ps tasks"):
        ColumnLayout(3, 5, 6)
