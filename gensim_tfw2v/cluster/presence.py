"""Presence of trainings at the tasks of a cluster.

TensorFlow servers keep the variables of a killed program, and some threads of every program. So a
task restarts itself when the last training has left. A training is present as long as a call from
it to the task runs; the call never returns, and holds a mutex on the task. In whatever way the
training's process ends, its connections close. The server then cancels the call, which releases the
mutex.
"""

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.sessions import graph_of, session
from gensim_tfw2v.cluster.spec import Task

logger = logging.getLogger(__name__)

#: Name of a task's queue in which trainings announce themselves by name.
ARRIVALS = "tfw2v-arrivals"

#: Seconds between two checks that a call still runs, while its announcement is awaited.
ANNOUNCED_SECONDS = 5.0

#: Seconds from the failure of a call to a task until the next call.
AGAIN_SECONDS = 2.0


def hold_presence(tasks: Sequence[Task], seconds: float) -> list[Task]:
    """Mark this process as present at tasks until it ends, even if tasks restart meanwhile.

    Returns
    -------
    list of Task
        Tasks that could not be reached within `seconds`.
    """
    name = f"tfw2v-training-{uuid.uuid4().hex}"
    arrived = {task: threading.Event() for task in tasks}
    for task, event in arrived.items():
        threading.Thread(target=_hold_presence_at, args=(task, name, event), daemon=True).start()
    deadline = time.monotonic() + seconds
    return [
        task
        for task, event in arrived.items()
        if not event.wait(max(0.0, deadline - time.monotonic()))
    ]


def _hold_presence_at(task: Task, name: str, arrived: threading.Event) -> None:
    # `staying` locks a mutex, announces the training to the task and then to itself, and waits
    # forever for an element of an empty queue; `is_here` waits for the announcement
    with graph_of(task) as graph:
        arrival_queue = _queue(f"{name}-here")
        lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
        with tf.control_dependencies([lock]):
            announced = _put(_queue(ARRIVALS), name)
        with tf.control_dependencies([announced]):
            arrival = _put(arrival_queue, name)
        with tf.control_dependencies([arrival]):
            never = _take(_queue(f"{name}-never"))
        with tf.control_dependencies([never]):
            staying = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
        is_here = _take(arrival_queue)
    while True:
        with _log_errors(task), session([task], graph) as run:
            call = threading.Thread(target=_log_errors(task)(run), args=(staying,), daemon=True)
            call.start()
            while call.is_alive():  # if it has ended, no announcement will come
                with contextlib.suppress(tf.errors.DeadlineExceededError):
                    run(is_here, seconds=ANNOUNCED_SECONDS)
                    arrived.set()
                    call.join()
        time.sleep(AGAIN_SECONDS)


@contextlib.contextmanager
def _log_errors(task: Task) -> Iterator[None]:
    """Log and ignore the error of a call to a task, which has probably ended."""
    try:
        yield
    except tf.errors.OpError as error:
        logger.info("%s: lost, trying to reconnect: %s", task, error.message)


def wait_for_trainings(target: str, task: Task, grace_seconds: float) -> None:
    """Wait, in a task, until at least one training has come and all have left.

    Parameters
    ----------
    target : str
        Target of the task's server.
    task : Task
    grace_seconds : float
        Seconds that the next training has to come after one has left.
    """
    with graph_of(task) as graph:
        arrivals = _queue(ARRIVALS)
        next_name = _take(arrivals)
        n_waiting = tf.raw_ops.QueueSizeV2(handle=arrivals)
        close = tf.raw_ops.QueueCloseV2(handle=arrivals)
    # errors of a closed queue: OutOfRange from dequeuing, Cancelled from closing it again
    queue_is_closed = contextlib.suppress(tf.errors.OutOfRangeError, tf.errors.CancelledError)
    with session([task], graph, target) as run, queue_is_closed:
        while True:
            name = run(next_name).decode()
            with graph_of(task) as lock_graph:  # the mutex is free when the training has left
                lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
                lock_and_unlock = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
            with session([task], lock_graph, target) as run_lock:
                run_lock(lock_and_unlock)
            time.sleep(grace_seconds)
            if not run(n_waiting):
                run(close)  # later trainings are refused, and retry until this task has restarted


def _mutex(name: str) -> Any:
    return tf.raw_ops.MutexV2(shared_name=name, container="")


def _queue(name: str) -> Any:
    return tf.raw_ops.FIFOQueueV2(component_types=[tf.string], shapes=[[]], shared_name=name)


def _put(queue: Any, name: str) -> Any:
    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.constant(name)])


def _take(queue: Any) -> Any:
    return tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.string])[0]
