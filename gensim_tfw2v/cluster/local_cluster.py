"""Opening the cluster that a user names, after its start if it is local (on this machine)."""

import contextlib
import functools
import logging
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gensim_tfw2v.cluster.connect import CANNOT_LISTEN, wait_for_tasks
from gensim_tfw2v.cluster.launcher import Process, ProcessLauncher
from gensim_tfw2v.cluster.spec import LOG_DIR, READY_SECONDS, Cluster, LocalTasks, Task
from gensim_tfw2v.cluster.started_cluster import KILLED_STATUSES, StartedCluster, TaskEnded
from gensim_tfw2v.cluster.started_task import is_noise, prefix_line
from gensim_tfw2v.processes.children import last_lines, start_module
from gensim_tfw2v.processes.threads import cores_per_process

logger = logging.getLogger("gensim_tfw2v.cluster")

#: Environment variable: number of operations that a TensorFlow process runs in parallel.
OP_THREADS_VARIABLE = "TF_NUM_INTEROP_THREADS"

#: Maximum number of attempts to start a local cluster, in case its ports are taken meanwhile.
MAX_STARTS = 3

#: Parts of error messages for a port in use: that of `check_port`, and that of TensorFlow, if a
#: process takes the port after the check.
PORT_ERRORS = (CANNOT_LISTEN, "Could not start gRPC server")


class LocalCluster(StartedCluster):
    """ps and worker tasks as processes of this machine, which exit when this process does.

    The tasks' output is written to files in a temporary folder, and to the log of
    ``gensim_tfw2v.cluster`` at level INFO. Within the context `restarting`, workers that exit are
    restarted.

    Parameters
    ----------
    n_ps, n_workers : int
        Number of tasks of each role; a `ClusterError` is raised if one is below 1.
    ready_seconds : float
        Time limit for the tasks to start.
    process_launcher : ProcessLauncher, optional
        Launcher of the tasks; by default a new one.
    tensorboard_dir : str, optional
        Folder where each task writes a TensorBoard run, with its use of CPU, memory and network.

    Attributes
    ----------
    cluster : Cluster
        Addresses of the tasks, which may be in a separate network namespace.
    """

    restarted_roles = ("worker",)

    def __init__(
        self,
        n_ps: int = 1,
        n_workers: int = 1,
        ready_seconds: float = READY_SECONDS,
        process_launcher: ProcessLauncher | None = None,
        tensorboard_dir: str | None = None,
    ) -> None:
        n_ps = max(0, n_ps)
        n_workers = max(0, n_workers)
        addresses = [f"127.0.0.1:{port}" for port in free_ports(n_ps + n_workers)]
        super().__init__(Cluster(tuple(addresses[:n_ps]), tuple(addresses[n_ps:])), ready_seconds)
        self._launcher = process_launcher or ProcessLauncher()
        self._owns_launcher = process_launcher is None
        #: Runs a module of this package in the network of the tasks; see `children.start_module`.
        self.start_module = self._launcher.start_module
        self._tensorboard_dir = tensorboard_dir

    def _start_process(self, task: Task) -> Process:
        environment = {
            "TF_CONFIG": self.cluster.tf_config(task.role, task.index),
            LOG_DIR: self._tensorboard_dir or "",
        }
        # By default a TensorFlow process has one thread per core. If workers share the cores, no
        # core is idle, and handing a unit's operations from thread to thread only costs time. A
        # number that the user has set is kept.
        if task.role == "worker" and OP_THREADS_VARIABLE not in os.environ:
            environment[OP_THREADS_VARIABLE] = str(cores_per_process(len(self.cluster.worker)))
        return self.start_module(
            "gensim_tfw2v.cluster.server",
            "--with-parent",
            environment=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _show(self, task: Task, line: str) -> None:
        super()._show(task, line)
        if not is_noise(line):
            logger.info("%s", prefix_line(task, line))

    def _describe_end(self, task: Task, status: int, last_line: str) -> str:
        if status in KILLED_STATUSES:  # the log contains no reason
            return f"signal {-status}"
        end = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"{end}{last_lines(self.log(task))}"

    def close(self) -> None:
        """Stop all tasks."""
        super().close()
        if self._owns_launcher:
            self._launcher.close()


def free_ports(n_ports: int) -> list[int]:
    """Return different ports of this machine that are currently free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n_ports)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in sockets]


class OpenCluster(NamedTuple):
    """A cluster whose tasks have answered.

    Attributes
    ----------
    cluster : Cluster
    check : callable
        Raises `TaskEnded` if a local ps has exited.
    start_module : callable
        Runs a module of this package in the network of the tasks; see `children.start_module`.
    """

    cluster: Cluster
    check: Callable[[], None]
    start_module: Callable[..., Process]


@contextlib.contextmanager
def open_cluster(
    cluster: Cluster | LocalTasks,
    seconds: float = READY_SECONDS,
    process_launcher: ProcessLauncher | None = None,
    log_dir: str | None = None,
) -> Iterator[OpenCluster]:
    """Start the tasks of a cluster if they are local, and wait until all answer.

    `process_launcher` starts local tasks. These write their TensorBoard runs to `log_dir`.

    Raises
    ------
    MissingTasks
        If tasks do not start in time; the message names them.
    TaskEnded
        If a local task exits during the start.
    """
    if isinstance(cluster, Cluster):
        _warn_of_exposed_tasks(cluster)
        wait_for_tasks(cluster.servers(), seconds)
        yield OpenCluster(cluster, lambda: None, start_module)
        return
    with _start(cluster, seconds, process_launcher, log_dir) as local, local.restarting():
        ps_tasks = [task for task in local.cluster.tasks() if task.role == "ps"]
        check = functools.partial(local.check, ps_tasks)
        yield OpenCluster(local.cluster, check, local.start_module)


@contextlib.contextmanager
def _start(
    tasks: LocalTasks, seconds: float, process_launcher: ProcessLauncher | None, log_dir: str | None
) -> Iterator[LocalCluster]:
    """Start a local cluster; retry with new ports if one was taken before its task had bound it."""
    for attempt in range(1, MAX_STARTS + 1):
        local = LocalCluster(tasks.n_ps, tasks.n_workers, seconds, process_launcher, log_dir)
        try:
            local.__enter__()
            break
        except TaskEnded as error:
            port_is_taken = any(text in str(error) for text in PORT_ERRORS)
            if attempt == MAX_STARTS or not port_is_taken:
                raise
            logger.info("the port of %s is in use: starting again with new ports", error.task)
    with contextlib.closing(local):
        yield local


def _warn_of_exposed_tasks(cluster: Cluster) -> None:
    exposed = [str(task) for task in cluster.tasks() if not task.is_private]
    if exposed:
        logger.warning(
            "these tasks may be reachable from outside: %s. TensorFlow servers have no "
            "authentication: anyone who reaches their ports can run code there. Use a firewall "
            "that admits only this cluster's tasks",
            ", ".join(exposed),
        )
    if cluster.chief is None and not all(task.is_loopback for task in cluster.tasks()):
        logger.warning(
            "the cluster has no chief, so TensorFlow's server in this program has a random port, "
            "which the rules of a firewall cannot name. Add this machine's address to the cluster, "
            'as in "chief": ["10.0.0.1:2222"]'
        )
