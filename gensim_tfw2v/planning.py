"""Memory, traffic and time of a training, estimated before it starts.

The estimates are a first approximation, for negative sampling: a machine trains as fast as its
cores compute, unless transfers over the cluster's network, or round trips, take longer.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.graph.objectives import NearPairs
from gensim_tfw2v.graph.step_shape import StepShape, choose_step
from gensim_tfw2v.kernel.kernel_config import SCALE_BYTES, Objective
from gensim_tfw2v.kernel.sizes import MIN_OTHER_NEGATIVES, NEGATIVE_USES, choose_unit_entries

# Frequencies of words. BURST: mean occurrences of a word in passages that contain it (Church and
# Gale 1995, "Poisson mixtures"). With this value, the predicted number of distinct words in runs of
# 512 to 1 M tokens of Wikipedia is correct within a tenth. ZIPF: the frequency of the word of rank
# r (from 1) is proportional to (r + 2.7) ** -1.15 (Zipf's law in the form of Mandelbrot 1953),
# fitted to 69,000 words of Wikipedia.
BURST = 1.6
ZIPF_OFFSET = 2.7
ZIPF_EXPONENT = 1.15

# Bytes on the network, in both layouts.
ELEMENT = 1  # element of a row
ID = 4  # id of a row
NUMBER = 2  # dot product over the columns of a ps, or its coefficient
PLACE = 2  # index of a row within a step
SIZE = 4  # squared norm of a row's update, or the factor that it is multiplied by
ENTRY = 1.6  # mean word of the encoded text, for Wikipedia's frequencies
# Bytes in memory.
FLOAT = 4  # element of a table

# Time. KERNEL_NS: nanoseconds of a core in the kernels per word after subsampling, plus nanoseconds
# per dimension, for CBOW (False) and skip-gram (True), from docs/benchmarks/kernels.md, D = 100 and
# 300. The whole `train` takes this time multiplied by a factor. MACHINE_FACTOR, for one machine,
# was fitted to docs/benchmarks/speed.md. WORKER_FACTOR, for a worker task, was fitted to the
# simulation of 1 ps and 1 worker, skip-gram, one machine per task, in
# docs/benchmarks/scaling-two-threads.md (a ps and a worker on the same machine were faster).
# ROUND_TRIPS: a step in columns waits for the ps three times, for the products, for the norms of
# the updates, and for the write.
PROCESSOR = "AMD EPYC with AVX512-BF16"
KERNEL_NS = {False: (12.5, 0.87), True: (70.0, 1.27)}
MACHINE_FACTOR = 1.4
WORKER_FACTOR = 3.4
ROUND_TRIPS = 3

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


class Frequencies(NamedTuple):
    """Relative frequencies of words among the tokens left by subsampling.

    Attributes
    ----------
    words : ndarray [V]
        Relative frequency of each word; the sum is 1.
    noise : ndarray [V]
        Probability that a word is drawn as a negative; the sum is 1.
    kept : float
        Fraction of the corpus's tokens that subsampling leaves, in (0, 1].
    burst : float
        Mean occurrences of a word in passages that contain it; 1 if words occur independently
        (Church and Gale 1995, "Poisson mixtures").
    """

    words: np.ndarray
    noise: np.ndarray
    kept: float
    burst: float = BURST

    @classmethod
    def of_counts(
        cls, counts: np.ndarray, sample: float = 1e-3, ns_exponent: float = 0.75
    ) -> "Frequencies":
        """Compute the frequencies of a vocabulary from its counts [V].

        `sample` and `ns_exponent` are gensim's parameters.
        """
        share = np.asarray(counts, np.float64) / np.sum(counts)
        keep = np.minimum(1.0, (np.sqrt(share / sample) + 1) * sample / share) if sample else 1.0
        noise = share**ns_exponent
        words = share * keep
        return cls(words / words.sum(), noise / noise.sum(), float(words.sum()))

    @classmethod
    def zipf(cls, vocabulary: int, **more: float) -> "Frequencies":
        """Estimate the frequencies of V words of natural language; `more`: see `of_counts`.

        Frequencies follow Zipf's law in the form of Mandelbrot 1953: (rank + 2.7) ** -1.15.
        """
        ranks = np.arange(1, vocabulary + 1)
        return cls.of_counts((ranks + ZIPF_OFFSET) ** -ZIPF_EXPONENT, **more)


@dataclass(frozen=True)
class Workload:
    """Work of a training: its vocabulary, the size of the vectors, and the shape of a step.

    Parameters
    ----------
    frequencies : Frequencies
        Frequencies of the V words.
    vector_size : int
        Dimensions D of the vectors.
    shape : StepShape
        Sizes of a training step, which `of_text` chooses.
    skipgram : bool
        Skip-gram if true, CBOW if false.
    """

    frequencies: Frequencies
    vector_size: int
    shape: StepShape
    skipgram: bool = True

    @classmethod
    def of_text(
        cls,
        vocabulary: int,
        tokens: float,
        vector_size: int = 100,
        window: int = 5,
        negative: int = 5,
        skipgram: bool = True,
        sample: float = 1e-3,
    ) -> "Workload":
        """Estimate the work of a text whose words follow Zipf's law.

        `vocabulary` is the number of words V, and `tokens` the length of the text in words. The
        remaining parameters are gensim's.
        """
        frequencies = Frequencies.zipf(vocabulary, sample=sample)
        kept = int(tokens * frequencies.kept)
        objective = Objective(skipgram, negative)
        shape = choose_step(objective, kept, window, window + 1, vector_size=vector_size)
        return cls(frequencies, vector_size, shape, skipgram)

    @property
    def core_ns(self) -> float:
        """Nanoseconds that a core spends in the kernels per raw word."""
        word, number = KERNEL_NS[self.skipgram]
        return self.frequencies.kept * (word + number * self.vector_size)

    @property
    def tables(self) -> float:
        """Bytes of the input and output vectors, 8 · V · D."""
        return 2.0 * len(self.frequencies.words) * self.vector_size * FLOAT


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
    """

    workers: int
    shards: int
    threads: int = 8
    net: float = 1.25e9
    latency: float = 2e-4
    memory: float = 64e9


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
        reason instead: ``"memory"`` if the model does not fit, ``"corpus"`` if the quality would
        suffer because the corpus is too small.
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


