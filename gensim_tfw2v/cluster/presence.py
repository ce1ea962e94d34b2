"""Presence of training runs at the tasks of a cluster.

TensorFlow servers keep the variables of a killed program, and some threads of every program. So a
task restarts itself when the last training run has left.

To detect that, each training run calls an operation on the task that locks a mutex there and never
returns. In whatever way the training process exits, its connections close. The server then cancels
the call, which unlocks the mutex.
"""

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.incarnations import read_incarnations
from gensim_tfw2v.cluster.sessions import graph_of, session
from gensim_tfw2v.cluster.spec import Task

logger = logging.getLogger(__name__)

#: Name of a task's queue in which training runs announce themselves by name.
ARRIVALS = "tfw2v-arrivals"

#: While a training run waits for its own announcement: seconds between two checks whether the call
#: that will announce it is still running.
ANNOUNCEMENT_SECONDS = 5.0

#: Seconds from the failure of a call to a task until the call is repeated.
RETRY_SECONDS = 2.0


class Presence:
    """Mark of this process at the tasks of a cluster, from `begin` until the process exits.

    The mark is renewed after each loss of a task.

    Parameters
    ----------
    tasks : sequence of Task
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._arrivals = {task: threading.Event() for task in tasks}
        self._incarnations: dict[Task, bytes] = {}

    def begin(self, seconds: float) -> list[Task]:
        """Mark this process as present.

        Returns
        -------
        list of Task
            Tasks that could not be reached within `seconds`.
        """
        name = f"tfw2v-training-{uuid.uuid4().hex}"
        for task in self._arrivals:
            threading.Thread(target=self._stay_at, args=(task, name), daemon=True).start()
        deadline = time.monotonic() + seconds
        missing = [
            task
            for task, arrival in self._arrivals.items()
            if not arrival.wait(max(0.0, deadline - time.monotonic()))
        ]
        if not missing:
            self._incarnations = read_incarnations(list(self._arrivals), seconds)
            missing = [task for task in self._arrivals if task not in self._incarnations]
        return missing

    def lost_tasks(self, seconds: float) -> list[Task]:
        """Return the tasks that have restarted since `begin`, or do not answer within `seconds`.

        What this process had sent to them is gone.
        """
        incarnations = read_incarnations(list(self._incarnations), seconds)
        return [
            task
            for task, incarnation in self._incarnations.items()
            if incarnations.get(task) != incarnation
        ]

    def _stay_at(self, task: Task, name: str) -> None:
        """Mark this process as present at a task, again after each loss of the task; never return.

        Set the event in `_arrivals` when the process is present.
        """
        # `stay` locks a mutex, announces the training to the task and then to this process, and
        # waits forever for an element of an empty queue. `await_arrival` waits for the second
        # announcement.
        with graph_of(task) as graph:
            arrival_queue = _queue(f"{name}-here")
            lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
            with tf.control_dependencies([lock]):
                tell_task = _put(_queue(ARRIVALS), name)
            with tf.control_dependencies([tell_task]):
                tell_process = _put(arrival_queue, name)
            with tf.control_dependencies([tell_process]):
                wait_forever = _take(_queue(f"{name}-never"))
            with tf.control_dependencies([wait_forever]):
                stay = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
            await_arrival = _take(arrival_queue)
        while True:
            with _log_errors(task), session([task], graph) as run:
                call = threading.Thread(target=_log_errors(task)(run), args=(stay,), daemon=True)
                call.start()
                while call.is_alive():  # a call that has failed will not announce this process
                    with contextlib.suppress(tf.errors.DeadlineExceededError):
                        run(await_arrival, seconds=ANNOUNCEMENT_SECONDS)
                        self._arrivals[task].set()
                        call.join()
            time.sleep(RETRY_SECONDS)


@contextlib.contextmanager
def _log_errors(task: Task) -> Iterator[None]:
    """Log and ignore an error of a call to a task: the task has probably exited."""
    try:
        yield
    except tf.errors.OpError as error:
        logger.info("%s: lost, trying to reconnect: %s", task, error.message)


def wait_for_trainings(target: str, task: Task, grace_seconds: float) -> None:
    """Wait, in a task's process, until at least one training run has come and all have left.

    Parameters
    ----------
    target : str
        Target of the task's server.
    task : Task
    grace_seconds : float
        Seconds that the next training run has to come after one has left.
    """
    with graph_of(task) as graph:
        arrivals = _queue(ARRIVALS)
        next_name = _take(arrivals)
        n_waiting = tf.raw_ops.QueueSizeV2(handle=arrivals)
        close = tf.raw_ops.QueueCloseV2(handle=arrivals)
    # A closed queue raises OutOfRange when an element is taken, and Cancelled when it is closed
    # again.
    ignore_closed_queue = contextlib.suppress(tf.errors.OutOfRangeError, tf.errors.CancelledError)
    with session([task], graph, target) as run, ignore_closed_queue:
        while True:
            name = run(next_name).decode()
            # Locking the training's mutex waits until the training has left.
            with graph_of(task) as lock_graph:
                lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
                lock_and_unlock = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
            with session([task], lock_graph, target) as run_lock:
                run_lock(lock_and_unlock)
            time.sleep(grace_seconds)
            if not run(n_waiting):
                # training runs that come now fail, and retry until this task has restarted
                run(close)


def _mutex(name: str) -> Any:
    return tf.raw_ops.MutexV2(shared_name=name, container="")


def _queue(name: str) -> Any:
    return tf.raw_ops.FIFOQueueV2(component_types=[tf.string], shapes=[[]], shared_name=name)


def _put(queue: Any, name: str) -> Any:
    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.constant(name)])


def _take(queue: Any) -> Any:
    return tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.string])[0]
