"""Where the processes of a local cluster start."""

import contextlib
import logging
import subprocess
import sys
import threading
import weakref
from typing import Any

from gensim_tfw2v.cluster.namespace import Namespace, NoNamespace
from gensim_tfw2v.processes.children import start_module
from gensim_tfw2v.processes.forkserver import Forked, ForkServer

logger = logging.getLogger(__name__)


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
        start = start_module
        if isolated:
            try:
                namespace = Namespace()
            except NoNamespace as reason:
                logger.warning(
                    "this system gives tasks no network of their own (%s): their ports can be "
                    "reached from the network. TensorFlow's servers have no authentication: "
                    "whoever reaches them can run programs here. See that a firewall is in the way",
                    reason,
                )
            else:
                self._cleanup.callback(namespace.close)
                start = namespace.start_module
        self._start = start
        self._lock = threading.Lock()  # tasks are also started by threads that watch them
        self._forks: ForkServer | None = None
        if sys.platform == "linux":
            self._forks = self._cleanup.enter_context(contextlib.closing(ForkServer(start)))
        self._finalizer = weakref.finalize(self, self._cleanup.close)

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes] | Forked":
        """Run a module of this package there; see `children.start_module`."""
        with self._lock:
            if self._forks is not None and self._forks.is_lost:
                logger.warning("the process that forks others has ended; it is started again")
                self._forks = self._cleanup.enter_context(
                    contextlib.closing(ForkServer(self._start))
                )
            forks = self._forks
        if forks is not None:
            return forks.start_module(module, *arguments, **options)
        return self._start(module, *arguments, **options)

    def close(self) -> None:
        """End all that was started, and leave the network."""
        self._finalizer()
