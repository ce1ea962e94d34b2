"""Memory, traffic and time of a training, estimated before it starts.

The estimates are a first approximation, for negative sampling: a machine trains as fast as its
cores compute, unless transfers over the cluster's network, or round trips, take longer.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from gensim_tfw2v.kernel.sizes import choose_unit_entries
from gensim_tfw2v.planning import memory
from gensim_tfw2v.planning.checks import check_finite, check_whole
from gensim_tfw2v.planning.workload import (
    ELEMENT,
    FLOAT,
    Frequencies,
    Workload,
    column_bytes,
    distinct_rows,
    row_bytes,
)

__all__ = ["Choice", "Frequencies", "Machines", "Workload", "compare"]

# Time. A core of a worker task takes WORKER_FACTOR times as long as one of a machine that trains
# alone, without waiting for the network. The value is fitted to skip-gram by `benchmarks.fit`.
# ROUND_TRIPS: a step in columns waits for the ps three times, for the products, for the norms of
# the updates, and for the write.
WORKER_FACTOR = 1.46
ROUND_TRIPS = 3

#: Bytes of a mean word of the encoded text, for Wikipedia's frequencies.
ENTRY = 1.6

# Transfer of rows. A worker fetches, trains and pushes a job sequentially. These constants were
# fitted to measurements with 2 ps and 4 workers (docs/benchmarks/links.md).
LINK_SHARE = 0.7  # fraction of a link's rate that rows get
WINDOW = 3e6  # bytes that arrive per round trip, limited by gRPC and TCP
JOB_ROUND_TRIPS = 4  # round trips of a job besides those of its rows

#: Name of training without a cluster.
ALONE = "one machine"

# Quality. Minimum number of words of text per sub-model. With 3 M words, merging costs a tenth of
# the quality; with some 200 M, as in the paper, nothing (docs/regimes/sub-models.md).
MIN_SUB_MODEL_TOKENS = 1e8


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


class Choice(NamedTuple):
    """Way to train, on a cluster or on only one of its machines, with its estimates.

    Attributes
    ----------
    name, option : str
        Name, and the argument of `TFWord2Vec` that selects it.
    bytes_a_token : float
        Bytes fetched and pushed per token trained on.
    ps_memory, worker_memory : float
        Bytes of the model in the largest ps task and in the largest worker.
    ps_net, worker_net : float
        Bytes/s of one ps task and of one worker, in the busier direction.
    words_a_second : float
        Raw words/s, the sum over all workers.
    bound : str
        Bottleneck: ``"cores"``, ``"network"`` or ``"latency"``. If this way should not be used, the
        reason instead: ``"memory"`` if a task needs more than it has, ``"corpus"`` if the quality
        would suffer because the corpus is too small.
    ps_request, worker_request, coordinator_request : float
        Bytes of memory to request for a ps task, a worker and the coordinator. Without a cluster,
        `worker_request` is that of the program, and the others are 0.
    """

    name: str
    option: str
    bytes_a_token: float
    ps_memory: float
    worker_memory: float
    ps_net: float
    worker_net: float
    words_a_second: float
    bound: str
    ps_request: float
    worker_request: float
    coordinator_request: float

    def shortages(self, machines: Machines) -> dict[str, float]:
        """Return the tasks that need more memory than machines have, and the bytes they need."""
        of_coordinator = machines.coordinator_memory
        limits = {
            "ps": (self.ps_request, machines.memory),
            "worker": (self.worker_request, machines.memory),
            "coordinator": (self.coordinator_request, of_coordinator or machines.memory),
        }
        return {task: needed for task, (needed, limit) in limits.items() if needed > limit}


def transfer_seconds(size: float, machines: Machines) -> tuple[float, float]:
    """Return the seconds that a job's `size` bytes take: for round trips, and on the link."""
    trips = JOB_ROUND_TRIPS + size / WINDOW
    return trips * machines.latency, size / (LINK_SHARE * machines.net)


