"""Memory, traffic and time of a training, estimated before it starts.

A first approximation, for negative sampling: a machine trains as fast as its cores do, unless the
network of a cluster or, with columns, the waiting for it takes longer.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.graph.objectives import NearPairs
from gensim_tfw2v.graph.step_shape import StepShape, choose_step
from gensim_tfw2v.kernel.kernel_config import Objective
from gensim_tfw2v.kernel.sizes import choose_unit_entries

# Words. Bursts: Church and Gale 1995, "Poisson mixtures"; by this one, the distinct words of runs
# of 512 to 1 M tokens of Wikipedia come out within a tenth. The word of rank r (from 1) occurs in
# proportion to (r + 2.7) ** -1.15 (Zipf's law, as Mandelbrot 1953 has it), fitted to 69,000 words
# of Wikipedia.
BURST = 1.6
ZIPF_OFFSET = 2.7
ZIPF_EXPONENT = 1.15

# Bytes, by the layouts. On the wire: an element of a row and the row's scale (int8), its id; with
# columns a number, a place in a step, a row's length or size. In memory: a number of the tables, a
# word of the encoded text.
ELEMENT = 1
SCALE = 4
ID = 4
NUMBER = 2
PLACE = 2
SIZE = 4
FLOAT = 4
ENTRY = 4

# Time. Nanoseconds of a core for a word that subsampling leaves, and in addition for each of D, in
# the kernels of CBOW and skip-gram alone: docs/benchmarks/kernels.md, at D = 100 and 300. All of
# `train` takes that times a factor: on one machine fitted to docs/benchmarks/speed.md, and in a
# worker to the simulation of 1 + 1 tasks, skip-gram, in docs/benchmarks/scaling-two-threads.md,
# which has one machine a task (1 + 1 tasks that share a machine were faster). A step in columns
# waits for the ps three times: for products, for lengths, for the writing.
PROCESSOR = "AMD EPYC with AVX512-BF16"
KERNEL_NS = {False: (12.5, 0.87), True: (70.0, 1.27)}
MACHINE_FACTOR = 1.4
WORKER_FACTOR = 3.4
ROUND_TRIPS = 3

# Rows. A thread fetches, trains and pushes a job one after the other. Fitted to 2 + 2 tasks with
# links of 20 Mbit/s to 1 Gbit/s, and with round trips of 1 to 40 ms: the share of a link's rate
# that rows get, and the bytes that arrive per round trip, which gRPC and TCP limit.
LINK_SHARE = 0.7
WINDOW = 310e3

#: Name of the way without a cluster.
ALONE = "one machine"

# Quality. Words that each sub-model should have at least: with 3 M, merging costs a tenth of the
# quality; with some 200 M, as in the paper, none (docs/regimes/sub-models.md).
MIN_SUB_MODEL_TOKENS = 1e8


class Frequencies(NamedTuple):
    """Relative frequencies of words among the tokens left by subsampling.

    Attributes
    ----------
    words : ndarray [V]
        Relative frequency of each word; the sum is 1.
    noise : ndarray [V]
        Probability of each word to be drawn as a negative; the sum is 1.
    kept : float
        Fraction of the corpus's tokens that subsampling leaves, in (0, 1].
    burst : float
        Occurrences of a word in a passage that has it at all; 1 if words occur independently
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
        """Compute the frequencies of a vocabulary with these counts [V]; options are gensim's."""
        share = np.asarray(counts, np.float64) / np.sum(counts)
        keep = np.minimum(1.0, (np.sqrt(share / sample) + 1) * sample / share) if sample else 1.0
        noise = share**ns_exponent
        words = share * keep
        return cls(words / words.sum(), noise / noise.sum(), float(words.sum()))

    @classmethod
    def zipf(cls, vocabulary: int, **more: float) -> "Frequencies":
        """Estimate those of V words of natural language; `more` are options of `of_counts`.

        Frequencies follow Zipf's law as Mandelbrot 1953 has it: (rank + 2.7) ** -1.15.
        """
        ranks = np.arange(1, vocabulary + 1)
        return cls.of_counts((ranks + ZIPF_OFFSET) ** -ZIPF_EXPONENT, **more)


