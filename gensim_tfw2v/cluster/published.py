"""What a task lets its clients know: strings in variables of its own device, found by name.

A server of TensorFlow tells nobody its version, nor what it can do. So each task makes such
variables through a session on itself.
"""

from __future__ import annotations

from typing import Any

from gensim_tfw2v.cluster.spec import Task

#: Seconds that a session may take to be opened, extended or closed.
OPERATION_SECONDS = 30.0


def publish(server: Any, task: Task, name: str, text: str) -> None:
    """Let a server's clients know something.

    Parameters
    ----------
    server : tf.distribute.Server
        Of this process.
    task : Task
        Its task.
    name, text : str
    """
    from gensim_tfw2v._tensorflow import tf

    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        assign = tf.raw_ops.AssignVariableOp(resource=variable(name), value=tf.constant(text))
    with session(server.target, task, graph) as running:
        running.run(assign)


def variable(name: str) -> Any:
    """The resource of a published string, on the device that is current."""
    from gensim_tfw2v._tensorflow import tf

    return tf.raw_ops.VarHandleOp(dtype=tf.string, shape=[], shared_name=name)


def session(target: str, task: Task, graph: Any) -> Any:
    """A session that has to do with one task alone, where it would else wait for all.

    To open and to close it have a limit, `OPERATION_SECONDS`; for a run, give one.
    """
    from gensim_tfw2v._tensorflow import tf

    config = tf.compat.v1.ConfigProto(
        device_filters=[f"/job:{task.role}/task:{task.index}"],
        operation_timeout_in_ms=round(1000 * OPERATION_SECONDS),
    )
    return tf.compat.v1.Session(target, graph=graph, config=config)


def device_of(task: Task) -> str:
    """The name of a task's processor."""
    return f"/job:{task.role}/task:{task.index}/device:CPU:0"
