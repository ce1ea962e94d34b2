"""Blocks of rows: together they are all rows, and results equal those of the whole array."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import row_blocks as module
from gensim_tfw2v.row_blocks import find_nonfinite_rows, row_blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 40)


@given(st.integers(0, 20), st.integers(0, 12))
def test_blocks_are_all_rows_once(n_rows, size):
    rows = np.arange(n_rows * size, dtype=np.float32).reshape(n_rows, size)
    blocks = [rows[block] for block in row_blocks(rows)]
    np.testing.assert_array_equal(np.concatenate(blocks), rows)
    assert all(block.nbytes <= 40 or len(block) == 1 for block in blocks)


def test_number_of_rows_may_differ_from_that_of_the_array():
    rows = np.zeros((100, 5), np.float32)  # two rows per block
    assert [*row_blocks(rows, 5)] == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert [*row_blocks(rows[:0], 0)] == [slice(0, 0)]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_rows_that_are_not_finite_are_found(value, dtype):
    rows = np.ones((9, 3), dtype)
    assert not len(find_nonfinite_rows(rows))
    rows[4, 2] = value
    rows[8] = value
    assert find_nonfinite_rows(rows).tolist() == [4, 8]


def test_arrays_of_integers_and_without_rows_are_finite():
    assert not len(find_nonfinite_rows(np.ones((9, 3), int)))
    assert not len(find_nonfinite_rows(np.ones((0, 3))))
    assert not len(find_nonfinite_rows(np.ones((3, 0))))
