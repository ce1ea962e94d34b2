"""Measuring the links of a cluster, as training uses them.

During training, a task that needs data of another task connects to it, and TensorFlow transfers a
tensor over that connection. So each direction of a link between a worker and a ps is measured by a
session of its receiver. The coordinator connects to all tasks, but none connects to it: it sends
data with a call, and receives data with the answer.

A transfer is timed as the difference of two calls: in one, a large tensor is transferred, in the
other, one of its elements. So the time of everything else, such as filling the tensor, cancels.
"""

import functools
import itertools
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import (
    PATH_SECONDS,
    PATH_THREADS,
    MissingTasks,
    prepare_connections,
    wait_for_tasks,
)
from gensim_tfw2v.cluster.links import TaskLink, task_name, task_pairs
from gensim_tfw2v.cluster.sessions import device_of, graph_of, session
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, Task
from gensim_tfw2v.processes.threads import in_threads

logger = logging.getLogger(__name__)

#: Bytes of a float32 element.
ELEMENT_BYTES = 4

#: Numbers of float32 elements to transfer: 32 KiB to 32 MiB. They grow until a transfer is long
#: enough.
SIZES = tuple((32 << 10) // ELEMENT_BYTES * 4**power for power in range(6))

#: Sizes for the coordinator, whose messages take longer to pack: up to 8 MiB.
COORDINATOR_SIZES = SIZES[:-1]

#: Minimum seconds of a transfer: shorter ones are inaccurate, because their first bytes are slow.
MIN_TRANSFER_SECONDS = 0.3

#: Number of calls for the time of a transfer: the fastest counts. The first one also prepares it.
CALLS = 3

#: Number of calls for a round-trip time: the fastest counts.
ROUND_TRIP_CALLS = 10

#: Number of successive round trips in a call.
ROUND_TRIPS = 4

#: Time limit in seconds for each figure of a link.
FIGURE_SECONDS = 10.0


def measure_links(cluster: Cluster, seconds: float = READY_SECONDS) -> Iterator[TaskLink]:
    """Measure each link of a cluster whose tasks are running; yield its figures.

    Links are measured one by one, so that they do not share the bandwidth of a host. A blocked link
    is yielded, too, and does not delay the others for more than some seconds. The tasks must not
    train meanwhile.

    Parameters
    ----------
    cluster : Cluster
    seconds : float
        Time limit for the tasks to answer.

    Yields
    ------
    TaskLink
        Links in the order of `links.task_pairs`.
    """
    connected_tasks = list(task_pairs(cluster))
    problems = _find_problems(connected_tasks, seconds)
    for source, target in connected_tasks:
        if problem := problems.get((source, target)):
            link = TaskLink(source, target, problem=problem)
        else:
            link = measure_link(source, target)
        logger.info("%s: %s", link, link.problem or f"{link.rate:,.0f} bytes/s or more")
        yield link


def measure_link(source: Task, target: Task) -> TaskLink:
    """Measure the link between a worker and a ps, or between the coordinator and a task."""
    measure = _measure_coordinator_link if source.role == "chief" else _measure_worker_link
    try:
        return TaskLink(source, target, *measure(source, target))
    except tf.errors.DeadlineExceededError:
        problem = (
            f"{task_name(source)} and {target} exchange small messages, but not "
            f"{SIZES[0] * ELEMENT_BYTES >> 10} KiB within {FIGURE_SECONDS:g} s; check the MTU of "
            "the network"
        )
    except tf.errors.OpError as error:
        reason = error.message.partition("\n")[0][:100]
        problem = f"{task_name(source)} and {target} lost each other ({reason})"
    return TaskLink(source, target, problem=problem)


def _find_problems(connected_tasks: Sequence[tuple[Task, Task]], seconds: float) -> dict[Any, str]:
    """Return the reason why a link is blocked, by its source and target, for all such links.

    The tasks' links are tried concurrently, so that blocked ones take little time.
    """
    servers = [target for source, target in connected_tasks if source.role == "chief"]
    missing: Iterable[Task] = ()
    try:
        wait_for_tasks(servers, seconds)
    except MissingTasks as error:
        missing = error.tasks
    prepare_connections(servers)

    unreachable = [
        (receiver, sender)
        for pair in connected_tasks
        for receiver, sender in itertools.permutations(pair)
        if receiver.role != "chief" and sender.role != "chief" and not {*pair} & {*missing}
    ]
    if unreachable:
        tf.float32  # noqa: B018  # imports TensorFlow, which several threads must not do at once
    for _ in range(2):  # a task may have restarted during the first attempt
        are_reachable = in_threads(
            lambda path, _: _can_receive(*path), unreachable, threads=PATH_THREADS
        )
        unreachable = [
            path
            for path, is_reachable in zip(unreachable, are_reachable, strict=True)
            if not is_reachable
        ]

    problems = {}
    for source, target in connected_tasks:
        silent = [task for task in (source, target) if task in missing]
        blocked = [path for path in unreachable if {*path} == {source, target}]
        if silent:
            problems[source, target] = f"{silent[0]} does not answer the coordinator"
        elif blocked:
            problems[source, target] = ", and ".join(
                f"{task_name(receiver)} does not reach {sender}" for receiver, sender in blocked
            )
    return problems


def _can_receive(receiver: Task, sender: Task) -> bool:
    """Return whether a task can connect to another one, and receive a number from it."""
    with tf.Graph().as_default() as graph:
        _, element = _add_payload(receiver, sender, SIZES[0])
    try:
        with session((receiver, sender), graph, operation_seconds=PATH_SECONDS) as run:
            run(element, seconds=PATH_SECONDS)
    except tf.errors.OpError:
        return False
    return True


def _measure_worker_link(worker: Task, ps: Task) -> tuple[float, float, float]:
    """Return the rates at which a worker sends and receives, and the round-trip time."""
    round_trip = _measure_round_trip(worker, ps)
    sent_rate = _measure_received_rate(ps, worker)
    return sent_rate, _measure_received_rate(worker, ps), round_trip


def _measure_received_rate(receiver: Task, sender: Task) -> float:
    """Return the bytes/s at which a task receives data that it requests from another one."""
    with tf.Graph().as_default() as graph:
        payloads = {size: _add_payload(receiver, sender, size) for size in SIZES}
    with session((receiver, sender), graph, operation_seconds=FIGURE_SECONDS) as run:
        return _measure_rate(
            SIZES,
            lambda size, seconds: run(payloads[size][0], seconds=seconds),
            lambda size, seconds: run(payloads[size][1], seconds=seconds),
        )


def _add_payload(receiver: Task, sender: Task, size: int) -> tuple[Any, Any]:
    """Add a tensor of `size` elements on the sender to the current graph.

    Returns two numbers on the receiver. For the first one, it receives the whole tensor. For the
    second one, it receives one element.
    """
    with tf.device(device_of(sender)):
        payload = tf.fill([size], tf.random.uniform([]))  # not a constant, which would be stored
        element = payload[0]
    with tf.device(device_of(receiver)):
        return payload[0], element + tf.random.uniform([])


def _measure_round_trip(worker: Task, ps: Task) -> float:
    """Return the seconds in which a number travels from a worker to a ps and back."""
    with tf.Graph().as_default() as graph:
        short = _add_round_trips(worker, ps, 1)
        long = _add_round_trips(worker, ps, 1 + ROUND_TRIPS)
    deadline = time.monotonic() + FIGURE_SECONDS
    with session((worker, ps), graph, operation_seconds=FIGURE_SECONDS) as run:
        short_seconds, long_seconds = (
            _time_fastest(functools.partial(run, total, None), ROUND_TRIP_CALLS, deadline)
            for total in (short, long)
        )
    return max(1e-6, (long_seconds - short_seconds) / ROUND_TRIPS)


def _add_round_trips(worker: Task, ps: Task, n_trips: int) -> Any:
    """Add a sum to the current graph whose terms are added by a worker and a ps alternately."""
    total = tf.constant(0.0)
    for task in (worker, *(ps, worker) * n_trips):
        with tf.device(device_of(task)):
            total = total + tf.random.uniform([])
    return total


def _measure_coordinator_link(_: Task, target: Task) -> tuple[float, float, float]:
    """Return the rates at which this process sends and receives, and the round-trip time."""
    with graph_of(target) as graph:
        upload = tf.compat.v1.placeholder(tf.float32, [None])
        first = upload[0]
        downloads = {size: tf.fill([size], tf.random.uniform([])) for size in COORDINATOR_SIZES}
        elements = {size: payload[0] for size, payload in downloads.items()}
    arrays = {size: np.ones(size, np.float32) for size in (1, *COORDINATOR_SIZES)}
    with session([target], graph, operation_seconds=FIGURE_SECONDS) as run:

        def send(size: int, seconds: float) -> Any:
            return run(first, {upload: arrays[size]}, seconds)

        deadline = time.monotonic() + FIGURE_SECONDS
        round_trip = _time_fastest(functools.partial(send, 1), ROUND_TRIP_CALLS, deadline)
        sent_rate = _measure_rate(COORDINATOR_SIZES, send, lambda _, seconds: send(1, seconds))
        received_rate = _measure_rate(
            COORDINATOR_SIZES,
            lambda size, seconds: run(downloads[size], seconds=seconds),
            lambda size, seconds: run(elements[size], seconds=seconds),
        )
        return sent_rate, received_rate, round_trip


#: Function of a number of elements and a time limit in seconds, which calls a task.
_Transfer = Callable[[int, float], Any]


def _measure_rate(sizes: Sequence[int], transfer: _Transfer, skip: _Transfer) -> float:
    """Return the bytes/s of a transfer, measured for growing sizes until it is long enough.

    `transfer` transfers a number of elements, and `skip` does the same except for the transfer.
    """
    rate = 0.0
    deadline = time.monotonic() + FIGURE_SECONDS
    for size in sizes:
        try:
            seconds = _time_fastest(functools.partial(transfer, size), CALLS, deadline)
            seconds -= _time_fastest(functools.partial(skip, size), CALLS, deadline)
        except tf.errors.DeadlineExceededError:
            if not rate:
                raise
            break  # too slow for this size
        rate = ELEMENT_BYTES * size / max(seconds, 1e-6)
        if seconds >= MIN_TRANSFER_SECONDS:
            break
    return rate


def _time_fastest(call: Callable[[float], Any], n_calls: int, deadline: float) -> float:
    """Return the seconds of the fastest of several calls, which end at a deadline.

    `call` is a function of a time limit in seconds.
    """
    fastest = math.inf
    for _ in range(n_calls):
        start = time.monotonic()
        call(max(0.01, deadline - start))  # 0 would be no limit
        fastest = min(fastest, time.monotonic() - start)
    return fastest
