"""The fastest worker trains alone, until it is slow."""

import threading
import time

import pytest

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.regimes import relay as relay_module
from gensim_tfw2v.regimes.relay import MIN_LOST_SECONDS, Relay, line_up

FAST = 0.3


class Workers:
    """Workers whose functions take a number of seconds, or fail.

    `order` lists the indices of workers by the time of their last result.
    """

    are_threads = False

    def __init__(self, *seconds):
        self.seconds = seconds
        self.number = len(seconds)
        self.order = []
        self.n_scheduled = 0

    def schedule(self, function):
        assert function is relay_module._make_probe()
        index = self.n_scheduled % self.number
        self.n_scheduled += 1

        class Job:
            @staticmethod
            def result():
                if self.seconds[index] is None:
                    raise ClusterLost("a worker is gone")
                if isinstance(self.seconds[index], threading.Event):
                    assert self.seconds[index].wait(60)
                else:
                    time.sleep(self.seconds[index])
                self.order.append(index)

        return Job()


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


@pytest.fixture
def relay(clock):
    """Relay of two workers. The first one has trained four jobs."""
    relay = Relay(Workers(0, 0))
    relay.begin_turn()
    assert not relay.must_hand_over([FAST] * 4)
    return relay


def test_line_does_not_wait_for_slow_workers():
    go = threading.Event()
    workers = Workers(go, 0.01, go)
    line_up(workers)
    assert workers.order == [1] and workers.n_scheduled == 3
    go.set()


def test_lost_workers_do_not_head_the_line():
    workers = Workers(None, 0.2)
    line_up(workers)
    assert workers.order == [1]
    line_up(Workers(None, None))  # the next function reports the loss


def test_single_worker_and_threads_never_hand_over():
    single, threads = Workers(0), Workers(0, 0)
    threads.are_threads = True
    for workers in (single, threads):
        relay = Relay(workers)
        relay.begin_turn()
        assert not relay.must_hand_over([0.1] * 4)
        assert not relay.must_hand_over([100.0])
        assert workers.n_scheduled == 0


def test_equal_jobs_are_no_reason_to_hand_over(relay, clock):
    for _ in range(20):
        clock.now += FAST
        assert not relay.must_hand_over([FAST])


def test_worker_that_becomes_slow_hands_over(relay, clock):
    assert not relay.must_hand_over([4 * FAST])
    assert not relay.must_hand_over([5 * FAST])
    assert relay.must_hand_over([12 * FAST])


def test_running_job_counts(relay, clock):
    clock.now += MIN_LOST_SECONDS
    assert not relay.must_hand_over([])
    clock.now += 10 * FAST
    assert relay.must_hand_over([])


def test_slow_next_worker_hands_over_after_its_first_result(relay, clock):
    relay.begin_turn()
    clock.now += 100  # the first job of a turn is waited for
    assert not relay.must_hand_over([])
    assert relay.must_hand_over([10 * FAST])


def test_noise_of_short_jobs_is_no_reason(clock):
    relay = Relay(Workers(0, 0))
    relay.begin_turn()
    assert not relay.must_hand_over([0.01] * 8)
    assert not relay.must_hand_over([1.0])
    assert relay.must_hand_over([1.0, 1.0])
