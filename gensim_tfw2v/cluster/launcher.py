"""Fast start of processes of this package in a separate network, for local clusters.

Importing TensorFlow occupies a core for some seconds, and a local cluster has many processes. So
one process, the fork server (`gensim_tfw2v.cluster.forkserver`), imports TensorFlow, and forks the
remaining ones. Python's `multiprocessing` has a fork server too, but it would run the user's script
again.

TensorFlow's servers have no authentication, and listen on all interfaces. So the processes run in
a network namespace of Linux (network_namespaces(7)), whose only interface is a loopback. Processes
outside of the namespace, and other machines, cannot reach its ports.
"""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.children import last_lines, python, start_module

logger = logging.getLogger(__name__)

START_SECONDS = 120.0  # time limit for a process to start, including the import of TensorFlow
EXIT_SECONDS = 20.0  # time limit for the fork server to exit; it may be importing TensorFlow


class Forked:
    """A process that the fork server has forked, with a part of the interface of ``Popen``."""

    def __init__(
        self, pid: int, answers: Connection, stdin: IO[bytes], stdout: IO[bytes] | None = None
    ) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None
        self._answers = answers
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit status of the process; None if it is running."""
        with self._lock:
            if self.returncode is None and self._answers.poll():
                try:
                    self.returncode = self._answers.recv()
                except EOFError:
                    # The pipe closed without a status: the fork server has exited, and its
                    # forks were killed.
                    self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process exits, like ``Popen.wait``, then close its standard input."""
        self._answers.poll(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        with contextlib.suppress(OSError):
            self.stdin.close()
        return status

    def send_signal(self, signal_number: int) -> None:
        """Send a signal, unless the process has exited."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal_number)

    def kill(self) -> None:
        """Kill the process, unless it has exited."""
        self.send_signal(signal.SIGKILL)


#: A process that runs a module of this package.
Process = subprocess.Popen[bytes] | Forked


class ForkServer:
    """A process that imports TensorFlow and this package once, and forks further processes.

    Parameters
    ----------
    namespace : tuple of str
        Command that executes the command after it in a new network namespace; empty for none.
    """

    def __init__(self, namespace: tuple[str, ...] = ()) -> None:
        self._requests, server_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = TemporaryFolder("forkserver")
        self._has_forked = False
        self._log = self._folder.folder / "log"
        with server_socket, self._log.open("wb") as log:
            self.process = start_module(
                "gensim_tfw2v.cluster.forkserver",
                launcher=namespace,
                stdin=server_socket,
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
        """Run ``main()`` of a module of this package in a fork; see `children.start_module`.

        `environment` contains variables in addition to those that this process had when the server
        was started. `stdout` and `stderr` are as for ``Popen``.

        Raises
        ------
        ClusterLost
            If the server was killed, so that a new one may work.
        ConnectionError
            If the server has exited for a different reason, or does not answer.
        """
        receiver, sender = Pipe(duplex=False)
        child_stdin, parent_end = os.pipe()
        pipes: list[IO[bytes]] = [os.fdopen(parent_end, "wb")]
        child_files = [child_stdin]
        for descriptor, target in (1, stdout), (2, stderr):
            if target == subprocess.PIPE:
                parent_end, child_end = os.pipe()
                pipes.append(os.fdopen(parent_end, "rb"))
            elif target == subprocess.STDOUT:
                child_end = os.dup(child_files[1])
            else:
                child_end = os.dup(descriptor if target is None else target.fileno())
            child_files.append(child_end)
        message = json.dumps([module, arguments, dict(environment or {})]).encode()
        try:
            with sender, contextlib.suppress(OSError):  # the server has exited: handled below
                socket.send_fds(self._requests, [message], [sender.fileno(), *child_files])
        finally:
            for descriptor in child_files:
                os.close(descriptor)
        failure = f"has not answered for {START_SECONDS:g} s"
        if receiver.poll(START_SECONDS):
            try:
                forked = Forked(receiver.recv(), receiver, *pipes)
                self._has_forked = True
                return forked
            except EOFError:
                failure = "has ended"
        for stream in pipes:
            stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)  # so that the log below is complete
        error_class = ClusterLost if self.is_lost else ConnectionError
        raise error_class(f"the fork server {failure}{last_lines(self._log)}")

    @property
    def is_lost(self) -> bool:
        """Return whether the server was killed, or exited after a fork: a new one may work."""
        status = self.process.poll()
        return status is not None and (status < 0 or self._has_forked)

    def close(self) -> None:
        """Stop the server and its forks."""
        with contextlib.suppress(OSError):
            self._requests.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()  # Linux then kills the forks: see `exit_with_parent`
            self.process.wait()
        self._requests.close()
        self._folder.close()


class ProcessLauncher:
    """Starts processes of this package as forks, in a separate network.

    The fork server is stopped by `close`, by garbage collection, or when this process exits. If the
    server is killed, its forks are killed, too, and a new server is started for the next process.
    The server imports TensorFlow in the background; the start of the first process waits for that.

    If the system allows no network namespaces, a warning is logged, and the network is not
    separate. On systems other than Linux nothing is forked, and each process imports TensorFlow
    itself.

    Parameters
    ----------
    isolated : bool
        Run the processes in a network that only they can reach. Otherwise anyone who can reach this
        machine's ports may run programs as this user.
    """

    def __init__(self, isolated: bool = True) -> None:
        self._cleanup = contextlib.ExitStack()
        self._lock = threading.Lock()  # processes are also started by threads that monitor tasks
        self._namespace: tuple[str, ...] = ()
        if isolated and (reason := why_no_namespace()):
            logger.warning(
                "this system allows no network namespace for tasks (%s): their ports can be "
                "reached from the network. TensorFlow servers have no authentication: anyone who "
                "reaches these ports can run code here. Use a firewall that blocks them",
                reason,
            )
        elif isolated:
            self._namespace = _unshare()
        self._fork_server = self._start_fork_server() if sys.platform == "linux" else None
        self._finalizer = weakref.finalize(self, self._cleanup.close)

    def _start_fork_server(self) -> ForkServer:
        server = ForkServer(self._namespace)
        return self._cleanup.enter_context(contextlib.closing(server))

    def start_module(self, module: str, *arguments: str, **options: Any) -> Process:
        """Run a module of this package in the separate network; see `children.start_module`."""
        with self._lock:
            if self._fork_server is not None and self._fork_server.is_lost:
                logger.warning("the fork server has ended; it is started again")
                self._fork_server = self._start_fork_server()
            fork_server = self._fork_server
        start = start_module if fork_server is None else fork_server.start_module
        return start(module, *arguments, **options)

    def close(self) -> None:
        """Stop the fork server and its forks."""
        self._finalizer()


def _python() -> tuple[str, ...]:
    # Without site-packages, Python starts twice as fast, and no package can start a thread.
    return python(), "-I", "-S"


def _unshare() -> tuple[str, ...]:
    return *_python(), str(Path(__file__).with_name("unshare.py"))


def why_no_namespace() -> str:
    """Return the reason why this user cannot create a network namespace; "" if that is possible.

    In most containers it is impossible.
    """
    try:
        process = subprocess.run(
            [*_unshare(), *_python(), "-c", ""],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    except OSError as error:
        return str(error)
    error_lines = process.stderr.strip().splitlines()
    if error_lines:
        return error_lines[-1]
    return "no namespace was made" if process.returncode else ""
