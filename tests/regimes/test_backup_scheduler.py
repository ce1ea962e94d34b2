"""Each work item counts once, though workers are slow, hang or fail."""

import collections
import queue
import threading
import time

import pytest

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.regimes.backup_scheduler import BackupScheduler


class Batch:
    """Records runs, accepted results and repeats; `before` may wait or raise."""

    def __init__(self, workers, before=lambda what, number: None, stands=True, is_patient=False):
        self.ran, self.taken, self.repeated = [], {}, []
        self.before = before
        self.scheduler = BackupScheduler(workers, self.run, lambda: stands, is_patient)

    def run(self, what, number):
        self.ran.append((what, number))
        self.before(what, number)
        return what * 10

    def run_batch(self, items, stop):
        """Return whether all items are done."""
        before = len(self.taken)
        for what, number, result, counts in self.scheduler.run_batch(items, stop):
            assert result == what * 10
            if counts:
                assert what not in self.taken
                self.taken[what] = number
            else:
                self.repeated.append((what, number))
        return len(self.taken) == before + len(items)


def never():
    return False


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_each_item_counts_once(workers):
    batch = Batch(workers)
    for _ in range(3):
        batch.taken.clear()
        assert batch.run_batch(range(12), never)
        assert sorted(batch.taken) == list(range(12))
    numbers = [number for _, number in batch.ran]
    assert len(set(numbers)) == len(numbers)
    assert batch.run_batch([], never)
    batch.scheduler.close()


def test_hanging_worker_does_not_delay_batches():
    go, late = threading.Event(), []

    def before(what, number):
        if not late:
            late.append((what, number))
            go.wait(60)

    batch = Batch(2, before)
    try:
        for _ in range(2):  # it still hangs in the second batch
            batch.taken.clear()
            assert batch.run_batch(range(6), never)
            assert sorted(batch.taken) == list(range(6))
        assert late[0] not in batch.taken.items()
        assert not batch.repeated
    finally:
        go.set()
    deadline = time.monotonic() + 60
    while late[0] not in batch.repeated:
        assert time.monotonic() < deadline
        batch.taken.clear()
        assert batch.run_batch(range(6), never)
        assert late[0] not in batch.taken.items()
    batch.scheduler.close()


def test_failed_item_is_retried():
    failed = []

    def before(what, number):
        if what == 2 and len(failed) < 2:
            failed.append(number)
            raise ClusterLost("a worker is gone")

    batch = Batch(1, before)
    assert batch.run_batch(range(4), never)
    assert sorted(batch.taken) == list(range(4)) and len(failed) == 2
    assert batch.taken[2] not in failed
    batch.scheduler.close()


def test_lost_ps_state_raises_cluster_lost():
    def before(what, number):
        raise ClusterLost("a ps is gone")

    batch = Batch(2, before, stands=False)
    with pytest.raises(ClusterLost, match="a ps is gone"):
        batch.run_batch(range(4), never)
    batch.scheduler.close()


def test_stop_waits_for_running_items():
    batch = Batch(1)
    asked = iter([False, False, True])
    assert not batch.run_batch(range(4), lambda: next(asked, True))
    assert sorted(batch.taken) == [what for what, _ in batch.ran] == [0, 1]
    assert not batch.run_batch([7], lambda: True)
    batch.scheduler.close()


class Workers:
    """Workers that wait for a number of seconds per item; a worker runs one item at a time."""

    def __init__(self, *seconds):
        self.free = queue.SimpleQueue()
        for one in seconds:
            self.free.put(one)

    def run(self, *_):
        seconds = self.free.get()
        time.sleep(seconds)
        self.free.put(seconds)


def seconds_of_rounds(batch, n_rounds, n_items):
    start = time.monotonic()
    for _ in range(n_rounds):
        batch.taken.clear()
        assert batch.run_batch(range(n_items), never)
    return time.monotonic() - start


@pytest.mark.parametrize("n_items", [1, 2])
def test_slow_worker_is_replaced_in_time(n_items):
    batch = Batch(2, Workers(0.02, 2.0).run, is_patient=True)
    seconds_of_rounds(batch, 4, n_items)  # while the typical duration is not known
    n_slow, seconds = 5, seconds_of_rounds(batch, 40, n_items)
    # without copies, the slow worker would take part in at least each second round
    assert seconds < n_slow * 2.0
    assert len(batch.ran) > 44 * n_items
    batch.scheduler.close()


def test_hanging_worker_is_replaced_once_the_duration_is_known():
    go = threading.Event()

    def before(what, number):
        if number == 9:
            go.wait(60)

    batch = Batch(2, before, is_patient=True)
    try:
        assert seconds_of_rounds(batch, 10, 2) < 5
        assert 9 not in batch.taken.values()
    finally:
        go.set()
    batch.scheduler.close()


def test_equal_workers_get_no_copies():
    batch = Batch(3, Workers(0.2, 0.25, 0.3).run, is_patient=True)
    seconds_of_rounds(batch, 6, 5)
    assert len(batch.ran) == 30 and not batch.repeated
    batch.scheduler.close()


def test_item_gets_one_copy_at_a_time():
    go, counts = threading.Event(), collections.Counter()

    def before(what, number):
        counts[what] += 1
        if what == 7:
            go.wait(60)

    batch = Batch(4, before, is_patient=True)
    seconds_of_rounds(batch, 8, 4)
    thread = threading.Timer(1.5, go.set)
    thread.start()
    assert batch.run_batch([6, 7], never)
    assert counts[7] == 2
    thread.join()
    batch.scheduler.close()
