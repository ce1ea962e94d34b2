"""Simulation of an epoch of asynchronous training: the programs of all tasks of a cluster."""

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

#: Name of the counter of trained jobs.
DONE = "done"


@dataclass(frozen=True)
class Work:
    """Work of an epoch."""

    jobs: int  # jobs per epoch
    tokens: float  # tokens trained on, per job
    rows: float  # rows transferred, per job
    fetched_bytes: float  # per row
    pushed_bytes: float  # per row
    units: int = 1  # work units per job
    text_bytes: float = 0.0  # encoded text per job, sent by the coordinator
    model_bytes: float = 0.0  # all rows, sent to the coordinator at the end


@dataclass(frozen=True)
class Layout:
    """Hosts, and the index of each task's host."""

    hosts: tuple[Host, ...]
    coordinator: int
    ps: tuple[int, ...]  # host of each ps task
    workers: tuple[int, ...]  # host of each worker
    latency: float  # round-trip time between hosts, in seconds

    @classmethod
    def one_host(cls, host: Host, ps: int, workers: int) -> "Layout":
        """Place all tasks on one machine."""
        return cls((host,), 0, (0,) * ps, (0,) * workers, 0.0)

    @classmethod
    def own_hosts(cls, host: Host, ps: int, workers: int, latency: float) -> "Layout":
        """Place each task on a separate machine."""
        number = 1 + ps + workers
        tasks = tuple(range(1, number))
        return cls((host,) * number, 0, tasks[:ps], tasks[ps:], latency)


class Outcome(NamedTuple):
    """Results of a simulated epoch."""

    seconds: float
    staleness: float  # mean number of other jobs' units pushed between a job's fetch and push
    computed: np.ndarray  # [hosts], CPU seconds used
    sent: np.ndarray  # [hosts], bytes
    received: np.ndarray  # [hosts], bytes


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
    """State that the programs of an epoch share."""

    def __init__(self, costs: Costs, work: Work, layout: Layout) -> None:
        self.costs, self.work, self.layout = costs, work, layout
        self.left, self.pushed = work.jobs, 0
        self.staleness: list[float] = []

    def coordinator(self) -> Program:
        """Process the reports of workers, and end the epoch."""
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
        """Train jobs until none is left. While it trains one, the next is prepared."""
        prepared = 0
        while prepared or self.left:
            together = [self.train(host)] * prepared
            prepared = min(1, self.left)
            self.left -= prepared
            yield Together(together + [self.prepare(host)] * prepared)

    def prepare(self, host: int) -> Program:
        """Get the text of a job, draw its units and number its rows."""
        yield Send(self.layout.coordinator, host, self.work.text_bytes)
        yield Compute(host, self.costs.job)

    def train(self, host: int) -> Program:
        """Fetch the rows of a job, train on them, and push their changes."""
        costs, work, layout = self.costs, self.work, self.layout
        rows = work.rows / len(layout.ps)
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
        """Fetch rows from a ps task."""
        yield Wait(self.layout.latency)
        yield Compute(ps, FETCHING * self.costs.ps_row * rows)
        yield Send(ps, host, self.work.fetched_bytes * rows)

    def push(self, number: int, ps: int, host: int, rows: float) -> Program:
        """Push changes to a ps task, which applies the pushes of workers sequentially."""
        yield Send(host, ps, self.work.pushed_bytes * rows)
        yield Take(number)
        yield Compute(ps, (1 - FETCHING) * self.costs.ps_row * rows)
        yield Put(number)
        yield Wait(self.layout.latency)
