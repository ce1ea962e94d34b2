"""Processes that fork the tasks of several tests: TensorFlow is imported once for all of them."""

import os
from unittest import mock

from gensim_tfw2v.processes.launcher import ForkServer, ProcessLauncher

#: Before any test has changed it.
ENVIRONMENT = dict(os.environ)

_servers: dict[tuple[str, ...], ForkServer] = {}


class SharedLauncher(ProcessLauncher):
    """Starts processes as any other, but the one that forks them stays for the next test.

    What is forked does not end when this is closed: whoever has started it must end it.
    """

    def _fork_server(self):
        server = _servers.get(self._namespace)
        if server is None or server.process.poll() is not None:
            with mock.patch.dict(os.environ, ENVIRONMENT, clear=True):
                server = ForkServer(self._namespace)
            _servers[self._namespace] = server
        return server


def shared():
    """Process ids of those that fork."""
    return {server.process.pid for server in _servers.values()}


def close():
    while _servers:
        _servers.popitem()[1].close()
