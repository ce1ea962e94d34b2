"""Handshake of a training and a task: their versions, and who is present.

A server of TensorFlow tells nobody its version. So each task keeps it in a variable of its own
device, which it makes through a session on itself, and the coordinator asks for that.

TensorFlow's servers keep the variables of a program that was killed, and some threads of every
program. So a task starts anew when the last training has left it. A training is present by a call
to each task that never returns and holds a mutex there. However the training's process ends, its
connections end with it: the server cancels the call, which releases the mutex.
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
from gensim_tfw2v.kernel import native

logger = logging.getLogger(__name__)

#: The name of the variable.
NAME = "tfw2v-tensorflow-version"

#: Seconds after which a task that answers has its variable, if it is to have one.
PUBLISHED_SECONDS = 1.0

#: Seconds that a session may take to be opened, extended or closed.
OPERATION_SECONDS = 30.0

#: Seconds that a call may last: 31 years, for 300 would overflow gRPC's nanoseconds.
FOREVER = 10.0**9

#: Between the parts of what a task publishes.
SEPARATOR = " / "


def own_versions() -> list[str]:
    """Versions of TensorFlow and of this package here, and a hash of the ops; "" without any."""
    package = sys.modules["gensim_tfw2v"].__version__  # it imports this module, not the reverse
    return [tf.version.VERSION, package, native.ops_hash()]


class OtherVersion(ConnectionError):
    """Tasks with a different version of TensorFlow, or of this package, than the coordinator's."""

    def __init__(self, versions: dict[Task, str], package: str, own: str) -> None:
        found = ", ".join(f"{version} on {task}" for task, version in versions.items())
        super().__init__(
            f"this program has {package} {own}, but there is {found}. Install the same on all, as "
            f"by: pip install {package.lower()}=={own}"
        )


class MissingKernels(ConnectionError):
    """Workers without the compiled kernels that this program has."""

    def __init__(self, tasks: list[Task]) -> None:
        super().__init__(
            "this program has compiled kernels, but there are none on "
            f"{', '.join(map(str, tasks))}. Install the package there as here: with a C++ compiler "
            "(Debian: apt-get install g++), or from a wheel. Their output says why"
        )


def publish_version(server: Any, task: Task) -> None:
    """Let the clients of a task's server know its versions."""
    version = SEPARATOR.join(own_versions())
    with _graph_of(task) as graph:
        assign = tf.raw_ops.AssignVariableOp(resource=_variable(), value=tf.constant(version))
    with session([task], graph, server.target) as run:
        run(assign)


def check_versions(tasks: Iterable[Task]) -> None:
    """See that the tasks to which this process is connected have its versions.

    TensorFlow 2.21.0 and 2.21.1 are the same. A task that keeps no version is warned of: it was not
    started by this package.

    Raises
    ------
    OtherVersion, MissingKernels
    ConnectionError
        If a task is gone.
    """
    tensorflow, package, ops = own_versions()
    deadline = time.monotonic() + PUBLISHED_SECONDS
    others = {}
    packages = {}
    unknown = []
    lacking = []
    for task in tasks:
        while (version := _version_of(task)) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        # an older release publishes TensorFlow's version alone
        its_tensorflow, its_package, its_ops = [*(version or "").split(SEPARATOR), "", ""][:3]
        if version is None:
            unknown.append(str(task))
        elif _series(its_tensorflow) != _series(tensorflow):
            others[task] = its_tensorflow
        elif its_package != package:
            packages[task] = its_package or "an older one"
        elif ops and not its_ops:
            lacking.append(task)
        elif ops and its_ops != ops:
            packages[task] = f"{package} with different compiled kernels"
    if unknown:
        text = "not known to have this program's TensorFlow, %s, for they were not started by tfw2v"
        logger.warning(f"{text}: %s", tensorflow, ", ".join(unknown))
    if others:
        raise OtherVersion(others, "TensorFlow", tensorflow)
    if packages:
        raise OtherVersion(packages, "gensim-tfw2v", package)
    if lacking:
        raise MissingKernels(lacking)


def _version_of(task: Task) -> str | None:
    try:
        with tf.device(device_of(task)):
            resource = _variable()
            if not tf.raw_ops.VarIsInitializedOp(resource=resource):
                return None
            found = tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.string).numpy()
    except tf.errors.OpError as error:
        raise ConnectionError(f"{task} was lost while its version was asked for") from error
    return str(found.decode())


def _variable() -> Any:
    """The resource of the versions, on the device that is current."""
    return tf.raw_ops.VarHandleOp(dtype=tf.string, shape=[], shared_name=NAME)


