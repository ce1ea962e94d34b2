"""Checks that all tasks run a compatible TensorFlow and have the compiled kernels.

A server of TensorFlow tells nobody its version. So each task keeps it in a variable of its own
device, which it makes through a session on itself, and the coordinator asks for that.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

from gensim_tfw2v.cluster.spec import Task

logger = logging.getLogger(__name__)

#: The name of the variable.
NAME = "tfw2v-tensorflow-version"

#: Seconds after which a task that answers has its variable, if it is to have one.
PUBLISHED_SECONDS = 1.0

#: Seconds that a session may take to be opened, extended or closed.
OPERATION_SECONDS = 30.0

#: What a task adds to its version where it has no compiled kernels.
WITHOUT_KERNELS = " without kernels"


class OtherVersion(ConnectionError):
    """Tasks with a different version of TensorFlow than the coordinator's."""

    def __init__(self, versions: dict[Task, str], own: str) -> None:
        found = ", ".join(f"{version} on {task}" for task, version in versions.items())
        super().__init__(
            f"this program has TensorFlow {own}, but there is {found}. Install the same on all, as "
            f"by: pip install 'tensorflow=={_series(own)}.*'"
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
    """Let the clients of a task's server know its version of TensorFlow."""
    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.kernel.native import load_ops

    version = tf.version.VERSION + (WITHOUT_KERNELS if load_ops() is None else "")
    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        assign = tf.raw_ops.AssignVariableOp(resource=_variable(), value=tf.constant(version))
    with session(server.target, task, graph) as running:
        running.run(assign)


def check_versions(tasks: Iterable[Task]) -> None:
    """See that the tasks to which this process is connected have its version of TensorFlow.

    2.21.0 and 2.21.1 are the same. A task that keeps no version is warned of: it was not started by
    this package.

    Raises
    ------
    OtherVersion, MissingKernels
    ConnectionError
        If a task is gone.
    """
    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.kernel.native import load_ops

    own = tf.version.VERSION
    deadline = time.monotonic() + PUBLISHED_SECONDS
    others, unknown, lacking = {}, [], []
    for task in tasks:
        while (version := _version_of(task)) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if version is None:
            unknown.append(str(task))
        elif _series(version) != _series(own):
            others[task] = version
        elif version.endswith(WITHOUT_KERNELS):
            lacking.append(task)
    if unknown:
        logger.warning(
            "not known to have this program's TensorFlow, %s, for they were not started by tfw2v: "
            "%s",
            own,
            ", ".join(unknown),
        )
    if others:
        raise OtherVersion(others, own)
    if lacking and load_ops() is not None:
        raise MissingKernels(lacking)


def _version_of(task: Task) -> str | None:
    from gensim_tfw2v._tensorflow import tf

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
    """The resource of the version, on the device that is current."""
    from gensim_tfw2v._tensorflow import tf

    return tf.raw_ops.VarHandleOp(dtype=tf.string, shape=[], shared_name=NAME)


def session(target: str, task: Task, graph: Any) -> Any:
    """A session that has to do with one task alone, where it would else wait for all.

    Opening and closing it take `OPERATION_SECONDS` at most; give a run a limit of its own.
    """
    from gensim_tfw2v._tensorflow import tf

    config = tf.compat.v1.ConfigProto(
        device_filters=[f"/job:{task.role}/task:{task.index}"],
        operation_timeout_in_ms=round(1000 * OPERATION_SECONDS),
    )
    return tf.compat.v1.Session(target, graph=graph, config=config)


def device_of(task: Task) -> str:
    """The name of a task's processor."""
    return f"/job:{task.role}/task:{task.index}/device:CPU:0"


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])
