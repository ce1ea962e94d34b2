"""Entries arrive at a worker as they were sent, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.parameter_server.text import packed, unpacked

native = pytest.mark.skipif(load_ops() is None, reason="kernels were not compiled")

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
NEAR_LIMITS = st.builds(
    lambda bits, more: (1 << bits) + more, st.integers(0, 30), st.integers(-3, 1)
)


@pytest.mark.parametrize("by_kernels", [False, pytest.param(True, marks=native)])
@given(st.lists(INT32 | NEAR_LIMITS))
def test_unpacked_entries_equal_the_packed(by_kernels, entries):
    entries = np.array(entries, np.int32)
    sent = packed(entries, by_kernels)
    np.testing.assert_array_equal(unpacked(tf.constant(sent), by_kernels), entries)


@native
def test_frequent_words_and_ends_take_one_byte():
    assert len(packed(np.arange(-1, 126), True)) == 127
    assert len(packed(np.array([127, 16382]), True)) == 4
    assert len(packed(np.array([16383]), True)) == 3


@native
@given(st.binary())
def test_damaged_texts_are_refused_or_read(text):
    try:
        entries = unpacked(tf.constant(text), True).numpy()
    except tf.errors.InvalidArgumentError:
        return
    # a number may also be written with needless zeros
    assert len(packed(entries, True)) <= len(text)


@native
@pytest.mark.parametrize("text", [b"\x80", b"\x05\xff", b"\xff\xff\xff\xff\x1f", b"\x80" * 6])
def test_incomplete_and_large_numbers_are_refused(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not packed entries"):
        unpacked(tf.constant(text), True)
