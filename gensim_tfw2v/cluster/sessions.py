"""TensorFlow sessions that connect to some tasks of a cluster only."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Task

#: Time limit in seconds for each operation on a session itself: opening, extending, closing it.
OPERATION_SECONDS = 30.0

#: Time limit in seconds of a call that may last forever: 31 years. With 300 years, gRPC's count of
#: nanoseconds would overflow.
FOREVER = 10.0**9


@contextlib.contextmanager
def session(
    tasks: Sequence[Task],
    graph: Any,
    target: str | None = None,
    operation_seconds: float = OPERATION_SECONDS,
) -> Iterator[Callable[..., Any]]:
    """Open a session that connects only to these tasks.

    By default, a session would wait for all tasks of the cluster. The context's value is a function
    ``run(operation, feed, seconds)`` that runs an operation of the graph, with a feed dict and a
    time limit.

    Parameters
    ----------
    tasks : sequence of Task
    graph : tf.Graph
    target : str, optional
        Target of the session; by default the first task.
    operation_seconds : float
        Time limit for opening the session, and for closing it.
    """
    config = tf.compat.v1.ConfigProto(
        device_filters=[f"/job:{task.role}/task:{task.index}" for task in tasks],
        operation_timeout_in_ms=round(1000 * operation_seconds),
    )
    tf_session = tf.compat.v1.Session(target or f"grpc://{tasks[0].address}", graph, config)

    def run(operation: Any, feed: Any = None, seconds: float = FOREVER) -> Any:
        limit = tf.compat.v1.RunOptions(timeout_in_ms=round(1000 * seconds))
        return tf_session.run(operation, feed, limit)

    try:
        yield run
    finally:
        with contextlib.suppress(tf.errors.OpError):  # the task is lost
            tf_session.close()


def device_of(task: Task) -> str:
    """Return the device name of a task's CPU."""
    return f"/job:{task.role}/task:{task.index}/device:CPU:0"


@contextlib.contextmanager
def graph_of(task: Task) -> Iterator[Any]:
    """Yield a new graph. Operations that are added to it within the context run on the task."""
    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        yield graph


def is_blocked(pair: tuple[Task, Task], seconds: float) -> bool:
    """Return whether sending a number from a worker to a ps and back fails or takes too long."""
    worker, ps = pair
    with tf.Graph().as_default() as graph:
        total = tf.constant(0.0)
        for task in (worker, ps, worker):
            with tf.device(device_of(task)):
                total = total + tf.random.uniform([])
    try:
        with session(pair, graph, operation_seconds=seconds) as run:
            run(total, seconds=seconds)
    except tf.errors.OpError:
        return True
    return False
