"""Which trainings use a task, so that it can free what they leave behind.

TensorFlow's servers keep the variables of a program that was killed, and some threads of every
program. So a task starts anew when the last training has left it.

A training is present by a call to each task that never returns and holds a mutex there. However
the training's process ends, its connections end with it: the server cancels the call, which
releases the mutex.
"""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.cluster.versions import device_of, session

#: The queue of a task in which trainings announce themselves by their names.
ARRIVALS = "tfw2v-arrivals"

#: Milliseconds that a call may last: 31 years, for 300 would overflow gRPC's nanoseconds.
FOREVER = 10**12

#: Seconds between two attempts to call a task that has ended.
AGAIN_SECONDS = 2.0


def stay_with(tasks: Sequence[Task], seconds: float) -> list[Task]:
    """Be present at tasks as long as this process lasts, also at those that start anew.

    Returns
    -------
    list of Task
        Those that could not be told within so many seconds.
    """
    name = f"tfw2v-training-{uuid.uuid4().hex}"
    arrived = {task: threading.Event() for task in tasks}
    for task, event in arrived.items():
        threading.Thread(
            target=_stay, args=(task, name, event), name=f"tfw2v-present-{task}", daemon=True
        ).start()
    deadline = time.monotonic() + seconds
    return [
        task
        for task, event in arrived.items()
        if not event.wait(max(0.0, deadline - time.monotonic()))
    ]


def _stay(task: Task, name: str, arrived: threading.Event) -> None:
    from gensim_tfw2v._tensorflow import tf

    with _graph_of(task) as graph:
        here = _queue(f"{name}-here")
        lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
        with tf.control_dependencies([lock]):
            announced = _put(_queue(ARRIVALS), name), _put(here, name)
        with tf.control_dependencies(announced):
            never = _take(_queue(f"{name}-never"))
        with tf.control_dependencies([never]):
            staying = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
        is_here = _take(here)
    while True:
        with contextlib.suppress(tf.errors.OpError), _running(task, graph) as run:

            def stay() -> None:
                with contextlib.suppress(tf.errors.OpError):  # the task has ended
                    run(staying)  # noqa: B023

            call = threading.Thread(target=stay, daemon=True)
            call.start()
            run(is_here)
            arrived.set()
            call.join()
        time.sleep(AGAIN_SECONDS)


def wait_for_trainings(target: str, task: Task, grace_seconds: float) -> None:
    """Wait, in a task, until trainings have come and all have left.

    Parameters
    ----------
    target : str
        Of the task's server.
    task : Task
    grace_seconds : float
        How long the next one has to come.
    """
    from gensim_tfw2v._tensorflow import tf

    with _graph_of(task) as graph:
        arrivals = _queue(ARRIVALS)
        came, waiting = _take(arrivals), tf.raw_ops.QueueSizeV2(handle=arrivals)
    with _running(task, graph, target) as run:
        while True:
            name = run(came).decode()
            with _graph_of(task) as of_one:
                lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
                left = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
            with _running(task, of_one, target) as run_of_one:
                run_of_one(left)
            time.sleep(grace_seconds)
            if not run(waiting):
                return


@contextlib.contextmanager
def _graph_of(task: Task) -> Iterator[Any]:
    from gensim_tfw2v._tensorflow import tf

    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        yield graph


@contextlib.contextmanager
def _running(task: Task, graph: Any, target: str | None = None) -> Iterator[Callable[[Any], Any]]:
    """Give what runs an operation of a graph there, however long it takes."""
    from gensim_tfw2v._tensorflow import tf

    without_limit = tf.compat.v1.RunOptions(timeout_in_ms=FOREVER)
    with session(target or f"grpc://{task.address}", task, graph) as running:
        yield lambda what: running.run(what, options=without_limit)


def _mutex(name: str) -> Any:
    from gensim_tfw2v._tensorflow import tf

    return tf.raw_ops.MutexV2(shared_name=name, container="")


def _queue(name: str) -> Any:
    from gensim_tfw2v._tensorflow import tf

    return tf.raw_ops.FIFOQueueV2(component_types=[tf.string], shapes=[[]], shared_name=name)


def _put(queue: Any, name: str) -> Any:
    from gensim_tfw2v._tensorflow import tf

    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.constant(name)])


def _take(queue: Any) -> Any:
    from gensim_tfw2v._tensorflow import tf

    (name,) = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.string])
    return name
