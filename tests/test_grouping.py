"""Which rows of a step are the same row of a table."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.grouping import group_entries, group_rows, sort_rows


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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=9), min_size=1, max_size=6))
def test_entries_of_steps_of_any_length(ids):
    lengths = [len(step) for step in ids]
    slots = [np.arange(n) * 3 + 1 for n in lengths]
    groups, distinct = group_entries(
        tf.constant(np.concatenate([*ids, []]), tf.int32),
        tf.constant(np.repeat(np.arange(len(ids)), lengths), tf.int32),
        tf.constant(np.concatenate(slots), tf.int32),
        tf.constant(np.cumsum(lengths), tf.int32),
        id_bits=5,
        max_steps=6,
        max_slots=32,
    )
    begin = 0
    for step, (row, places) in enumerate(zip(ids, slots, strict=True)):
        span = tf.nest.map_structure(lambda x, s=step: x[s], groups.distinct)
        here = slice(begin, begin + len(row))
        order = np.argsort(row, kind="stable")
        expected, counts = np.unique(np.array(row, int), return_counts=True)
        np.testing.assert_array_equal(span.of(distinct), expected)
        np.testing.assert_array_equal(groups.slot[here], places[order])
        np.testing.assert_array_equal(
            groups.segment[here], np.repeat(np.arange(len(counts)), counts)
        )
        begin += len(row)


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(np.int32, st.tuples(st.integers(0, 6), st.just(10)), elements=st.integers(0, 100))
)
def test_rows_in_the_order_of_a_key(keys):
    order, place, in_order = sort_rows(tf.constant(keys), key_bits=7, max_steps=6, max_rows=10)
    np.testing.assert_array_equal(order, np.argsort(keys, 1, kind="stable"))
    np.testing.assert_array_equal(place, np.argsort(order, 1))
    np.testing.assert_array_equal(in_order, np.sort(keys, 1))
