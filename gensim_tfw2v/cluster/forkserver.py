"""The fork server: ``python -m gensim_tfw2v.cluster.forkserver``.

It imports TensorFlow once, and starts no threads; see `gensim_tfw2v.cluster.launcher`. Requests
come through the socket that is its standard input. Each request passes the standard files of the
new process, and a pipe for two answers: the id of the new process, and later its exit status. If
the pipe closes before the exit status has come, the fork server has ended.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from multiprocessing.connection import Connection
from typing import NoReturn

from gensim_tfw2v.processes import children
from gensim_tfw2v.processes.process_guards import flush_streams, without_collection

#: Modules that are imported once for all forks, which are mostly tasks. None may start a thread.
MODULES = (
    *("gensim_tfw2v._tensorflow", "gensim_tfw2v", "grpc"),
    *("gensim_tfw2v.cluster.server", "gensim_tfw2v.regimes.coordinator"),
)

MAX_REQUEST = 1 << 17  # maximum size of a request in bytes


def main() -> None:
    """Serve requests until the other end of the socket closes; then kill all forks that run."""
    children.name_process("tfw2v-forks")
    requests = socket.socket(fileno=os.dup(0))
    with without_collection():
        for module in MODULES:
            importlib.import_module(module)
        # TensorFlow is imported lazily: reading an attribute imports it here, not in each fork
        importlib.import_module("gensim_tfw2v._tensorflow").tf.float32  # noqa: B018
        gc.freeze()  # otherwise garbage collection in a fork would copy the shared memory
    running: dict[int, Connection] = {}
    try:
        with contextlib.suppress(ConnectionError):
            _fork(requests, running)
    finally:
        for pid in running:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it has ended
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _fork(requests: socket.socket, running: dict[int, Connection]) -> None:
    """Fork for each request, until the socket closes.

    `running` maps the id of each running fork to the pipe for its exit status.
    """
    woken, wake = os.pipe()  # each SIGCHLD writes to the pipe, which wakes up `select`
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ready = selectors.DefaultSelector()
    ready.register(requests, selectors.EVENT_READ)
    ready.register(woken, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fd == woken:
                os.read(woken, 1 << 12)
                _report_ended(running)
                continue
            text, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
            if not text:
                return
            answer, *standard = descriptors
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                others = [connection.fileno() for connection in running.values()]
                for descriptor in (requests.fileno(), woken, wake, answer, *others):
                    os.close(descriptor)
                _become(standard, *json.loads(text))
            for descriptor in standard:
                os.close(descriptor)
            running[pid] = Connection(answer, readable=False)
            with contextlib.suppress(OSError):  # the requester has closed the pipe
                running[pid].send(pid)


def _report_ended(running: dict[int, Connection]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with running.pop(ended[0]) as answer, contextlib.suppress(OSError):
                answer.send(os.waitstatus_to_exitcode(ended[1]))


def _become(
    standard: list[int], module: str, arguments: list[str], environment: dict[str, str]
) -> NoReturn:
    """Run the requested module in this fork, then exit."""
    status = 1
    try:
        children.end_with_parent()
        os.setsid()  # Ctrl-C must reach only the process that has started the server
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.update(environment)
        sys.argv = [module, *arguments]
        importlib.import_module(module).main()
        status = 0
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        flush_streams()
        os._exit(status)


if __name__ == "__main__":
    children.run_and_exit(main)
