"""Hosts with slow links, and the page about training over them."""

import subprocess
import sys

import pytest

from benchmarks.links.__main__ import WORKERS, markdown, parser, predict
from benchmarks.links.switch import SlowHosts, why_not

SERVE = """
import socket
server = socket.create_server(("0.0.0.0", 5000))
print("ready", flush=True)
connection, _ = server.accept()
while (got := connection.recv(1 << 20)):
    connection.sendall(b"." if got.endswith(b"!") else b"")
"""

#: Prints the median round-trip time, and the seconds that 1 MB takes.
CALL = """
import socket, sys, time
call = socket.create_connection((sys.argv[1], 5000))
call.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def seconds(size):
    begun = time.perf_counter()
    call.sendall(b"-" * (size - 1) + b"!")
    call.recv(1)
    return time.perf_counter() - begun
trips = sorted(seconds(1) for _ in range(9))
print(trips[4], min(seconds(10**6) for _ in range(3)))
"""


@pytest.mark.skipif(bool(why_not()), reason="needs network namespaces and TAP devices")
def test_links_have_the_given_rate_and_latency():
    with SlowHosts("one", "other", rate=5e6, latency=0.04) as hosts:
        server = hosts.start("one", sys.executable, "-c", SERVE, stdout=subprocess.PIPE)
        assert server.stdout.readline() == b"ready\n"
        caller = hosts.start(
            "other", sys.executable, "-c", CALL, hosts.address("one"), stdout=subprocess.PIPE
        )
        trip, transfer = map(float, caller.communicate(timeout=60)[0].split())
    assert 0.04 <= trip < 0.08
    assert 0.23 < transfer < 0.6  # 0.2 s on the link, and a round trip or more


def alone(words_per_second=1e6):
    traffic = {"fetched": 20.0, "pushed": 21.0, "kept": 0.75, "words_per_job": 1e5}
    return {"words": 10**6, "words_per_second": words_per_second} | traffic


def test_predictions_follow_the_narrowest_link():
    assert predict(alone(), 1, 1e12, 0.0) == pytest.approx(1e6, rel=1e-3)
    # two workers per ps: a ps receives 0.75 * 21 bytes per word of two workers
    assert predict(alone(1e9), 1, 1e6, 0.0) <= WORKERS * 1e6 / (0.75 * 21 * 2) * 1.001
    # four round trips, and another per 3 MB
    far = 4e5 / (0.4 + 0.1 * (4 + 0.75 * 41e5 / 3e6))
    assert predict(alone(), 1, 1e12, 0.1) == pytest.approx(far, rel=1e-3)


def test_page_has_a_row_per_link():
    given = parser().parse_args([__file__, "--out", "x", "--net", "50Mbit", "--latency", "2"])
    assert (given.net, given.latency) == ([6.25e6], [2.0])
    run = {"round": 0, "rate": 6.25e6, "latency": 2.0, "alone": alone()}
    run |= {"found": alone(4e5), "predicted": 5e5}
    machine = {"cpu": "a", "cores": 2, "memory_bytes": 2**34, "system": "b", "versions": {}}
    document = {
        "date": "2026-01-01",
        "machine": machine | {"load_average": [0.0]},
        "corpus": {"name": "text", "bytes": 10, "words": 2},
        "options": {"corpus_file": "text", "sg": 1},
        "runs": [run, run | {"predicted": 4.5e5}],
    }
    row = "| 50 Mbit/s, 2 ms | 0.400 M | 0.475 M | 1.000 M | +19% (+12% to +25%) | 41 |"
    assert row in markdown(document)
