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
from gensim_tfw2v.processes.sockets import own_connections

#: A host that is silent for less than so many seconds is waited for.
SILENT_SECONDS = 30

#: Seconds without a word after which a connection is asked whether it stands.
IDLE_SECONDS = 10

#: Seconds after which a connection that is not answered on is given up. The count begins when
#: something was heard last, up to `IDLE_SECONDS` before the host fell silent.
GIVE_UP_SECONDS = SILENT_SECONDS + IDLE_SECONDS

#: Seconds between two attempts to send again, at most: by default they double without end, and the
#: last before the connection is given up may come long before a host is back.
RESEND_SECONDS = 5

#: TCP_RTO_MAX_MS of linux/tcp.h; from Linux 6.15 on.
_TCP_RTO_MAX_MS = 44

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
    yield socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_SECONDS
    yield socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, RESEND_SECONDS
    yield socket.IPPROTO_TCP, socket.TCP_KEEPCNT, SILENT_SECONDS // RESEND_SECONDS
    # in any case: milliseconds until there has to be an answer
    yield socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * GIVE_UP_SECONDS
    yield socket.IPPROTO_TCP, _TCP_RTO_MAX_MS, 1000 * RESEND_SECONDS  # last: older systems refuse
