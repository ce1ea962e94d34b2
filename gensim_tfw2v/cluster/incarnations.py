"""Incarnations of tasks, by which a restart of a task is detected.

A TensorFlow server describes its devices on request. Each description contains a random number, the
incarnation of the device, which differs for each process.
"""

import contextlib
from collections.abc import Sequence

from gensim_tfw2v.cluster.spec import Task

#: gRPC options for checks of tasks: at most a second between attempts (by default up to two
#: minutes), no proxy, and no connection that is shared with a different channel.
CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)

#: Method of TensorFlow's servers that describes their devices. Its request is an empty message.
GET_STATUS = "/tensorflow.WorkerService/GetStatus"


def read_incarnations(tasks: Sequence[Task], seconds: float) -> dict[Task, bytes]:
    """Return the description of the devices of each task that answers within `seconds`.

    Two descriptions of a task differ if and only if it has restarted.
    """
    import grpc  # a dependency of TensorFlow; imported here because it is slow

    descriptions = {}
    with contextlib.ExitStack() as stack:
        calls = {}
        for task in tasks:
            channel = stack.enter_context(grpc.insecure_channel(task.address, CHANNEL_OPTIONS))
            get_status = channel.unary_unary(GET_STATUS)
            calls[task] = get_status.future(b"", timeout=seconds, wait_for_ready=True)
        for task, call in calls.items():
            with contextlib.suppress(grpc.RpcError):
                descriptions[task] = call.result()
    return descriptions
