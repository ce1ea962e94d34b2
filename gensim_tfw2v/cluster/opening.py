"""The cluster that a user names: what its name means, and connecting to it."""

import contextlib
import logging
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gensim_tfw2v.cluster.connect import READY_SECONDS, wait_for_tasks
from gensim_tfw2v.cluster.local import LocalCluster
from gensim_tfw2v.cluster.process_launcher import ProcessLauncher
from gensim_tfw2v.cluster.spec import Cluster, ClusterError, from_tf_config
from gensim_tfw2v.processes.children import start_module
from gensim_tfw2v.processes.forkserver import Forked

logger = logging.getLogger(__name__)

_LOCAL = re.compile(r"local:ps=([1-9]\d*),worker=([1-9]\d*)")


@dataclass(frozen=True)
class LocalTasks:
    """A cluster of this machine, that is started for a training and ended after it."""

    ps: int
    workers: int


def parse_cluster(name: "str | Cluster") -> Cluster | LocalTasks:
    """Say which cluster is meant.

    Parameters
    ----------
    name : str or Cluster
        ``"local:ps=2,worker=4"`` for tasks on this machine, ``"TF_CONFIG"`` for those that the
        environment variable of that name describes.

    Raises
    ------
    ClusterError
    """
    if isinstance(name, Cluster):
        return name
    if name == "TF_CONFIG":
        return from_tf_config(os.environ)[0]
    local = _LOCAL.fullmatch(name.replace(" ", "")) if isinstance(name, str) else None
    if not local:
        raise ClusterError(
            f"cluster is {name!r}: give 'local:ps=P,worker=N' with P and N from 1 up, 'TF_CONFIG', "
            "or a gensim_tfw2v.cluster.Cluster"
        )
    return LocalTasks(*map(int, local.groups()))


@dataclass(frozen=True)
class OpenCluster:
    """A cluster whose tasks have answered.

    Attributes
    ----------
    cluster : Cluster
    local : LocalCluster, optional
        The processes, if they are this machine's.
    """

    cluster: Cluster
    local: LocalCluster | None = None

    def check(self) -> None:
        """See that local ps tasks are running.

        Raises
        ------
        TaskEnded
        """
        if self.local is not None:
            self.local.check(task for task in self.cluster.tasks() if task.role == "ps")

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes] | Forked":
        """Run a module of this package where it reaches the tasks; see `children.start_module`."""
        start = start_module if self.local is None else self.local.start_module
        return start(module, *arguments, **options)


@contextlib.contextmanager
def open_cluster(
    which: Cluster | LocalTasks,
    seconds: float = READY_SECONDS,
    process_launcher: ProcessLauncher | None = None,
    log_dir: str | None = None,
) -> Iterator[OpenCluster]:
    """Start its tasks if they are local, and wait until all answer.

    Parameters
    ----------
    which : Cluster or LocalTasks
    seconds : float
        How long tasks have to come up.
    process_launcher : ProcessLauncher, optional
        Where local tasks start.
    log_dir : str, optional
        Where local tasks log for TensorBoard.

    Raises
    ------
    MissingTasks
        Naming tasks that have not come up in time.
    TaskEnded
        If a local task has ended at once.
    """
    if isinstance(which, LocalTasks):
        with (
            LocalCluster(
                which.ps,
                which.workers,
                ready_seconds=seconds,
                process_launcher=process_launcher,
                tensorboard_dir=log_dir,
            ) as local,
            local.keeping_workers(),
        ):
            yield OpenCluster(local.cluster, local)
    else:
        _warn_of_exposed(which)
        wait_for_tasks(which.servers(), seconds)
        yield OpenCluster(which)


def _warn_of_exposed(cluster: Cluster) -> None:
    exposed = [str(task) for task in cluster.tasks() if not task.is_private]
    if exposed:
        logger.warning(
            "not known to be private: %s. TensorFlow's servers have no authentication: whoever "
            "reaches their ports can run programs there. See that a firewall lets in only tasks "
            "of this cluster",
            ", ".join(exposed),
        )
