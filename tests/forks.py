"""Fork servers that are shared by several tests, so that TensorFlow is imported only once."""

import os
from unittest import mock

from gensim_tfw2v.processes.launcher import ForkServer, ProcessLauncher

#: Environment variables before any test has changed them.
ENVIRONMENT = dict(os.environ)

_servers: dict[tuple[str, ...], ForkServer] = {}


class SharedLauncher(ProcessLauncher):
    """Process launcher whose fork server is kept for the next test.

    Closing the launcher does not stop forked processes; the caller must stop them.
    """

    def _fork_server(self):
        server = _servers.get(self._namespace)
        if server is None or server.process.poll() is not None:
            with mock.patch.dict(os.environ, ENVIRONMENT, clear=True):
                server = ForkServer(self._namespace)
            _servers[self._namespace] = server
        return server


def shared():
    """Return the process ids of the fork servers."""
    return {server.process.pid for server in _servers.values()}


def close():
    while _servers:
        _servers.popitem()[1].close()
