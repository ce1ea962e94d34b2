"""Processes of this package that start at once, by forking one that has TensorFlow already.

Importing TensorFlow takes a core for some seconds, and a local cluster has many processes. Here one
process imports it, which has no threads of its own yet, and the others are its forks; as in
Python's `multiprocessing`, whose own fork server would run the user's script again.
"""

import contextlib
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

from gensim_tfw2v.children import last_lines, name_process, start_module

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
        self._log = tempfile.NamedTemporaryFile(prefix="tfw2v-forkserver-")
        with theirs:
            self._process = start(
                "gensim_tfw2v.forkserver",
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
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
            Variables beside those of this process.
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
            "environment": {**os.environ, **(environment or {})},
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
            log = "" if self._log.closed else last_lines(Path(self._log.name))
            why = f"has not answered for {START_SECONDS:g} s"
            if forked.returncode is not None:
                why = "has ended"
            raise ConnectionError(f"the process that forks others {why}{log}")
        return forked

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def close(self) -> None:
        """End it, and what it has started."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._process.wait()
        self._socket.close()
        self._log.close()

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


def main() -> None:
    """Fork until the other end of the socket is closed; then kill what was forked."""
    name_process("tfw2v forks")
    requests = socket.socket(fileno=os.dup(0))
    for module in ("gensim_tfw2v._tensorflow", "gensim_tfw2v", "grpc"):
        importlib.import_module(module)
    numbers: dict[int, int] = {}  # by the pid
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
                for pid in numbers:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
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
        os.environ.clear()
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
    main()
