"""Waiting for the tasks of a cluster, and connecting TensorFlow's coordinator to them."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cluster.incarnations import CHANNEL_OPTIONS
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, Task
from gensim_tfw2v.processes.connections import keep_alive, port_user

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.presence import Presence

#: Seconds to wait for a port: an earlier task, which is being killed, may still use it.
PORT_SECONDS = 5.0

#: Part of the error message for a port in use, by which `local_cluster` recognizes the error.
CANNOT_LISTEN = "cannot listen at port"

#: Time limit in seconds for a worker to reach a ps.
PATH_SECONDS = 5.0

#: Number of paths from workers to ps tasks that are checked in parallel.
PATH_THREADS = 32

#: Environment variables that set a proxy. gRPC would use it for addresses inside a cluster, too.
PROXY_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")

#: Method that no task has. A gRPC server answers a call of it with the status UNIMPLEMENTED.
UNKNOWN_METHOD = "/gensim_tfw2v/ping"


class MissingTasks(ConnectionError):
    """Tasks that did not answer in time.

    Attributes
    ----------
    tasks : tuple of Task
        The tasks that did not answer.
    """

    def __init__(self, message: str, tasks: Iterable[Task] = ()) -> None:
        super().__init__(message)
        self.tasks = tuple(tasks)

    @classmethod
    def after(cls, seconds: float, tasks: Sequence[Task], advice: str = "") -> MissingTasks:
        """Make the error of tasks that have not answered within a number of seconds."""
        names = ", ".join(map(str, tasks))
        return cls(
            f"no answer within {seconds:g} s from {names}: check that these tasks are running, "
            f"that the addresses are right, and that no firewall blocks them{advice}",
            tasks,
        )


def wait_for_tasks(tasks: Iterable[Task], seconds: float = READY_SECONDS) -> None:
    """Wait until every task answers as a gRPC server.

    Parameters
    ----------
    tasks : iterable of Task
        Tasks to wait for, such as ``cluster.servers()``.
    seconds : float
        Time limit for all tasks.

    Raises
    ------
    MissingTasks
        If tasks have not answered in time; the message names them.
    """
    import grpc  # a dependency of TensorFlow; imported here because it is slow

    deadline = time.monotonic() + seconds

    def call(channel: Any) -> Any:
        # `grpc.channel_ready_future` would take at least .2 s, because it polls the channel.
        remaining = max(0.0, deadline - time.monotonic())
        method = channel.unary_unary(UNKNOWN_METHOD)
        return method.future(b"", timeout=remaining, wait_for_ready=True)

    missing = []
    with contextlib.ExitStack() as stack:
        channels = {
            task: stack.enter_context(grpc.insecure_channel(task.address, CHANNEL_OPTIONS))
            for task in tasks
        }
        calls = {task: call(channel) for task, channel in channels.items()}
        for task, channel in channels.items():
            while calls[task].code() == grpc.StatusCode.UNAVAILABLE:  # the task exits: call again
                time.sleep(0.1)
                calls[task] = call(channel)
            if calls[task].code() != grpc.StatusCode.UNIMPLEMENTED:
                missing.append(task)
    if missing:
        raise MissingTasks.after(seconds, missing)


def check_port(task: Task) -> None:
    """Wait until a task of this machine can listen at its port, on all interfaces.

    Raises
    ------
    OSError
        If the port is in use after `PORT_SECONDS`; the message names the task and the process that
        uses the port.
    """
    has_both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if has_both else socket.AF_INET
    deadline = time.monotonic() + PORT_SECONDS
    while True:
        try:
            socket.create_server(("", task.port), family=family, dualstack_ipv6=has_both).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                reason = f"{os.strerror(error.errno or 0)}{port_user(task.port)}"
                cure = "Free the port on that host, or choose a different port for the task"
                raise OSError(f"{task} {CANNOT_LISTEN} {task.port}: {reason}. {cure}") from None
        time.sleep(0.1)


class BlockedPaths(ConnectionError):
    """Workers and ps tasks that run but cannot reach each other."""


def check_paths(tasks: Sequence[Task]) -> None:
    """Check that each worker and each ps task can reach each other.

    Raises
    ------
    BlockedPaths
        If a pair fails two checks of `PATH_SECONDS` each; the message names all such pairs.
    MissingTasks
        If tasks do not answer at all.
    """
    from gensim_tfw2v.cluster.sessions import is_blocked

    task_pairs = [
        (worker, ps)
        for worker in tasks
        if worker.role == "worker"
        for ps in tasks
        if ps.role == "ps"
    ]
    with ThreadPoolExecutor(PATH_THREADS) as pool:
        for _ in range(2):  # a task may have restarted during the first check
            blocked = pool.map(is_blocked, task_pairs, itertools.repeat(PATH_SECONDS))
            task_pairs = list(itertools.compress(task_pairs, blocked))
    if task_pairs:
        wait_for_tasks({task for pair in task_pairs for task in pair}, PATH_SECONDS)
        names = ", ".join(f"{worker} and {ps}" for worker, ps in task_pairs)
        raise BlockedPaths(
            f"these tasks run but cannot reach each other: {names}. Check that each host resolves "
            "the other's address, and that no firewall blocks them"
        )


def prepare_connections(tasks: Iterable[Task]) -> None:
    """Prepare this process for connections to tasks: no proxy, and keep-alive to other hosts.

    Call it before the first connection.
    """
    tasks = list(tasks)
    bypass_proxies(tasks)
    if hosts := [(task.host, task.port) for task in tasks if not task.is_loopback]:
        keep_alive(hosts)


def bypass_proxies(tasks: Iterable[Task]) -> None:
    """Add the tasks' hosts to ``no_grpc_proxy``, so that gRPC does not reach them by a proxy.

    No other library reads that environment variable.
    """
    if not any(os.environ.get(name) for name in PROXY_VARIABLES):
        return
    exceptions = os.environ.get("no_grpc_proxy", os.environ.get("no_proxy", ""))
    hosts = [host for host in exceptions.split(",") if host]
    hosts += [task.host for task in tasks]
    os.environ["no_grpc_proxy"] = ",".join(dict.fromkeys(hosts))


def connect(cluster: Cluster, presence: Presence, seconds: float = READY_SECONDS) -> Any:
    """Connect this process, as the coordinator, to the tasks of a cluster.

    Parameters
    ----------
    cluster : Cluster
    presence : Presence
        Mark of this process at the tasks, which begins before anything is sent to them.
    seconds : float
        Time limit for the tasks to start.

    Returns
    -------
    tf.distribute.experimental.coordinator.ClusterCoordinator

    Raises
    ------
    OSError
        If the chief's port is in use.
    MissingTasks, BlockedPaths
        If tasks do not answer in time, or cannot reach each other; the message names them.
    OtherVersion, MissingKernels
        If tasks have a different version of TensorFlow or of this package, or lack the compiled
        kernels; the message names them.
    """
    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.cluster.handshake import check_versions

    if cluster.chief:
        check_port(cluster.task("chief", 0))
    wait_for_tasks(cluster.servers(), seconds)
    prepare_connections(cluster.servers())
    if missing := presence.begin(seconds):
        raise MissingTasks.after(seconds, missing)

    # If the chief has no address, TensorFlow picks a free port for it.
    own_task = {"task_type": "chief", "task_id": 0} if cluster.chief else {}
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster.addresses()), rpc_layer="grpc", **own_task
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
        check_versions(cluster.servers())
        check_paths(cluster.servers())
        return tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
