"""Whether all tasks have the TensorFlow whose graphs they are sent, and the kernels in them.

Each task publishes its own, and the coordinator asks for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from gensim_tfw2v.cluster.published import device_of, publish, variable
from gensim_tfw2v.cluster.spec import Task

logger = logging.getLogger(__name__)

#: The name of the variable.
NAME = "tfw2v-tensorflow-version"

#: Seconds after which a task that answers has its variable, if it is to have one.
PUBLISHED_SECONDS = 1.0

#: What a worker adds to its version where it has no compiled kernels.
WITHOUT_KERNELS = " without kernels"


class OtherVersion(ConnectionError):
    """Tasks run another TensorFlow than the coordinator.

    Attributes
    ----------
    versions : mapping from Task to str
    """

    def __init__(self, versions: dict[Task, str], own: str) -> None:
        self.versions = versions
        found = ", ".join(f"{version} on {task}" for task, version in versions.items())
        super().__init__(
            f"this program has TensorFlow {own}, but there is {found}. Install the same on all, as "
            f"by: pip install 'tensorflow=={_series(own)}.*'"
        )


class MissingKernels(ConnectionError):
    """Workers lack the compiled kernels that this program has.

    Attributes
    ----------
    tasks : list of Task
    """

    def __init__(self, tasks: list[Task]) -> None:
        self.tasks = tasks
        super().__init__(
            "this program has compiled kernels, but there are none on "
            f"{', '.join(map(str, tasks))}. Install the package there as here: with a C++ compiler "
            "(Debian: apt-get install g++), or from a wheel"
        )


def publish_version(server: Any, task: Task) -> None:
    """Let the clients of a task's server know its version of TensorFlow."""
    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.kernel.native.tensorflow_ops import load_ops

    lacking = task.role == "worker" and load_ops() is None
    publish(server, task, NAME, tf.version.VERSION + (WITHOUT_KERNELS if lacking else ""))


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
    from gensim_tfw2v.kernel.native.tensorflow_ops import load_ops

    own = tf.version.VERSION
    deadline = time.monotonic() + PUBLISHED_SECONDS
    others, unknown, lacking = {}, [], []
    for task in tasks:
        while (version := _version_of(tf, task)) is None and time.monotonic() < deadline:
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


def _version_of(tf: Any, task: Task) -> str | None:
    try:
        with tf.device(device_of(task)):
            resource = variable(NAME)
            if not tf.raw_ops.VarIsInitializedOp(resource=resource):
                return None
            found = tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.string).numpy()
    except tf.errors.OpError as error:
        raise ConnectionError(f"{task} was lost while its version was asked for") from error
    return str(found.decode())


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])