def compare(work: Workload, tokens: float, machines: Machines) -> list[Choice]:
    """Compare ways to train on a corpus of `tokens` words, the recommended one first.

    The fastest comes first. Among ways within a tenth of its speed, asynchronous training in rows
    is preferred to columns, and columns to sub-models. One machine is preferred to a cluster that
    is less than twice as fast. Ways that should not be used come last.

    Parameters
    ----------
    work : Workload
        Vocabulary and vectors.
    tokens : float
        Length of the corpus in words, before subsampling.
    machines : Machines
        Tasks of the cluster.

    Returns
    -------
    list of Choice
        Ways to train, best first.
    """
    kept = work.frequencies.kept
    workers = machines.workers
    threads = machines.threads
    job = choose_unit_entries(int(tokens), workers * threads) * kept * threads
    # a worker holds the rows of a job in float32, as they were fetched, and their changes
    row = (FLOAT + 2 * ELEMENT) * work.vector_size
    held = sum(distinct_rows(work, job, is_job=True)) * row
    waiting = ROUND_TRIPS * machines.latency / work.shape.tokens / kept / threads
    rows = row_bytes(work, job)
    trips, sending = transfer_seconds(job * sum(rows), machines)
    waits = trips * kept / job, sending * kept / job
    columns = column_bytes(work, machines.shards)
    # traffic of the text, from the coordinator; the single transfer of a sub-model is neglected
    option = f'regime="submodels:models={workers}"'
    text = (ENTRY / kept, 0.0)
    apart = _choice("sub-models", option, work, machines, text, work.tables, senders=1)
    if apart.bound != "memory" and tokens / workers < MIN_SUB_MODEL_TOKENS:
        apart = apart._replace(bound="corpus")
    one = replace(machines, workers=1)
    alone = _choice(ALONE, "", work, one, (0.0, 0.0), work.tables, factor=1.0, is_alone=True)
    choices = [
        alone,
        _choice("rows, asynchronous", "(the default)", work, machines, rows, held, *waits),
        _choice("columns", 'layout="columns"', work, machines, columns, waiting=waiting),
        apart,
    ]
    against = {"corpus": 1, "memory": 2}
    best = max((one.words_a_second for one in choices if one.bound not in against), default=0.0)

    def rank(one: Choice) -> tuple[int, bool]:
        share = 0.5 if one.name == ALONE else 0.9
        return against.get(one.bound, 0), one.words_a_second < share * best

    return sorted(choices, key=rank)


def _choice(
    name: str,
    option: str,
    work: Workload,
    machines: Machines,
    traffic: tuple[float, float],
    worker_memory: float = 0.0,
    waiting: float = 0.0,
    sending: float = 0.0,
    senders: int = 0,
    factor: float = WORKER_FACTOR,
    is_alone: bool = False,
) -> Choice:
    """Return a way to train with its estimates.

    `traffic` is the bytes fetched and pushed per token. Per raw word of a worker, all its threads
    are idle for `waiting` seconds during round trips and for `sending` seconds during transfers.
    Workers fetch from `senders` machines; 0 means the ps tasks, which otherwise have no traffic. A
    core needs `factor` times its time in the kernels. A machine that is alone has no other tasks.
    """
    raw = work.frequencies.kept * max(traffic)  # bytes per raw word, in the busier direction
    ps_memory = 0.0 if is_alone else work.tables / machines.shards
    requests = (
        memory.ps_request(ps_memory),
        memory.worker_request(worker_memory, machines.threads),
        memory.coordinator_request(work),
    )
    if is_alone:
        requests = 0.0, memory.machine_request(work, machines.threads), 0.0
    computing = work.core_ns * factor * 1e-9 / machines.threads
    speed = 1 / (computing + waiting + sending)  # raw words/s of a worker
    seconds = {"cores": computing, "latency": waiting, "network": sending}
    bound = max(seconds, key=seconds.__getitem__)
    # traffic at the busier end, as a multiple of one worker's: senders share all workers' traffic
    share = max(1.0, machines.workers / (senders or machines.shards))
    # and the coordinator sends the text of all workers
    if raw and (limit := machines.net / max(raw * share, ENTRY * machines.workers)) < speed:
        speed = limit
        bound = "network"
    ps_net = 0.0 if senders else speed * raw * machines.workers / machines.shards
    choice = Choice(
        name,
        option,
        sum(traffic),
        ps_memory,
        worker_memory,
        ps_net,
        speed * raw,
        speed * machines.workers,
        bound,
        *requests,
    )
    return choice._replace(bound="memory") if choice.shortages(machines) else choice
