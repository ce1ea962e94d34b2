"""Discrete-event simulation of programs that share processor cores and network links.

A program is a generator of requests: to compute, send, wait, or use a counted resource. Activities
progress at rates that depend on how cores and links are shared. Whenever an activity ends, all
rates are recomputed. This is the fluid model of SimGrid (Casanova, Giersch, Legrand, Quinson and
Suter 2014, "Versatile, Scalable, and Accurate Simulation of Distributed Applications and
Platforms").
"""

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Host(NamedTuple):
    """A machine: its cores and its network."""

    cores: float
    net: float  # bytes/s in each direction; sending and receiving don't slow each other down


class Compute(NamedTuple):
    """Compute `seconds` of CPU time on a host, on at most `threads` of its cores."""

    host: int
    seconds: float
    threads: float = 1.0


class Send(NamedTuple):
    """Send `size` bytes from a host to a different one; takes no time within a host."""

    source: int
    target: int
    size: float


class Wait(NamedTuple):
    """Wait for some seconds, without using a resource."""

    seconds: float


class Take(NamedTuple):
    """Acquire one unit of the resource `name`, waiting until one is free; a lock has one unit."""

    name: Hashable


class Put(NamedTuple):
    """Release one unit of the resource `name`, to the program that has waited longest."""

    name: Hashable


class Together(NamedTuple):
    """Run several programs in parallel, and wait for all of them."""

    programs: Sequence["Program"]


Program = Generator[Compute | Send | Wait | Take | Put | Together, None, None]


#: Activity in progress: remaining seconds or bytes, maximum rate, host that computes, and source
#: and target of a transfer (-1 where not applicable).
ACTIVITY = np.dtype(
    [("left", float), ("most", float), ("host", int), ("source", int), ("target", int)]
)


class Simulation:
    """Simulation of programs on hosts; `counts` is the initial number of units per resource.

    Attributes: `now`, seconds since the start; `computed`, CPU seconds used per host; `sent` and
    `received`, bytes per host.
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
            # tolerance for rounding: about a nanosecond of work
            ended = self._active["left"] <= 1e-9 * np.maximum(1.0, rates)
            over = list(itertools.compress(self._programs, ended))
            self._programs = list(itertools.compress(self._programs, ~ended))
            self._active = self._active[~ended]
            for one in over:
                self._advance(one)
        if any(self._queues.values()):
            raise RuntimeError("programs wait for a resource that is never released")

    def _advance(self, running: "_Running") -> None:
        """Resume a program until its next request takes time or has to wait."""
        while True:
            try:
                wanted = next(running.program)
            except StopIteration:
                if running.parent is None:
                    return
                running.parent.children -= 1
                if running.parent.children:
                    return
                running = running.parent
                continue
            if isinstance(wanted, Take):
                if not self._counts[wanted.name]:
                    self._queues[wanted.name].append(running)
                    return
                self._counts[wanted.name] -= 1
            elif isinstance(wanted, Put):
                if self._queues[wanted.name]:
                    self._advance(self._queues[wanted.name].popleft())
                else:
                    self._counts[wanted.name] += 1
            elif isinstance(wanted, Together):
                if wanted.programs:
                    running.children = len(wanted.programs)
                    for program in wanted.programs:
                        self._advance(_Running(program, running))
                    return
            elif self._begin(running, wanted):
                return

    def _begin(self, running: "_Running", wanted: Compute | Send | Wait) -> bool:
        """Start an activity; return whether it takes time."""
        if isinstance(wanted, Compute):
            row = wanted.seconds, wanted.threads, wanted.host, -1, -1
        elif isinstance(wanted, Send):
            size = 0.0 if wanted.source == wanted.target else wanted.size
            row = size, np.inf, -1, wanted.source, wanted.target
        else:
            row = wanted.seconds, 1.0, -1, -1, -1
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
            slower = np.minimum(1.0, self._cores / np.maximum(threads, 1e-12))
            rates[computing] *= slower[host]
        if sending.any():
            source, target = (self._active[end][sending] for end in ("source", "target"))
            of_source, of_target = (
                self._net / np.maximum(1, np.bincount(ends, minlength=len(self._net)))
                for ends in (source, target)
            )
            rates[sending] = np.minimum(of_source[source], of_target[target])
        return rates

    def _pass(self, seconds: float, rates: np.ndarray) -> None:
        self.now += seconds
        done = rates * seconds
        self._active["left"] -= done
        totals = {"host": self.computed, "source": self.sent, "target": self.received}
        for end, total in totals.items():
            ends = self._active[end]
            is_one = ends >= 0
            total += np.bincount(ends[is_one], done[is_one], len(total))


class _Running:
    """A program, its parent, and the number of parallel programs that it waits for."""

    def __init__(self, program: Program, parent: "_Running | None" = None) -> None:
        self.program, self.parent, self.children = program, parent, 0
