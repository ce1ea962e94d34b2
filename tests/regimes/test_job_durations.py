"""Jobs are late after a multiple of the typical duration, whatever a slow worker contributes."""

import pytest

from gensim_tfw2v.parameter_server.liveness import PROBE_AFTER_SECONDS
from gensim_tfw2v.regimes.job_durations import (
    LATE_TIMES,
    MAX_DELAY_SECONDS,
    MIN_DELAY_SECONDS,
    RECENT_JOBS,
    JobDurations,
)


def durations_of(*seconds, n_workers=2):
    durations = JobDurations(n_workers)
    for one in seconds:
        durations.add(one)
    return durations


def test_first_job_is_late_only_if_it_hangs():
    assert durations_of().late_seconds() == MAX_DELAY_SECONDS
    # a copy can finish before the tasks are probed
    assert MAX_DELAY_SECONDS <= PROBE_AFTER_SECONDS / 2


def test_first_jobs_may_take_as_long_as_the_longest():
    for n_jobs in range(1, 4):  # both workers still load the function
        first = durations_of(2.0, *[0.1] * (n_jobs - 1))
        assert first.late_seconds() == pytest.approx(2 * LATE_TIMES)
    assert durations_of(2.0, *[0.1] * 3).late_seconds() < 1


@pytest.mark.parametrize(
    ("typical", "expected"),
    [
        (0.01, 0.01 + MIN_DELAY_SECONDS),
        (0.05, 0.05 + MIN_DELAY_SECONDS),
        (1.0, LATE_TIMES),
        (5.0, 5 * LATE_TIMES),
        (100.0, 100 + MAX_DELAY_SECONDS),
    ],
)
def test_late_duration_is_a_multiple_within_limits(typical, expected):
    assert durations_of(*[typical] * 8).late_seconds() == pytest.approx(expected)


@pytest.mark.parametrize("n_workers", [2, 4, 16])
def test_half_of_slow_jobs_do_not_change_it(n_workers):
    mixed = durations_of(*[1.0, 10.0] * 8 * n_workers, n_workers=n_workers)
    assert mixed.late_seconds() == pytest.approx(LATE_TIMES)


def test_first_jobs_that_load_the_function_do_not_change_it():
    assert durations_of(9.0, 8.0, 1.0, 1.0).late_seconds() == pytest.approx(LATE_TIMES)


def test_longer_jobs_replace_shorter_ones():
    growing = durations_of(*[1.0] * 2 * RECENT_JOBS, *[4.0] * 2 * RECENT_JOBS)
    assert growing.late_seconds() == pytest.approx(4 * LATE_TIMES)


def test_batch_of_longer_jobs_is_compared_with_itself():
    recent = durations_of(*[1.0] * 16)
    assert recent.late_seconds([4.0], 3) == pytest.approx(LATE_TIMES)
    assert recent.late_seconds([4.0, 5.0], 3) == pytest.approx(4 * LATE_TIMES)
    assert recent.late_seconds([0.5, 0.5], 3) == pytest.approx(LATE_TIMES)
    # also where the typical duration is still unknown
    assert durations_of().late_seconds([4.0, 5.0], 3) == pytest.approx(4 * LATE_TIMES)
    assert durations_of().late_seconds([], 0) == MAX_DELAY_SECONDS
