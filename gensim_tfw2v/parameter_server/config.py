"""How a worker's program is laid out on a cluster: see `gensim_tfw2v.kernel.config`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.config import KernelConfig

#: On a cluster: entries of a unit, at most and at least.
CLUSTER_ENTRIES, LEAST_ENTRIES = 1 << 22, 1 << 12

#: As many units each thread should train in an epoch, if units of `LEAST_ENTRIES` allow it: the
#: fewer, the less travels, and the longer some workers wait for others at an epoch's end.
UNITS = 8

#: The same where changes are not combined by direction, and the more threads train, the more of
#: others' changes are lacking: `UNITS` times the root of their number, and so many at most.
MOST_UNITS = 32


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


def choose_unit_entries(tokens: int, threads: int, directed: bool = True) -> int:
    """Choose how many entries a work unit on a cluster has, at most.

    Parameters
    ----------
    tokens : int
        Of the corpus.
    threads : int
        Of all workers together.
    directed : bool
        Whether their changes are combined by direction; see `curvature`.
    """
    units = UNITS if directed else min(MOST_UNITS, math.ceil(UNITS * math.sqrt(threads)))
    return min(CLUSTER_ENTRIES, max(LEAST_ENTRIES, tokens // (threads * units)))
