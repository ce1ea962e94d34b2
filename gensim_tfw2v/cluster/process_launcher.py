"""Where the processes of a local cluster start: forked, and in a network of their own.

TensorFlow's servers have no authentication, and listen on all interfaces. In a network namespace
of Linux (network_namespaces(7)) all interfaces are one loopback, whose ports are closed to other
processes of the machine, and to other machines.
"""

import contextlib
import logging
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

from gensim_tfw2v.processes.children import start_module
from gensim_tfw2v.processes.forkserver import Forked, ForkServer

logger = logging.getLogger(__name__)

# isolated, without site-packages: started twice as fast, and no thread is started by what is there
_NSENTER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("nsenter.py")))


class NoNamespace(OSError):
    """The system makes no network namespace for this user; the message says why."""


class Namespace:
    """A network namespace with a loopback interface, and nothing else.

    It lasts as long as this process, or a process in it, does: no other process keeps it.

    Raises
    ------
    NoNamespace
        If the system is not Linux, or forbids it, as containers mostly do.

    Attributes
    ----------
    descriptors : tuple of int
        Open files that stand for it: its user namespace, if it has its own, and it.
    """

    def __init__(self) -> None:
        self.descriptors: tuple[int, ...] = ()
        try:
            with subprocess.Popen(
                [*_NSENTER, "make"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as maker:
                assert maker.stdout is not None
                for name in filter(None, maker.stdout.readline().strip().split(",")):
                    found = os.open(f"/proc/{maker.pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
                    self.descriptors += (found,)
                _, errors = maker.communicate()
            if self.descriptors:
                # making is allowed in places where entering is not
                tried = subprocess.run(
                    [*self.launcher, sys.executable, "-I", "-S", "-c", ""],
                    pass_fds=self.descriptors,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                )
                errors += tried.stderr
            if errors or not self.descriptors:
                raise NoNamespace((errors.strip().splitlines() or ["no namespace was made"])[-1])
        except OSError as error:
            self.close()
            raise error if isinstance(error, NoNamespace) else NoNamespace(str(error)) from error

    @property
    def launcher(self) -> list[str]:
        """What to put before a command; the descriptors have to be passed to it."""
        return [*_NSENTER, "enter", ",".join(map(str, self.descriptors))]

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes]":
        """Run a module of this package in it; see `children.start_module`."""
        return start_module(
            module, *arguments, launcher=self.launcher, pass_fds=self.descriptors, **options
        )

    def close(self) -> None:
        """Leave it to the processes that are in it."""
        descriptors, self.descriptors = self.descriptors, ()
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


class ProcessLauncher:
    """A network of their own for processes of this package, and a process that forks them.

    It ends by `close`, when it is collected, or with this process. If the process that forks is
    killed, what it has forked ends with it, and another one takes its place.

    The network is only there where the system has such, which is else warned of; so are forks,
    without which each process imports TensorFlow anew. The import begins at once, and is waited
    for where the first process is started.

    Parameters
    ----------
    isolated : bool
        Whether to have a network of their own.
    """

    def __init__(self, isolated: bool = True) -> None:
        self._cleanup = contextlib.ExitStack()
        self._start = start_module
        if isolated:
            try:
                namespace = self._cleanup.enter_context(contextlib.closing(Namespace()))
                self._start = namespace.start_module
            except NoNamespace as reason:
                logger.warning(
                    "this system gives tasks no network of their own (%s): their ports can be "
                    "reached from the network. TensorFlow's servers have no authentication: "
                    "whoever reaches them can run programs here. See that a firewall is in the way",
                    reason,
                )
        self._lock = threading.Lock()  # tasks are also started by threads that watch them
        self._forks = self._fork_server() if sys.platform == "linux" else None
        self._finalizer = weakref.finalize(self, self._cleanup.close)

    def _fork_server(self) -> ForkServer:
        return self._cleanup.enter_context(contextlib.closing(ForkServer(self._start)))

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes] | Forked":
        """Run a module of this package there; see `children.start_module`."""
        with self._lock:
            if self._forks is not None and self._forks.is_lost:
                logger.warning("the process that forks others has ended; it is started again")
                self._forks = self._fork_server()
            start = self._start if self._forks is None else self._forks.start_module
        return start(module, *arguments, **options)

    def close(self) -> None:
        """End all that was started, and leave the network."""
        self._finalizer()
