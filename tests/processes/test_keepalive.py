"""TCP keepalive, which detects connections whose other end is lost."""

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
    """Yield both ends of a connection to a server."""
    with socket.create_connection(address or server.getsockname()[:2]) as near:
        far, _ = server.accept()
        with far:
            yield near, far


def test_new_connections_get_keepalive():
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
            # the connection still works
            near.sendall(b"still here")
            assert far.recv(100) == b"still here"
        assert not kept(other)
        assert keep_new_alive(known, None) <= known


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("through", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "mapped"])
def test_connections_to_other_hosts_are_unchanged(host, through):
    mapped = through == socket.AF_INET6
    # `other` has a different address and port, as a database may; `same_port` shares the port
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


def test_host_without_an_address_does_not_affect_other_hosts(monkeypatch):
    def resolve(host, *args, **options):
        if host.startswith("lost"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0))]

    with socket.create_server(("127.0.0.1", 0)) as server, connected(server) as (near, _):
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        port = server.getsockname()[1]
        lost = {(f"lost-{number}", port) for number in range(8)}  # a set has no fixed order
        keep_new_alive(set(), {*lost, ("127.0.0.1", port)})
        assert kept(near)


def test_timeouts_allow_a_probe_after_a_host_returns():
    # the host may have been idle before it fell silent, and the last probe may have been sent just
    # before it returned
    assert GIVE_UP_SECONDS - IDLE_SECONDS >= SILENT_SECONDS
    assert GIVE_UP_SECONDS - SILENT_SECONDS > RESEND_SECONDS


def test_known_connections_are_not_changed_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        known = keep_new_alive(set(), None)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        keep_new_alive(known, None)
        assert not kept(server)


def test_keepalive_is_retried_after_descriptors_run_out():
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
