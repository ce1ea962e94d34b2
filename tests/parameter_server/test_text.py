"""Entries arrive at a worker as they were sent, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.engines.tensorflow import TensorFlowEngine
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.texts import pack, unpack

native = pytest.mark.skipif(load_ops() is None, reason="kernels were not compiled")

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
NEAR_LIMITS = st.builds(
    lambda bits, more: (1 << bits) + more, st.integers(0, 30), st.integers(-3, 1)
)


@pytest.mark.parametrize(
    "engine", [TensorFlowEngine(None), pytest.param(CompiledEngine(None, 10), marks=native)]
)
@given(st.lists(INT32 | NEAR_LIMITS))
def test_unpacked_entries_equal_the_packed(engine, entries):
    entries = np.array(entries, np.int32)
    sent = engine.pack(entries)
    np.testing.assert_array_equal(engine.unpack(tf.constant(sent)), entries)


@native
def test_frequent_words_and_ends_take_one_byte():
    assert len(pack(np.arange(-1, 126))) == 127
    assert len(pack(np.array([127, 16382]))) == 4
    assert len(pack(np.array([16383]))) == 3


@native
@given(st.binary())
def test_damaged_texts_are_refused_or_read(text):
    try:
        entries = unpack(tf.constant(text)).numpy()
    except tf.errors.InvalidArgumentError:
        return
    # a number may also be written with needless zeros
    assert len(pack(entries)) <= len(text)


@native
@pytest.mark.parametrize("text", [b"\x80", b"\x05\xff", b"\xff\xff\xff\xff\x1f", b"\x80" * 6])
def test_incomplete_and_large_numbers_are_refused(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not packed entries"):
        unpack(tf.constant(text))
