"""Tables of weights."""

import numpy as np
import pytest

from gensim_tfw2v.kernel.native.padded_rows import all_finite


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (-1, 1)])
def test_all_finite_is_false_with_one_nonfinite_number(value, place):
    array = np.full((100_000, 3), np.finfo(np.float32).max, np.float32)[:, :2]
    assert all_finite(array)
    array[place] = value
    assert not all_finite(array)


def test_all_finite_is_true_for_a_table_without_rows():
    assert all_finite(np.empty((0, 5), np.float32))
