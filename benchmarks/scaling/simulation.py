"""What a cluster does in an epoch of asynchronous training, as programs for the simulation."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.scaling.costs import FETCHING, Costs
from benchmarks.scaling.events import (
    Compute,
    Host,
    Program,
    Put,
    Send,
    Simulation,
    Take,
    Together,
    Wait,
)

#: Jobs that have been trained.
DONE = "done"


@dataclass(frozen=True)
class Work:
    """An epoch."""

    jobs: int  # into which it is cut
    tokens: float  # of each job, that are trained on
    rows: float  # of each job, that travel
    fetched_bytes: float  # of each row
    pushed_bytes: float  # of each row
    units: int = 1  # of each job
    text_bytes: float = 0.0  # of a job's encoded text, that a worker on another host is sent
    model_bytes: float = 0.0  # of all rows, which come back at the end


@dataclass(frozen=True)
class Layout:
    """Which task is on which host."""

    hosts: tuple[Host, ...]
    coordinator: int
    ps: tuple[int, ...]  # the host of each
    workers: tuple[int, ...]  # the host of each
    latency: float  # seconds of a message to another host and of its answer

    @classmethod
    def one_host(cls, host: Host, ps: int, workers: int) -> "Layout":
        """All tasks on one machine."""
        return cls((host,), 0, (0,) * ps, (0,) * workers, 0.0)

    @classmethod
    def own_hosts(cls, host: Host, ps: int, workers: int, latency: float) -> "Layout":
        """A machine for each task."""
        number = 1 + ps + workers
        tasks = tuple(range(1, number))
        return cls((host,) * number, 0, tasks[:ps], tasks[ps:], latency)


class Outcome(NamedTuple):
    """An epoch, simulated."""

    seconds: float
    staleness: float  # units of others pushed between a job's fetching and its pushing, on average
    computed: np.ndarray  # [hosts], core seconds used
    sent: np.ndarray  # [hosts], bytes
    received: np.ndarray


def simulate(costs: Costs, work: Work, layout: Layout) -> Outcome:
    """Simulate an epoch."""
    locks: dict[Hashable, int] = dict.fromkeys(range(len(layout.ps)), 1)
    simulation = Simulation(layout.hosts, locks)
    epoch = _Epoch(costs, work, layout)
    simulation.run([epoch.coordinator(), *(epoch.worker(host) for host in layout.workers)])
    return Outcome(
        simulation.now,
        float(np.mean(epoch.staleness)),
        simulation.computed,
        simulation.sent,
        simulation.received,
    )


class _Epoch:
    """What workers share."""

    def __init__(self, costs: Costs, work: Work, layout: Layout) -> None:
        self.costs, self.work, self.layout = costs, work, layout
        self.left, self.pushed = work.jobs, 0
        self.staleness: list[float] = []

    def coordinator(self) -> Program:
        """Read what workers report, and end the epoch."""
        host = self.layout.coordinator
        for _ in range(self.work.jobs):
            yield Take(DONE)
            yield Compute(host, self.costs.ticket)
        ps = self.layout.ps
        yield Together([self.export(one, self.work.model_bytes / len(ps)) for one in ps])
        yield Compute(host, self.costs.epoch)

    def export(self, ps: int, size: float) -> Program:
        """Send a ps task's rows to the coordinator."""
        yield Send(ps, self.layout.coordinator, size)

    def worker(self, host: int) -> Program:
        """Train jobs until none is left. JobQueue are drawn ahead: nothing waits for them."""
        costs, work, layout = self.costs, self.work, self.layout
        rows = work.rows / len(layout.ps)
        while self.left:
            self.left -= 1
            yield Send(layout.coordinator, host, work.text_bytes)
            yield Compute(host, costs.job)
            before = self.pushed
            yield Together([self.fetch(ps, host, rows) for ps in layout.ps])
            yield Compute(host, costs.row * work.rows / 2, costs.threads)
            yield Compute(host, costs.token * work.tokens, costs.threads)
            yield Compute(host, costs.row * work.rows / 2, costs.threads)
            yield Together([self.push(i, ps, host, rows) for i, ps in enumerate(layout.ps)])
            self.staleness.append(self.pushed - before)
            self.pushed += work.units
            yield Put(DONE)

    def fetch(self, ps: int, host: int, rows: float) -> Program:
        """Ask a ps task for rows, and wait for them."""
        yield Wait(self.layout.latency)
        yield Compute(ps, FETCHING * self.costs.ps_row * rows)
        yield Send(ps, host, self.work.fetched_bytes * rows)

    def push(self, number: int, ps: int, host: int, rows: float) -> Program:
        """Send changes to a ps task, which adds those of one worker after the other."""
        yield Send(host, ps, self.work.pushed_bytes * rows)
        yield Take(number)
        yield Compute(ps, (1 - FETCHING) * self.costs.ps_row * rows)
        yield Put(number)
        yield Wait(self.layout.latency)
