"""Options of the jobs that workers train."""

from __future__ import annotations

from dataclasses import dataclass

from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.parameter_server.engine import Engine


@dataclass(frozen=True)
class JobConfig:
    """Options of the jobs of workers, for all engines.

    Parameters
    ----------
    engine : Engine
    objective : Objective
    vector_size : int
    window : int
        Maximum size of a window, for messages: gensim's `window`, or with ``shrink_windows=False``
        the engine's, which is smaller if all sentences are shorter.
    max_entries : int
        Maximum number of entries of a unit: tokens, and ends of sentences.
    rows_per_mean : float
        See `gensim_tfw2v.parameter_server.combining.rows_per_mean`.
    has_single_inputs : bool
        Whether the input of each prediction is one row, not a sum or mean of rows: in skip-gram
        without subwords.
    workers : int
        Number of workers: tasks of a cluster, or threads on one machine.
    threads : int
        Number of threads per worker, which is also the number of work units per job.
    wire_dtype : {"int8", "bfloat16", "float32"}
        Type in which rows and their changes are sent. In int8, a scale is sent with each row. The
        ps tasks store rows as float32. So the stored rows are not rounded, only the copies on
        workers and the changes.
    shared_corpus : bool
        Whether workers get the entries of units themselves, from shared files or by drawing walks.
        Otherwise, the coordinator sends the entries.
    draws_walks : bool
        Whether the entries are walks, which workers draw.
    layout : {"rows", "columns"}
        Distribution of the tables over the ps tasks; see `RowLayout` and `ColumnLayout`.
    max_growth : float
        Maximum factor by which concurrent workers raise the learning rate: see
        `gensim_tfw2v.parameter_server.combining.larger_step_sizes`.
    one_at_a_time : bool
        Whether only one worker trains at a time.
    """

    engine: Engine
    objective: Objective
    vector_size: int
    window: int
    max_entries: int
    rows_per_mean: float = 1.0
    has_single_inputs: bool = False
    workers: int = 1
    threads: int = 1
    wire_dtype: str = "bfloat16"
    shared_corpus: bool = False
    draws_walks: bool = False
    layout: str = "rows"
    max_growth: float = 1.0
    one_at_a_time: bool = False
