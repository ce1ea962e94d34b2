"""Handshake between a training and a task: their versions, and the presence of trainings.

A TensorFlow server does not report its version. So each task writes its versions to a variable on
its own device, through a session on itself, and the coordinator reads that variable.

TensorFlow servers keep the variables of a killed program, and some threads of every program. So a
task restarts itself when the last training has left. A training is present as long as a call from
it to the task runs; the call never returns, and holds a mutex on the task. In whatever way the
training's process ends, its connections close. The server then cancels the call, which releases the
mutex.
"""

import contextlib
import logging
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.ops import library

logger = logging.getLogger(__name__)

#: Name of the variable with a task's versions.
NAME = "tfw2v-tensorflow-version"

#: Seconds within which a task that answers has published its versions, if it does so at all.
PUBLISHED_SECONDS = 1.0

#: Time limit in seconds for opening, extending or closing a session.
OPERATION_SECONDS = 30.0

#: Seconds that a call may last: 31 years, since 300 years would overflow gRPC's nanoseconds.
FOREVER = 10.0**9

#: Separator of the versions that a task publishes.
SEPARATOR = " / "


def own_versions() -> list[str]:
    """Return the versions of TensorFlow and of this package, and a hash of the compiled ops.

    The hash is empty if the ops are missing.
    """
    package = sys.modules["gensim_tfw2v"].__version__  # an import here would be circular
    return [tf.version.VERSION, package, library.ops_hash()]


class OtherVersion(ConnectionError):
    """Tasks with a different version of TensorFlow, or of this package, than the coordinator's."""

    def __init__(self, task_versions: dict[Task, str], package: str, version: str) -> None:
        differences = ", ".join(f"{version} on {task}" for task, version in task_versions.items())
        super().__init__(
            f"this program has {package} {version}, but the cluster has {differences}. Install the "
            f"same version everywhere, for example: pip install {package.lower()}=={version}"
        )


class MissingKernels(ConnectionError):
    """Workers without the compiled kernels that this program has."""

    def __init__(self, tasks: list[Task]) -> None:
        super().__init__(
            "this program has compiled kernels, but these tasks lack them: "
            f"{', '.join(map(str, tasks))}. Install the package there with a C++ compiler (Debian: "
            "apt-get install g++), or from a wheel. The tasks' output contains the reason"
        )


def publish_version(server: Any, task: Task) -> None:
    """Publish this process's versions to the clients of a task's server."""
    version = SEPARATOR.join(own_versions())
    with _graph_of(task) as graph:
        assign = tf.raw_ops.AssignVariableOp(resource=_variable(), value=tf.constant(version))
    with session([task], graph, server.target) as run:
        run(assign)


def check_versions(tasks: Iterable[Task]) -> None:
    """Check that the tasks to which this process is connected have its versions.

    Versions of TensorFlow such as 2.21.0 and 2.21.1 count as equal. Tasks that have published no
    versions were not started by this package; they cause a warning only.

    Raises
    ------
    OtherVersion, MissingKernels
    ConnectionError
        If a task is lost.
    """
    tensorflow, package, ops = own_versions()
    deadline = time.monotonic() + PUBLISHED_SECONDS
    tensorflow_versions = {}
    package_versions = {}
    foreign_tasks = []
    tasks_without_ops = []
    for task in tasks:
        while (version := _read_version(task)) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if version is None:
            foreign_tasks.append(str(task))
            continue
        # old releases publish TensorFlow's version only
        task_tensorflow, task_package, task_ops = [*version.split(SEPARATOR), "", ""][:3]
        if _series(task_tensorflow) != _series(tensorflow):
            tensorflow_versions[task] = task_tensorflow
        elif task_package != package:
            package_versions[task] = task_package or "an older one"
        elif ops and not task_ops:
            tasks_without_ops.append(task)
        elif ops and task_ops != ops:
            package_versions[task] = f"{package} with different compiled kernels"
    if foreign_tasks:
        logger.warning(
            "cannot check for TensorFlow %s in tasks that were not started by tfw2v: %s",
            tensorflow,
            ", ".join(foreign_tasks),
        )
    if tensorflow_versions:
        raise OtherVersion(tensorflow_versions, "TensorFlow", tensorflow)
    if package_versions:
        raise OtherVersion(package_versions, "gensim-tfw2v", package)
    if tasks_without_ops:
        raise MissingKernels(tasks_without_ops)


def _read_version(task: Task) -> str | None:
    """Return the versions that a task has published; None if it has published none."""
    try:
        with tf.device(device_of(task)):
            resource = _variable()
            if not tf.raw_ops.VarIsInitializedOp(resource=resource):
                return None
            version = tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.string).numpy()
    except tf.errors.OpError as error:
        raise ConnectionError(f"{task} was lost while its version was read") from error
    return version.decode()


def _variable() -> Any:
    """Return the resource of the versions, on the current device."""
    return tf.raw_ops.VarHandleOp(dtype=tf.string, shape=[], shared_name=NAME)


@contextlib.contextmanager
def session(
    tasks: Sequence[Task],
    graph: Any,
    target: str | None = None,
    operation_seconds: float = OPERATION_SECONDS,
) -> Iterator[Callable[..., Any]]:
    """Open a session that connects only to these tasks.

    An unrestricted session would wait for all tasks of the cluster. The context's value is a
    function that runs an operation of the graph, with a feed dict and a time limit in seconds.

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


@contextlib.contextmanager
def _graph_of(task: Task) -> Iterator[Any]:
    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        yield graph


def device_of(task: Task) -> str:
    """Return the device name of a task's CPU."""
    return f"/job:{task.role}/task:{task.index}/device:CPU:0"


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


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
    with _graph_of(task) as graph:
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
    with _graph_of(task) as graph:
        arrivals = _queue(ARRIVALS)
        next_name = _take(arrivals)
        n_waiting = tf.raw_ops.QueueSizeV2(handle=arrivals)
        close = tf.raw_ops.QueueCloseV2(handle=arrivals)
    # errors of a closed queue: OutOfRange from dequeuing, Cancelled from closing it again
    queue_is_closed = contextlib.suppress(tf.errors.OutOfRangeError, tf.errors.CancelledError)
    with session([task], graph, target) as run, queue_is_closed:
        while True:
            name = run(next_name).decode()
            with _graph_of(task) as lock_graph:  # the mutex is free when the training has left
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
