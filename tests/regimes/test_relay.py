"""The worker that trains alone hands over if it is slow."""

import itertools

import pytest

from gensim_tfw2v.regimes import relay as relay_module
from gensim_tfw2v.regimes.relay import FIRST_JOBS, Relay

FAST, SLOW = 0.3, 3.0


@pytest.fixture
def clock(monkeypatch):
    """Clock that a test moves."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(relay_module, "time", clock)
    return clock


def run(relay, clock, speeds, n_jobs):
    """Train jobs with workers that take turns; return the number of jobs of each turn.

    `speeds` are the durations of jobs on each of the workers. Results are looked for twice per
    fast job.
    """
    turns = []
    workers = itertools.cycle(speeds)
    while n_jobs:
        relay.begin_turn()
        seconds, n_trained, must_end, job_end = next(workers), 0, False, None
        job_end = clock.now + seconds
        while n_jobs and not (must_end and n_trained):
            clock.now += FAST / 2
            is_done = clock.now >= job_end
            must_end = relay.must_hand_over([seconds] if is_done else [])
            if is_done:
                n_trained, n_jobs, job_end = n_trained + 1, n_jobs - 1, clock.now + seconds
            elif must_end:  # the worker finishes its job
                clock.now = job_end
                n_trained, n_jobs = n_trained + 1, n_jobs - 1
        turns.append(n_trained)
    return turns


def test_equal_workers_hand_over_once(clock):
    assert run(Relay(2), clock, [FAST, FAST], 20) == [FIRST_JOBS, 18]
    assert run(Relay(3), clock, [FAST] * 3, 20) == [FIRST_JOBS, 18]


def test_single_worker_never_hands_over(clock):
    assert run(Relay(1), clock, [SLOW], 20) == [20]


def test_slow_first_worker_trains_few_jobs(clock):
    assert run(Relay(2), clock, [SLOW, FAST], 20) == [FIRST_JOBS, 18]


def test_slow_second_worker_trains_few_jobs(clock):
    first, second, third = run(Relay(2), clock, [FAST, SLOW], 20)
    assert first == FIRST_JOBS and second <= 2 and third == 20 - first - second


def test_comparison_lasts_for_later_trainings(clock):
    relay = Relay(2)
    run(relay, clock, [FAST, FAST], 20)
    first, second = run(relay, clock, [SLOW, FAST], 20)
    assert first <= 2 and second == 20 - first


def test_worker_that_stops_between_jobs_is_slow(clock):
    relay = Relay(2)
    run(relay, clock, [FAST, FAST], 4)
    relay.begin_turn()
    assert not relay.must_hand_over([FAST])
    clock.now += FAST
    assert not relay.must_hand_over([])
    clock.now += 5 * FAST
    assert relay.must_hand_over([])


def test_first_job_of_a_turn_is_waited_for(clock):
    relay = Relay(2)
    run(relay, clock, [FAST, FAST], 4)
    relay.begin_turn()
    clock.now += 100
    assert not relay.must_hand_over([])


def test_noise_of_short_jobs_is_no_reason_but_their_sum_is(clock):
    relay = Relay(2)
    relay.begin_turn()
    assert relay.must_hand_over([0.01, 0.01])
    relay.begin_turn()
    assert not relay.must_hand_over([0.1, 0.1])
    assert not relay.must_hand_over([0.01, 0.01])
    assert relay.must_hand_over([0.1, 0.1, 0.1])
