"""TCP connections of this process: keep-alive, and counts of their bytes.

The system closes the connections of a process that ends. But a host that loses power, or its
network, closes nothing, and a process that waits for an answer of that host would wait forever.
TensorFlow enables no keep-alive, neither gRPC's nor TCP's, and offers no option for it. So this
module enables TCP keep-alive on each connection.
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

SILENT_SECONDS = 30  # a host may be silent for this long
IDLE_SECONDS = 10  # idle time after which a connection is probed

#: Seconds from the last received packet until a connection without answers is closed. The host may
#: have fallen silent as late as `IDLE_SECONDS` after that packet.
GIVE_UP_SECONDS = SILENT_SECONDS + IDLE_SECONDS

#: Maximum number of seconds between two retransmissions. By default the interval doubles each time.
#: Then a host that comes back may get no packet any more before the connection is closed.
RESEND_SECONDS = 5

LOOK_SECONDS = 2.0  # seconds between two searches for new connections

_TCP_RTO_MAX_MS = 44  # option in linux/tcp.h, since Linux 6.15

# ``struct tcp_info`` of linux/tcp.h: offset of the 64-bit fields tcpi_bytes_acked and
# tcpi_bytes_received, and offset of their end
_ACKED_OFFSET = 120
_INFO_SIZE = 136


def port_user(port: int) -> str:
    """Describe the process that uses a port of this machine; empty if this user may not see it."""
    import psutil

    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.pid and connection.laddr and connection.laddr.port == port:
                process = psutil.Process(connection.pid)
                user = process.username()
                return f" by {process.name()} (process {process.pid}, user {user})"
    return ""


def own_connections() -> Iterator[tuple[str, socket.socket]]:
    """Yield the TCP sockets of this process, each with a name that is unique while it is open.

    Each socket object is closed when the next one is requested. On systems other than Linux,
    nothing is yielded.
    """
    if sys.platform != "linux":
        return
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:  # this process has no free file descriptor
        return
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # closed meanwhile
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            if not name.startswith("socket:"):
                continue
            # a duplicate of the descriptor, since leaving the context closes it
            with socket.socket(fileno=os.dup(int(descriptor))) as connection:
                is_internet = connection.family in (socket.AF_INET, socket.AF_INET6)
                if is_internet and connection.type == socket.SOCK_STREAM:
                    yield name, connection


#: Hosts (names or addresses) with ports. Connections to these ports get keep-alive.
_hosts: set[tuple[str, int]] = set()


def keep_alive(hosts: Iterable[tuple[str, int]] | None) -> None:
    """Let TCP connections fail when the remote host is silent; Linux only.

    A thread searches for new connections until the process ends.

    Parameters
    ----------
    hosts : iterable of (str, int), optional
        Names or addresses, and ports. Connections to any other host or port are not changed. None
        stands for all connections of this process.
    """
    _hosts.update(hosts or ())
    if sys.platform == "linux":
        _start_keepalive_thread(hosts is None)


@functools.cache  # one thread is enough
def _start_keepalive_thread(all_hosts: bool) -> None:
    def keep_new_alive_forever() -> None:
        names: set[str] = set()
        while True:
            names = keep_new_alive(names, None if all_hosts else _hosts)
            time.sleep(LOOK_SECONDS)

    threading.Thread(target=keep_new_alive_forever, name="tfw2v-keepalive", daemon=True).start()


def keep_new_alive(old_names: set[str], hosts: set[tuple[str, int]] | None) -> set[str]:
    """Enable keep-alive on new connections to these hosts; None stands for all hosts.

    `old_names` contains the names of connections that already have keep-alive. Returns the names of
    all open connections that have it now.
    """
    options = (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        # idle connections: seconds until the first probe, seconds between probes, and their number
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_SECONDS),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, RESEND_SECONDS),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, SILENT_SECONDS // RESEND_SECONDS),
        # all connections: milliseconds without an answer until the connection fails
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * GIVE_UP_SECONDS),
        (socket.IPPROTO_TCP, _TCP_RTO_MAX_MS, 1000 * RESEND_SECONDS),  # last: old kernels refuse it
    )
    names = set()
    for name, connection in own_connections():
        with contextlib.suppress(OSError):  # not connected yet, or no longer
            if name in old_names:
                names.add(name)
            elif _leads_to(connection, hosts):
                names.add(name)
                for option in options:
                    connection.setsockopt(*option)
    return names


def _leads_to(connection: socket.socket, hosts: set[tuple[str, int]] | None) -> bool:
    if hosts is None:
        return True
    address, port = connection.getpeername()[:2]
    for host, host_port in tuple(hosts):
        if host_port == port:
            # names are resolved each time: a host may come back with a different address
            with contextlib.suppress(OSError):  # the name of a lost host may have no address
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                if any(_plain(address) == _plain(place[0]) for *_, place in found):
                    return True
    return False


def _plain(address: Any) -> Any:
    """Parse an address; convert IPv4 addresses of IPv6 sockets (``::ffff:...``) to IPv4."""
    parsed = ipaddress.ip_address(str(address).partition("%")[0])
    return getattr(parsed, "ipv4_mapped", None) or parsed


class TcpBytes:
    """Counts the bytes that this process has sent and received by TCP, without headers.

    psutil counts the traffic of network interfaces, which the tasks of a machine share. The traffic
    of a connection between the last `look` and its end is not counted.
    """

    def __init__(self) -> None:
        self._bytes: dict[str, tuple[int, int]] = {}  # sent and received, by connection

    def look(self) -> tuple[int, int] | None:
        """Return the bytes sent (acknowledged) and received so far; None on unsupported systems."""
        if sys.platform != "linux":
            return None
        for name, connection in own_connections():
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_SIZE)
            if len(info) == _INFO_SIZE:  # Linux 4.1 or later
                self._bytes[name] = struct.unpack_from("=QQ", info, _ACKED_OFFSET)
        n_sent = sum(n_bytes for n_bytes, _ in self._bytes.values())
        n_received = sum(n_bytes for _, n_bytes in self._bytes.values())
        return n_sent, n_received
