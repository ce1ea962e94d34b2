"""One ps or worker: ``python -m gensim_tfw2v.cluster.server``, told by ``TF_CONFIG`` which.

It serves until SIGTERM or SIGINT, or, with ``--with-parent``, until its standard input is closed:
which happens when the process that started it ends, however it does. Both tell each other that they
live: a parent kills a task that hangs, and `watch` one that has lost its parent.

When the last training has left, it frees all by starting anew: see `handshake`.
"""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from typing import NoReturn

from gensim_tfw2v.cluster.connect import bypass_proxies, check_port
from gensim_tfw2v.cluster.spec import LOG_DIR, from_tf_config
from gensim_tfw2v.processes.children import exec_module, name_process, start_module
from gensim_tfw2v.processes.connections import keep_alive
from gensim_tfw2v.processes.process_guards import prepare_environment

#: What a task prints when its port takes calls.
SERVES = "{} serves"

WITH_PARENT = "--with-parent"

#: The line by which a task with a parent says that it lives, and the seconds between two of them.
BEAT = b"\0\n"
BEAT_SECONDS = 5.0

#: Seconds without a sign of life after which a parent on another host counts as gone, and seconds
#: that a task has to end then. Only what hangs takes longer.
SILENT_SECONDS = 60.0
ENDING_SECONDS = 1.5

#: Signals that end a task.
ENDING = (signal.SIGTERM, signal.SIGINT)

#: Seconds after a training in which a parent may end its tasks; only then they start anew.
CLOSING_SECONDS = 1.0


def serve(with_parent: bool = False) -> NoReturn:
    """Run TensorFlow's server for a ps or worker until the process is told to end; then end it.

    ``TF_CONFIG`` says which task it is, and `LOG_DIR` where it writes a run for TensorBoard, with
    what it takes of the machine.

    Parameters
    ----------
    with_parent : bool
        Whether to end when standard input is closed.

    Raises
    ------
    OSError
        If the task's port is in use.
    """
    cluster, task = from_tf_config(os.environ)
    name_process(f"tfw2v-{task.role}-{task.index}")
    prepare_environment()
    status = 0
    ended = threading.Event()
    is_left = False
    is_serving = False

    def end(number: int, _: object) -> None:
        nonlocal status
        status = 128 + number
        if not is_serving:  # yet, or any more
            os._exit(status)
        ended.set()

    def wait_for_parent() -> None:
        while os.read(0, 1024):
            pass
        ended.set()

    def beat() -> None:
        with contextlib.suppress(OSError):  # nobody reads it
            while os.write(1, BEAT):
                time.sleep(BEAT_SECONDS)

    for number in ENDING:
        signal.signal(number, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # one may have come while this started anew
    if with_parent:
        for forever in wait_for_parent, beat:
            threading.Thread(target=forever, daemon=True).start()
    check_port(task)  # TensorFlow's own error names neither the port nor who has it

    from gensim_tfw2v._tensorflow import tf
    from gensim_tfw2v.cluster.handshake import publish_version, wait_for_trainings
    from gensim_tfw2v.kernel.native import load_ops
    from gensim_tfw2v.monitor.events import TaskLog

    load_ops()  # for what it is sent
    # With one inter-op thread, TensorFlow's choice on one core, a server waits for itself at the
    # first function that uses a variable of a ps.
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=max(4, len(cluster.worker) + 1),
        intra_op_parallelism_threads=1 if task.role == "worker" else 0,
    )
    # the threads of an idle task would look for work all the time, and take it from others' cores
    config.experimental.disable_thread_spinning = True
    bypass_proxies(cluster.tasks())
    spec = tf.train.ClusterSpec(cluster.addresses())
    server = tf.distribute.Server(spec, job_name=task.role, task_index=task.index, config=config)
    if not all(one.is_loopback for one in cluster.tasks()):
        keep_alive(None)  # who calls has a port that nobody knows
    publish_version(server, task)
    log_dir = os.environ.get(LOG_DIR)
    log = TaskLog(log_dir, f"{task.role}-{task.index}") if log_dir else None

    def wait_until_left() -> None:
        nonlocal is_left
        wait_for_trainings(server.target, task, CLOSING_SECONDS if with_parent else 0.0)
        is_left = not ended.is_set()
        ended.set()

    threading.Thread(target=wait_until_left, daemon=True).start()
    is_serving = True
    print(SERVES.format(task), flush=True)
    while not ended.wait(1.0):  # with a limit: else Python sees no signal
        pass
    if log is not None:
        log.close()
    is_serving = False
    if is_left and not status:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        print(f"{task} starts anew: the last training has left it", flush=True)
        exec_module("gensim_tfw2v.cluster.server", *[WITH_PARENT] * with_parent)
    # TensorFlow's server cannot be stopped, and would keep the interpreter from ending
    os._exit(status)


def watch() -> NoReturn:
    """Have another process `serve` until it ends, or the parent is gone; then kill what hangs.

    The parent is gone when standard input is closed, or when nothing comes from it for
    `SILENT_SECONDS`: the connection to another host can break without a word.
    """
    process = start_module("gensim_tfw2v.cluster.server", WITH_PARENT)

    def end_without_parent() -> None:
        while select.select([0], [], [], SILENT_SECONDS)[0] and os.read(0, 1024):
            pass
        assert process.stdin is not None
        process.stdin.close()
        time.sleep(ENDING_SECONDS)
        process.kill()

    threading.Thread(target=end_without_parent, daemon=True).start()
    status = process.wait()
    sys.exit(status if status >= 0 else 128 - status)


def main() -> None:
    """Serve as ``TF_CONFIG`` says."""
    try:
        serve(WITH_PARENT in sys.argv)
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