@contextlib.contextmanager
def session(
    tasks: Sequence[Task],
    graph: Any,
    target: str | None = None,
    operation_seconds: float = OPERATION_SECONDS,
) -> Iterator[Callable[..., Any]]:
    """Open a session that has to do with some tasks alone, where it would else wait for all.

    It is one on the first of them, or on a target. What is given runs an operation of the graph, by
    what it is fed, for so many seconds at most. Opening and closing take `operation_seconds`.
    """
    config = tf.compat.v1.ConfigProto(
        device_filters=[f"/job:{task.role}/task:{task.index}" for task in tasks],
        operation_timeout_in_ms=round(1000 * operation_seconds),
    )
    opened = tf.compat.v1.Session(target or f"grpc://{tasks[0].address}", graph, config)

    def run(what: Any, given: Any = None, seconds: float = FOREVER) -> Any:
        limit = tf.compat.v1.RunOptions(timeout_in_ms=round(1000 * seconds))
        return opened.run(what, given, limit)

    try:
        yield run
    finally:
        with contextlib.suppress(tf.errors.OpError):  # of a task that is gone
            opened.close()


def is_blocked(pair: tuple[Task, Task], seconds: float) -> bool:
    """Return whether no number goes from a worker to a ps, and back, in so many seconds."""
    worker, ps = pair
    with tf.Graph().as_default() as graph:
        number = tf.constant(0.0)
        for task in (worker, ps, worker):
            with tf.device(device_of(task)):
                number = number + tf.random.uniform([])
    try:
        with session(pair, graph, operation_seconds=seconds) as run:
            run(number, seconds=seconds)
    except tf.errors.OpError:
        return True
    return False


@contextlib.contextmanager
def _graph_of(task: Task) -> Iterator[Any]:
    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        yield graph


def device_of(task: Task) -> str:
    """The name of a task's processor."""
    return f"/job:{task.role}/task:{task.index}/device:CPU:0"


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


#: The queue of a task in which trainings announce themselves by their names.
ARRIVALS = "tfw2v-arrivals"

#: Seconds after which one that waits for its own announcement sees whether it was made.
ANNOUNCED_SECONDS = 5.0

#: Seconds between two attempts to call a task that has ended.
AGAIN_SECONDS = 2.0


def hold_presence(tasks: Sequence[Task], seconds: float) -> list[Task]:
    """Be present at tasks as long as this process lasts, also at those that start anew.

    Returns
    -------
    list of Task
        Those that could not be told within so many seconds.
    """
    name = f"tfw2v-training-{uuid.uuid4().hex}"
    arrived = {task: threading.Event() for task in tasks}
    for task, event in arrived.items():
        threading.Thread(target=_stay, args=(task, name, event), daemon=True).start()
    deadline = time.monotonic() + seconds
    return [
        task
        for task, event in arrived.items()
        if not event.wait(max(0.0, deadline - time.monotonic()))
    ]


def _stay(task: Task, name: str, arrived: threading.Event) -> None:
    with _graph_of(task) as graph:
        here = _queue(f"{name}-here")
        lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
        with tf.control_dependencies([lock]):
            announced = _put(_queue(ARRIVALS), name)
        with tf.control_dependencies([announced]):
            arrival = _put(here, name)
        with tf.control_dependencies([arrival]):
            never = _take(_queue(f"{name}-never"))
        with tf.control_dependencies([never]):
            staying = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
        is_here = _take(here)
    while True:
        with _logged(task), session([task], graph) as run:
            call = threading.Thread(target=_logged(task)(run), args=(staying,), daemon=True)
            call.start()
            while call.is_alive():  # else nobody would be here however long it waits
                with contextlib.suppress(tf.errors.DeadlineExceededError):
                    run(is_here, seconds=ANNOUNCED_SECONDS)
                    arrived.set()
                    call.join()
        time.sleep(AGAIN_SECONDS)


@contextlib.contextmanager
def _logged(task: Task) -> Iterator[None]:
    """Go on after a failed call of a task, which has probably ended."""
    try:
        yield
    except tf.errors.OpError as error:
        logger.info("%s: not present any more: %s", task, error.message)


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
    with _graph_of(task) as graph:
        arrivals = _queue(ARRIVALS)
        came = _take(arrivals)
        waiting = tf.raw_ops.QueueSizeV2(handle=arrivals)
        close = tf.raw_ops.QueueCloseV2(handle=arrivals)
    # raised when the queue is closed: by taking from it when it is empty, and by closing it again
    ended = contextlib.suppress(tf.errors.OutOfRangeError, tf.errors.CancelledError)
    with session([task], graph, target) as run, ended:
        while True:
            name = run(came).decode()
            with _graph_of(task) as of_one:
                lock = tf.raw_ops.MutexLock(mutex=_mutex(name))
                left = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
            with session([task], of_one, target) as run_of_one:
                run_of_one(left)
            time.sleep(grace_seconds)
            if not run(waiting):
                run(close)  # who comes later is refused, and asks again when this has started anew


def _mutex(name: str) -> Any:
    return tf.raw_ops.MutexV2(shared_name=name, container="")


def _queue(name: str) -> Any:
    return tf.raw_ops.FIFOQueueV2(component_types=[tf.string], shapes=[[]], shared_name=name)


def _put(queue: Any, name: str) -> Any:
    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.constant(name)])


def _take(queue: Any) -> Any:
    return tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.string])[0]
