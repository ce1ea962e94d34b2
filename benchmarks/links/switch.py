"""Hosts whose links have a limited rate and a latency.

Linux can delay frames by ``netem``, but not every kernel has it. So each host's interface is a TAP
device, and a thread of this process, the switch, forwards frames between the devices with a delay.
"""

import fcntl
import heapq
import itertools
import os
import select
import struct
import subprocess
import threading
import time

from tests.cluster import hosts

# Constants of linux/if_tun.h.
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
TAP_WITHOUT_INFO, WITH_HEADER = 0x0002 | 0x1000, 0x4000
CHECKSUMS_AND_SEGMENTS = 0x1 | 0x2 | 0x4  # tasks left to the receiving host, for IPv4 and IPv6

DEVICES = "/dev/net/tun"
HEADER = 10  # bytes of struct virtio_net_hdr before each frame
MAX_FRAME_BYTES = 1 << 17  # maximum size of a frame, because senders do not segment


def why_not() -> str:
    """Return the reason why hosts with slow links cannot be created here, or an empty string."""
    if reason := hosts.why_not():
        return str(reason)
    return "" if os.access(DEVICES, os.W_OK) else f"{DEVICES} is missing"


class SlowHosts(hosts.Hosts):
    """Hosts connected by a switch that delays frames.

    Parameters
    ----------
    *names : str
    rate : float
        Bytes/s of each host's link, in each direction.
    latency : float
        Round-trip time between two hosts, in seconds.
    """

    def __init__(self, *names: str, rate: float, latency: float) -> None:
        super().__init__(*names)
        self._rate, self._delay = rate, latency / 2
        self._rates: dict[int, float] = {}  # bytes/s of single hosts, by descriptor
        self._delays: dict[int, float] = {}  # additional seconds of a frame to or from a host
        self._dropped: set[frozenset[int]] = set()  # pairs of hosts without a connection
        self._taps: dict[
            bytes, int
        ] = {}  # descriptor of each host's TAP device, by its MAC address
        self._waiting: list[
            tuple[float, int, int, bytes]
        ] = []  # heap of (due time, order, descriptor, frame)
        self._free: dict[tuple[str, int], float] = {}  # when a direction of a link is free
        self._order = itertools.count()
        self._stop = threading.Event()

    def __enter__(self) -> "SlowHosts":
        super().__enter__()
        self._thread = threading.Thread(target=self._forward, name="switch", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop the switch, and remove the hosts."""
        self._stop.set()
        super().close()
        if hasattr(self, "_thread"):
            self._thread.join(20)
        for tap in self._taps.values():
            os.close(tap)

    def add(self, name: str) -> None:
        """Add a host, before the switch is started."""
        host = f"{self.name}-{name}"
        self.names.append(name)
        self.ip("netns", "add", host)
        tap = os.open(DEVICES, os.O_RDWR | os.O_NONBLOCK)
        device = f"tap{os.getpid()}x{len(self.names)}"[:15]
        request = struct.pack("16sH22x", device.encode(), TAP_WITHOUT_INFO | WITH_HEADER)
        fcntl.ioctl(tap, TUNSETIFF, request)
        fcntl.ioctl(tap, TUNSETOFFLOAD, CHECKSUMS_AND_SEGMENTS)
        subprocess.run(["ip", "link", "set", device, "netns", host, "name", "eth0"], check=True)
        address = bytes([2, 0, 0, 0, 0, len(self.names)])
        self.ip("link", "set", "eth0", "address", address.hex(":"), of=name)
        self.ip("address", "add", f"{self.address(name)}/24", "dev", "eth0", of=name)
        for interface in ("lo", "eth0"):
            self.ip("link", "set", interface, "up", of=name)
        self._taps[address] = tap

    def change_link(self, name: str, rate: float | None = None, latency: float = 0.0) -> None:
        """Change the rate of a host's link, and add to its round-trip time."""
        tap = self._tap(name)
        self._rates[tap] = self._rate if rate is None else rate
        self._delays[tap] = latency / 2

    def drop(self, one: str, other: str) -> None:
        """Silently drop all frames between two hosts, like a firewall."""
        self._dropped.add(frozenset((self._tap(one), self._tap(other))))

    def plug(self, name: str, plugged: bool) -> None:
        """Connect a host to the switch, or disconnect it."""
        self.ip("link", "set", "eth0", "up" if plugged else "down", of=name)

    def _tap(self, name: str) -> int:
        return list(self._taps.values())[self.names.index(name)]

    def _forward(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)
        while not self._stop.is_set():
            due = self._waiting[0][0] if self._waiting else time.monotonic() + 0.1
            ready, _, _ = select.select(
                list(self._taps.values()), [], [], max(0.0, due - time.monotonic())
            )
            for tap in ready:
                self._read_frame(tap)
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, target, frame = heapq.heappop(self._waiting)
                try:
                    os.write(target, frame)
                except OSError:  # the host is gone, or its queue is full
                    continue

    def _read_frame(self, tap: int) -> None:
        """Read a frame, and queue it for its target, or for all hosts if it is a broadcast."""
        try:
            frame = os.read(tap, MAX_FRAME_BYTES)
        except OSError:
            return
        size = len(frame) - HEADER
        seconds = size / self._rates.get(tap, self._rate)
        send_time = self._pass(("out", tap), time.monotonic(), seconds) + self._delay
        send_time += self._delays.get(tap, 0.0)
        address = frame[HEADER : HEADER + 6]
        targets = [self._taps[address]] if address in self._taps else self._taps.values()
        for target in targets:
            if target != tap and frozenset((tap, target)) not in self._dropped:
                target_seconds = size / self._rates.get(target, self._rate)
                arrival = send_time + self._delays.get(target, 0.0) - min(seconds, target_seconds)
                due = self._pass(("in", target), arrival, target_seconds)
                heapq.heappush(self._waiting, (due, next(self._order), target, frame))

    def _pass(self, link: tuple[str, int], begin: float, seconds: float) -> float:
        """Return when a frame has passed one direction of a link, in which frames pass one by one.

        The frame arrives at the link at the time `begin`, and occupies it for `seconds`.
        """
        self._free[link] = max(begin, self._free.get(link, 0.0)) + seconds
        return self._free[link]
