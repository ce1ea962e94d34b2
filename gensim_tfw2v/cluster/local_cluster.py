"""The cluster that a user names, which may be one on this machine: processes and sockets."""

import contextlib
import functools
import logging
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gensim_tfw2v.cluster.connect import CANNOT_LISTEN, wait_for_tasks
from gensim_tfw2v.cluster.spec import LOG_DIR, READY_SECONDS, Cluster, LocalTasks, Task
from gensim_tfw2v.cluster.started_cluster import StartedCluster, TaskEnded, is_noise, prefixed
from gensim_tfw2v.processes.children import last_lines, start_module
from gensim_tfw2v.processes.launcher import Process, ProcessLauncher
from gensim_tfw2v.processes.threads import cores_each

logger = logging.getLogger("gensim_tfw2v.cluster")

#: How many operations a process of TensorFlow runs side by side.
OP_THREADS = "TF_NUM_INTEROP_THREADS"

#: How often a local cluster is started, and what is said if a port was taken meanwhile: by us, or
#: by TensorFlow if it was taken after we had looked.
STARTS = 3
PORT_TAKEN = (CANNOT_LISTEN, "Could not start gRPC server")


class LocalCluster(StartedCluster):
    """ps and worker tasks as processes of this machine, which end with this process.

    What they write is in files of a temporary folder, and logged as INFO of
    ``gensim_tfw2v.cluster``. While the cluster is `restarting`, workers are started anew when they
    end.

    Parameters
    ----------
    ps, workers : int
        How many of each; a `ClusterError` says that one is below 1.
    ready_seconds : float
        How long the tasks have to come up.
    process_launcher : ProcessLauncher, optional
        Where to start them; by default one of their own.
    tensorboard_dir : str, optional
        Where each writes a run for TensorBoard, with what it takes of the machine.

    Attributes
    ----------
    cluster : Cluster
        Their addresses; in a network of their own, the addresses there.
    """

    restarted = ("worker",)

    def __init__(
        self,
        ps: int = 1,
        workers: int = 1,
        ready_seconds: float = READY_SECONDS,
        process_launcher: ProcessLauncher | None = None,
        tensorboard_dir: str | None = None,
    ) -> None:
        ps = max(0, ps)
        workers = max(0, workers)
        addresses = [f"127.0.0.1:{port}" for port in free_ports(ps + workers)]
        super().__init__(Cluster(tuple(addresses[:ps]), tuple(addresses[ps:])), ready_seconds)
        self._launcher = process_launcher or ProcessLauncher()
        self._is_own = process_launcher is None
        #: Runs a module of this package where it reaches the tasks; see `children.start_module`.
        self.start_module = self._launcher.start_module
        self._tensorboard_dir = tensorboard_dir

    def _start_process(self, task: Task) -> Process:
        own = {
            "TF_CONFIG": self.cluster.tf_config(task.role, task.index),
            "CUDA_VISIBLE_DEVICES": "",  # tasks of one machine would fight for its GPU
            LOG_DIR: self._tensorboard_dir or "",
        }
        # TensorFlow gives each process as many threads as there are cores. Those of workers that
        # share cores would hand a unit's operations to each other, and wake each other for it, for
        # nothing: no core is free. A number that is set already is left as it is.
        if task.role == "worker" and OP_THREADS not in os.environ:
            own[OP_THREADS] = str(cores_each(len(self.cluster.worker)))
        return self.start_module(
            "gensim_tfw2v.cluster.server",
            "--with-parent",
            environment=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _show(self, task: Task, line: str) -> None:
        super()._show(task, line)
        if not is_noise(line):
            logger.info("%s", prefixed(task, line))

    def _how(self, task: Task, status: int, last_line: str) -> str:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"{how}{last_lines(self.log(task))}"

    def close(self) -> None:
        """End all tasks."""
        super().close()
        if self._is_own:
            self._launcher.close()


def free_ports(number: int) -> list[int]:
    """Ports of this machine that are free now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]


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
    start_module: Callable[..., Process]


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
    with _start(which, seconds, process_launcher, log_dir) as local, local.restarting():
        ps = [task for task in local.cluster.tasks() if task.role == "ps"]
        yield OpenCluster(local.cluster, functools.partial(local.check, ps), local.start_module)


@contextlib.contextmanager
def _start(
    which: LocalTasks, seconds: float, process_launcher: ProcessLauncher | None, log_dir: str | None
) -> Iterator[LocalCluster]:
    """Start a local cluster, with other ports if one was taken before its task had bound it."""
    for attempt in range(1, STARTS + 1):
        local = LocalCluster(which.ps, which.workers, seconds, process_launcher, log_dir)
        try:
            local.__enter__()
            break
        except TaskEnded as error:
            if attempt == STARTS or not any(said in str(error) for said in PORT_TAKEN):
                raise
            logger.info("%s is taken: starting the cluster with other ports", error.task)
    with contextlib.closing(local):
        yield local


def _warn_of_exposed(cluster: Cluster) -> None:
    exposed = [str(task) for task in cluster.tasks() if not task.is_private]
    if exposed:
        logger.warning(
            "not known to be private: %s. TensorFlow's servers have no authentication: whoever "
            "reaches their ports can run programs there. See that a firewall lets in only tasks "
            "of this cluster",
            ", ".join(exposed),
        )
