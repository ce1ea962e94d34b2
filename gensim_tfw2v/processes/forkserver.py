"""Processes of this package that start at once, by forking one that has TensorFlow already.

Importing TensorFlow takes a core for some seconds, and a local cluster has many processes. Here one
process imports it, which has no threads of its own yet, and the others are its forks; as in
Python's `multiprocessing`, whose own fork server would run the user's script again.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.children import last_lines, start_module

#: Bytes of a message, at most.
LONGEST_MESSAGE = 1 << 17

#: Seconds that a process has to start, the import of TensorFlow included.
START_SECONDS = 120.0


class Forked:
    """A process that the fork server has started: what is used of ``subprocess.Popen``.

    Attributes
    ----------
    pid : int
    stdin : file
        The process has to end when it closes.
    stdout : file, optional
    returncode : int, optional
        As of ``Popen``; None as long as it runs.
    """

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes] | None) -> None:
        self.pid = 0
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None
        self.started, self.ended = threading.Event(), threading.Event()

    def end(self, status: int) -> None:
        """Note that it has ended."""
        self.returncode = status
        self.started.set()
        self.ended.set()

    def poll(self) -> int | None:
        """Its status, if it has ended."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises
        ------
        subprocess.TimeoutExpired
        """
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        assert self.returncode is not None
        with contextlib.suppress(OSError):
            self.stdin.close()
        return self.returncode

    def close(self) -> None:
        """Close its streams."""
        for stream in filter(None, (self.stdin, self.stdout)):
            with contextlib.suppress(OSError):
                stream.close()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> None:
        """Close its standard input and wait for its end."""
        self.stdin.close()
        self.wait()


class ForkServer:
    """A process with TensorFlow and this package imported, that forks others.

    Parameters
    ----------
    start : callable
        How it is started; like `start_module`.
    """

    def __init__(self, start: "Callable[..., subprocess.Popen[bytes]]" = start_module) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._forked: dict[int, Forked] = {}
        self._lock, self._number = threading.Lock(), 0
        self._over = threading.Event()
        self._folder = TemporaryFolder("forkserver")
        self._log = self._folder.folder / "log"
        with theirs, self._log.open("wb") as log:
            self._process = start(
                "gensim_tfw2v.processes.forks",
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        threading.Thread(target=self._read, name="tfw2v-forkserver", daemon=True).start()

    def start_module(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> Forked:
        """Run ``main()`` of a module of this package in another process; see `start_module`.

        Parameters
        ----------
        module : str
        *arguments : str
        environment : mapping, optional
            Variables beside those that this process had when the server was started.
        stdout, stderr : file, ``subprocess.PIPE`` or ``subprocess.STDOUT``
            As for ``Popen``; a pipe for standard output alone.

        Raises
        ------
        ConnectionError
            If the server has ended.
        """
        theirs_in, ours_in = os.pipe()
        descriptors, ours_out = [theirs_in], None
        if stdout == subprocess.PIPE:
            ours_out, theirs_out = os.pipe()
            descriptors.append(theirs_out)
        else:
            descriptors.append(os.dup(1 if stdout is None else stdout.fileno()))
        if stderr == subprocess.STDOUT:
            descriptors.append(os.dup(descriptors[1]))
        else:
            descriptors.append(os.dup(2 if stderr is None else stderr.fileno()))
        forked = Forked(
            os.fdopen(ours_in, "wb"), None if ours_out is None else os.fdopen(ours_out, "rb")
        )
        with self._lock:
            self._number += 1
            number = self._number
            self._forked[number] = forked
        message = {
            "number": number,
            "module": module,
            "arguments": arguments,
            "environment": dict(environment or {}),
        }
        try:
            socket.send_fds(self._socket, [json.dumps(message).encode()], descriptors)
        except OSError:
            forked.end(1)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if not forked.started.wait(START_SECONDS) or not forked.pid:
            forked.close()
            log = last_lines(self._log) if self._log.exists() else ""
            why = f"has not answered for {START_SECONDS:g} s"
            if forked.returncode is not None:
                why = "has ended"
            raise ConnectionError(f"the process that forks others {why}{log}")
        return forked

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    @property
    def is_lost(self) -> bool:
        """Whether it was killed, or has ended after it had worked: another one may do better."""
        return self._over.is_set() and (
            self._process.wait() < 0 or any(forked.pid for forked in self._forked.values())
        )

    def close(self) -> None:
        """End it, and what it has started."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._process.wait()
        self._socket.close()
        self._folder.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while answer := self._socket.recv(LONGEST_MESSAGE):
                number, what, value = json.loads(answer)
                forked = self._forked[number]
                if what == "started":
                    forked.pid = value
                    forked.started.set()
                else:
                    forked.end(value)
        for forked in self._forked.values():  # the server has ended, and says nothing of them
            if forked.returncode is None:
                if forked.pid:
                    forked.kill()
                forked.end(-signal.SIGKILL)
        self._over.set()
