"""Options of a training's jobs."""

from __future__ import annotations

from dataclasses import dataclass

from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.parameter_server.engine import Engine


@dataclass(frozen=True)
class JobConfig:
    """Options of the jobs of workers, whichever engine trains.

    Parameters
    ----------
    engine : Engine
    objective : Objective
    vector_size : int
    window : int
        gensim's `window`, before it is cut to the longest sentence.
    max_entries : int
        Maximum entries of a unit.
    rows_per_mean : float
        See `gensim_tfw2v.parameter_server.combining.rows_per_mean`.
    workers : int
        Number of worker tasks in a cluster, or of threads on one machine.
    threads : int
        Threads per worker: the number of work units that it trains in parallel.
    wire_dtype : {"int8", "bfloat16", "float32"}
        Type in which rows and their changes are sent. In int8, each row has a scale. The ps tasks
        store rows as float32. So only changes, and the rows from which workers compute them, are
        rounded.
    shared_corpus : bool
        Whether workers read units from shared files; otherwise the coordinator sends them.
    layout : {"rows", "columns"}
        Distribution of the tables over the ps tasks; see `RowLayout` and `ColumnLayout`.
    max_growth : float
        Maximum factor by which concurrent workers raise the learning rate.
    one_at_a_time : bool
        Whether only one worker trains at a time.
    """

    engine: Engine
    objective: Objective
    vector_size: int
    window: int
    max_entries: int
    rows_per_mean: float = 1.0
    workers: int = 1
    threads: int = 1
    wire_dtype: str = "bfloat16"
    shared_corpus: bool = False
    layout: str = "rows"
    max_growth: float = 1.0
    one_at_a_time: bool = False
