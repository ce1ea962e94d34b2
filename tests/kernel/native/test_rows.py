"""Ops that transfer rows equal NumPy row by row, with TensorFlow's rounding to bfloat16."""

import threading

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.parameter_server.shard_ops import CompiledShardOps
from gensim_tfw2v.parameter_server.wire import decode_rows

pytestmark = pytest.mark.skipif(load_ops() is None, reason="kernels were not compiled")

RANDOM = np.random.default_rng(4)

#: Basis, shares and levels of changes that are pushed whole: empty.
ALL = tf.zeros([0]), tf.zeros([0]), tf.zeros([0], tf.int32)
KEY = tf.constant([5, 6])


def table_of(rows, stride):
    """Return a table in separate memory, and its values."""
    values = RANDOM.normal(size=(rows, stride)).astype(np.float32)
    table = tf.raw_ops.Empty(shape=[rows, stride], dtype=tf.float32, init=True)
    load_ops().tfw2v_scatter(table, tf.range(rows), tf.constant(values))
    return table, values


def some_ids(rows, count):
    return RANDOM.permutation(rows)[:count].astype(np.int32)


@pytest.fixture(params=["float32", "bfloat16"])
def dtype(request):
    return tf.as_dtype(request.param)


@pytest.fixture(params=[(1, 1, 1), (30, 16, 5), (200, 112, 100), (50, 100, 100)], ids=str)
def sizes(request):
    return request.param


def test_fetched_rows_equal_tensorflow_cast(sizes, dtype):
    rows, stride, size = sizes
    table, values = table_of(rows, stride)
    for count in (0, rows):
        ids = some_ids(rows, count)
        fetched = load_ops().tfw2v_fetch(table, ids, size, dtype=dtype)
        assert fetched.dtype == dtype and fetched.shape == (count, size)
        np.testing.assert_array_equal(fetched, tf.cast(values[ids, :size], dtype))


def test_special_floats_are_rounded_like_tensorflow():
    odd = [0.0, -0.0, np.inf, -np.inf, 1e-40, 3.4e38, -3.4e38, 1 + 2**-8, 1 + 3 * 2**-8, np.nan]
    table = tf.constant([odd], tf.float32)
    fetched = load_ops().tfw2v_fetch(table, [0], len(odd), dtype=tf.bfloat16)
    np.testing.assert_array_equal(
        tf.cast(fetched, tf.float32), tf.cast(tf.cast(table, tf.bfloat16), tf.float32)
    )


