"""TCP connections of this process: kept alive while the other host is, and their bytes counted.

A process that ends closes its connections; a host that loses power, or its network, does not, and
who waits for its answer waits for ever: TensorFlow turns on no keep-alive, neither gRPC's nor
TCP's, and offers no option. So the kernel is asked for keep-alive, connection by connection.
"""

import contextlib
import functools
import ipaddress
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

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
_BYTES_AT = 120
_INFO_BYTES = 136


def port_user(port: int) -> str:
    """Describe the process that has a port of this machine, as far as this user may see it."""
    import psutil

    with contextlib.suppress(psutil.Error):
        for one in psutil.net_connections("tcp"):
            if one.pid and one.laddr and one.laddr.port == port:
                process = psutil.Process(one.pid)
                return f" by {process.name()} (process {one.pid}, user {process.username()})"
    return ""


def own_connections() -> Iterator[tuple[str, socket.socket]]:
    """TCP sockets of this process, each under a name that no other has while it lasts.

    A socket is open until the next one is asked for. None is given on systems other than Linux.
    """
    if sys.platform != "linux":
        return
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:  # this process has as many open as it may
        return
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # closed meanwhile
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            if not name.startswith("socket:"):
                continue
            # of a copy of the descriptor, for it is closed
            with socket.socket(fileno=os.dup(int(descriptor))) as connection:
                is_internet = connection.family in (socket.AF_INET, socket.AF_INET6)
                if is_internet and connection.type == socket.SOCK_STREAM:
                    yield name, connection


#: Hosts, by name or by address, and ports: connections to them are kept alive.
_hosts: set[tuple[str, int]] = set()


def keep_alive(hosts: Iterable[tuple[str, int]] | None) -> None:
    """Let TCP connections break when the host at the other end is silent; on Linux.

    A thread looks for new ones as long as the process lasts.

    Parameters
    ----------
    hosts : iterable of (str, int), optional
        Names or addresses, and ports: connections to all others are left as they are. None for
        all connections of a process that has no others.
    """
    _hosts.update(hosts or ())
    if sys.platform == "linux":
        _start_keeping(hosts is None)


@functools.cache  # one thread is enough
def _start_keeping(all_hosts: bool) -> None:
    def keep() -> None:
        kept: set[str] = set()
        while True:
            kept = keep_new_alive(kept, None if all_hosts else _hosts)
            time.sleep(LOOK_SECONDS)

    threading.Thread(target=keep, name="tfw2v-keepalive", daemon=True).start()


def keep_new_alive(kept: set[str], hosts: set[tuple[str, int]] | None) -> set[str]:
    """Let connections to these hosts break so, but for those that do already; name both."""
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
        with contextlib.suppress(OSError):  # it is not connected yet, or it is ending
            if name in kept or _leads_to(connection, hosts):
                found.add(name)
            if name in found - kept:
                for option in options:
                    connection.setsockopt(*option)
    return found


def _leads_to(connection: socket.socket, hosts: set[tuple[str, int]] | None) -> bool:
    if hosts is None:
        return True
    address, port = connection.getpeername()[:2]
    # resolved anew each time: a host may come back with another address
    return any(
        _plain(address) == _plain(found[4][0])
        for host, host_port in tuple(hosts)
        if host_port == port
        for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )


def _plain(address: Any) -> Any:
    """An address of IPv4 also where a socket of IPv6 has it."""
    parsed = ipaddress.ip_address(str(address).partition("%")[0])
    return getattr(parsed, "ipv4_mapped", None) or parsed


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
