"""Whether the tasks of a cluster are there, before TensorFlow waits for them.

The constructor of ``ParameterServerStrategy`` waits for a missing task for many minutes, and does
not say for which.
"""

import time
from collections.abc import Iterable

from gensim_tfw2v.cluster.spec import Task

#: Seconds that all tasks together have to come up.
READY_SECONDS = 30.0

#: Seconds between two attempts.
PAUSE = 0.2


class MissingTasks(ConnectionError):
    """Tasks that did not answer in time.

    Attributes
    ----------
    tasks : tuple of Task
    """

    def __init__(self, tasks: Iterable[Task], seconds: float) -> None:
        self.tasks = tuple(tasks)
        names = ", ".join(map(str, self.tasks))
        super().__init__(
            f"no answer within {seconds:g} s from {names}: check that these tasks are running, "
            "that the addresses are right, and that no firewall is between"
        )


def wait_for_tasks(tasks: Iterable[Task], seconds: float = READY_SECONDS) -> None:
    """Wait until every task answers as a gRPC server.

    Raises
    ------
    MissingTasks
        Naming those that have not answered in time.
    """
    import grpc  # TensorFlow's own; only here, for it takes a while to import

    deadline = time.monotonic() + seconds
    channels = {task: grpc.insecure_channel(task.address, _OPTIONS) for task in tasks}
    try:
        waiting = {task: grpc.channel_ready_future(channel) for task, channel in channels.items()}
        missing = []
        for task, ready in waiting.items():
            try:
                ready.result(timeout=max(0.0, deadline - time.monotonic()))
            except grpc.FutureTimeoutError:
                missing.append(task)
                ready.cancel()
        if missing:
            raise MissingTasks(missing, seconds)
    finally:
        for channel in channels.values():
            channel.close()


#: Attempts follow each other quickly: by default gRPC waits up to two minutes after failures. And
#: no proxy of the environment is asked for addresses inside a cluster.
_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", int(PAUSE * 1000)),
    ("grpc.min_reconnect_backoff_ms", int(PAUSE * 1000)),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
