"""Row updates of a step: duplicates are grouped, summed, clipped and added to a table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import Slices
from gensim_tfw2v.graph.updates import (
    EPSILON,
    RowGroups,
    adagrad,
    add_rows,
    clip_changes,
    group_rows,
    sum_rows,
)


@settings(max_examples=50)
@given(
    hnp.arrays(
        np.int32, st.tuples(st.integers(0, 6), st.just(3), st.just(4)), elements=st.integers(0, 63)
    ),
    st.sampled_from([6, 7, 9]),
)
def test_group_rows_finds_equal_ids(ids, id_bits):
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


def test_ids_of_two_rows_need_only_one_bit():
    _, distinct = group_rows(tf.constant([[[1, 0, 1, 1]]]), 1, max_steps=1, max_rows=4)
    np.testing.assert_array_equal(distinct, [0, 1])


def step_of(groups: RowGroups, distinct: tf.Tensor, step: int) -> tuple[RowGroups, tf.Tensor]:
    """The groups and the distinct ids of one step."""
    one = tf.nest.map_structure(lambda part: part[step], groups)
    return one, one.distinct.of(distinct)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_duplicates_are_summed_then_clipped(alpha):
    table = tf.Variable(np.zeros((5, 3), np.float32))
    ids = tf.constant([[[0, 0, 0, 0]], [[4, 2, 4, 2]]])
    groups, distinct = step_of(*group_rows(ids, 3, max_steps=2, max_rows=4), 1)
    updates = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3) / alpha / 10)
    parts = [Slices([updates[None, :1]]), Slices([updates[None, 1:]])]  # in two parts of one block
    changes, magnitude = clip_changes(sum_rows(groups, parts), alpha, max_norm=1.5)
    add_rows(table.handle, distinct, changes.parts[0])
    expected = np.zeros((5, 3))
    expected[4] = alpha * (updates[0] + updates[2]).numpy()
    expected[2] = alpha * (updates[1] + updates[3]).numpy()
    norms = np.linalg.norm(expected, axis=1)
    assert float(magnitude) == pytest.approx(norms.sum(), rel=1e-5)
    expected[4] /= max(1.0, norms[4] / 1.5)
    expected[2] /= max(1.0, norms[2] / 1.5)
    assert norms[4] < 1.5 < norms[2]
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_nonfinite_update_gives_nonfinite_magnitude(bad):
    groups, distinct = step_of(*group_rows(tf.constant([[[0, 1]]]), 1, max_steps=1, max_rows=2), 0)
    updates = np.zeros((1, 2, 3), np.float32)
    updates[0, 1, 2] = bad
    sums = sum_rows(groups, [Slices([tf.constant(updates)])])
    assert not np.isfinite(clip_changes(sums, 0.1, 0.5)[1])


def test_updates_are_scaled_by_the_learning_rate_and_clipped():
    rows = tf.constant([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(
        clip_changes(Slices([rows]), 0.5, 0.6)[0].parts[0],
        [[0.15, 0.2], [0.36, 0.48], [0, 0]],
        rtol=1e-5,
    )


def test_adagrad_scales_each_row_by_its_squared_gradients():
    rng = np.random.default_rng(1)
    rows, squares = np.zeros((4, 3)), np.zeros((4, 1))
    table, summed = (tf.Variable(x.astype(np.float32)) for x in (rows, squares))
    for _ in range(5):
        ids = rng.choice(4, 2, replace=False)
        sums = rng.normal(0, [[0.01], [3.0]], (2, 3))
        so_far = tf.gather(summed, ids)
        rows_given = Slices([tf.constant(sums, tf.float32)])
        sizes, growth = adagrad(rows_given, so_far, 0.2)
        changes, _ = clip_changes(rows_given, sizes, max_norm=0.25)
        ids_given = tf.constant(ids, tf.int32)
        add_rows(table.handle, ids_given, changes.parts[0])
        add_rows(summed.handle, ids_given, growth)
        for row, update in zip(ids, sums, strict=True):
            squares[row] += sum(x**2 for x in update) / 3
            change = 0.2 * update / np.sqrt(squares[row] + EPSILON)
            rows[row] += change * min(1.0, 0.25 / np.linalg.norm(change))
    np.testing.assert_allclose(table.numpy(), rows, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(summed.numpy(), squares, rtol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_nonfinite_update_with_adagrad_gives_nonfinite_magnitude(bad):
    sums = Slices([tf.constant([[1.0, 0.0], [bad, 0.0]])])
    sizes, _ = adagrad(sums, tf.zeros([2, 1]), 0.1)
    assert not np.isfinite(clip_changes(sums, sizes, 0.5)[1])
