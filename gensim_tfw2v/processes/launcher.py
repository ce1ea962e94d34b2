"""Processes of this package that start at once, in a network of their own: a local cluster's.

Importing TensorFlow takes a core for some seconds, and a local cluster has many processes. Here one
process imports it, and the others are its forks: see `gensim_tfw2v.processes.forkserver`. Python's
`multiprocessing` has a fork server, too, but that would run the user's script again.

TensorFlow's servers have no authentication, and listen on all interfaces. In a network namespace of
Linux (network_namespaces(7)) all interfaces are one loopback, whose ports are closed to other
processes of the machine, and to other machines.
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

from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.children import last_lines, python, start_module

logger = logging.getLogger(__name__)

START_SECONDS = 120.0  # that a process has to start, the import of TensorFlow included
END_SECONDS = 20.0  # that the process that forks has to end, which may be importing it


class Forked:
    """A process that the fork server has started: what is used of ``subprocess.Popen``."""

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


#: A process that runs a module of this package.
Process = subprocess.Popen[bytes] | Forked


class ForkServer:
    """A process with TensorFlow and this package imported, that forks others.

    Parameters
    ----------
    namespace : tuple of str
        A command that becomes the one that follows it, elsewhere.
    """

    def __init__(self, namespace: tuple[str, ...] = ()) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = TemporaryFolder("forkserver")
        self._has_forked = False
        self._log = self._folder.folder / "log"
        with theirs, self._log.open("wb") as log:
            self.process = start_module(
                "gensim_tfw2v.processes.forkserver",
                launcher=namespace,
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
        `stdout` and `stderr` are as for ``Popen``. ConnectionError: the server has ended.
        """
        answers, answer = Pipe(duplex=False)
        theirs_in, ours_in = os.pipe()
        pipes: list[IO[bytes]] = [os.fdopen(ours_in, "wb")]
        standard = [theirs_in]
        for number, given in (1, stdout), (2, stderr):
            if given == subprocess.PIPE:
                ours, theirs = os.pipe()
                pipes.append(os.fdopen(ours, "rb"))
            elif given == subprocess.STDOUT:
                theirs = os.dup(standard[1])
            else:
                theirs = os.dup(number if given is None else given.fileno())
            standard.append(theirs)
        message = json.dumps([module, arguments, dict(environment or {})]).encode()
        try:
            with answer, contextlib.suppress(OSError):  # the server has ended: none will answer
                socket.send_fds(self._requests, [message], [answer.fileno(), *standard])
        finally:
            for descriptor in standard:
                os.close(descriptor)
        why = f"has not answered for {START_SECONDS:g} s"
        if answers.poll(START_SECONDS):
            try:
                forked = Forked(answers.recv(), answers, *pipes)
                self._has_forked = True
                return forked
            except EOFError:
                why = "has ended"
        for stream in pipes:
            stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)  # it is ending
        raise ConnectionError(f"the process that forks others {why}{last_lines(self._log)}")

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
        self._namespace: tuple[str, ...] = ()
        if isolated and (reason := why_no_namespace()):
            logger.warning(
                "this system gives tasks no network of their own (%s): their ports can be "
                "reached from the network. TensorFlow's servers have no authentication: "
                "whoever reaches them can run programs here. See that a firewall is in the way",
                reason,
            )
        elif isolated:
            self._namespace = _unshare()
        self._forks = self._fork_server() if sys.platform == "linux" else None
        self._finalizer = weakref.finalize(self, self._cleanup.close)

    def _fork_server(self) -> ForkServer:
        server = ForkServer(self._namespace)
        return self._cleanup.enter_context(contextlib.closing(server))

    def start_module(self, module: str, *arguments: str, **options: Any) -> Process:
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
