"""Connections whose other end is gone."""

import socket
import sys

import pytest

from gensim_tfw2v.processes.machine import (
    GIVE_UP_SECONDS,
    IDLE_SECONDS,
    RESEND_SECONDS,
    SILENT_SECONDS,
    keep_new_alive,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists descriptors")


def kept(connection):
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))


def test_connections_are_kept_as_they_come_and_go():
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with socket.create_server(("127.0.0.1", 0)) as server, other:
        known = keep_new_alive(set())
        with socket.create_connection(server.getsockname()) as near:
            far, _ = server.accept()
            with far:
                assert not kept(near)
                assert len(keep_new_alive(known) - known) == 2
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
        assert keep_new_alive(known) <= known


def test_a_host_that_is_back_in_time_is_asked_once_more():
    # it may have been idle when it fell silent, and what it is asked may have been sent just before
    # it is back
    assert GIVE_UP_SECONDS - IDLE_SECONDS >= SILENT_SECONDS
    assert GIVE_UP_SECONDS - SILENT_SECONDS > RESEND_SECONDS


def test_those_that_are_known_are_left_alone():
    with socket.create_server(("127.0.0.1", 0)) as server:
        known = keep_new_alive(set())
        server.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        keep_new_alive(known)
        assert not kept(server)
