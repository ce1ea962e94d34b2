"""Check that all tasks of a cluster have the versions of the program that trains.

A TensorFlow server does not report its version. So each task stores its versions in a variable on
its own device, and the coordinator reads that variable.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.sessions import device_of, graph_of, session
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.ops import library

logger = logging.getLogger(__name__)

#: Name of the variable with a task's versions.
VARIABLE_NAME = "tfw2v-tensorflow-version"

#: Seconds to wait for the versions of tasks that answer. Tasks of this package publish them sooner.
PUBLICATION_SECONDS = 1.0

#: Separator of the versions that a task publishes.
SEPARATOR = " / "


def own_versions() -> list[str]:
    """Return the versions of TensorFlow and of this package, and a hash of the compiled ops.

    The hash is empty if the ops are missing.
    """
    package = sys.modules["gensim_tfw2v"].__version__  # importing it would be circular
    return [tf.version.VERSION, package, library.ops_hash()]


class OtherVersion(ConnectionError):
    """Tasks with a different version of TensorFlow, or of this package, than the coordinator's."""

    @classmethod
    def of(cls, task_versions: dict[Task, str], package: str, version: str) -> OtherVersion:
        """Make the error of tasks with different versions of a package than `version`."""
        differences = ", ".join(f"{version} on {task}" for task, version in task_versions.items())
        return cls(
            f"this program has {package} {version}, but the cluster has {differences}. Install the "
            f"same version everywhere, for example: pip install {package.lower()}=={version}"
        )


class MissingKernels(ConnectionError):
    """Workers without the compiled kernels that this program has."""

    @classmethod
    def of(cls, tasks: list[Task]) -> MissingKernels:
        """Make the error of tasks without kernels."""
        return cls(
            "this program has compiled kernels, but these tasks lack them: "
            f"{', '.join(map(str, tasks))}. Install the package there with a C++ compiler (Debian: "
            "apt-get install g++), or from a wheel. The tasks' output contains the reason"
        )


def publish_version(server: Any, task: Task) -> None:
    """Store this process's versions in the variable on its task's device, for the coordinator."""
    version = SEPARATOR.join(own_versions())
    with graph_of(task) as graph:
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
    deadline = time.monotonic() + PUBLICATION_SECONDS
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
        # Old releases of this package publish only TensorFlow's version.
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
        raise OtherVersion.of(tensorflow_versions, "TensorFlow", tensorflow)
    if package_versions:
        raise OtherVersion.of(package_versions, "gensim-tfw2v", package)
    if tasks_without_ops:
        raise MissingKernels.of(tasks_without_ops)


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
    """Return a handle of the variable with the versions of the current device's task."""
    return tf.raw_ops.VarHandleOp(dtype=tf.string, shape=[], shared_name=VARIABLE_NAME)


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])
