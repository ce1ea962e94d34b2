"""A ps or worker task: ``python -m gensim_tfw2v.cluster.server``; ``TF_CONFIG`` defines which.

It serves until SIGTERM or SIGINT. With ``--with-parent``, it also exits when its standard input
closes, which happens in whatever way its parent process exits. The parent and the task send each
other heartbeats: the parent kills a task that hangs; see `supervisor`.

When the last training run has left, the task restarts itself to free its resources: see
`presence`.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from gensim_tfw2v.cluster.connect import bypass_proxies, check_port
from gensim_tfw2v.cluster.descriptions import from_tf_config
from gensim_tfw2v.cluster.spec import LOG_DIR
from gensim_tfw2v.messages import LOG_FORMAT
from gensim_tfw2v.processes.children import exec_module, exit_with_parent, name_process
from gensim_tfw2v.processes.connections import keep_alive
from gensim_tfw2v.processes.process_guards import prepare_environment

#: Line that a task prints when its port accepts calls.
READY_LINE = "{} serves"

#: Option of a task that exits when its parent does.
WITH_PARENT = "--with-parent"

#: Option of a task that outlives training runs: it restarts immediately after each.
STANDING = "--standing"

#: Option of a task that logs to standard error.
VERBOSE = "--verbose"

#: Bytes that a task and its parent send each other as a heartbeat.
HEARTBEAT = b"\0\n"

#: Seconds between two heartbeats.
BEAT_SECONDS = 5.0

#: Signals on which a task exits.
EXIT_SIGNALS = (signal.SIGTERM, signal.SIGINT)

#: Seconds that a task with a parent waits after training before it restarts, unless it is
#: `STANDING`: the parent usually stops it then.
CLOSING_SECONDS = 1.0


def serve(with_parent: bool = False, is_standing: bool = False) -> NoReturn:
    """Run TensorFlow's server for a ps or worker until a signal ends it; then exit.

    The environment variable ``TF_CONFIG`` defines the task. The variable that `LOG_DIR` names
    contains the folder for its TensorBoard run, which records its use of CPU, memory and network.

    Parameters
    ----------
    with_parent : bool
        Also exit when standard input closes, and write heartbeats to standard output.
    is_standing : bool
        Restart immediately after a training run.

    Raises
    ------
    OSError
        If the task's port is in use.
    """
    cluster, task = from_tf_config(os.environ)
    name_process(f"tfw2v-{task.role}-{task.index}")
    prepare_environment()
    # The kernels run on CPUs. Besides, TensorFlow refuses workers with different numbers of GPUs.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    status = 0
    end_event = threading.Event()
    must_restart = False

    def end(signal_number: int, _: object) -> None:
        nonlocal status
        status = 128 + signal_number
        end_event.set()

    def wait_for_parent() -> None:
        while os.read(0, 1024):
            pass
        end_event.set()

    def beat() -> None:
        with contextlib.suppress(OSError):  # the parent has closed the pipe
            while os.write(1, HEARTBEAT):
                time.sleep(BEAT_SECONDS)

    # Signals end the start at once: a handler of Python would run only after the import of
    # TensorFlow's libraries, for which a busy machine needs seconds.
    handle_exit_signals(signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EXIT_SIGNALS)  # a restart blocks them, see below
    if with_parent:
        if sys.platform == "linux":
            exit_with_parent()  # a stopped task would not notice that its input has closed
        for run in wait_for_parent, beat:
            threading.Thread(target=run, daemon=True).start()
    check_port(task)  # TensorFlow's own error names neither the port nor the process that uses it

    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.cluster.handshake import publish_version
    from gensim_tfw2v.cluster.presence import wait_for_trainings
    from gensim_tfw2v.monitor.task_log import TaskLog
    from gensim_tfw2v.ops.library import load_ops

    load_ops()  # the coordinator sends functions to this task that use the ops
    # With one inter-op thread, TensorFlow's default on one core, a server deadlocks in the first
    # function that uses a ps variable.
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=max(4, len(cluster.worker) + 1),
        intra_op_parallelism_threads=1 if task.role == "worker" else 0,
    )
    # Otherwise the threads of an idle task spin, and slow down the machine's other processes.
    config.experimental.disable_thread_spinning = True
    bypass_proxies(cluster.tasks())
    spec = tf.train.ClusterSpec(cluster.addresses())
    server = tf.distribute.Server(spec, job_name=task.role, task_index=task.index, config=config)
    if not all(member.is_loopback for member in cluster.tasks()):
        keep_alive(None)  # on all connections, because the callers' ports are unknown
    publish_version(server, task)
    log_dir = os.environ.get(LOG_DIR)
    log = TaskLog(log_dir, f"{task.role}-{task.index}") if log_dir else None

    def wait_until_left() -> None:
        nonlocal must_restart
        closing_seconds = CLOSING_SECONDS if with_parent and not is_standing else 0.0
        wait_for_trainings(server.target, task, closing_seconds)
        must_restart = not end_event.is_set()
        end_event.set()

    threading.Thread(target=wait_until_left, daemon=True).start()
    handle_exit_signals(end)
    print(READY_LINE.format(task), flush=True)
    while not end_event.wait(1.0):  # Python handles no signals during a wait without a timeout
        pass
    handle_exit_signals(signal.SIG_DFL)  # nobody waits for the event any more
    if log is not None:
        log.close()
    if must_restart and not status:
        signal.pthread_sigmask(signal.SIG_BLOCK, EXIT_SIGNALS)
        print(f"{task} restarts: the last training run has ended", flush=True)
        exec_module("gensim_tfw2v.cluster.server", *sys.argv[1:])
    # os._exit, because TensorFlow's server cannot be stopped, and would block a normal exit
    os._exit(status)


def handle_exit_signals(action: Callable[[int, Any], None] | signal.Handlers) -> None:
    """Make an action the one of `EXIT_SIGNALS`."""
    for signal_number in EXIT_SIGNALS:
        signal.signal(signal_number, action)


def main() -> None:
    """Run the task that ``TF_CONFIG`` defines."""
    if VERBOSE in sys.argv:
        logging.basicConfig(format=LOG_FORMAT, level=logging.INFO)
    try:
        serve(WITH_PARENT in sys.argv, STANDING in sys.argv)
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
