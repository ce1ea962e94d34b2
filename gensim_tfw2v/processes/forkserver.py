"""Processes of this package that start at once, by forking one that has TensorFlow already.

Importing TensorFlow takes a core for some seconds, and a local cluster has many processes. Here one
process imports it, which has no threads of its own yet, and the others are its forks; as in
Python's `multiprocessing`, whose own fork server would run the user's script again.

That process runs this module. A request comes by the socket that is its standard input, with the
files that the new process gets as its standard ones, and with a pipe for the answers: the new
process's number, and in the end its status. If the pipe closes before, the server is gone.

A local cluster's processes start so in a network of their own. TensorFlow's servers have no
authentication, and listen on all interfaces. In a network namespace of Linux
(network_namespaces(7)) all interfaces are one loopback, whose ports are closed to other processes
of the machine, and to other machines.
"""

import contextlib
import functools
import gc
import importlib
import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, NoReturn

from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes import children
from gensim_tfw2v.processes.children import python, start_module
from gensim_tfw2v.processes.hazards import flush_streams, without_collection

#: What is imported once for all, so far as it starts no thread: it is mostly tasks that are forked.
MODULES = (
    *("gensim_tfw2v._tensorflow", "gensim_tfw2v", "grpc"),
    *("gensim_tfw2v.cluster.server", "gensim_tfw2v.regimes.coordinator"),
)

LONGEST_REQUEST = 1 << 17  # bytes
START_SECONDS = 120.0  # that a process has to start, the import of TensorFlow included
END_SECONDS = 20.0  # that the server has to end, which may be importing it


