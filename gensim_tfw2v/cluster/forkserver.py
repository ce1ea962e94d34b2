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
    "gensim_tfw2v._tensorflow",
    "gensim_tfw2v",
    "grpc",
    "gensim_tfw2v.cluster.server",
    "gensim_tfw2v.regimes.coordinator",
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
            _serve(requests, running)
    finally:
        for pid in running:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it has ended
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _serve(requests: socket.socket, running: dict[int, Connection]) -> None:
    """Fork for each request, until the socket closes.

    `running` maps the id of each running fork to the pipe for its exit status.
    """
    # each SIGCHLD writes to the pipe, which wakes up `select`
    wakeup_reader, wakeup_writer = os.pipe()
    os.set_blocking(wakeup_writer, False)
    signal.set_wakeup_fd(wakeup_writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ready = selectors.DefaultSelector()
    ready.register(requests, selectors.EVENT_READ)
    ready.register(wakeup_reader, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fd == wakeup_reader:
                os.read(wakeup_reader, 1 << 12)
                _report_exits(running)
                continue
            text, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
            if not text:
                return
            answer_pipe, *standard_files = descriptors
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                other_pipes = [connection.fileno() for connection in running.values()]
                own_pipes = [requests.fileno(), wakeup_reader, wakeup_writer, answer_pipe]
                for descriptor in own_pipes + other_pipes:
                    os.close(descriptor)
                _become(standard_files, *json.loads(text))
            for descriptor in standard_files:
                os.close(descriptor)
            running[pid] = Connection(answer_pipe, readable=False)
            with contextlib.suppress(OSError):  # the requester has closed the pipe
                running[pid].send(pid)


def _report_exits(running: dict[int, Connection]) -> None:
    """Send the exit status of each fork that has exited."""
    with contextlib.suppress(ChildProcessError):  # no fork is left
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with running.pop(pid) as answer_pipe, contextlib.suppress(OSError):
                answer_pipe.send(os.waitstatus_to_exitcode(status))


def _become(
    standard_files: list[int], module: str, arguments: list[str], environment: dict[str, str]
) -> NoReturn:
    """Run the requested module in this fork, then exit."""
    status = 1
    try:
        children.exit_with_parent()
        os.setsid()  # Ctrl-C must reach only the process that has started the server
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for target, descriptor in enumerate(standard_files):
            os.dup2(descriptor, target)
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
