"""Where the processes of a local cluster start: forked, and in a network of their own.

TensorFlow's servers have no authentication, and listen on all interfaces. In a network namespace
of Linux (network_namespaces(7)) all interfaces are one loopback, whose ports are closed to other
processes of the machine, and to other machines.
"""

import contextlib
import functools
import logging
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

from gensim_tfw2v.processes.children import python, start_module
from gensim_tfw2v.processes.forkserver import Forked, ForkServer

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