@dataclass(frozen=True)
class Workload:
    """Work of a training: its words, the size of their vectors, and the shape of a step.

    Parameters
    ----------
    frequencies : Frequencies
        Frequencies of the V words.
    vector_size : int
        Dimensions D of the vectors.
    shape : StepShape
        Sizes of a training step, which `of_text` chooses.
    skipgram : bool
        Skip-gram, or else CBOW.
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
        """Estimate the work of a text with V words, which follow Zipf's law; options are gensim's.

        `vocabulary` is V, and `tokens` the length of the text in words.
        """
        frequencies = Frequencies.zipf(vocabulary, sample=sample)
        kept = int(tokens * frequencies.kept)
        objective = Objective(skipgram, negative)
        shape = choose_step(objective, kept, window, window + 1, vector_size=vector_size)
        return cls(frequencies, vector_size, shape, skipgram)

    @property
    def core_ns(self) -> float:
        """Nanoseconds of a core that the kernels take per raw word."""
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
    """Way to train, on a cluster or on one of its machines alone, with its estimates.

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
        Raw words/s of all workers together.
    bound : str
        Bottleneck: ``"cores"``, ``"network"`` or ``"latency"``. Or the reason not to use it:
        ``"memory"`` if it does not fit, ``"corpus"`` if the corpus is too small for its quality.
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


def distinct_rows(work: Workload, tokens: float) -> tuple[float, float]:
    """Rows of inputs and of outputs that a run of n tokens needs.

    A word that has n p occurrences in the mean, in bursts of b, is in the run with a chance of
    1 - exp(-n p / b).
    """
    words = tokens * work.frequencies.words / work.frequencies.burst
    draws = tokens / work.shape.block * work.shape.shared * work.frequencies.noise
    return float(-np.expm1(-words).sum()), float(-np.expm1(-words - draws).sum())


def row_bytes(work: Workload, tokens: float) -> tuple[float, float]:
    """Bytes a token, fetched and pushed, where rows travel once for so many tokens.

    These are the tokens of a job; of a step, where rows travel in each.
    """
    rows = sum(distinct_rows(work, tokens)) / tokens
    row = ELEMENT * work.vector_size + SCALE
    return rows * row, rows * (row + ID)


def column_bytes(work: Workload, shards: int) -> tuple[float, float]:
    """Bytes a token, fetched and pushed, where S ps tasks hold columns and multiply them."""
    shape = work.shape
    rows = sum(distinct_rows(work, shape.tokens))
    places = shape.blocks * (shape.inputs + shape.columns)
    windows = 0 if work.skipgram else shape.blocks * shape.centres
    products = windows * (1 + shape.shared)
    if work.skipgram:
        products = shape.blocks * NearPairs(shape).number
    fetched = NUMBER * products + SIZE * rows
    # of each row its place in the step, and twice where its update is summed
    pushed = NUMBER * products + (ID + SIZE) * rows + 3 * PLACE * places + 4 * windows
    return shards * fetched / shape.tokens, shards * pushed / shape.tokens


def transfer_seconds(size: float, machines: Machines) -> tuple[float, float]:
    """Seconds that a thread waits for so many bytes of rows: for round trips, and for the link."""
    return size / WINDOW * machines.latency, size / (LINK_SHARE * machines.net)


def compare(work: Workload, tokens: float, machines: Machines) -> list[Choice]:
    """Compare ways to train a corpus of so many words, the recommended one first.

    The fastest comes first. Of those within a tenth of its speed, asynchronous training in rows is
    preferred to columns, and columns to sub-models. One machine is preferred to a cluster that is
    less than twice as fast. Ways that should not be used come last.

    Parameters
    ----------
    work : Workload
        Words and vectors.
    tokens : float
        Length of the corpus in words, before subsampling.
    machines : Machines
        Tasks of the cluster.

    Returns
    -------
    list of Choice
        The ways, best first.
    """
    kept = work.frequencies.kept
    workers = machines.workers
    threads = machines.threads
    job = choose_unit_entries(int(tokens), workers * threads) * kept * threads
    # a worker has the rows of two jobs: as they came, and as they are
    held = 1.5 * sum(distinct_rows(work, job)) * work.vector_size * FLOAT
    waiting = ROUND_TRIPS * machines.latency / work.shape.tokens / kept
    rows = row_bytes(work, job)
    waits = transfer_seconds(kept * sum(rows), machines)
    columns = column_bytes(work, machines.shards)
    # what travels is the text, from the program that trains, and each sub-model once
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
    """A way to train with this traffic, in bytes a token, fetched and pushed.

    For each raw word, a thread waits so many seconds for round trips and, while rows are sent, for
    its link. It cannot use them. What workers fetch is
    from as many senders; by default from the ps tasks, which else have no traffic. A core takes
    `factor` times what it does in the kernels alone.
    """
    raw = work.frequencies.kept * max(traffic)  # bytes a raw word, in the busier direction
    ps_memory = work.tables / machines.shards
    computing = work.core_ns * factor * 1e-9
    speed = machines.threads / (computing + waiting + sending)  # raw words/s of a worker
    seconds = {"cores": computing, "latency": waiting, "network": sending}
    bound = max(seconds, key=seconds.__getitem__)
    # the busier end: what all workers send arrives at all ps tasks
    share = max(1.0, machines.workers / (senders or machines.shards))
    if raw and (limit := machines.net / (raw * share)) < speed:
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
