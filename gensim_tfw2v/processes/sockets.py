"""TCP connections of this process, as the kernel knows them."""

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterator

_FAMILIES = (socket.AF_INET, socket.AF_INET6)

#: Where ``struct tcp_info`` (linux/tcp.h) has tcpi_bytes_acked and tcpi_bytes_received.
_BYTES_AT, _INFO_BYTES = 120, 136


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
                if connection.family in _FAMILIES and connection.type == socket.SOCK_STREAM:
                    yield name, connection


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
