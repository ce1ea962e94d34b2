"""Rates of tasks during training, from the measured links of their cluster."""

from collections.abc import Iterable
from statistics import harmonic_mean
from typing import NamedTuple

from gensim_tfw2v.cluster.links import TaskLink


class WorkerLink(NamedTuple):
    """Connection of a worker to all ps tasks.

    Attributes
    ----------
    net : float
        Bytes/s of rows, if the worker fetches as much as it pushes.
    latency : float
        Round-trip time to the farthest ps, in seconds.
    """

    net: float
    latency: float


class ClusterLinks(NamedTuple):
    """Rates and latencies of a cluster's tasks.

    Attributes
    ----------
    worker_links : tuple of WorkerLink
        Connection of each worker.
    n_ps : int
        Number of ps tasks.
    ps_net, coordinator_net : float
        Bytes/s of the slowest ps, and of the coordinator.
    text_net : float
        Bytes/s from the coordinator to the worker with the slowest link.
    """

    worker_links: tuple[WorkerLink, ...]
    n_ps: int
    ps_net: float
    coordinator_net: float
    text_net: float

    @classmethod
    def from_measurements(cls, links: Iterable[TaskLink]) -> "ClusterLinks":
        """Derive the rates of tasks from the figures of all links of a cluster.

        Each link was measured alone, so the fastest link of a task is as fast as the task's host.
        A worker uses its links to all ps tasks at the same time, and waits for the slowest.

        Raises
        ------
        ValueError
            If a link is blocked, or missing.
        """
        rates: dict[tuple[int, int], float] = {}
        round_trips: dict[tuple[int, int], float] = {}
        coordinator_rates = []
        for link in links:
            if link.problem:
                raise ValueError(f"the link {link} is blocked: {link.problem}")
            if link.source.role == "worker" and link.target.role == "ps":
                pair = link.source.index, link.target.index
                rates[pair] = harmonic_mean((link.sent_rate, link.received_rate))
                round_trips[pair] = link.round_trip
            elif link.target.role == "worker":
                coordinator_rates.append(link.sent_rate)
        n_workers = 1 + max((worker for worker, _ in rates), default=-1)
        n_ps = 1 + max((ps for _, ps in rates), default=-1)
        if not rates or len(rates) != n_workers * n_ps or len(coordinator_rates) != n_workers:
            raise ValueError("lacks links of workers to ps tasks or to the coordinator")
        worker_links = []
        for worker in range(n_workers):
            own_rates = [rates[worker, ps] for ps in range(n_ps)]
            latency = max(round_trips[worker, ps] for ps in range(n_ps))
            worker_links.append(WorkerLink(min(max(own_rates), n_ps * min(own_rates)), latency))
        ps_net = min(max(rates[worker, ps] for worker in range(n_workers)) for ps in range(n_ps))
        return cls(
            tuple(worker_links), n_ps, ps_net, max(coordinator_rates), min(coordinator_rates)
        )
