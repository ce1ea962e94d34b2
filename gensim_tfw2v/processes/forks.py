"""The process that `ForkServer` starts: it imports TensorFlow, and becomes others by forking.

It reads requests from the socket that is its standard input, with the files that a process is to
have as its standard ones, and says there which have started and which have ended.
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
from typing import Any, NoReturn

from gensim_tfw2v.processes.children import name_process, run_and_leave
from gensim_tfw2v.processes.forkserver import LONGEST_MESSAGE
from gensim_tfw2v.processes.hazards import without_collection

#: What is imported once for all, so far as it starts no thread: it is mostly tasks that are forked.
MODULES = (
    *("gensim_tfw2v._tensorflow", "gensim_tfw2v", "grpc"),
    *("gensim_tfw2v.cluster.server", "gensim_tfw2v.regimes.coordinator"),
)


def main() -> None:
    """Fork until the other end of the socket is closed; then kill what was forked and runs."""
    name_process("tfw2v forks")
    requests = socket.socket(fileno=os.dup(0))
    with without_collection():
        for module in MODULES:
            importlib.import_module(module)
        gc.freeze()  # else each process would copy all that it shares, when it collects garbage
    numbers: dict[int, int] = {}  # by the pid
    try:
        with contextlib.suppress(ConnectionError):
            _fork(requests, numbers)
    finally:
        for pid in numbers:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it has ended
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _fork(requests: socket.socket, numbers: dict[int, int]) -> None:
    """Carry out requests until there are no more; keep the numbers of those that run."""
    woken, wake = os.pipe()
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
                for pid, status in _ended():
                    requests.send(json.dumps([numbers.pop(pid), "ended", status]).encode())
                continue
            text, descriptors, _, _ = socket.recv_fds(requests, LONGEST_MESSAGE, 3)
            if not text:
                return
            request = json.loads(text)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                for descriptor in (requests.detach(), woken, wake):
                    os.close(descriptor)
                _become(request, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            numbers[pid] = request["number"]
            requests.send(json.dumps([request["number"], "started", pid]).encode())


def _ended() -> list[tuple[int, int]]:
    """Processes that have ended, and their statuses."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((ended[0], os.waitstatus_to_exitcode(ended[1])))
    return found


def _become(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Be the process that was asked for."""
    status = 1
    try:
        os.setsid()  # Ctrl-C comes to the one who started the server alone
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for standard, descriptor in enumerate(descriptors):
            os.dup2(descriptor, standard)
            os.close(descriptor)
        os.environ.update(request["environment"])
        sys.argv = [request["module"], *request["arguments"]]
        importlib.import_module(request["module"]).main()
        status = 0
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    run_and_leave(main)
