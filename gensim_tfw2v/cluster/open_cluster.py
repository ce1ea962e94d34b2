"""The cluster that a user names: what its name means, and connecting to it."""

import contextlib
import functools
import logging
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gensim_tfw2v.cluster.connect import READY_SECONDS, wait_for_tasks
from gensim_tfw2v.cluster.local_cluster import LocalCluster
from gensim_tfw2v.cluster.process_launcher import ProcessLauncher
from gensim_tfw2v.cluster.spec import Cluster, ClusterError, from_tf_config
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.processes.children import start_module
from gensim_tfw2v.processes.forkserver import Forked

logger = logging.getLogger(__name__)

_LOCAL = re.compile(r"local:ps=([1-9][0-9]{0,3}),worker=([1-9][0-9]{0,3})")


class LocalTasks(NamedTuple):
    """A cluster of this machine, that is started for a training and ended after it."""

    ps: int
    workers: int


class OpenCluster(NamedTuple):
    """A cluster whose tasks have answered.

    Attributes
    ----------
    cluster : Cluster
    check : callable
        Raises `TaskEnded` if a local ps has ended.
    start_module : callable
        Runs a module of this package where it reaches the tasks; see `children.start_module`.
    """

    cluster: Cluster
    check: Callable[[], None]
    start_module: "Callable[..., subprocess.Popen[bytes] | Forked]"


def parse_cluster(name: str | Cluster) -> Cluster | LocalTasks:
    """Say which cluster is meant; a `ClusterError` says that none is.

    ``"local:ps=2,worker=4"`` are tasks on this machine, ``"TF_CONFIG"`` those that the environment
    variable of that name describes.
    """
    if isinstance(name, Cluster):
        return name
    if name == "TF_CONFIG":
        return from_tf_config(os.environ)[0]
    local = _LOCAL.fullmatch(name.replace(" ", "")) if isinstance(name, str) else None
    if not local:
        raise ClusterError(
            f"cluster is {quoted(name)}: give 'local:ps=P,worker=N' with P and N from 1 to 9999, "
            "'TF_CONFIG', or a gensim_tfw2v.cluster.Cluster"
        )
    return LocalTasks(*map(int, local.groups()))


@contextlib.contextmanager
def open_cluster(
    which: Cluster | LocalTasks,
    seconds: float = READY_SECONDS,
    process_launcher: ProcessLauncher | None = None,
    log_dir: str | None = None,
) -> Iterator[OpenCluster]:
    """Start its tasks if they are local, and wait until all answer.

    Local tasks start by `process_launcher`, and log for TensorBoard in `log_dir`.

    Raises
    ------
    MissingTasks
        Naming tasks that have not come up in time.
    TaskEnded
        If a local task has ended at once.
    """
    if isinstance(which, Cluster):
        _warn_of_exposed(which)
        wait_for_tasks(which.servers(), seconds)
        yield OpenCluster(which, lambda: None, start_module)
        return
    with (
        LocalCluster(
            which.ps,
            which.workers,
            ready_seconds=seconds,
            process_launcher=process_launcher,
            tensorboard_dir=log_dir,
        ) as local,
        local.restarting(),
    ):
        ps = [task for task in local.cluster.tasks() if task.role == "ps"]
        yield OpenCluster(local.cluster, functools.partial(local.check, ps), local.start_module)


def _warn_of_exposed(cluster: Cluster) -> None:
    exposed = [str(task) for task in cluster.tasks() if not task.is_private]
    if exposed:
        logger.warning(
            "not known to be private: %s. TensorFlow's servers have no authentication: whoever "
            "reaches their ports can run programs there. See that a firewall lets in only tasks "
            "of this cluster",
            ", ".join(exposed),
        )
