"""Connections whose other end is gone."""

import contextlib
import os
import resource
import socket
import sys

import pytest

from gensim_tfw2v.processes.connections import (
    GIVE_UP_SECONDS,
    IDLE_SECONDS,
    RESEND_SECONDS,
    SILENT_SECONDS,
    keep_new_alive,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists descriptors")


def kept(connection):
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))


@contextlib.contextmanager
def connected(server, address=None):
    """Both ends of a connection to a server."""
    with socket.create_connection(address or server.getsockname()[:2]) as near:
        far, _ = server.accept()
        with far:
            yield near, far


def test_connections_are_kept_as_they_come_and_go():
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with socket.create_server(("127.0.0.1", 0)) as server, other:
        known = keep_new_alive(set(), None)
        with connected(server) as (near, far):
            assert not kept(near)
            ends = {f"socket:[{os.fstat(end.fileno()).st_ino}]" for end in (near, far)}
            assert keep_new_alive(known, None) - known >= ends
            for connection in (near, far):
                assert kept(connection)
                limit = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                assert limit == 1000 * GIVE_UP_SECONDS
                idle = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
                assert idle == IDLE_SECONDS
            # the connection is as it was
            near.sendall(b"still here")
            assert far.recv(100) == b"still here"
        assert not kept(other)
        assert keep_new_alive(known, None) <= known


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("through", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "mapped"])
def test_connections_to_others_than_the_hosts_are_left_alone(host, through):
    mapped = through == socket.AF_INET6
    # an address, a port and a protocol that a database might have
    servers = [socket.create_server((address, 0)) for address in ("127.0.0.1", "127.0.0.2")]
    with servers[0] as task, servers[1] as other:
        hosts = {(host, task.getsockname()[1])}
        same_port = socket.create_server(("127.0.0.3", task.getsockname()[1]))
        with same_port, contextlib.ExitStack() as stack:
            ends = []
            for server in (task, other, same_port):
                address, port = server.getsockname()
                near = stack.enter_context(socket.socket(through))
                near.connect((f"::ffff:{address}" if mapped else address, port))
                ends.append((near, stack.enter_context(server.accept()[0])))
            unconnected = stack.enter_context(socket.socket(through))
            names = keep_new_alive(set(), hosts)
            assert [kept(near) for near, _ in ends] == [True, False, False]
            assert not any(kept(far) for _, far in ends)
            assert not kept(unconnected) and len(names) == 1
            unconnected.connect(ends[0][0].getpeername())
            assert len(keep_new_alive(names, hosts)) == 2 and kept(unconnected)


def test_a_host_that_is_back_in_time_is_asked_once_more():
    # it may have been idle when it fell silent, and what it is asked may have been sent just before
    # it is back
    assert GIVE_UP_SECONDS - IDLE_SECONDS >= SILENT_SECONDS
    assert GIVE_UP_SECONDS - SILENT_SECONDS > RESEND_SECONDS


def test_those_that_are_known_are_left_alone():
    with socket.create_server(("127.0.0.1", 0)) as server:
        known = keep_new_alive(set(), None)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        keep_new_alive(known, None)
        assert not kept(server)


def test_a_process_that_can_open_no_more_is_looked_at_again():
    with socket.create_server(("127.0.0.1", 0)) as server, connected(server) as (near, _):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        highest = max(map(int, os.listdir("/proc/self/fd")))
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
        opened = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    opened.append(os.dup(0))
            assert keep_new_alive(set(), None) == set() and not kept(near)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for descriptor in opened:
                os.close(descriptor)
        keep_new_alive(set(), None)
        assert kept(near)