def distinct_rows(work: Workload, tokens: float, is_job: bool = False) -> tuple[float, float]:
    """Return the numbers of distinct input rows and output rows that a run of n tokens needs.

    A word of frequency p, whose n p expected occurrences come in bursts of b, occurs in the run
    with probability 1 - exp(-n p / b). A job reuses negatives that do not occur in it.
    """
    frequencies = work.frequencies
    absent = np.exp(-tokens * frequencies.words / frequencies.burst)
    draws = tokens / work.shape.block * work.shape.shared
    if is_job and (others := draws * float(absent @ frequencies.noise)):
        draws *= min(1.0, max(MIN_OTHER_NEGATIVES / others, 1 / NEGATIVE_USES))
    outputs = 1 - absent * np.exp(-draws * frequencies.noise)
    return float((1 - absent).sum()), float(outputs.sum())


def row_bytes(work: Workload, tokens: float) -> tuple[float, float]:
    """Return the bytes per token, fetched and pushed, of a job of `tokens` tokens."""
    rows = sum(distinct_rows(work, tokens, is_job=True)) / tokens
    row = ELEMENT * work.vector_size + SCALE_BYTES
    return rows * row, rows * (row + ID)


def column_bytes(work: Workload, shards: int) -> tuple[float, float]:
    """Return the bytes per token, fetched and pushed, if `shards` ps tasks multiply columns."""
    shape = work.shape
    rows = sum(distinct_rows(work, shape.tokens))
    places = shape.blocks * (shape.inputs + shape.columns)
    windows = 0 if work.skipgram else shape.blocks * shape.centres
    products = windows * (1 + shape.shared)
    if work.skipgram:
        products = shape.blocks * NearPairs(shape).number
    fetched = NUMBER * products + SIZE * rows
    # three indices per place: to gather its row, to sort its update, and to add the update up
    pushed = NUMBER * products + (ID + SIZE) * rows + 3 * PLACE * places + 4 * windows
    return shards * fetched / shape.tokens, shards * pushed / shape.tokens


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
    alone = _choice(ALONE, "", work, one, (0.0, 0.0), work.tables, factor=MACHINE_FACTOR)
    choices = [
        alone._replace(ps_memory=0.0),
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
) -> Choice:
    """Return a way to train with its estimates.

    `traffic` is the bytes fetched and pushed per token. Per raw word of a worker, all its threads
    are idle for `waiting` seconds during round trips and for `sending` seconds during transfers.
    Workers fetch from `senders` machines; 0 means the ps tasks, which otherwise have no traffic. A
    core needs `factor` times its time in the kernels.
    """
    raw = work.frequencies.kept * max(traffic)  # bytes per raw word, in the busier direction
    ps_memory = work.tables / machines.shards
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
    if max(ps_memory, worker_memory) > machines.memory:
        bound = "memory"
    ps_net = 0.0 if senders else speed * raw * machines.workers / machines.shards
    return Choice(
        name,
        option,
        sum(traffic),
        ps_memory,
        worker_memory,
        ps_net,
        speed * raw,
        speed * machines.workers,
        bound,
    )
