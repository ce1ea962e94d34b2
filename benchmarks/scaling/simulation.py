"""Simulation of an epoch of asynchronous training, by a program for each task of a cluster."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.scaling.costs import FETCH_FRACTION, Costs
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

#: Resource with a unit for each trained job that the coordinator has not processed yet.
DONE = "done"


@dataclass(frozen=True)
class Work:
    """Amounts of work of an epoch."""

    jobs: int  # jobs per epoch
    tokens: float  # tokens trained on, per job
    rows: float  # rows transferred, per job
    fetched_bytes: float  # bytes per row that a worker fetches
    pushed_bytes: float  # bytes per row that a worker pushes
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
        n_hosts = 1 + ps + workers
        tasks = tuple(range(1, n_hosts))
        return cls((host,) * n_hosts, 0, tasks[:ps], tasks[ps:], latency)


class Outcome(NamedTuple):
    """Results of a simulated epoch."""

    seconds: float
    staleness: float  # mean number of other jobs' units pushed between a job's fetch and push
    computed: np.ndarray  # [hosts], CPU seconds used
    sent: np.ndarray  # [hosts], bytes sent
    received: np.ndarray  # [hosts], bytes received


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
        self.remaining_jobs, self.pushed_units = work.jobs, 0
        self.staleness: list[float] = []

    def coordinator(self) -> Program:
        """Process the workers' reports, then collect the rows at the end of the epoch."""
        host = self.layout.coordinator
        for _ in range(self.work.jobs):
            yield Take(DONE)
            yield Compute(host, self.costs.ticket)
        ps = self.layout.ps
        yield Together([self.export(host, self.work.model_bytes / len(ps)) for host in ps])
        yield Compute(host, self.costs.epoch)

    def export(self, ps: int, size: float) -> Program:
        """Send a ps task's rows to the coordinator."""
        yield Send(ps, self.layout.coordinator, size)

    def worker(self, host: int) -> Program:
        """Train jobs until none is left. While a job is trained, the next one is prepared."""
        has_prepared_job = False
        while has_prepared_job or self.remaining_jobs:
            programs = []
            if has_prepared_job:
                programs.append(self.train(host))
            has_prepared_job = self.remaining_jobs > 0
            if has_prepared_job:
                self.remaining_jobs -= 1
                programs.append(self.prepare(host))
            yield Together(programs)

    def prepare(self, host: int) -> Program:
        """Receive the text of a job, make its random draws, and list its rows."""
        yield Send(self.layout.coordinator, host, self.work.text_bytes)
        yield Compute(host, self.costs.job)

    def train(self, host: int) -> Program:
        """Fetch the rows of a job, train on them, and push their changes."""
        costs, work, layout = self.costs, self.work, self.layout
        rows = work.rows / len(layout.ps)
        pushed_units_at_fetch = self.pushed_units
        yield Together([self.fetch(ps, host, rows) for ps in layout.ps])
        yield Compute(host, costs.row * work.rows / 2, costs.threads)
        yield Compute(host, costs.token * work.tokens, costs.threads)
        yield Compute(host, costs.row * work.rows / 2, costs.threads)
        yield Together([self.push(index, ps, host, rows) for index, ps in enumerate(layout.ps)])
        self.staleness.append(self.pushed_units - pushed_units_at_fetch)
        self.pushed_units += work.units
        yield Put(DONE)

    def fetch(self, ps: int, host: int, rows: float) -> Program:
        """Fetch rows from a ps task."""
        yield Wait(self.layout.latency)
        yield Compute(ps, FETCH_FRACTION * self.costs.ps_row * rows)
        yield Send(ps, host, self.work.fetched_bytes * rows)

    def push(self, index: int, ps: int, host: int, rows: float) -> Program:
        """Push changes to the ps task `index` on host `ps`, which applies pushes one by one."""
        yield Send(host, ps, self.work.pushed_bytes * rows)
        yield Take(index)
        yield Compute(ps, (1 - FETCH_FRACTION) * self.costs.ps_row * rows)
        yield Put(index)
        yield Wait(self.layout.latency)
