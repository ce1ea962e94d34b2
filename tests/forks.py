"""Fork servers that are shared by several tests, so that TensorFlow is imported only once."""

import os
from unittest import mock

from gensim_tfw2v.cluster.launcher import ForkServer, ProcessLauncher

#: Environment variables before any test has changed them.
ENVIRONMENT = dict(os.environ)

_servers: dict[tuple[str, ...], ForkServer] = {}

#: Forks others, with the socket that is its standard output as its standard input.
FORK_OTHERS = """
import os
from gensim_tfw2v.cluster import forkserver
os.dup2(1, 0)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
forkserver.main()
"""


class SharedLauncher(ProcessLauncher):
    """Process launcher whose fork server is kept for the next test.

    Closing the launcher does not stop forked processes; the caller must stop them.
    """

    def _start_fork_server(self):
        return _shared_server(self._namespace)


class OwnLauncher(ProcessLauncher):
    """Starts processes by a fork server of its own, which is a fork of the shared one.

    Its import of TensorFlow has been done. All else is as of any other, also where it is killed.
    """

    def _start_fork_server(self):
        shared = _shared_server(self._namespace)

        def fork(module, *, launcher, stdin, stdout, **options):
            assert module == "gensim_tfw2v.cluster.forkserver" and launcher == self._namespace
            run = ("tests.forked", "run", FORK_OTHERS)
            return shared.start_module(*run, environment=os.environ, stdout=stdin, **options)

        with mock.patch("gensim_tfw2v.cluster.launcher.start_module", fork):
            return super()._start_fork_server()


def _shared_server(namespace):
    server = _servers.get(namespace)
    if server is None or server.process.poll() is not None:
        with mock.patch.dict(os.environ, ENVIRONMENT, clear=True):
            server = ForkServer(namespace)
        _servers[namespace] = server
    return server


def shared():
    """Return the process ids of the fork servers."""
    return {server.process.pid for server in _servers.values()}


def close():
    while _servers:
        _servers.popitem()[1].close()
