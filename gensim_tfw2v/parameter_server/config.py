"""How a worker's program is laid out on a cluster: see `gensim_tfw2v.kernel.config`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.config import KernelConfig

#: On a cluster: entries of a unit, at most and at least.
CLUSTER_ENTRIES, LEAST_ENTRIES = 1 << 18, 1 << 12

#: As many units each thread should train in an epoch, if units of `LEAST_ENTRIES` allow it: the
#: more, the fewer changes of others its rows lack; the fewer, the less travels. Where more threads
#: train, more changes are lacking: the first for one thread, times the root of their number, and
#: the second at most.
UNITS_OF_ONE, MOST_UNITS = 8, 32

#: In how many blocks of a unit on a cluster a negative is used: rows of which nothing else is
#: trained are then fewer, and of those that travel a fifth is saved. With fewer tokens in the
#: corpus, and so shorter units, it would cost quality. With fewer threads units are longer and less
#: travels in any case: there it saves little, and unseen text is predicted worse
#: (docs/regimes/asynchronous.md has the figures).
NOISE_REUSE, LEAST_TO_REUSE, LEAST_THREADS_TO_REUSE = 4, 1 << 22, 4


@dataclass(frozen=True)
class WorkerConfig:
    """What is fixed when the program of a worker of a cluster is built.

    Parameters
    ----------
    unit : KernelConfig
    workers : int
        Worker tasks.
    threads : int
        Threads of each, and work units that it trains at a time.
    wire_dtype : {"bfloat16", "float32"}
        Precision in which rows and their changes travel. On the ps they are float32: what is
        rounded is a change, and the point at which it is computed.
    shared_corpus : bool
        Whether workers read units from files, rather than being sent them.
    layout : {"rows", "columns"}
        What is spread over the ps tasks: see `gensim_tfw2v.parameter_server.layouts`.
    """

    unit: KernelConfig
    workers: int
    threads: int = 1
    wire_dtype: str = "bfloat16"
    shared_corpus: bool = False
    layout: str = "rows"

    @property
    def row_bytes(self) -> int:
        """Bytes of a row that travels, with its sum of Adagrad."""
        squares = tf.float32.size if self.unit.adagrad else 0
        return self.unit.vector_size * tf.as_dtype(self.wire_dtype).size + squares


def choose_unit_entries(tokens: int, threads: int) -> int:
    """Choose how many entries a work unit on a cluster has, at most.

    Parameters
    ----------
    tokens : int
        Of the corpus.
    threads : int
        Of all workers together.
    """
    units = threads * min(MOST_UNITS, math.ceil(UNITS_OF_ONE * math.sqrt(threads)))
    return min(CLUSTER_ENTRIES, max(LEAST_ENTRIES, tokens // units))


def choose_noise_reuse(tokens: int, threads: int) -> int:
    """Choose ``KernelConfig.noise_reuse`` of a cluster.

    Parameters
    ----------
    tokens : int
        Of the corpus.
    threads : int
        Of all workers together.
    """
    return NOISE_REUSE if tokens >= LEAST_TO_REUSE and threads >= LEAST_THREADS_TO_REUSE else 1
