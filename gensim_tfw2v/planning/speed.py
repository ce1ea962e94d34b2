"""Model of the speed of a cluster's workers.

It is a first approximation: a worker computes as fast as its cores, and waits for round trips and
for transfers in between. No link of the cluster carries more than its bandwidth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gensim_tfw2v.messages import quoted
from gensim_tfw2v.planning.checks import check_finite, check_whole
from gensim_tfw2v.planning.measured_links import ClusterLinks, WorkerLink

#: Computing time of a core in a worker task, as a multiple of the time that a core needs without a
#: cluster. Waiting for the network is not included. The value is fitted to skip-gram by
#: `benchmarks.fit`.
WORKER_FACTOR = 1.35

#: Round trips of a training step in columns. A step waits for the ps tasks three times: for the dot
#: products, for the norms of the updates, and for the write.
STEP_ROUND_TRIPS = 3

#: Mean bytes per word of the encoded text, with the word frequencies of Wikipedia.
ENTRY_BYTES = 1.6

# Transfer of rows. A worker fetches, trains and pushes a job sequentially. These constants were
# fitted to measurements with 2 ps and 4 workers (docs/benchmarks/links.md).
LINK_SHARE = 0.7  # fraction of a link's bandwidth that rows use
ROUND_TRIP_BYTES = 3e6  # bytes that arrive per round trip; gRPC and TCP limit them
JOB_ROUND_TRIPS = 4  # round trips of a job that transfer no rows


@dataclass(frozen=True)
class Machines:
    """Machines of a cluster.

    Parameters
    ----------
    workers : int
        Number of worker tasks.
    shards : int
        Number of ps tasks.
    threads : int
        Threads per worker.
    net : float
        Bytes/s that a task can send, and receive at the same time.
    latency : float
        Round-trip time between two tasks, in seconds.
    memory : float
        Bytes of memory per task.
    coordinator_memory : float, optional
        Bytes of memory of the coordinator; by default `memory`.
    links : ClusterLinks, optional
        Measured links of the cluster, which then replace `net` and `latency`.

    Raises
    ------
    TypeError, ValueError
        If a number is of the wrong type, or not above 0; `latency` may be 0.
    """

    workers: int
    shards: int
    threads: int = 8
    net: float = 1.25e9
    latency: float = 2e-4
    memory: float = 64e9
    coordinator_memory: float | None = None
    links: ClusterLinks | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "shards", "threads"):
            check_whole(name, getattr(self, name))
        for name in ("net", "memory"):
            check_finite(name, getattr(self, name))
        check_finite("latency", self.latency, may_be_zero=True)
        if self.coordinator_memory is not None:
            check_finite("coordinator_memory", self.coordinator_memory)
        if self.links is not None:
            n_workers = len(self.links.worker_links)
            if (n_workers, self.links.n_ps) != (self.workers, self.shards):
                raise ValueError(
                    f"links has {n_workers} workers and {self.links.n_ps} ps tasks, but workers is "
                    f"{quoted(self.workers)} and shards is {quoted(self.shards)}: make them equal"
                )

    @property
    def program_memory(self) -> float:
        """Bytes of memory of the machine of the coordinator and of the program that trains."""
        return self.coordinator_memory or self.memory

    @property
    def worker_links(self) -> Sequence[WorkerLink]:
        """Connections of the workers to the ps tasks; a single one if all are equal."""
        return self.links.worker_links if self.links else [WorkerLink(self.net, self.latency)]


class WordSeconds(NamedTuple):
    """Seconds of a worker per raw word of the corpus.

    All threads of the worker are assumed to compute, or to wait, at the same time.

    Attributes
    ----------
    cores : float
        Computing.
    latency : float
        Waiting for round trips.
    network : float
        Waiting for transfers.
    """

    cores: float
    latency: float = 0.0
    network: float = 0.0

    @property
    def speed(self) -> float:
        """Raw words/s of the worker, unless a link limits it."""
        return 1 / sum(self)

    @classmethod
    def average(cls, worker_seconds: Sequence["WordSeconds"]) -> "WordSeconds":
        """Return the mean over words that workers share in proportion to their speeds."""
        speeds = [worker.speed for worker in worker_seconds]
        return cls(
            *(
                sum(speed * seconds for speed, seconds in zip(speeds, field, strict=True))
                / sum(speeds)
                for field in zip(*worker_seconds, strict=True)
            )
        )

    @property
    def bottleneck(self) -> str:
        """Name of the field with the most seconds."""
        return max(self._fields, key=lambda name: getattr(self, name))


def transfer_seconds(size: float, link: WorkerLink | Machines) -> tuple[float, float]:
    """Return the seconds to transfer a job of `size` bytes: for round trips, and on the link."""
    n_trips = JOB_ROUND_TRIPS + size / ROUND_TRIP_BYTES
    return n_trips * link.latency, size / (LINK_SHARE * link.net)


def link_limit(bytes_per_word: float, machines: Machines, n_senders: int) -> float:
    """Return the raw words/s of each worker, on average, at which a link is saturated.

    Workers transfer `bytes_per_word` bytes per raw word in the busier direction, to and from
    `n_senders` tasks. The coordinator sends the text to all workers.
    """
    worker_links = machines.worker_links
    worker_net = sum(link.net for link in worker_links) / len(worker_links)
    sender_net = machines.links.ps_net if machines.links else machines.net
    coordinator_net = machines.links.coordinator_net if machines.links else machines.net
    return min(
        worker_net / bytes_per_word,
        # the senders share the traffic of all workers equally
        sender_net * n_senders / (bytes_per_word * machines.workers),
        coordinator_net / (ENTRY_BYTES * machines.workers),
    )


def text_limit(machines: Machines) -> float:
    """Return the raw words/s of each worker at which the coordinator can send the text.

    All workers train equally many words, so the slowest link counts.
    """
    if machines.links is None:
        return machines.net / (ENTRY_BYTES * machines.workers)
    shared_net = machines.links.coordinator_net / machines.workers
    return min(shared_net, machines.links.text_net) / ENTRY_BYTES
