"""Which rows of a step are the same row of a table."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.updates import group_rows


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(
        np.int32, st.tuples(st.integers(0, 6), st.just(3), st.just(4)), elements=st.integers(0, 63)
    ),
    st.sampled_from([6, 7, 9]),
)
def test_groups_bring_equal_ids_together(ids, id_bits):
    groups, distinct = group_rows(tf.constant(ids), id_bits, max_steps=8, max_rows=12)
    for step, blocks in enumerate(ids):
        (rank, segment, place, span) = tf.nest.map_structure(lambda x, s=step: x[s], groups)
        row = blocks.ravel()
        expected, counts = np.unique(row, return_counts=True)
        np.testing.assert_array_equal(span.of(distinct), expected)
        np.testing.assert_array_equal(segment, np.repeat(np.arange(len(counts)), counts))
        np.testing.assert_array_equal(
            rank, np.argsort(np.argsort(row, kind="stable")).reshape(3, 4)
        )
        np.testing.assert_array_equal(expected[place.numpy()], blocks)


def test_one_id_bit_is_enough_for_two_rows():
    _, distinct = group_rows(tf.constant([[[1, 0, 1, 1]]]), 1, max_steps=1, max_rows=4)
    np.testing.assert_array_equal(distinct, [0, 1])
