"""Model of the speed of a cluster's workers.

It is a first approximation: a worker computes as fast as its cores, and waits for round trips and
for transfers in between. No link of the cluster carries more than its bandwidth.
"""

from dataclasses import dataclass
from typing import NamedTuple

from gensim_tfw2v.planning.checks import check_finite, check_whole

#: Computing time of a core in a worker task, as a multiple of the time that a core needs without a
#: cluster. Waiting for the network is not included. The value is fitted to skip-gram by
#: `benchmarks.fit`.
WORKER_FACTOR = 1.47

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

    @property
    def bottleneck(self) -> str:
        """Name of the field with the most seconds."""
        return max(self._fields, key=lambda name: getattr(self, name))


def transfer_seconds(size: float, machines: Machines) -> tuple[float, float]:
    """Return the seconds to transfer a job of `size` bytes: for round trips, and on the link."""
    n_trips = JOB_ROUND_TRIPS + size / ROUND_TRIP_BYTES
    return n_trips * machines.latency, size / (LINK_SHARE * machines.net)


def link_limit(bytes_per_word: float, machines: Machines, n_senders: int) -> float:
    """Return the raw words/s of each worker at which some link of the cluster is saturated.

    Workers transfer `bytes_per_word` bytes per raw word in the busier direction, to and from
    `n_senders` tasks. The coordinator sends the text to all workers.
    """
    # traffic at the busier end of the links, in units of one worker's traffic, if the senders share
    # the traffic of all workers equally
    share = max(1.0, machines.workers / n_senders)
    return machines.net / max(bytes_per_word * share, ENTRY_BYTES * machines.workers)
