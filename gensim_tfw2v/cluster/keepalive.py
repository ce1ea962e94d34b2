"""Connections that notice when the other end's host, or the cable to it, is gone.

A process that ends closes its connections; a host that loses power, or its network, does not, and
who waits for its answer waits for ever: TensorFlow turns on no keep-alive, neither gRPC's nor
TCP's, and offers no option. So the kernel is asked for it, connection by connection.
"""

import contextlib
import functools
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator

from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.sockets import own_connections

#: Seconds after which a host that does not answer is given up.
SILENT_SECONDS = 30

#: Seconds between two looks for new connections.
LOOK_SECONDS = 2.0


def keep_alive(tasks: Iterable[Task]) -> None:
    """Let this process's connections break when the host at the other end is silent.

    A thread looks for new ones as long as the process lasts. Nothing is done if all tasks are on a
    loopback, where nothing can break, nor on systems other than Linux.
    """
    if sys.platform == "linux" and not all(task.is_loopback for task in tasks):
        _begin_to_look()


@functools.cache  # one thread is enough
def _begin_to_look() -> None:
    def look() -> None:
        known: set[str] = set()
        while True:
            known = keep_new_alive(known)
            time.sleep(LOOK_SECONDS)

    threading.Thread(target=look, name="tfw2v-keepalive", daemon=True).start()


def keep_new_alive(known: set[str]) -> set[str]:
    """Ask for it for those of this process's connections that are not known; name all."""
    found = set()
    for name, connection in own_connections():
        found.add(name)
        if name not in known:
            with contextlib.suppress(OSError):  # of a connection that is ending
                for level, option, value in _options():
                    connection.setsockopt(level, option, value)
    return found


def _options() -> Iterator[tuple[int, int, int]]:
    yield socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
    # while nothing is to be sent: a question after so many seconds, and so many more of them
    yield socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENT_SECONDS // 3
    yield socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, SILENT_SECONDS // 6
    yield socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4
    # while something is: milliseconds until it has to be confirmed
    yield socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * SILENT_SECONDS
