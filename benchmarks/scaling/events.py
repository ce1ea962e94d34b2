"""A discrete-event simulation of programs that share processors and links.

What is in progress goes on at rates that follow from who shares what; when something ends, all
rates are computed anew (the fluid model of SimGrid: Casanova, Giersch, Legrand, Quinson and Suter
2014, "Versatile, Scalable, and Accurate Simulation of Distributed Applications and Platforms").
"""

from collections import Counter, defaultdict, deque
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Host(NamedTuple):
    """A machine.

    Attributes
    ----------
    cores : float
    net : float
        Bytes/s that it can send, and receive at the same time.
    """

    cores: float
    net: float


class Compute(NamedTuple):
    """Use a host's cores: so many seconds of one, on so many threads at most."""

    host: int
    seconds: float
    threads: float = 1.0


class Send(NamedTuple):
    """Send bytes from a host to another; within one they take no time."""

    source: int
    target: int
    size: float


class Wait(NamedTuple):
    """Let time pass."""

    seconds: float


class Take(NamedTuple):
    """Wait until there is one of this name, and take it: of a lock, there is one."""

    name: Hashable


class Put(NamedTuple):
    """Put one of this name there, for whoever has waited longest."""

    name: Hashable


class Together(NamedTuple):
    """Let several programs run side by side, and wait for all."""

    programs: Sequence["Program"]


Program = Generator[Compute | Send | Wait | Take | Put | Together, None, None]


class Simulation:
    """Programs on hosts.

    Parameters
    ----------
    hosts : sequence of Host
    counts : mapping of str to int
        How many there are to `Take` at the beginning.

    Attributes
    ----------
    now : float
        Seconds since the beginning.
    computed, sent, received : ndarray [hosts]
        Core seconds used, and bytes.
    """

    def __init__(self, hosts: Sequence[Host], counts: Mapping[Hashable, int]) -> None:
        self.now = 0.0
        self._cores = np.array([host.cores for host in hosts])
        self._net = np.array([host.net for host in hosts])
        self.computed, self.sent, self.received = np.zeros((3, len(hosts)))
        self._programs: list[_Running] = []
        # of each: what is left, host or source or -1, target or -1, threads; see `_rates`
        self._left, self._most = np.zeros(0), np.zeros(0)
        self._host, self._source, self._target = np.zeros((3, 0), int)
        self._added: list[tuple[_Running, float, float, int, int, int]] = []
        self._counts = Counter(counts)
        self._queues: dict[Hashable, deque[_Running]] = defaultdict(deque)

    def run(self, programs: Iterable[Program]) -> None:
        """Run programs from now on until all have ended.

        Raises
        ------
        RuntimeError
            If some wait for what nobody puts there.
        """
        for program in programs:
            self._advance(_Running(program))
        while self._programs or self._added:
            self._take_up()
            rates = self._rates()
            seconds = float(np.min(self._left / rates))
            self._pass(seconds, rates)
            ended = self._left <= 1e-9 * np.maximum(1.0, rates)
            over = [one for one, is_over in zip(self._programs, ended, strict=True) if is_over]
            self._keep(~ended)
            for one in over:
                self._advance(one)
        if any(self._queues.values()):
            raise RuntimeError("programs wait for what nobody puts there")

    def _advance(self, running: "_Running") -> None:
        """Let a program go on until it has to wait for something."""
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
        """Take up what takes time; false if it takes none."""
        if isinstance(wanted, Compute):
            row = wanted.seconds, wanted.threads, wanted.host, -1, -1
        elif isinstance(wanted, Send):
            size = 0.0 if wanted.source == wanted.target else wanted.size
            row = size, np.inf, -1, wanted.source, wanted.target
        else:
            row = wanted.seconds, 1.0, -1, -1, -1
        if row[0] > 0:
            self._added.append((running, *row))
        return row[0] > 0

    def _take_up(self) -> None:
        if not self._added:
            return
        running, *columns = zip(*self._added, strict=True)
        self._programs += running
        names = "_left", "_most", "_host", "_source", "_target"
        for name, column in zip(names, columns, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), column]))
        self._host, self._source, self._target = (
            x.astype(int) for x in (self._host, self._source, self._target)
        )
        self._added = []

    def _keep(self, which: np.ndarray) -> None:
        self._programs = [
            one for one, is_kept in zip(self._programs, which, strict=True) if is_kept
        ]
        for name in ("_left", "_most", "_host", "_source", "_target"):
            setattr(self, name, getattr(self, name)[which])

    def _rates(self) -> np.ndarray:
        """How much of each is done in a second.

        Threads of a host share its cores evenly; so do transfers a link, each as fast as the
        busier of its two ends allows.
        """
        rates = self._most.copy()
        computing, sending = self._host >= 0, self._source >= 0
        if computing.any():
            host = self._host[computing]
            threads = np.bincount(host, self._most[computing], len(self._cores))
            slower = np.minimum(1.0, self._cores / np.maximum(threads, 1e-12))
            rates[computing] *= slower[host]
        if sending.any():
            source, target = self._source[sending], self._target[sending]
            of_source, of_target = (
                self._net / np.maximum(1, np.bincount(ends, minlength=len(self._net)))
                for ends in (source, target)
            )
            rates[sending] = np.minimum(of_source[source], of_target[target])
        return rates

    def _pass(self, seconds: float, rates: np.ndarray) -> None:
        self.now += seconds
        done = rates * seconds
        self._left = self._left - done
        for total, ends in (
            (self.computed, self._host),
            (self.sent, self._source),
            (self.received, self._target),
        ):
            is_one = ends >= 0
            total += np.bincount(ends[is_one], done[is_one], len(total))


class _Running:
    """A program, and how many others it waits for."""

    def __init__(self, program: Program, parent: "_Running | None" = None) -> None:
        self.program, self.parent, self.children = program, parent, 0
