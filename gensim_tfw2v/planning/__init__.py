"""Memory, traffic and time of a training run, estimated before it starts.

The estimates are for negative sampling. `workload` describes the work of training. `speed`
estimates the speed of the machines, and `memory` the memory that they need.
"""

from typing import NamedTuple

from gensim_tfw2v.planning import memory
from gensim_tfw2v.planning.checks import add_deprecated_names
from gensim_tfw2v.planning.speed import (
    ENTRY_BYTES,
    STEP_ROUND_TRIPS,
    WORKER_FACTOR,
    Machines,
    WordSeconds,
    link_limit,
    text_limit,
    transfer_seconds,
)
from gensim_tfw2v.planning.workload import (
    ELEMENT_BYTES,
    FLOAT_BYTES,
    Frequencies,
    Workload,
    column_bytes,
    distinct_rows,
    row_bytes,
)
from gensim_tfw2v.unit_sizes import choose_unit_entries

__all__ = ["WORKER_FACTOR", "Choice", "Frequencies", "Machines", "Workload", "compare"]

#: Name of training without a cluster.
ALONE = "one machine"

#: Minimum number of words of text per sub-model. With 3 M words, a tenth of the quality is lost by
#: merging; with some 200 M, as in the paper, none (docs/regimes/sub-models.md).
MIN_SUB_MODEL_TOKENS = 1e8

#: Ranks of choices that should not be used, by their `bound`. All other choices have rank 0, and
#: `compare` lists lower ranks first.
BAD_RANKS = {"corpus": 1, "memory": 2}


class Choice(NamedTuple):
    """Way to train, on a cluster or on only one of its machines, and estimates for this way.

    Attributes
    ----------
    name, option : str
        Name, and the argument of `TFWord2Vec` that selects it.
    bytes_per_token : float
        Bytes fetched and pushed per token trained on.
    ps_memory, worker_memory : float
        Bytes of the model in the largest ps task and in the largest worker.
    ps_net, worker_net : float
        Bytes/s of one ps task and of one worker, in the busier direction.
    words_per_second : float
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
    bytes_per_token: float
    ps_memory: float
    worker_memory: float
    ps_net: float
    worker_net: float
    words_per_second: float
    bound: str
    ps_request: float
    worker_request: float
    coordinator_request: float

    def shortages(self, machines: Machines) -> dict[str, float]:
        """Return the tasks that need more memory than machines have, and the bytes they need."""
        limits = {
            "ps": (self.ps_request, machines.memory),
            "worker": (self.worker_request, machines.memory),
            "coordinator": (self.coordinator_request, machines.program_memory),
        }
        return {task: request for task, (request, limit) in limits.items() if request > limit}


add_deprecated_names(
    Choice, {"bytes_a_token": "bytes_per_token", "words_a_second": "words_per_second"}
)


def compare(work: Workload, tokens: float, machines: Machines, epochs: int = 5) -> list[Choice]:
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
    epochs : int
        Number of epochs. Jobs are shorter, and their traffic is higher, if it is 1.

    Returns
    -------
    list of Choice
        Ways to train, best first.
    """
    choices = [
        _on_one_machine(work, machines),
        _in_rows(work, tokens, machines, epochs),
        _in_columns(work, machines),
        _as_sub_models(work, tokens, machines),
    ]
    usable = [choice for choice in choices if choice.bound not in BAD_RANKS]
    fastest = max((choice.words_per_second for choice in usable), default=0.0)

    def rank(choice: Choice) -> tuple[int, bool]:
        share = 0.5 if choice.name == ALONE else 0.9
        return BAD_RANKS.get(choice.bound, 0), choice.words_per_second < share * fastest

    return sorted(choices, key=rank)


def _on_one_machine(work: Workload, machines: Machines) -> Choice:
    seconds = WordSeconds(work.core_ns * 1e-9 / machines.threads)
    choice = Choice(
        name=ALONE,
        option="",
        bytes_per_token=0.0,
        ps_memory=0.0,
        worker_memory=work.tables,
        ps_net=0.0,
        worker_net=0.0,
        words_per_second=seconds.speed,
        bound=seconds.bottleneck,
        ps_request=0.0,
        worker_request=memory.machine_request(work, machines.threads),
        coordinator_request=0.0,
    )
    return _check_memory(choice, machines)


