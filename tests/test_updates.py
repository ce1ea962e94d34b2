"""Summing, clipping and adding row updates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.updates import add_updates, clip_rows, group_rows


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(np.int32, st.tuples(st.integers(0, 6), st.just(9)), elements=st.integers(0, 63)),
    st.sampled_from([6, 7, 9]),
)
def test_groups_bring_equal_ids_together(ids, id_bits):
    groups = [g.numpy() for g in group_rows(tf.constant(ids), id_bits, max_steps=8)]
    rank, segment, place, distinct, splits = groups
    for step, row in enumerate(ids):
        expected, counts = np.unique(row, return_counts=True)
        np.testing.assert_array_equal(distinct[splits[step] : splits[step + 1]], expected)
        np.testing.assert_array_equal(segment[step], np.repeat(np.arange(len(counts)), counts))
        np.testing.assert_array_equal(np.sort(rank[step]), np.arange(9))
        np.testing.assert_array_equal(rank[step], np.argsort(np.argsort(row, kind="stable")))
        np.testing.assert_array_equal(expected[place[step]], row)


def test_one_id_bit_is_enough_for_two_rows():
    groups = group_rows(tf.constant([[1, 0, 1, 1]]), 1, max_steps=1)
    np.testing.assert_array_equal(groups.distinct, [0, 1])


def test_duplicates_are_summed_then_clipped():
    table = tf.Variable(np.zeros((5, 3), np.float32))
    ids = tf.constant([[0, 0, 0, 0], [4, 2, 4, 2]])
    groups = group_rows(ids, 3, max_steps=2)
    updates = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3) / 10)
    parts = [updates[None, :1], updates[None, 1:]]  # in two parts of one block
    magnitude = add_updates(table, groups, tf.constant(1), parts, max_norm=1.5)
    expected = np.zeros((5, 3))
    expected[4] = (updates[0] + updates[2]).numpy()
    expected[2] = (updates[1] + updates[3]).numpy()
    norms = np.linalg.norm(expected, axis=1)
    assert float(magnitude) == pytest.approx((norms**2).sum())
    expected[4] /= max(1.0, norms[4] / 1.5)
    expected[2] /= max(1.0, norms[2] / 1.5)
    assert norms[4] < 1.5 < norms[2]
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_non_finite_update_shows_in_the_magnitude(bad):
    table = tf.Variable(np.zeros((2, 3), np.float32))
    groups = group_rows(tf.constant([[0, 1]]), 1, max_steps=1)
    updates = np.zeros((2, 3), np.float32)
    updates[1, 2] = bad
    assert not np.isfinite(
        add_updates(table, groups, tf.constant(0), [tf.constant(updates[None])], 0.5)
    )


def test_short_rows_are_not_clipped():
    rows = tf.constant([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]])
    norms = tf.reduce_sum(rows**2, 1, keepdims=True)
    np.testing.assert_allclose(
        clip_rows(rows, norms, 0.6), [[0.3, 0.4], [0.36, 0.48], [0, 0]], rtol=1e-5
    )
