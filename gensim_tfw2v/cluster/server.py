"""One ps or worker: ``python -m gensim_tfw2v.cluster.server``, told by ``TF_CONFIG`` which.

It serves until SIGTERM or SIGINT, or, with ``--with-parent``, until its standard input is closed:
which happens when the process that started it ends, however it does.
"""

import os
import signal
import sys
import threading
from typing import NoReturn

from gensim_tfw2v.cluster.connect import prepare_connections
from gensim_tfw2v.cluster.spec import LOG_DIR, Cluster, Task, from_tf_config
from gensim_tfw2v.cluster.versions import publish_version
from gensim_tfw2v.processes.children import name_process
from gensim_tfw2v.processes.hazards import prepare_environment

#: What a task prints when its port takes calls.
SERVES = "{} serves"


def serve(
    cluster: Cluster, task: Task, with_parent: bool = False, log_dir: str | None = None
) -> NoReturn:
    """Run TensorFlow's server for a ps or worker until the process is told to end; then end it.

    Parameters
    ----------
    cluster : Cluster
    task : Task
    with_parent : bool
        Whether to end when standard input is closed.
    log_dir : str, optional
        A folder where this writes a run for TensorBoard, with what it takes of the machine.
    """
    name_process(f"tfw2v {task.role} {task.index}")
    prepare_environment()
    status, ended = 0, threading.Event()

    def end(number: int, _: object) -> None:
        nonlocal status
        status = 128 + number
        ended.set()

    def wait_for_parent() -> None:
        sys.stdin.read()
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    if with_parent:
        threading.Thread(target=wait_for_parent, daemon=True).start()

    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.kernel.native import load_ops
    from gensim_tfw2v.monitor.task import TaskLog

    load_ops()  # for what it is sent
    # With one inter-op thread, TensorFlow's choice on one core, a server waits for itself at the
    # first function that uses a variable of a ps.
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=max(4, len(cluster.worker) + 1),
        intra_op_parallelism_threads=1 if task.role == "worker" else 0,
    )
    # the threads of an idle task would look for work all the time, and take it from others' cores
    config.experimental.disable_thread_spinning = True
    prepare_connections(cluster.tasks())
    server = tf.distribute.Server(
        tf.train.ClusterSpec(cluster.addresses()),
        job_name=task.role,
        task_index=task.index,
        protocol="grpc",
        config=config,
    )
    publish_version(server, task)
    log = None if log_dir is None else TaskLog(log_dir, f"{task.role}-{task.index}")
    print(SERVES.format(task), flush=True)
    while not ended.wait(1.0):  # with a limit: else Python sees no signal
        pass
    if log is not None:
        log.close()
    # TensorFlow's server cannot be stopped, and would keep the interpreter from ending
    os._exit(status)


def main() -> None:
    """Serve as ``TF_CONFIG`` says."""
    serve(
        *from_tf_config(os.environ),
        with_parent="--with-parent" in sys.argv[1:],
        log_dir=os.environ.get(LOG_DIR) or None,
    )


if __name__ == "__main__":
    main()
