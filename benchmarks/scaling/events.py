"""Discrete-event simulation of programs that share processor cores and network links.

A program is a generator of requests: to compute, send, wait, or use a counted resource. A request
that takes time becomes an activity. Activities progress at rates that depend on how they share
cores and links. Whenever an activity ends, all rates are recomputed. This is the fluid model of
SimGrid (Casanova, Giersch, Legrand, Quinson and Suter 2014, "Versatile, Scalable, and Accurate
Simulation of Distributed Applications and Platforms").
"""

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Host(NamedTuple):
    """A machine: its cores and its network."""

    cores: float
    net: float  # bytes/s in each direction; the directions are independent


class Compute(NamedTuple):
    """Compute `seconds` of CPU time on a host, on at most `threads` of its cores."""

    host: int
    seconds: float
    threads: float = 1.0


class Send(NamedTuple):
    """Send `size` bytes between hosts; within a host, sending takes no time."""

    source: int
    target: int
    size: float


class Wait(NamedTuple):
    """Wait for some seconds, without using a resource."""

    seconds: float


class Take(NamedTuple):
    """Wait until a unit of the resource `name` is free, and acquire it. A lock has one unit."""

    name: Hashable


class Put(NamedTuple):
    """Release a unit of the resource `name`; the program that has waited longest acquires it."""

    name: Hashable


class Together(NamedTuple):
    """Run several programs in parallel, and wait for all of them."""

    programs: Sequence["Program"]


Program = Generator[Compute | Send | Wait | Take | Put | Together, None, None]


#: Activity in progress: `left`, its remaining seconds or bytes; `most`, its maximum rate; `host`,
#: where it computes; `source` and `target`, hosts of a transfer. Hosts are -1 where they do not
#: apply.
ACTIVITY = np.dtype(
    [("left", float), ("most", float), ("host", int), ("source", int), ("target", int)]
)


class Simulation:
    """Simulation of programs on hosts.

    `counts` contains the initial number of units of each resource. Attributes are `now`, the
    seconds since the start; `computed`, the CPU seconds used per host; `sent` and `received`, the
    bytes per host.
    """

    def __init__(self, hosts: Sequence[Host], counts: Mapping[Hashable, int]) -> None:
        self.now = 0.0
        self._cores = np.array([host.cores for host in hosts])
        self._net = np.array([host.net for host in hosts])
        self.computed, self.sent, self.received = np.zeros((3, len(hosts)))
        self._programs: list[_Running] = []
        self._active = np.zeros(0, ACTIVITY)  # current activity of each program in _programs
        self._added: list[tuple[_Running, tuple[float, float, int, int, int]]] = []
        self._counts = Counter(counts)
        self._queues: dict[Hashable, deque[_Running]] = defaultdict(deque)

    def run(self, programs: Iterable[Program]) -> None:
        """Start programs now, and run the simulation until all have ended.

        Raises
        ------
        RuntimeError
            If programs wait for a resource that is never released.
        """
        for program in programs:
            self._advance(_Running(program))
        while self._programs or self._added:
            self._programs += [running for running, _ in self._added]
            added = np.array([row for _, row in self._added], ACTIVITY)
            self._active, self._added = np.concatenate([self._active, added]), []
            rates = self._rates()
            self._pass(float(np.min(self._active["left"] / rates)), rates)
            # Because of rounding, an activity ends when about a nanosecond of work is left.
            ended = self._active["left"] <= 1e-9 * np.maximum(1.0, rates)
            finished_programs = list(itertools.compress(self._programs, ended))
            self._programs = list(itertools.compress(self._programs, ~ended))
            self._active = self._active[~ended]
            for running in finished_programs:
                self._advance(running)
        if any(self._queues.values()):
            raise RuntimeError("programs wait for a resource that is never released")

    def _advance(self, running: "_Running") -> None:
        """Resume a program until its next request takes time or has to wait."""
        while True:
            try:
                request = next(running.program)
            except StopIteration:
                if running.parent is None:
                    return
                running.parent.children -= 1
                if running.parent.children:
                    return
                running = running.parent
                continue
            if isinstance(request, Take):
                if not self._counts[request.name]:
                    self._queues[request.name].append(running)
                    return
                self._counts[request.name] -= 1
            elif isinstance(request, Put):
                if self._queues[request.name]:
                    self._advance(self._queues[request.name].popleft())
                else:
                    self._counts[request.name] += 1
            elif isinstance(request, Together):
                if request.programs:
                    running.children = len(request.programs)
                    for program in request.programs:
                        self._advance(_Running(program, running))
                    return
            elif self._begin(running, request):
                return

    def _begin(self, running: "_Running", request: Compute | Send | Wait) -> bool:
        """Start the activity of a request; return whether it takes any time."""
        if isinstance(request, Compute):
            row = request.seconds, request.threads, request.host, -1, -1
        elif isinstance(request, Send):
            size = 0.0 if request.source == request.target else request.size
            row = size, np.inf, -1, request.source, request.target
        else:
            row = request.seconds, 1.0, -1, -1, -1
        if row[0] > 0:
            self._added.append((running, row))
        return row[0] > 0

    def _rates(self) -> np.ndarray:
        """Return the rate of each activity, in CPU seconds, bytes or seconds per second.

        Threads on a host share its cores evenly. Transfers share the links of their two hosts
        evenly, and run at the rate of the busier end.
        """
        rates = self._active["most"].copy()
        computing, sending = self._active["host"] >= 0, self._active["source"] >= 0
        if computing.any():
            host = self._active["host"][computing]
            threads = np.bincount(host, rates[computing], len(self._cores))
            core_share = np.minimum(1.0, self._cores / np.maximum(threads, 1e-12))
            rates[computing] *= core_share[host]
        if sending.any():
            source, target = (self._active[end][sending] for end in ("source", "target"))
            source_share, target_share = (
                self._net / np.maximum(1, np.bincount(ends, minlength=len(self._net)))
                for ends in (source, target)
            )
            rates[sending] = np.minimum(source_share[source], target_share[target])
        return rates

    def _pass(self, seconds: float, rates: np.ndarray) -> None:
        """Let some seconds pass, in which activities progress at `rates`."""
        self.now += seconds
        progress = rates * seconds
        self._active["left"] -= progress
        totals = {"host": self.computed, "source": self.sent, "target": self.received}
        for end, total in totals.items():
            ends = self._active[end]
            applies = ends >= 0
            total += np.bincount(ends[applies], progress[applies], len(total))


class _Running:
    """A program, its parent, and the number of parallel programs that it waits for."""

    def __init__(self, program: Program, parent: "_Running | None" = None) -> None:
        self.program, self.parent, self.children = program, parent, 0
