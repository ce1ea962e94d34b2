"""Initial rows equal those that gensim draws, in any ranges, and on shards."""

import numpy as np
import pytest
from gensim.models.keyedvectors import prep_vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.initial_rows import InitialRows, initial_block
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.parameter_server.rows import RowLayout
from gensim_tfw2v.parameter_server.shard_ops import CompiledShardOps


@settings(max_examples=50)
@given(st.integers(0, 2**64), st.integers(1, 9), st.integers(0, 30), st.integers(0, 30))
def test_any_range_equals_gensims_rows(seed, size, first, n_rows):
    expected = prep_vectors((60, size), seed=seed)
    rows = InitialRows(60, size, seed).draw(first, first + n_rows)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, expected[first : first + n_rows])


def test_seed_may_be_a_sequence():
    expected = prep_vectors((5, 4), seed=[3, 9])
    np.testing.assert_array_equal(InitialRows(5, 4, [3, 9]).draw(0, 5), expected)


@settings(max_examples=50)
@given(st.integers(0, 12), st.integers(0, 12))
def test_block_has_the_rows_of_words_then_those_of_tags_then_zeros(first, n_rows):
    initial = InitialRows(5, 3, 1), InitialRows(4, 3, 2)
    expected = np.zeros((24, 3), np.float32)
    expected[:5] = prep_vectors((5, 3), seed=1)
    expected[5:9] = prep_vectors((4, 3), seed=2)
    block = initial_block(initial, slice(first, first + n_rows), 3)
    np.testing.assert_array_equal(block, expected[first : first + n_rows])


@pytest.mark.skipif(load_ops() is None, reason="the compiled ops are missing")
@settings(max_examples=60, deadline=None)
@given(
    n_shards=st.integers(1, 5),
    size=st.integers(1, 7),
    n_words=st.integers(0, 20),
    n_tags=st.integers(0, 20),
    data=st.data(),
)
def test_shards_draw_their_rows_and_receive_only_those_that_differ(
    n_shards, size, n_words, n_tags, data
):
    initial = InitialRows(n_words, size, 7), InitialRows(n_tags, size, 8)
    n_rows = n_words + n_tags + 3
    array = initial_block(initial, slice(0, n_rows), size)
    changed = data.draw(st.lists(st.integers(0, n_rows - 1), unique=True))
    array[changed] += 1
    layout = RowLayout(n_rows, size, n_shards, RecordingOps())
    layout.load(array, initial)
    exported = np.full_like(array, np.nan)
    layout.export(exported)
    np.testing.assert_array_equal(exported, array)
    assert layout.shard_ops.n_written == len(changed)


class RecordingOps(CompiledShardOps):
    """Ops that count the rows that are sent."""

    n_written = 0

    def write(self, shard, rows, values):
        self.n_written += len(rows)
        super().write(shard, rows, values)