def test_scattered_rows_are_padded_with_zeros(sizes, dtype):
    rows, stride, size = sizes
    table, values = table_of(rows, stride)
    ids = some_ids(rows, -(-rows // 2))
    new = tf.cast(RANDOM.normal(size=(len(ids), size)), dtype)
    load_ops().tfw2v_scatter(table, ids, new)
    values[ids] = np.pad(tf.cast(new, tf.float32), ((0, 0), (0, stride - size)))
    np.testing.assert_array_equal(table, values)


def test_whole_changes_and_fractions_by_direction_equal_numpy(sizes, dtype):
    rows, stride, size = sizes
    table, values = table_of(rows, stride)
    ids = some_ids(rows, rows)
    known = tf.cast(RANDOM.normal(size=(rows, size)), dtype)
    whole = values[ids, :size] - tf.cast(known, tf.float32)
    changes = load_ops().tfw2v_change(table, ids, known, *ALL, KEY)
    np.testing.assert_array_equal(changes, tf.cast(whole, dtype))
    # fractions by direction
    basis = np.linalg.qr(RANDOM.normal(size=(max(16, size), 16)))[0].T[:, :size]
    shares, levels = RANDOM.uniform(size=(4, 17)), RANDOM.integers(0, 4, rows)
    rest, along = np.split(shares[levels][ids], [1], 1)
    expected = rest * whole + (whole @ basis.T * (along - rest)) @ basis
    of_rows = basis.astype(np.float32), shares.astype(np.float32), levels.astype(np.int32)
    changes = load_ops().tfw2v_change(table, ids, known, *of_rows, KEY)
    precision = {} if dtype == tf.float32 else {"rtol": 2**-8}
    np.testing.assert_allclose(tf.cast(changes, tf.float32), expected, atol=1e-5, **precision)


def test_concurrent_additions_are_not_lost(sizes, dtype):
    rows, stride, size = sizes
    table, values = table_of(rows, stride)
    ones = tf.ones([rows, size], dtype)

    def add():
        for _ in range(20):
            load_ops().tfw2v_add(table, some_ids_of[threading.current_thread().name], ones)

    some_ids_of = {str(number): some_ids(rows, rows) for number in range(4)}
    threads = [threading.Thread(target=add, name=name) for name in some_ids_of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values[:, :size] += 80
    np.testing.assert_allclose(table, values, atol=1e-3)


@pytest.mark.parametrize("wrong", [-1, 7, 1 << 30, -(1 << 31)])
def test_ids_out_of_range_are_rejected(wrong, dtype):
    table, values = table_of(7, 16)
    rows, ids = tf.zeros([2, 5], dtype), np.array([1, wrong], np.int32)
    for do in (
        lambda: load_ops().tfw2v_fetch(table, ids, 5, dtype=dtype),
        lambda: load_ops().tfw2v_scatter(table, ids, rows),
        lambda: load_ops().tfw2v_change(table, ids, rows, *ALL, KEY),
        lambda: load_ops().tfw2v_add(table, ids, rows),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="ids must be rows of the table"):
            do()
    np.testing.assert_array_equal(table, values)


def test_mismatched_sizes_are_rejected():
    table, _ = table_of(7, 16)
    ids = np.array([1, 2], np.int32)

    def change_by(basis=(16, 5), shares=(3, 17), levels=7, level=0):
        of_rows = tf.zeros(basis), tf.zeros(shares), tf.fill([levels], level)
        return load_ops().tfw2v_change(table, ids, tf.zeros([2, 5]), *of_rows, KEY)

    change_by()
    for do in (
        lambda: load_ops().tfw2v_fetch(table, ids, 17, dtype=tf.float32),
        lambda: load_ops().tfw2v_fetch(table, ids, 0, dtype=tf.float32),
        lambda: load_ops().tfw2v_scatter(table, ids, tf.zeros([3, 5])),
        lambda: load_ops().tfw2v_scatter(table, ids, tf.zeros([2, 17])),
        lambda: load_ops().tfw2v_change(table, ids, tf.zeros([1, 5]), *ALL, KEY),
        lambda: change_by(basis=(16, 4)),
        lambda: change_by(shares=(3, 16)),
        lambda: change_by(levels=2),
        lambda: change_by(level=3),
        lambda: load_ops().tfw2v_add(table, ids, tf.zeros([1, 5])),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="one row per id|at most as many"):
            do()


def int8_of(rows):
    """Return rows [n, D] in the int8 format of transfers, computed by NumPy."""
    scale = (np.abs(rows).max(1, keepdims=True) / 127).astype(np.float32)
    elements = np.rint(rows / np.where(scale, scale, 1)).astype(np.int8)
    return np.concatenate([elements, scale.view(np.int8)], 1)


def test_int8_rows_are_fetched_with_rounding_to_nearest(sizes):
    rows, stride, size = sizes
    table, values = table_of(rows, stride)
    ids = some_ids(rows, rows)
    fetched = load_ops().tfw2v_fetch(table, ids, size, dtype=tf.int8)
    assert fetched.shape == (rows, size + 4)
    own = values[ids, :size]
    scale = np.abs(own).max(1, keepdims=True) / 127
    assert np.all(np.abs(decode_rows(fetched) - own) <= 0.501 * scale)
    largest = np.abs(own).argmax(1)[:, None]
    np.testing.assert_allclose(
        np.take_along_axis(decode_rows(fetched).numpy(), largest, 1),
        np.take_along_axis(own, largest, 1),
        rtol=1e-6,
    )


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_nonfinite_rows_are_fetched_as_nan_in_int8(odd):
    table = tf.constant([[1, 2, odd, 3], [1, 2, 3, 4]], tf.float32)
    fetched = load_ops().tfw2v_fetch(table, [0, 1], 4, dtype=tf.int8)
    assert np.isnan(decode_rows(fetched)[0]).all()
    np.testing.assert_allclose(decode_rows(fetched)[1], [1, 2, 3, 4], atol=0.02)


@pytest.mark.parametrize("factor", [0.0, 1e-38, 1e-30, 1e-20, 1e38])
def test_int8_rows_of_any_magnitude_are_fetched(factor):
    rows = np.float32(factor) * np.linspace(-3, 3, 40, dtype=np.float32).reshape(2, 20)
    fetched = load_ops().tfw2v_fetch(tf.constant(rows), [0, 1], 20, dtype=tf.int8)
    np.testing.assert_allclose(decode_rows(fetched), rows, atol=max(3 * factor / 200, 1e-30))


def test_int8_rows_are_scattered_and_added_without_error(sizes):
    rows, stride, size = sizes
    table, values = table_of(rows, stride)
    ids = some_ids(rows, -(-rows // 2))
    new = int8_of(RANDOM.normal(size=(len(ids), size)).astype(np.float32))
    load_ops().tfw2v_scatter(table, ids, new)
    values[ids] = np.pad(decode_rows(tf.constant(new)), ((0, 0), (0, stride - size)))
    np.testing.assert_array_equal(table, values)
    load_ops().tfw2v_add(table, ids, new)
    values[ids] *= 2
    np.testing.assert_array_equal(table, values)


def test_int8_changes_are_rounded_at_random_by_key_and_unbiased():
    table, values = table_of(40, 112)
    ids = some_ids(40, 40)
    known = int8_of(RANDOM.normal(size=(40, 100)).astype(np.float32))
    whole = values[ids, :100] - decode_rows(tf.constant(known))

    def changes(number):
        return load_ops().tfw2v_change(table, ids, known, *ALL, [number, 7])

    np.testing.assert_array_equal(changes(3), changes(3))
    assert np.mean(changes(3) != changes(4)) > 0.2
    drawn = np.array([decode_rows(changes(number)) for number in range(400)])
    scale = np.abs(whole).max(1, keepdims=True) / 127
    assert np.all(np.abs(drawn - whole) <= 1.001 * scale)
    # the variance of an element is at most a quarter of the square of the scale
    error = (drawn.mean(0) - whole) / (0.5 * scale / np.sqrt(400))
    assert np.abs(error).max() < 5
    assert np.sqrt(np.mean(error**2)) < 1
    # rounding errors of different elements and rows are uncorrelated
    noise = np.reshape((drawn - whole) / scale, (400, -1))
    noise = noise[:, noise.std(0) > 0.1][:, :2000:20]  # the largest of a row is exact
    apart = np.corrcoef(noise.T) - np.eye(noise.shape[1])
    assert np.abs(apart).max() < 0.3


def test_damaged_changes_in_int8_are_rejected_before_a_row_changes():
    rng = np.random.default_rng(8)
    table, values = table_of(9, 16)
    ids = np.arange(8)
    known = load_ops().tfw2v_fetch(table, ids, 13, dtype=tf.int8)
    good = load_ops().tfw2v_change(table, ids, known, *ALL, KEY).numpy()
    ps = CompiledShardOps()
    shard = tf.Variable(table[:, :13])
    refused = 0
    for _ in range(500):
        damaged, at = good, ids.copy()
        kind = rng.integers(5)
        if kind == 0:  # cut or lengthened
            columns = rng.integers(0, 30)
            if columns == 17:
                continue
            damaged = np.resize(good, (8, columns))
        elif kind == 1:
            damaged = np.resize(good, (rng.choice([0, 1, 7, 9]), 17))
        elif kind == 2:
            at[rng.integers(8)] = rng.choice([-1, 9, 1 << 30, -(1 << 31)])
        elif kind == 3:
            damaged = good.copy()
            scale = rng.choice([-1e-9, -np.inf, np.inf, -3.0]).astype(np.float32)
            damaged[rng.integers(8), 13:] = np.frombuffer(scale.tobytes(), np.int8)
        else:
            damaged = good.astype(np.int16)
        before = shard.numpy()
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError)):
            ps.add(shard, tf.constant(at, tf.int32), tf.constant(damaged))
        np.testing.assert_array_equal(shard, before)
        refused += 1
    assert refused > 400
    ps.add(shard, tf.constant(ids, tf.int32), tf.constant(good))
    assert np.abs(shard[:8] - values[:8, :13]).max() > 0


def test_int8_rows_of_wrong_size_are_rejected():
    table, values = table_of(7, 16)
    ids = np.array([1, 2], np.int32)
    for columns in (4, 3, 0, 21):
        rows = tf.zeros([2, columns], tf.int8)
        for do in (
            lambda rows=rows: load_ops().tfw2v_scatter(table, ids, rows),
            lambda rows=rows: load_ops().tfw2v_change(table, ids, rows, *ALL, KEY),
            lambda rows=rows: load_ops().tfw2v_add(table, ids, rows),
        ):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="one row per id|at most as many"
            ):
                do()
    np.testing.assert_array_equal(table, values)
