"""Layout of a worker's program on a cluster; see also `gensim_tfw2v.kernel.choices`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.choices import FEW_TOKENS, KernelConfig

#: On a cluster: entries of a unit, at most and at least.
CLUSTER_ENTRIES, LEAST_ENTRIES = 1 << 22, 1 << 12

#: As many units each thread should train in an epoch, if units of `LEAST_ENTRIES` allow it: the
#: fewer, the less travels, and the longer some workers wait for others at an epoch's end.
UNITS = 8

#: The same where changes are not combined by direction, and the more threads train, the more of
#: others' changes are lacking: `UNITS` times the root of their number, and so many at most.
MOST_UNITS = 32


#: Entries that one worker trains before the others begin, and the largest share of an epoch that
#: these are. Rows begin at 0 and grow with what they are predicted with; workers that start
#: together lack that of each other, and then go different ways.
WARM_ENTRIES, WARM_SHARE = 1 << 21, 0.4

#: Steps of a position (see `steps_of`; gensim's defaults take .9) up to which those of workers that
#: train at the same time may grow. With little text and longer steps, workers take turns.
CONCURRENT_STEPS = 2.0


@dataclass(frozen=True)
class WorkerConfig:
    """Constants of the program of a cluster's worker.

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
    largest_growth : float
        Step sizes of workers that train at the same time are at most so many times as large.
    one_at_a_time : bool
        Whether workers take turns.
    """

    unit: KernelConfig
    workers: int
    threads: int = 1
    wire_dtype: str = "bfloat16"
    shared_corpus: bool = False
    layout: str = "rows"
    largest_growth: float = 1.0
    one_at_a_time: bool = False

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


def choose_warm_units(units: int, entries: int) -> int:
    """Choose how many of an epoch's units, of so many entries, one worker trains alone at first."""
    return min(-(-WARM_ENTRIES // entries), math.ceil(WARM_SHARE * units))


def choose_largest_growth(tokens: float, steps: float) -> float:
    """Choose by how much the steps of workers may grow, where a position takes so many.

    With little text they don't grow: vectors would be longer than one worker's.
    """
    return max(1.0, CONCURRENT_STEPS / steps) if steps and tokens >= FEW_TOKENS else 1.0


def must_take_turns(tokens: float, steps: float) -> bool:
    """Decide whether only one worker trains at a time.

    By long steps on a small corpus, workers find vectors so different that their mean is useless.
    """
    return tokens < FEW_TOKENS and steps > CONCURRENT_STEPS
