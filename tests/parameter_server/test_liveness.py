"""Errors of TensorFlow about lost tasks are converted to ClusterLost."""

import time
from types import SimpleNamespace

import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import MissingTasks
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import ClusterLost, Task
from gensim_tfw2v.parameter_server import liveness
from gensim_tfw2v.parameter_server.liveness import Liveness, lost_errors, shorten_reason
from gensim_tfw2v.processes import running_clock

PS = Task("ps", 0, "10.0.0.2:2222")


@pytest.fixture
def monitor(monkeypatch):
    """Monitor of two tasks."""
    monkeypatch.setattr(liveness, "ANSWER_SECONDS", 0.3)
    return Liveness([PS, Task("worker", 0, "10.0.0.3:2222")])


def lose(monitor, task):
    """Let a task be one that does not answer."""
    monitor.presence._incarnations = {task: b"1"}


@pytest.mark.parametrize("kind", sorted(lost_errors(), key=str))
def test_errors_of_lost_tasks_become_cluster_lost(monitor, kind):
    message = "Graph execution error:\n\n  the reason \n"
    event = "ran out of memory"
    if kind is not tf.errors.ResourceExhaustedError:
        event = "was lost, or lost its parameters"
    with (
        pytest.raises(ClusterLost, match=rf"^a task {event} \(the reason\)$"),
        monitor.convert_errors(),
    ):
        raise kind(None, None, message)


@pytest.mark.parametrize(
    "message",
    [
        "Unable to find the relevant tensor remote_handle: Op ID: 57, Output num: 0.",
        "Resource input tensor contains an invalid device",
        "anything else",
    ],
)
def test_any_error_after_the_loss_of_a_task_is_cluster_lost(monitor, message):
    (port,) = free_ports(1)
    ps = Task("ps", 0, f"127.0.0.1:{port}")
    lose(monitor, ps)
    with pytest.raises(ClusterLost) as raised, monitor.convert_errors():
        raise tf.errors.InvalidArgumentError(None, None, message)
    error = monitor.name_lost_tasks(raised.value)
    assert str(error) == f"{ps} was lost ({message})" and error.tasks == (ps,)
    assert monitor.name_lost_tasks(error) is error


def test_task_that_does_not_answer_is_named(monitor):
    (port,) = free_ports(1)
    ps = Task("ps", 0, f"127.0.0.1:{port}")
    lose(monitor, ps)
    with pytest.raises(ClusterLost) as raised, monitor.convert_errors():
        raise tf.errors.UnavailableError(None, None, "Socket closed")
    error = monitor.name_lost_tasks(raised.value)
    assert str(error) == f"{ps} was lost (Socket closed)" and error.tasks == (ps,)


def test_task_without_memory_is_named(monitor):
    message = (
        "OOM when allocating tensor with shape[40000,100] and type float on "
        "/job:ps/replica:0/task:0/device:CPU:0 by allocator cpu"
    )
    named = r"^ps 0 \(10\.0\.0\.2:2222\) ran out of memory \(OOM when"
    with pytest.raises(ClusterLost, match=named) as raised, monitor.convert_errors():
        raise tf.errors.ResourceExhaustedError(None, None, message)
    assert raised.value.tasks == (PS,)


def test_reason_is_one_line_of_limited_length():
    error = tf.errors.InternalError(None, None, "a graph\n" * 500 + "x" * 2500)
    reason = shorten_reason(error)
    assert reason.startswith("xxx") and len(reason) < 400
    assert shorten_reason(ValueError("two\n  lines")) == "two lines"
    assert shorten_reason(KeyError()) == "KeyError"


def test_assertion_after_a_lost_task_is_cluster_lost(monitor):
    with pytest.raises(ClusterLost, match="gone"), monitor.convert_errors():
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
def test_other_errors_are_not_converted(monitor, error):
    with pytest.raises(type(error)), monitor.convert_errors():
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


WORKERS = [Task("worker", index, f"10.0.1.{index}:2222") for index in range(2)]


@pytest.fixture
def answers(monkeypatch):
    """Two workers and a ps that train no unit, and the set of those that do not answer."""
    missing = set()

    def wait(tasks, seconds):
        if silent := [task for task in tasks if task in missing]:
            raise MissingTasks.after(seconds, silent)

    monkeypatch.setattr(liveness, "wait_for_tasks", wait)
    return Liveness([PS, *WORKERS]), missing


def test_lost_worker_does_not_end_a_training_of_others(answers, caplog):
    monitor, missing = answers
    with monitor.busy(is_training=True):
        monitor.last_progress -= 2 * liveness.PROBE_AFTER_SECONDS
        missing.add(WORKERS[1])
        for _ in range(2):
            monitor.check()
        (warning,) = caplog.messages
        assert "from worker 1 (" in warning and "remaining workers continue" in warning
        for lost in (WORKERS, [PS], [PS, WORKERS[0]]):
            missing.clear()
            missing.update(lost)
            with pytest.raises(ClusterLost, match=f"no answer .* {lost[0].role} 0 "):
                monitor.check()


def test_lost_worker_is_not_waited_for_without_end(answers):
    monitor, missing = answers
    missing.add(WORKERS[1])
    with monitor.busy(is_training=True):
        monitor.progress(1.0)
        monitor.last_progress -= liveness.GIVE_UP_SECONDS + 1
        with pytest.raises(ClusterLost, match="no answer within .* from worker 1"):
            monitor.check()


def test_running_jobs_may_take_longer_than_earlier_ones(answers, caplog):
    monitor, _ = answers
    with monitor.busy(is_training=True):
        monitor.progress(200.0)
        monitor.progress(3.0)
        monitor.last_progress -= 1900
        for _ in range(2):
            monitor.check()
        (warning,) = caplog.messages
        assert warning.startswith("no unit was trained for 19") and "at most 33 min" in warning
        monitor.last_progress -= 200
        with pytest.raises(ClusterLost, match="though all tasks answer"):
            monitor.check()


def test_first_job_may_take_hours_and_a_copy_of_rows_may_not(answers):
    monitor, _ = answers
    with monitor.busy(is_training=True):
        monitor.last_progress -= 6 * 3600
        monitor.check()
        monitor.last_progress -= liveness.FIRST_JOB_SECONDS
        with pytest.raises(ClusterLost, match="though all tasks answer"):
            monitor.check()
    with monitor.busy():
        monitor.last_progress -= liveness.GIVE_UP_SECONDS + 1
        with pytest.raises(ClusterLost, match="though all tasks answer"):
            monitor.check()


def test_time_in_which_the_process_is_stopped_is_not_silence(answers, monkeypatch):
    monitor, missing = answers
    missing.add(PS)
    times = iter([1e6, 1e6 + 3600])
    monkeypatch.setattr(running_clock, "time", SimpleNamespace(monotonic=lambda: next(times)))
    with monitor.busy():
        monitor.check()


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
    of_none.last_progress -= 2 * liveness.PROBE_AFTER_SECONDS
    with pytest.raises(ClusterLost, match="ps 0"):
        of_none.check()
    with of_none.busy():
        of_none.check()
