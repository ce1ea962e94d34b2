"""Floats in memory and in a temporary file give the same rows."""

import errno
import resource
import signal

import numpy as np
import pytest

from gensim_tfw2v.files import spooled_floats
from gensim_tfw2v.files.mapped import is_mapped
from gensim_tfw2v.files.spooled_floats import SpooledFloats


@pytest.mark.parametrize("max_floats", [0, 7, 100])
@pytest.mark.parametrize("mapped", [False, True])
def test_rows_are_the_appended_floats(monkeypatch, max_floats, mapped):
    monkeypatch.setattr(spooled_floats, "MAX_FLOATS", max_floats)
    expected = np.arange(30, dtype=np.float32).reshape(10, 3)
    with SpooledFloats(mapped) as floats:
        for row in expected[:5]:
            floats.extend(row.tolist())
        for row in expected[5:]:
            floats.extend_bytes(row.tobytes())
        rows = floats.rows(10)
    np.testing.assert_array_equal(rows, expected)
    assert is_mapped(rows) == (mapped and max_floats < 30)
    rows[0] = 5
    assert rows[0].tolist() == [5, 5, 5]


@pytest.mark.parametrize("mapped", [False, True])
def test_no_floats_are_no_rows(mapped):
    with SpooledFloats(mapped) as floats:
        assert floats.rows(0).shape == (0, 0)


def test_list_with_something_else_than_numbers_appends_nothing():
    with SpooledFloats(is_mapped=True) as floats:
        floats.extend([1.0, 2.0])
        with pytest.raises(TypeError):
            floats.extend([3.0, "4"])
        assert floats.rows(1).tolist() == [[1, 2]]


def test_full_disk_is_named_with_a_remedy(monkeypatch):
    monkeypatch.setattr(spooled_floats, "MAX_FLOATS", 10)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="set TMPDIR") as caught, SpooledFloats(True) as floats:
            for _ in range(100):
                floats.extend([0.0] * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.errno == errno.EFBIG
