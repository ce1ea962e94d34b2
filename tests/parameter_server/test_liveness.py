"""Errors of TensorFlow about lost tasks are converted to ClusterLost."""

import time

import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import ClusterLost, Task
from gensim_tfw2v.parameter_server import liveness
from gensim_tfw2v.parameter_server.liveness import Liveness, convert_task_errors, lost_errors


@pytest.mark.parametrize("kind", lost_errors())
def test_errors_of_lost_tasks_become_cluster_lost(kind):
    message = "Graph execution error:\n\n  the reason \n"
    with (
        pytest.raises(ClusterLost, match=r"lost its parameters \(the reason\)"),
        convert_task_errors(),
    ):
        raise kind(None, None, message)


def test_task_that_lost_its_tensors_is_cluster_lost():
    message = "Unable to find the relevant tensor remote_handle: Op ID: 57, Output num: 0."
    with pytest.raises(ClusterLost, match="Op ID: 57"), convert_task_errors():
        raise tf.errors.InvalidArgumentError(None, None, message)


def test_assertion_after_a_lost_task_is_cluster_lost():
    with pytest.raises(ClusterLost, match="gone"), convert_task_errors():
        try:
            raise tf.errors.UnavailableError(None, None, "gone")
        except tf.errors.UnavailableError:
            raise AssertionError("There is no inflight closures to put_back.")  # noqa: B904


@pytest.mark.parametrize(
    "error",
    [
        AssertionError("own"),
        tf.errors.InternalError(None, None, "x"),
        tf.errors.InvalidArgumentError(None, None, "x"),
    ],
)
def test_other_errors_are_not_converted(error):
    with pytest.raises(type(error)), convert_task_errors():
        raise error


def test_silent_task_is_probed_and_reported(monkeypatch):
    monkeypatch.setattr(liveness, "ANSWER_SECONDS", 0.3)
    (port,) = free_ports(1)
    of_none = Liveness([Task("ps", 0, f"127.0.0.1:{port}")])
    of_none.check()
    monkeypatch.setattr(liveness, "PROBE_AFTER_SECONDS", 0.0)
    with pytest.raises(ClusterLost, match="no unit was trained .* ps 0"):
        of_none.check()
    assert not of_none.intact([])


def test_stalled_training_is_lost_though_tasks_answer(monkeypatch):
    monkeypatch.setattr(liveness, "PROBE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(liveness, "GIVE_UP_SECONDS", 0.0)
    with pytest.raises(ClusterLost, match="though all tasks answer"):
        Liveness([]).check()


def test_tasks_are_watched_only_while_busy(monkeypatch):
    for name in ("PROBE_AFTER_SECONDS", "PAUSE_SECONDS", "ANSWER_SECONDS"):
        monkeypatch.setattr(liveness, name, 0.05)
    lost, of_none = [], Liveness([Task("ps", 0, f"127.0.0.1:{free_ports(1)[0]}")])
    of_none.watch(lost.append)
    time.sleep(0.5)
    assert not lost
    with of_none.busy():
        deadline = time.monotonic() + 20
        while not lost and time.monotonic() < deadline:
            time.sleep(0.05)
    (error,) = lost
    assert isinstance(error, ClusterLost) and "from ps 0" in str(error)


def test_time_between_calls_is_not_silence(monkeypatch):
    monkeypatch.setattr(liveness, "ANSWER_SECONDS", 0.05)
    of_none = Liveness([Task("ps", 0, f"127.0.0.1:{free_ports(1)[0]}")])
    of_none._last -= 2 * liveness.PROBE_AFTER_SECONDS
    with pytest.raises(ClusterLost, match="ps 0"):
        of_none.check()
    with of_none.busy():
        of_none.check()