class Forked:
    """A process that the fork server has started: what is used of ``subprocess.Popen``."""

    def __init__(self, answers: Connection, stdin: IO[bytes], stdout: IO[bytes] | None) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None
        self._answers = answers
        self._lock = threading.Lock()
        if not answers.poll(START_SECONDS):
            raise ConnectionError(f"has not answered for {START_SECONDS:g} s")
        try:
            self.pid: int = answers.recv()
        except EOFError:
            raise ConnectionError("has ended") from None

    def poll(self) -> int | None:
        """Its status, if it has ended."""
        with self._lock:
            if self.returncode is None and self._answers.poll():
                try:
                    self.returncode = self._answers.recv()
                except EOFError:
                    self.returncode = -signal.SIGKILL  # it has ended with the server
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; as of ``Popen``, but its standard input is closed then."""
        self._answers.poll(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        with contextlib.suppress(OSError):
            self.stdin.close()
        return status

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """A process with TensorFlow and this package imported, that forks others.

    `start` starts it, as `start_module` does.
    """

    def __init__(
        self, start: "Callable[..., subprocess.Popen[bytes]]" = children.start_module
    ) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = TemporaryFolder("forkserver")
        self._has_forked = False
        self._log = self._folder.folder / "log"
        with theirs, self._log.open("wb") as log:
            self.process = start(
                "gensim_tfw2v.processes.forkserver",
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def start_module(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> Forked:
        """Run ``main()`` of a module of this package in another process, as `start_module` does.

        `environment` are variables beside those that this process had when the server was started;
        `stdout` and `stderr` are as for ``Popen``, but only `stdout` may be a pipe. There is a
        ConnectionError if the server has ended.
        """
        answers, answer = Pipe(duplex=False)
        theirs_in, ours_in = os.pipe()
        stdin = os.fdopen(ours_in, "wb")
        piped = None
        if stdout == subprocess.PIPE:
            ours_out, theirs_out = os.pipe()
            piped = os.fdopen(ours_out, "rb")
        else:
            theirs_out = os.dup(1 if stdout is None else stdout.fileno())
        if stderr == subprocess.STDOUT:
            theirs_err = os.dup(theirs_out)
        else:
            theirs_err = os.dup(2 if stderr is None else stderr.fileno())
        message = json.dumps([module, arguments, dict(environment or {})]).encode()
        standard = [theirs_in, theirs_out, theirs_err]
        try:
            with answer, contextlib.suppress(OSError):  # the server has ended: none will answer
                socket.send_fds(self._requests, [message], [answer.fileno(), *standard])
        finally:
            for descriptor in standard:
                os.close(descriptor)
        try:
            forked = Forked(answers, stdin, piped)
        except ConnectionError as error:
            for stream in filter(None, (stdin, piped)):
                stream.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(1.0)  # it is ending
            why = f"the process that forks others {error}{children.last_lines(self._log)}"
            raise ConnectionError(why) from None
        self._has_forked = True
        return forked

    @property
    def is_lost(self) -> bool:
        """Return whether it was killed, or ended after it had worked: another may do better."""
        status = self.process.poll()
        return status is not None and (status < 0 or self._has_forked)

    def close(self) -> None:
        """End it, and what it has started."""
        with contextlib.suppress(OSError):
            self._requests.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()  # and Linux what it has forked
            self.process.wait()
        self._requests.close()
        self._folder.close()


def main() -> None:
    """Fork until the other end of the socket is closed; then kill what was forked and runs."""
    children.name_process("tfw2v-forks")
    requests = socket.socket(fileno=os.dup(0))
    with without_collection():
        for module in MODULES:
            importlib.import_module(module)
        # TensorFlow comes when something of it is asked for: here, or in each fork
        importlib.import_module("gensim_tfw2v._tensorflow").tf.float32  # noqa: B018
        gc.freeze()  # else each process would copy all that it shares, when it collects garbage
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
    """Carry out requests until there are no more; note who runs, and where to tell its status."""
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
                _report_ended(running)
                continue
            text, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 4)
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
            with contextlib.suppress(OSError):  # nobody waits for it
                running[pid].send(pid)


def _report_ended(running: dict[int, Connection]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with running.pop(ended[0]) as answer, contextlib.suppress(OSError):
                answer.send(os.waitstatus_to_exitcode(ended[1]))


def _become(
    standard: list[int], module: str, arguments: list[str], environment: dict[str, str]
) -> NoReturn:
    """Be the process that was asked for."""
    status = 1
    try:
        children.end_with_parent()
        os.setsid()  # Ctrl-C comes to the one who started the server alone
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


logger = logging.getLogger(__name__)


class ProcessLauncher:
    """A process that forks those of this package, in a network of their own.

    It ends by `close`, when it is collected, or with this process. If the process that forks is
    killed, what it has forked ends with it, and another one takes its place.

    The network is only there where the system has such, which is else warned of; so are forks,
    without which each process imports TensorFlow anew. The import begins at once, and is waited
    for where the first process is started.

    Parameters
    ----------
    isolated : bool
        Whether to have a network of their own, which only what is started here reaches. Otherwise
        everybody does who reaches this machine's ports, and may run programs as this user.
    """

    def __init__(self, isolated: bool = True) -> None:
        self._cleanup = contextlib.ExitStack()
        self._lock = threading.Lock()  # tasks are also started by threads that watch them
        self._launcher: tuple[str, ...] = ()
        if isolated and (reason := why_no_namespace()):
            logger.warning(
                "this system gives tasks no network of their own (%s): their ports can be "
                "reached from the network. TensorFlow's servers have no authentication: "
                "whoever reaches them can run programs here. See that a firewall is in the way",
                reason,
            )
        elif isolated:
            self._launcher = _unshare()
        self._forks = self._fork_server() if sys.platform == "linux" else None
        self._finalizer = weakref.finalize(self, self._cleanup.close)

    def _fork_server(self) -> ForkServer:
        server = ForkServer(functools.partial(start_module, launcher=self._launcher))
        return self._cleanup.enter_context(contextlib.closing(server))

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes] | Forked":
        """Run a module of this package there; see `children.start_module`."""
        with self._lock:
            if self._forks is not None and self._forks.is_lost:
                logger.warning("the process that forks others has ended; it is started again")
                self._forks = self._fork_server()
            forks = self._forks
        start = start_module if forks is None else forks.start_module
        return start(module, *arguments, **options)

    def close(self) -> None:
        """End all that was started."""
        self._finalizer()


def _python() -> tuple[str, ...]:
    # isolated, without site-packages: started twice as fast, and no thread is started by those
    return python(), "-I", "-S"


def _unshare() -> tuple[str, ...]:
    return *_python(), str(Path(__file__).with_name("unshare.py"))


def why_no_namespace() -> str:
    """Why this user can have no network namespace, as in most containers; empty if it can."""
    try:
        tried = subprocess.run(
            [*_unshare(), *_python(), "-c", ""],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    except OSError as error:
        return str(error)
    failed = ["no namespace was made"] if tried.returncode else [""]
    return (tried.stderr.strip().splitlines() or failed)[-1]


if __name__ == "__main__":
    children.run_and_leave(main)
