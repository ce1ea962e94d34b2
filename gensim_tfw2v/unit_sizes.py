"""Sizes of work units and of the jobs of a cluster, and limits on concurrent training.

The functions compute them from the size of the corpus and the number of threads. The constants were
chosen by measurements. An *entry* is an int32 of the encoded corpus: a word, the end of a sentence
or a tag. The *effective step* is explained in `gensim_tfw2v.kernel.sizes`.
"""

import math

from gensim_tfw2v.kernel.sizes import SMALL_CORPUS

#: Maximum entries of a work unit on one machine.
UNIT_ENTRIES = 1 << 16

#: Maximum entries of a work unit on one machine with `dbow_words`. The windows of such a unit are
#: trained before its (tag, word) pairs. It is short, because words and tags need each other's
#: updates.
PAIRED_ENTRIES = 1 << 12

#: Maximum number of negatives that are drawn per work unit: 32 MiB of int32.
MAX_UNIT_NEGATIVES = 1 << 23

#: Maximum entries of a work unit on a cluster.
CLUSTER_ENTRIES = 1 << 22

#: Minimum entries of a work unit on a cluster, unless a regime's options require fewer.
MIN_ENTRIES = 1 << 12

#: Number of work units per thread and epoch on a cluster. Fewer, longer units cause less traffic,
#: but at the end of an epoch, workers wait longer for the last unit.
UNITS_PER_THREAD = 8

#: Minimum number of work units per thread in all epochs together, where changes are combined by
#: direction. A worker fetches rows once per unit of a thread. In training runs of one epoch,
#: fewer fetches would leave workers without each other's changes for too large a part of the run,
#: and the vectors of rare words would be worse.
MIN_TRAINING_UNITS = 16

#: Maximum number of work units per thread and epoch where changes are not combined by direction.
#: The more threads train concurrently, the more of each other's changes they lack. So the number of
#: units grows with the square root of the threads: ``UNITS_PER_THREAD * sqrt(threads)``.
MAX_UNITS_PER_THREAD = 32

#: Maximum entries that one worker trains alone at the start of training. Output rows start from 0
#: and grow along with the inputs that predict them. Workers that start concurrently lack each
#: other's growth, and their vectors drift apart.
WARM_ENTRIES = 1 << 21

#: Maximum fraction of an epoch's units that one worker trains alone.
WARM_SHARE = 0.4

#: Number of times that a job on a cluster uses each of its negatives that do not occur in its text.
#: More uses mean fewer rows to transfer, but larger updates of fewer rare words.
NEGATIVE_USES = 8

#: Minimum number of a job's negatives outside of its text that are drawn before earlier ones are
#: used again. So a job with few negatives uses each of them fewer than `NEGATIVE_USES` times.
MIN_OTHER_NEGATIVES = 1 << 12

#: Maximum effective step of an input to which concurrent workers may raise the learning rate. On a
#: corpus below `SMALL_CORPUS`, workers with a larger step train one at a time.
MAX_CONCURRENT_STEP = 2.0

#: Number of jobs in a round of deterministic training, on a cluster of any size. No more workers
#: than jobs have work. With 8 jobs, which are shorter, four workers take 1.4 times as long.
ROUND_JOBS = 4

#: Approximate number of rounds per epoch of deterministic training on a cluster. With a quarter
#: of these, CBOW's similarities agree far less with rated word pairs.
ROUNDS = 32

#: A job of a deterministic round counts as this many concurrent jobs. The number of concurrent jobs
#: determines the learning rate and the pushed fraction of changes: see
#: `gensim_tfw2v.parameter_server.combining`. The learning rate of asynchronous training follows
#: from the number of workers alone, because such jobs overlap only in part. The jobs of a round all
#: start from the same rows.
ROUND_TIMES = 6

#: For an asynchronous job, each of the other jobs counts as this many concurrent jobs if the input
#: of a prediction is one row, and otherwise as one. The weight is between the limits of the theory:
#: e if one of a prediction's rows moves, and 2 e if both do. With a weight of 1, one epoch of
#: skip-gram finds a fifth to two fifths fewer analogies than one worker does. Weights from 4 to 6
#: differ little. In FastText, a weight of 4 lowers the agreement with rated pairs, and in CBOW it
#: changes little.
DELAY_WEIGHT = 4.0

#: A deterministic round multiplies the learning rate by this power of the number of concurrent
#: jobs. CBOW tolerates a higher power, because its predictions move means of rows.
ROUND_POWER = {"skipgram": 1 / 4, "cbow": 1 / 3}

#: Maximum effective step for CBOW in deterministic rounds, in place of `MAX_CONCURRENT_STEP`. With
#: 2.0, similarities agree less with rated word pairs, after one epoch and after five.
MAX_ROUND_STEP = 2.5


def choose_unit_entries(
    tokens: int, threads: int, epochs: int, directed: bool = True, in_rounds: bool = False
) -> int:
    """Choose the maximum entries of a work unit on a cluster.

    Parameters
    ----------
    tokens : int
        Tokens of the corpus.
    threads : int
        Number of threads that train the same model, summed over all workers.
    epochs : int
        Number of epochs of the training.
    directed : bool
        Whether the changes of concurrent jobs are combined by direction; see
        `gensim_tfw2v.parameter_server.combining`.
    in_rounds : bool
        Whether training is in `ROUNDS` deterministic rounds per epoch.
    """
    n_units = max(UNITS_PER_THREAD, math.ceil(MIN_TRAINING_UNITS / max(1, epochs)))
    if in_rounds:
        n_units = ROUNDS
    elif not directed:
        n_units = min(MAX_UNITS_PER_THREAD, math.ceil(UNITS_PER_THREAD * math.sqrt(threads)))
    return min(CLUSTER_ENTRIES, max(MIN_ENTRIES, tokens // (threads * n_units)))


def choose_warm_units(n_units: int, n_entries: int) -> int:
    """Choose the number of units that one worker first trains alone.

    An epoch has `n_units` work units of `n_entries` entries each.
    """
    return min(-(-WARM_ENTRIES // n_entries), math.ceil(WARM_SHARE * n_units))


def choose_max_growth(tokens: float, step: float, max_step: float = MAX_CONCURRENT_STEP) -> float:
    """Choose the maximum factor on the learning rate of concurrent workers.

    `step` is the `effective_step` of one worker, `max_step` its maximum. On a small corpus the
    factor is 1: a larger one would make vectors longer than with one worker.
    """
    return max(1.0, max_step / step) if step and tokens >= SMALL_CORPUS else 1.0


def must_take_turns(tokens: float, step: float) -> bool:
    """Return whether workers must train one at a time.

    On a small corpus with a large `effective_step`, concurrent workers find vectors so different
    that their mean is useless.
    """
    return tokens < SMALL_CORPUS and step > MAX_CONCURRENT_STEP
