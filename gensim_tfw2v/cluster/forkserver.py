"""The fork server, ``python -m gensim_tfw2v.cluster.forkserver``, which forks processes on request.

It imports TensorFlow once, and starts no threads; see `gensim_tfw2v.cluster.launcher`. Its standard
input is a socket, from which it reads requests. A request contains a module to run, the standard
streams of the new process, and a pipe for two answers: the id of the new process, and later its
exit status. A pipe that closes before the exit status was sent means that the fork server has
exited.
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

#: Modules that are imported once, before any fork. Importing them must not start a thread.
PRELOADED_MODULES = (
    "gensim_tfw2v._tensorflow",
    "gensim_tfw2v",
    "grpc",
    "gensim_tfw2v.cluster.server",
    "gensim_tfw2v.regimes.coordinator",
)

MAX_REQUEST_BYTES = 1 << 17  # maximum size of a request


def main() -> None:
    """Serve requests until the client closes the socket; then kill the remaining forks."""
    children.name_process("tfw2v-forks")
    requests = socket.socket(fileno=os.dup(0))
    with without_collection():
        for module in PRELOADED_MODULES:
            importlib.import_module(module)
        # Reading an attribute imports TensorFlow now, so that forks do not have to.
        importlib.import_module("gensim_tfw2v._tensorflow").tf.float32  # noqa: B018
        gc.freeze()  # otherwise garbage collection in a fork would write to memory that is shared
    pipes_by_pid: dict[int, Connection] = {}
    try:
        with contextlib.suppress(ConnectionError):
            _serve(requests, pipes_by_pid)
    finally:
        for pid in pipes_by_pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it has exited
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _serve(requests: socket.socket, pipes_by_pid: dict[int, Connection]) -> None:
    """Fork for each request, until the socket closes.

    `pipes_by_pid` maps the id of each running fork to the pipe for its exit status.
    """
    # Python writes a byte to this pipe for each SIGCHLD, so `select` returns when a fork exits.
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
                _report_exits(pipes_by_pid)
                continue
            text, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
            if not text:
                return
            answer_pipe, *standard_files = descriptors
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                other_pipes = [connection.fileno() for connection in pipes_by_pid.values()]
                own_pipes = [requests.fileno(), wakeup_reader, wakeup_writer, answer_pipe]
                for descriptor in own_pipes + other_pipes:
                    os.close(descriptor)
                _run_module(standard_files, *json.loads(text))
            for descriptor in standard_files:
                os.close(descriptor)
            pipes_by_pid[pid] = Connection(answer_pipe, readable=False)
            with contextlib.suppress(OSError):  # the requester has closed the pipe
                pipes_by_pid[pid].send(pid)


def _report_exits(pipes_by_pid: dict[int, Connection]) -> None:
    """Send the exit status of each fork that has exited to its requester."""
    with contextlib.suppress(ChildProcessError):  # no fork is left
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with pipes_by_pid.pop(pid) as answer_pipe, contextlib.suppress(OSError):
                answer_pipe.send(os.waitstatus_to_exitcode(status))


def _run_module(
    standard_files: list[int], module: str, arguments: list[str], environment: dict[str, str]
) -> NoReturn:
    """Run the requested module in this fork, then exit."""
    status = 1
    try:
        children.exit_with_parent()
        os.setsid()  # so that Ctrl-C reaches only the process that started the fork server
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