def _in_rows(work: Workload, tokens: float, machines: Machines, epochs: int) -> Choice:
    share = work.frequencies.kept
    threads = machines.threads
    unit_entries = choose_unit_entries(int(tokens), machines.workers * threads, epochs)
    job_tokens = unit_entries * share * threads
    traffic = row_bytes(work, job_tokens)
    worker_seconds = []
    for link in machines.worker_links:
        latency_seconds, link_seconds = transfer_seconds(job_tokens * sum(traffic), link)
        worker_seconds.append(
            WordSeconds(
                cores=_computing_seconds(work, machines),
                latency=latency_seconds * share / job_tokens,
                network=link_seconds * share / job_tokens,
            )
        )
    seconds = WordSeconds.average(worker_seconds)
    # a worker holds a job's rows three times: in float32, and as they are fetched and pushed
    row_size = (FLOAT_BYTES + 2 * ELEMENT_BYTES) * work.vector_size
    worker_memory = sum(distinct_rows(work, job_tokens, is_job=True)) * row_size
    return _estimate(
        "rows, asynchronous", "(the default)", work, machines, seconds, traffic, worker_memory
    )


def _in_columns(work: Workload, machines: Machines) -> Choice:
    step_words = work.shape.tokens * work.frequencies.kept * machines.threads
    computing_seconds = _computing_seconds(work, machines)
    seconds = WordSeconds.average(
        [
            WordSeconds(computing_seconds, STEP_ROUND_TRIPS * link.latency / step_words)
            for link in machines.worker_links
        ]
    )
    traffic = column_bytes(work, machines.shards)
    option = 'layout="columns"'
    return _estimate("columns", option, work, machines, seconds, traffic, 0.0, ps_computes=True)


def _as_sub_models(work: Workload, tokens: float, machines: Machines) -> Choice:
    option = f'regime="submodels:models={machines.workers}"'
    seconds = WordSeconds(_computing_seconds(work, machines))
    # The coordinator sends the text to the workers. Each sub-model is transferred only once, which
    # is neglected.
    traffic = ENTRY_BYTES / work.frequencies.kept, 0.0
    choice = _estimate(
        "sub-models", option, work, machines, seconds, traffic, work.tables, from_coordinator=True
    )
    if choice.bound != "memory" and tokens / machines.workers < MIN_SUB_MODEL_TOKENS:
        return choice._replace(bound="corpus")
    return choice


def _computing_seconds(work: Workload, machines: Machines) -> float:
    """Return the seconds per raw word in which a worker's cores compute."""
    return work.core_ns * WORKER_FACTOR * 1e-9 / machines.threads


def _estimate(
    name: str,
    option: str,
    work: Workload,
    machines: Machines,
    seconds: WordSeconds,
    traffic: tuple[float, float],
    worker_memory: float,
    from_coordinator: bool = False,
    ps_computes: bool = False,
) -> Choice:
    """Return a way to train on a cluster, and its estimates.

    `traffic` is the bytes that a worker fetches and pushes per token. With `from_coordinator`, they
    come from the coordinator, which merges the results, and the ps tasks have no traffic. With
    `ps_computes`, the ps tasks compute, too.
    """
    raw_bytes = work.frequencies.kept * max(traffic)  # per raw word, in the busier direction
    speed = seconds.speed
    bound = seconds.bottleneck
    if from_coordinator:
        limit = text_limit(machines)
    else:
        limit = link_limit(raw_bytes, machines, machines.shards)
    if limit < speed:
        speed = limit
        bound = "network"
    ps_net = 0.0
    if not from_coordinator:
        ps_net = speed * raw_bytes * machines.workers / machines.shards
    ps_memory = work.tables / machines.shards
    choice = Choice(
        name=name,
        option=option,
        bytes_per_token=sum(traffic),
        ps_memory=ps_memory,
        worker_memory=worker_memory,
        ps_net=ps_net,
        worker_net=speed * raw_bytes,
        words_per_second=speed * machines.workers,
        bound=bound,
        ps_request=memory.ps_request(ps_memory, ps_computes),
        worker_request=memory.worker_request(work, worker_memory, machines.threads),
        coordinator_request=memory.coordinator_request(
            work, machines.program_memory, holds_model=from_coordinator
        ),
    )
    return _check_memory(choice, machines)


def _check_memory(choice: Choice, machines: Machines) -> Choice:
    """Return the choice, with the bound "memory" if a task needs more memory than it has."""
    return choice._replace(bound="memory") if choice.shortages(machines) else choice
