"""Memory, bandwidth and time of each way to train on a cluster, and which to take.

A first approximation: a worker trains as fast as its cores do, unless the network or, with columns,
the waiting for it takes longer.
"""

from dataclasses import dataclass
from typing import NamedTuple

from gensim_tfw2v.parameter_server.config import choose_unit_entries
from gensim_tfw2v.planning.traffic import column_bytes, distinct_rows, row_bytes
from gensim_tfw2v.planning.workload import Workload

#: Nanoseconds of a core for a raw word of skip-gram: so many, and so many for each of D. Measured
#: at D = 100 and 300 on one machine (docs/benchmarks: skipgram-100, skipgram-300).
WORD_NS, NUMBER_NS = 730.0, 1.3

#: Times that a step in columns waits for the ps tasks: for products, for lengths, for the writing.
ROUND_TRIPS = 3

#: Bytes of a number in the tables, and of a word of the encoded text.
FLOAT, ENTRY = 4, 4

#: Words that each sub-model should have at least: with 3 M, merging costs a tenth of the quality;
#: with some 200 M, as in the paper, none (docs/regimes/sub-models.md).
LEAST_OF_A_SUB_MODEL = 1e8


@dataclass(frozen=True)
class Machines:
    """A cluster.

    Parameters
    ----------
    workers, shards : int
        Worker tasks, and ps tasks (S).
    threads : int
        Of each worker.
    net : float
        Bytes/s that a task can send, and that it can receive at the same time.
    latency : float
        Seconds to another task and back.
    memory : float
        Bytes of a task.
    """

    workers: int
    shards: int
    threads: int = 8
    net: float = 1.25e9
    latency: float = 2e-4
    memory: float = 64e9


class Choice(NamedTuple):
    """A way to train.

    Attributes
    ----------
    name, option : str
        And how it is chosen.
    bytes_a_token : float
        Both ways.
    ps_memory, worker_memory : float
        Bytes that the largest task of each kind holds of the model.
    ps_net, worker_net : float
        Bytes/s of one task in the direction in which it has more to do.
    words_a_second : float
        Raw words/s of all workers.
    bound : str
        By what it is limited: ``"workers"``, ``"network"`` or ``"latency"``; or why it should not
        be taken: ``"memory"`` for it does not fit, ``"corpus"`` for it would cost quality.
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


def compare(work: Workload, tokens: float, machines: Machines) -> list[Choice]:
    """Ways to train on a cluster on a corpus of so many words, the one to take first.

    Those that should not be taken come last, and among the others the fastest is first; where
    they are within a tenth of it, the one that comes first here: asynchronous training in rows,
    then in columns, then sub-models.
    """
    choices = [
        _rows(work, tokens, machines),
        _columns(work, machines),
        _sub_models(work, tokens, machines),
    ]
    against = ["corpus", "memory"]
    best = max((one.words_a_second for one in choices if one.bound not in against), default=0.0)

    def order(one: Choice) -> tuple[int, bool]:
        reason = 1 + against.index(one.bound) if one.bound in against else 0
        return reason, one.words_a_second < 0.9 * best

    return sorted(choices, key=order)


def _rows(work: Workload, tokens: float, machines: Machines) -> Choice:
    threads = machines.workers * machines.threads
    job = choose_unit_entries(int(tokens), threads) * work.frequencies.kept * machines.threads
    # a worker has the rows of two jobs: as they came, and as they are
    memory = 1.5 * sum(distinct_rows(work, job)) * work.vector_size * FLOAT
    traffic = row_bytes(work, job)
    return _choice("rows, asynchronous", "(the default)", work, machines, traffic, memory)


def _columns(work: Workload, machines: Machines) -> Choice:
    waiting = ROUND_TRIPS * machines.latency / work.shape.tokens / work.frequencies.kept
    traffic = column_bytes(work, machines.shards)
    return _choice("columns", 'layout="columns"', work, machines, traffic, waiting=waiting)


def _sub_models(work: Workload, tokens: float, machines: Machines) -> Choice:
    # what travels is the text, from the program that trains, and each sub-model once
    choice = _choice(
        "sub-models",
        f'regime="submodels:models={machines.workers}"',
        work,
        machines,
        (ENTRY / work.frequencies.kept, 0.0),
        _tables(work),
        senders=1,
    )._replace(ps_net=0.0)
    if choice.bound != "memory" and tokens / machines.workers < LEAST_OF_A_SUB_MODEL:
        return choice._replace(bound="corpus")
    return choice


def _choice(
    name: str,
    option: str,
    work: Workload,
    machines: Machines,
    traffic: tuple[float, float],
    worker_memory: float = 0.0,
    waiting: float = 0.0,
    senders: int | None = None,
) -> Choice:
    """A way to train with this traffic, in bytes a token, fetched and pushed.

    A thread waits so many seconds for each raw word, and cannot use them. What workers fetch is
    from as many senders; by default from the ps tasks.
    """
    kept, one_way = work.frequencies.kept, max(traffic)
    ps_memory = _tables(work) / machines.shards
    computing = (WORD_NS + NUMBER_NS * work.vector_size) * 1e-9
    speed = machines.threads / (computing + waiting)  # raw words/s of a worker
    bound = "latency" if waiting > computing else "workers"
    # the busier end: what all workers send arrives at all ps tasks
    share = max(1.0, machines.workers / (senders or machines.shards))
    if (limit := machines.net / (one_way * kept * share)) < speed:
        speed, bound = limit, "network"
    if max(ps_memory, worker_memory) > machines.memory:
        bound = "memory"
    worker_net = speed * kept * one_way
    return Choice(
        name,
        option,
        sum(traffic),
        ps_memory,
        worker_memory,
        worker_net * machines.workers / machines.shards,
        worker_net,
        speed * machines.workers,
        bound,
    )


def _tables(work: Workload) -> float:
    """Bytes of inputs and outputs."""
    return 2.0 * work.vocabulary * work.vector_size * FLOAT
