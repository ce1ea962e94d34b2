"""Firewall rules of cluster/README.md, on separate hosts."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.hosts import Hosts, why_not

README = Path(__file__).parents[2] / "cluster/README.md"
(RULES,) = re.findall(r"^nft -f - <<'END'\n(.*?)^END$", README.read_text("utf-8"), re.M | re.S)
PORT = 20_222

#: Server that listens on all interfaces, as TensorFlow's servers do.
LISTEN = f"""
import socket
server = socket.create_server(("", {PORT}), family=socket.AF_INET6, dualstack_ipv6=True)
print("listens", flush=True)
while True:
    server.accept()[0].close()
"""
CONNECT = f"""
import socket, sys
for address in sys.argv[1:]:
    try:
        socket.create_connection((address, {PORT}), 0.5).close()
        print(address)
    except OSError:
        pass
"""


@pytest.fixture(scope="module")
def hosts():
    if reason := why_not():
        pytest.skip(reason)
    if not shutil.which("nft"):
        pytest.skip("nft (nftables) is missing")
    with Hosts("task", "member", "outsider") as made:
        for number, name in enumerate(made.names, 1):
            address = ("address", "add", f"fd77::{number}/64", "dev", "eth0", "nodad")
            made.ip("-6", *address, of=name)
        listener = made.start("task", sys.executable, "-c", LISTEN, stdout=subprocess.PIPE)
        assert listener.stdout.readline() == b"listens\n"
        yield made


def reached(hosts, name):
    """Return the addresses at which a host reaches the task."""
    addresses = (hosts.address("task"), "fd77::1")
    process = hosts.start(
        name, sys.executable, "-c", CONNECT, *addresses, stdout=subprocess.PIPE, text=True
    )
    return process.communicate(timeout=60)[0].split()


def test_firewall_admits_only_members_by_ipv4_and_ipv6(hosts):
    both = [hosts.address("task"), "fd77::1"]
    of_ours = f"ip saddr {{ {both[0]}, {hosts.address('member')} }} accept"
    rules, found = re.subn("ip saddr .* accept", of_ours, RULES)
    assert found == 1
    rules = re.sub("tcp dport .* drop", f"tcp dport {PORT} drop", rules)
    for _ in range(2):  # rules can be loaded repeatedly
        setting = hosts.start("task", "nft", "-f", "-", stdin=subprocess.PIPE, text=True)
        setting.communicate(rules, timeout=60)
        assert setting.returncode == 0
    assert reached(hosts, "member") == both[:1]
    assert reached(hosts, "outsider") == []
    assert reached(hosts, "task") == both
    clearing = hosts.start("task", "nft", "delete", "table", "inet", "tfw2v")
    assert clearing.wait(60) == 0
    assert reached(hosts, "outsider") == both
