"""What this process has of its machine: cores, and TCP connections.

A process that ends closes its connections; a host that loses power, or its network, does not, and
who waits for its answer waits for ever: TensorFlow turns on no keep-alive, neither gRPC's nor
TCP's, and offers no option. So the kernel is asked for keep-alive, connection by connection.
"""

import contextlib
import functools
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator

SILENT_SECONDS = 30  # a host that is silent for less is waited for
IDLE_SECONDS = 10  # without a word, after which a connection is asked whether it stands

#: When a connection that is not answered on is given up. The count begins when something was heard
#: last, up to `IDLE_SECONDS` before the host fell silent.
GIVE_UP_SECONDS = SILENT_SECONDS + IDLE_SECONDS

#: Between two attempts to send again, at most: by default they double without end, and the last
#: before the connection is given up may come long before a host is back.
RESEND_SECONDS = 5

LOOK_SECONDS = 2.0  # between two looks for new connections

# of linux/tcp.h: an option, from Linux 6.15 on, and where ``struct tcp_info`` has
# tcpi_bytes_acked and tcpi_bytes_received
_TCP_RTO_MAX_MS = 44
_BYTES_AT, _INFO_BYTES = 120, 136


def usable_cores() -> list[int]:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores_each(processes: int) -> int:
    """Cores for each of so many processes that share this machine; one at least."""
    return max(1, len(usable_cores()) // processes)


def own_connections() -> Iterator[tuple[str, socket.socket]]:
    """TCP sockets of this process, each under a name that no other has while it lasts.

    A socket is open until the next one is asked for. None is given on systems other than Linux.
    """
    if sys.platform != "linux":
        return
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # closed meanwhile
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            if not name.startswith("socket:"):
                continue
            # of a copy of the descriptor, for it is closed
            with socket.socket(fileno=os.dup(int(descriptor))) as connection:
                is_internet = connection.family in (socket.AF_INET, socket.AF_INET6)
                if is_internet and connection.type == socket.SOCK_STREAM:
                    yield name, connection


@functools.cache  # one thread is enough
def keep_alive() -> None:
    """Let this process's TCP connections break when the host at the other end is silent; on Linux.

    A thread looks for new ones as long as the process lasts.
    """
    if sys.platform == "linux":
        threading.Thread(target=_keep_alive, name="tfw2v-keepalive", daemon=True).start()


def _keep_alive() -> None:
    known: set[str] = set()
    while True:
        known = keep_new_alive(known)
        time.sleep(LOOK_SECONDS)


def keep_new_alive(known: set[str]) -> set[str]:
    """Let those of this process's connections that are not known break so; name all."""
    options = (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        # while nothing is to be sent: a question after so many seconds, and so many more of them
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_SECONDS),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, RESEND_SECONDS),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, SILENT_SECONDS // RESEND_SECONDS),
        # in any case: milliseconds until there has to be an answer
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * GIVE_UP_SECONDS),
        (socket.IPPROTO_TCP, _TCP_RTO_MAX_MS, 1000 * RESEND_SECONDS),  # last: older systems refuse
    )
    found = set()
    for name, connection in own_connections():
        found.add(name)
        if name not in known:
            with contextlib.suppress(OSError):  # of a connection that is ending
                for option in options:
                    connection.setsockopt(*option)
    return found


class TcpBytes:
    """Counts what this process has sent and received by TCP, headers left out.

    psutil counts the traffic of a network's interfaces, which the tasks of one machine share. What
    a connection carries after the last look, until it is closed, is missed.
    """

    def __init__(self) -> None:
        self._of: dict[str, tuple[int, int]] = {}

    def look(self) -> tuple[int, int] | None:
        """Bytes sent (and confirmed) and received by all connections so far; None if unknown."""
        if sys.platform != "linux":
            return None
        for name, connection in own_connections():
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
            if len(info) == _INFO_BYTES:  # of a kernel from 4.1 on
                self._of[name] = struct.unpack_from("=QQ", info, _BYTES_AT)
        sent, received = zip((0, 0), *self._of.values(), strict=True)
        return sum(sent), sum(received)
