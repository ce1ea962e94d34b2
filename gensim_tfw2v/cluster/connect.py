"""Waiting for the tasks of a cluster, and connecting TensorFlow's coordinator to them."""

import contextlib
import os
import socket
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gensim_tfw2v.cluster.spec import Cluster, Task
from gensim_tfw2v.processes.machine import keep_alive, port_user

#: Seconds that all tasks together have to come up.
READY_SECONDS = 30.0

#: What an error says of a port in use.
CANNOT_LISTEN = "cannot listen at port"

#: Seconds that a worker has to reach a ps, and threads that try paths side by side.
PATH_SECONDS, PATH_THREADS = 5.0, 32

#: Where gRPC finds a proxy, which it would ask for addresses inside a cluster too.
PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")

#: Attempts follow each other quickly: by default gRPC waits up to two minutes after failures.
_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class MissingTasks(ConnectionError):
    """Tasks that did not answer in time.

    Attributes
    ----------
    tasks : tuple of Task
        Those tasks.
    """

    def __init__(self, tasks: Iterable[Task], seconds: float, advice: str = "") -> None:
        self.tasks = tuple(tasks)
        names = ", ".join(map(str, self.tasks))
        super().__init__(
            f"no answer within {seconds:g} s from {names}: check that these tasks are running, "
            f"that the addresses are right, and that no firewall is between{advice}"
        )


def wait_for_tasks(tasks: Iterable[Task], seconds: float = READY_SECONDS) -> None:
    """Wait until every task answers as a gRPC server.

    Parameters
    ----------
    tasks : iterable of Task
        Tasks to wait for, such as ``cluster.servers()``.
    seconds : float
        Time limit for all of them together.

    Raises
    ------
    MissingTasks
        If tasks have not answered in time; the message names them.
    """
    import grpc  # TensorFlow's own; only here, for it takes a while to import

    deadline, missing = time.monotonic() + seconds, []
    with contextlib.ExitStack() as stack:
        channels = {
            task: stack.enter_context(grpc.insecure_channel(task.address, _OPTIONS))
            for task in tasks
        }
        waiting = {task: grpc.channel_ready_future(channel) for task, channel in channels.items()}
        for task, ready in waiting.items():
            try:
                ready.result(timeout=max(0.0, deadline - time.monotonic()))
            except grpc.FutureTimeoutError:
                missing.append(task)
                ready.cancel()
    if missing:
        raise MissingTasks(missing, seconds)


def check_port(task: Task) -> None:
    """Check that a task of this machine can listen at its port, on all interfaces.

    Raises
    ------
    OSError
        Naming the task, and who has the port.
    """
    has_both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if has_both else socket.AF_INET
    try:
        socket.create_server(("", task.port), family=family, dualstack_ipv6=has_both).close()
    except OSError as error:
        reason = f"{os.strerror(error.errno or 0)}{port_user(task.port)}"
        cure = "Free the port on that host, or give the task another one"
        raise OSError(f"{task} {CANNOT_LISTEN} {task.port}: {reason}. {cure}") from None


class BlockedPaths(ConnectionError):
    """Workers and ps tasks that run, but do not reach each other."""


def check_paths(tasks: Sequence[Task]) -> None:
    """See that workers and ps tasks reach each other.

    Raises
    ------
    BlockedPaths
        Naming pairs that had `PATH_SECONDS` twice.
    MissingTasks
        If tasks do not answer at all.
    """
    pairs = [(one, ps) for one in tasks for ps in tasks if (one.role, ps.role) == ("worker", "ps")]
    with ThreadPoolExecutor(PATH_THREADS) as pool:
        for _ in range(2):  # one may have been started anew
            reached = pool.map(_reaches, pairs)
            pairs = [
                pair for pair, is_reached in zip(pairs, reached, strict=True) if not is_reached
            ]
    if pairs:
        wait_for_tasks({task for pair in pairs for task in pair}, PATH_SECONDS)
        raise BlockedPaths(
            "these tasks run, but do not reach each other: "
            f"{', '.join(f'{worker} and {ps}' for worker, ps in pairs)}. Check that each host "
            "resolves the other's address, and that no firewall is between"
        )


def _reaches(pair: tuple[Task, Task]) -> bool:
    """Return whether a number goes from a worker to a ps, and back."""
    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.cluster.handshake import device_of

    worker, ps = pair
    milliseconds = round(1000 * PATH_SECONDS)
    config = tf.compat.v1.ConfigProto(
        device_filters=[f"/job:{task.role}/task:{task.index}" for task in pair],
        operation_timeout_in_ms=milliseconds,
    )
    with tf.Graph().as_default() as graph:
        number = tf.constant(0.0)
        for task in (worker, ps, worker):
            with tf.device(device_of(task)):
                number = number + tf.random.uniform([])
    try:
        with tf.compat.v1.Session(f"grpc://{worker.address}", graph, config) as session:
            session.run(number, options=tf.compat.v1.RunOptions(timeout_in_ms=milliseconds))
    except tf.errors.OpError:
        return False
    return True


def prepare_connections(tasks: Iterable[Task]) -> None:
    """Let this process connect to tasks without a proxy, and notice when a host falls silent.

    Call it before the first connection.
    """
    tasks = list(tasks)
    bypass_proxies(tasks)
    if hosts := [(task.host, task.port) for task in tasks if not task.is_loopback]:
        keep_alive(hosts)


def bypass_proxies(tasks: Iterable[Task]) -> None:
    """Except tasks from gRPC's proxy by the one variable that nothing but gRPC reads."""
    if not any(map(os.environ.get, PROXIES)):
        return
    excepted = os.environ.get("no_grpc_proxy", os.environ.get("no_proxy", ""))
    os.environ["no_grpc_proxy"] = ",".join(
        dict.fromkeys([*filter(None, excepted.split(",")), *(task.host for task in tasks)])
    )


def connect(cluster: Cluster, seconds: float = READY_SECONDS) -> Any:
    """Connect this process, as its coordinator, to the tasks of a cluster.

    Parameters
    ----------
    cluster : Cluster
    seconds : float
        How long its tasks have to come up.

    Returns
    -------
    tf.distribute.experimental.coordinator.ClusterCoordinator

    Raises
    ------
    OSError
        If the chief's port is in use.
    MissingTasks, BlockedPaths
        Naming the tasks that have not answered in time.
    OtherVersion, MissingKernels
        Naming the tasks with another version of TensorFlow or of this package, or without the
        kernels.
    """
    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.cluster.handshake import check_versions, stay_with

    if cluster.chief:
        check_port(cluster.task("chief", 0))
    wait_for_tasks(cluster.servers(), seconds)
    prepare_connections(cluster.servers())
    if missing := stay_with(cluster.servers(), seconds):
        raise MissingTasks(missing, seconds)

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster.addresses()),
        # without an address of its own TensorFlow takes a free one
        **({"task_type": "chief", "task_id": 0} if cluster.chief else {}),
        rpc_layer="grpc",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
        check_versions(cluster.servers())
        check_paths(cluster.servers())
        return tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
