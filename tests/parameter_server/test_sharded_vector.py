"""A vector of all tables behaves as in NumPy, with any number of shards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.parameter_server.rows import RowLayout
from gensim_tfw2v.parameter_server.sharded_vector import ShardedVector

SIZE = 3


def vector(rows, shards):
    return ShardedVector([RowLayout(number, SIZE, shards) for number in rows])


def load(one, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=(table.n_rows, SIZE)).astype(np.float32) for table in one.tables]
    for table, array in zip(one.tables, arrays, strict=True):
        table.load(array)
    return flat(arrays)


def flat(arrays):
    return np.concatenate([array.reshape(-1) for array in arrays]).astype(np.float64)


def values(one):
    arrays = [np.empty((table.n_rows, SIZE), np.float32) for table in one.tables]
    for table, array in zip(one.tables, arrays, strict=True):
        table.export(array)
    return flat(arrays)


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([0, 1, 2, 7]), min_size=1, max_size=3).filter(any),
    st.integers(1, 4),
    st.floats(-3, 3),
    st.integers(0, 9),
)
def test_vector_operations_equal_numpy(rows, shards, factor, seed):
    one, other = vector(rows, shards), vector(rows, shards)
    x, y = load(one, [seed, 0]), load(other, [seed, 1])
    assert one.dot(other) == pytest.approx(x @ y, rel=1e-5, abs=1e-5)
    assert one.dot(one) == pytest.approx(x @ x, rel=1e-5)
    one.add(factor, other)
    np.testing.assert_allclose(values(one), x + factor * y, atol=1e-5)
    np.testing.assert_array_equal(values(other), y)
    other.scale(factor)
    np.testing.assert_allclose(values(other), factor * y, atol=1e-5)
    one.copy(other)
    np.testing.assert_array_equal(values(one), values(other))
    other.clear()
    assert not values(other).any() and other.dot(one) == 0


def test_like_makes_an_independent_zero_vector():
    one = vector([5, 0, 4], 2)
    x = load(one, 0)
    other = one.like()
    assert [table.n_rows for table in other.tables] == [5, 0, 4]
    assert not values(other).any()
    for table, like in zip(one.tables, other.tables, strict=True):
        assert [s.device for s in table.shards] == [s.device for s in like.shards]
    other.add(2, one)
    other.add(1, other)
    np.testing.assert_allclose(values(other), 4 * x, rtol=1e-6)
    np.testing.assert_array_equal(values(one), x.astype(np.float32))


def test_weigh_multiplies_each_row_by_its_weight():
    one = vector([5, 0, 4], 2)
    x, weights = load(one, 0), one.like(1)
    for table, row in zip(weights.tables, (1, 1, 6), strict=True):
        table.load(np.arange(row, row + table.n_rows, dtype=np.float32)[:, None])
    one.weigh(weights)
    np.testing.assert_allclose(values(one), x * np.repeat(np.arange(1, 10), SIZE), rtol=1e-6)


def test_clear_removes_nan():
    one = vector([3], 2)
    one.tables[0].load(np.full((3, SIZE), np.nan))
    assert np.isnan(one.dot(one))
    one.clear()
    assert one.dot(one) == 0
