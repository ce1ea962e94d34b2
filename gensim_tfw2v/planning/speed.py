"""Model of the speed of a cluster's workers.

It is a first approximation: a worker computes as fast as its cores, and waits for round trips and
for transfers in between. No link of the cluster carries more than its bandwidth.
"""

from dataclasses import dataclass
from typing import NamedTuple

from gensim_tfw2v.planning.checks import check_finite, check_whole

# Time. A core of a worker task takes WORKER_FACTOR times as long as one of a machine that trains
# alone, without waiting for the network. The value is fitted to skip-gram by `benchmarks.fit`.
# STEP_ROUND_TRIPS: a step in columns waits for the ps three times, for the products, for the norms
# of the updates, and for the write.
WORKER_FACTOR = 1.46
STEP_ROUND_TRIPS = 3

#: Bytes of a mean word of the encoded text, for Wikipedia's frequencies.
ENTRY = 1.6

# Transfer of rows. A worker fetches, trains and pushes a job sequentially. These constants were
# fitted to measurements with 2 ps and 4 workers (docs/benchmarks/links.md).
LINK_SHARE = 0.7  # fraction of a link's rate that rows get
WINDOW = 3e6  # bytes that arrive per round trip, limited by gRPC and TCP
JOB_ROUND_TRIPS = 4  # round trips of a job besides those of its rows


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

    def __post_init__(self) -> None:
        for name in ("workers", "shards", "threads"):
            check_whole(name, getattr(self, name))
        for name in ("net", "memory"):
            check_finite(name, getattr(self, name))
        check_finite("latency", self.latency, may_be_zero=True)
        if self.coordinator_memory is not None:
            check_finite("coordinator_memory", self.coordinator_memory)


class WordSeconds(NamedTuple):
    """Seconds of a worker per raw word of the corpus, in which all its threads do the same.

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

    @property
    def bottleneck(self) -> str:
        """Name of the longest part."""
        return max(self._fields, key=lambda name: getattr(self, name))


def transfer_seconds(size: float, machines: Machines) -> tuple[float, float]:
    """Return the seconds that a job's `size` bytes take: for round trips, and on the link."""
    n_trips = JOB_ROUND_TRIPS + size / WINDOW
    return n_trips * machines.latency, size / (LINK_SHARE * machines.net)


def link_limit(bytes_per_word: float, machines: Machines, n_senders: int) -> float:
    """Return the raw words/s of each worker at which a link of the cluster carries its bandwidth.

    Workers transfer `bytes_per_word` bytes per raw word in the busier direction, to and from
    `n_senders` tasks. The coordinator sends the text of all workers.
    """
    # traffic at the busier end, as a multiple of one worker's: the senders share all traffic
    share = max(1.0, machines.workers / n_senders)
    return machines.net / max(bytes_per_word * share, ENTRY * machines.workers)
