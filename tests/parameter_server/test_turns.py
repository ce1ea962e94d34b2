"""Turns: every unit is handed out, first many at a time, in the end few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.jobs.job import job_signature, packed_size
from gensim_tfw2v.parameter_server.turns import (
    FEW_WORKERS,
    TURN_ENTRIES,
    Turns,
    in_turn,
    most_in_turn,
    runs_of,
)


@given(
    st.integers(0, 500),
    st.integers(0, 20),
    st.integers(1, 4),
    st.integers(1, 8),
    st.integers(1, 30),
)
def test_every_unit_is_handed_out_once(number, first, threads, workers, most):
    turns, taken = Turns(range(first, first + number), threads, workers, most), []
    while (places := turns.take()) is not None:
        taken.append(places)
    assert [place for places in taken for place in places] == list(range(first, first + number))
    lengths = [-(-len(places) // threads) for places in taken]
    assert all(1 <= length <= most for length in lengths)
    # what one is handed is never more than half of what each of the others could be
    left = -(-number // threads)
    for length in lengths:
        assert length == 1 or length <= left / (2 * workers)
        left -= length


def test_what_was_lost_comes_last():
    turns = Turns(range(9), 2, 1, 2)
    turns.again(turns.take())  # of two jobs
    assert [turns.take() for _ in range(6)] == [
        range(4, 6), range(6, 8), range(8, 9), range(0, 2), range(2, 4), None,
    ]  # fmt: skip


def test_jobs_of_a_turn():
    assert runs_of(range(3, 10), 3) == [range(3, 6), range(6, 9), range(9, 10)]
    assert runs_of(range(0), 3) == []


def test_long_jobs_are_handed_out_one_by_one():
    many = FEW_WORKERS + 1
    assert most_in_turn(TURN_ENTRIES, many) == most_in_turn(10 * TURN_ENTRIES, many) == 1
    assert most_in_turn(TURN_ENTRIES // 2, many) == 2
    assert most_in_turn(1, many) == TURN_ENTRIES
    assert most_in_turn(1, FEW_WORKERS) == 1


@pytest.mark.parametrize(("most", "jobs"), [(1, 1), (5, 1), (5, 4)])
def test_jobs_are_trained_in_turn(most, jobs):
    done = tf.Variable([0], shape=[None], dtype=tf.int64)

    @tf.function(autograph=False, input_signature=job_signature(2))
    def job(sources, ranges, indices, keys, alphas, replicas, number):
        with tf.control_dependencies([done.assign(tf.concat([done, [number]], 0))]):
            sums = tf.cast(tf.stack([number, tf.size(done.read_value(), tf.int64)]), tf.float64)
            return tf.concat([sums, tf.zeros([packed_size(2) - 2], tf.float64)], 0)

    given = [np.zeros([jobs, *spec.shape], spec.dtype.as_numpy_dtype) for spec in job_signature(2)]
    given[0] = np.full([jobs, 2], b"", object)
    given[-1] = np.arange(7, 7 + jobs)
    result = in_turn(job, 2, most)(*map(tf.constant, given)).numpy()
    assert result.shape == (jobs, packed_size(2))
    np.testing.assert_array_equal(done[1:], given[-1])
    np.testing.assert_array_equal(result[:, 0], given[-1])
    np.testing.assert_array_equal(result[:, 1], np.arange(2, 2 + jobs))
