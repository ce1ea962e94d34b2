"""Jobs of a cluster's worker: fetch rows, train units on them, push changes.

A job is a few units that the worker's threads train in parallel on one copy of their rows (Niu et
al. 2011, "Hogwild!"), so that each row is sent once per job. Every kind of job is a subclass of
`WorkerJob`: it implements the phases, and the base class measures their time and traffic.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.ops.library import allow_parallel
from gensim_tfw2v.parameter_server import combining
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.scratch import WorkerVariables
from gensim_tfw2v.parameter_server.text import read_entries
from gensim_tfw2v.parameter_server.wire import row_bytes

#: Bytes of a row id. Counts of traffic include it in the pushed change, not in the fetched row.
ID_BYTES = 4


class PushCounter(NamedTuple):
    """Counts of pushed units, on a ps task so that they survive the end of a worker.

    Attributes
    ----------
    pushes : Variable [], int64
        Number of pushed units in all epochs.
    times : Variable [units], int32
        Number of pushes of each unit in the current epoch.
    """

    pushes: tf.Variable
    times: tf.Variable

    def add(self, indices: tf.Tensor) -> tf.Operation:
        """Count pushed units by their indices; negative indices are skipped."""
        real = tf.boolean_mask(indices, indices >= 0)
        return tf.group(
            self.pushes.assign_add(tf.size(real, tf.int64), read_value=False),
            self.times.scatter_add(tf.IndexedSlices(tf.ones_like(real), real)),
        )


class ParameterServer(NamedTuple):
    """State held by the ps tasks.

    Attributes
    ----------
    tables : Tables of RowLayout
    words, rates : WordArrays and Tables of Variable
        Constants, which each worker copies once. `rates` is the result of `pair_rates`.
    push_counter : PushCounter
    worker_variables : WorkerVariables
        Variables that are on the workers instead.
    """

    tables: Tables
    words: WordArrays
    rates: Tables
    push_counter: PushCounter
    worker_variables: WorkerVariables


class Job(NamedTuple):
    """Tensors of a job whose units have been drawn and planned, in the trace of its function.

    Attributes
    ----------
    units : list
        Units of the engine: see `Engine.prepare`.
    ids : dict of Tensor [n], int32
        Distinct row ids of the job, by the name of each table in use. The units contain indices
        into them. Empty if rows are not fetched.
    words : WordArrays
    texts : Tensor []
        Bytes of text received from the coordinator.
    alpha : Tensor []
        Learning rate at the start of the job.
    key : Tensor [2], int32
        Key of the first unit.
    replicas, number
        See `WorkerJob.function`.
    """

    units: list[Any]
    ids: dict[str, tf.Tensor]
    words: WordArrays
    texts: tf.Tensor
    alpha: tf.Tensor
    key: tf.Tensor
    replicas: tf.Tensor
    number: tf.Tensor

    @property
    def tokens(self) -> tf.Tensor:
        """Number of tokens trained on: [], float32."""
        return tf.cast(tf.add_n([unit.kept for unit in self.units]), tf.float32)


class WorkerJob:
    """Work of a worker for a job, in two halves: `prepare`, which may be done ahead, and `run`.

    Subclasses override the phases `fetch`, `train` and `push`, which find the `Job` in
    ``self.job``. In the graph, `train` and `push` depend on the timestamp at the end of the
    previous phase. `run` works on a copy of the object, so attributes that a phase sets belong to
    one trace.

    Parameters
    ----------
    config : JobConfig
    server : ParameterServer
    """

    fetches_rows = True  # whether units contain indices into `Job.ids`
    counts = True  # whether its units are counted as pushed
    # whether alphas are raised, and a fraction of each change is pushed: see `combining`
    by_direction = False
    growth_power = 1 / 4  # see `combining.larger_step_sizes`
    job: Job

    def __init__(self, config: JobConfig, server: ParameterServer) -> None:
        self.config = config
        self.server = server
        self.wire = tf.as_dtype(config.wire_dtype)
        # arrays of the vocabulary
        self.words: Callable[[], WordArrays] = server.worker_variables.copies(server.words)
        self._rates: Callable[[], Tables] = server.worker_variables.copies(server.rates)

    def fetch(self) -> Iterable[Any]:
        """Fetch what training needs; return the tensors and operations that complete it."""
        raise NotImplementedError

    def train(self) -> list[UnitResult]:
        """Train the units; return the result of each."""
        raise NotImplementedError

    def push(self) -> Iterable[Any]:
        """Push changes to the ps tasks; return the operations that complete it."""
        raise NotImplementedError

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the bytes fetched and pushed."""
        rows = tf.add_n([tf.size(ids) for ids in self.job.ids.values()])
        return self.row_traffic(rows, rows)

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Return the staleness; `others` is the number of units that other workers pushed."""
        return others

    def rates(self) -> dict[str, tf.Tensor]:
        """Mean number of predictions per token that each row takes part in: [n], by table name."""
        rates = self._rates()
        return {name: tf.gather(getattr(rates, name), ids) for name, ids in self.job.ids.items()}

    def directions(
        self, rows: Mapping[str, tf.Tensor], rates: Mapping[str, tf.Tensor]
    ) -> dict[str, combining.Directions]:
        """Steepest directions of each table for the concurrent workers; see `combining`."""
        return combining.directions(
            rows, rates, self.job.key, self.job.replicas, self.config.rows_per_mean
        )

    def row_traffic(self, fetched: tf.Tensor, pushed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the bytes of `fetched` rows, and of `pushed` changes with their ids."""
        row = self.row_bytes
        return tf.cast(fetched, tf.float64) * row, tf.cast(pushed, tf.float64) * (row + ID_BYTES)

    @property
    def row_bytes(self) -> int:
        """Bytes that are sent per row."""
        return row_bytes(self.config.vector_size, self.config.wire_dtype)

    def prepare(
        self,
        sources: tf.Tensor,
        ranges: tf.Tensor,
        keys: tf.Tensor,
        alphas: tf.Tensor,
        replicas: tf.Tensor,
        number: tf.Tensor,
    ) -> Job:
        """Draw and plan the units, which needs no rows; for the arguments, see `function`."""
        config = self.config
        words = self.words()
        ids: dict[str, tf.Tensor] = {}
        if self.by_direction:
            alphas = combining.larger_step_sizes(
                config.max_growth, alphas, replicas, self.growth_power
            )
        entries = [
            read_entries(source, entry_range, config)
            for source, entry_range in zip(tf.unstack(sources), tf.unstack(ranges), strict=True)
        ]
        units = [
            config.engine.prepare(words, *unit, config.max_entries)
            for unit in zip(entries, tf.unstack(keys), tf.unstack(alphas), strict=True)
        ]
        if self.fetches_rows:
            ids, units, words = config.engine.number_rows(units, words)
        text_bytes = tf.constant(0)
        if not config.shared_corpus:
            text_bytes = tf.reduce_sum(tf.strings.length(sources))
        return Job(units, ids, words, text_bytes, alphas[0, 0], keys[0], replicas, number)

    def run(self, job: Job, indices: tf.Tensor, began: tf.Tensor) -> tf.Tensor:
        """Run the phases of a job, which started at time `began`.

        Control dependencies order the phases. Each waits for the timestamp at the end of the
        previous phase, which waits for all results of that phase.

        Returns
        -------
        Tensor [packed_size(n)]
            A packed `JobResult`.
        """
        phases = copy.copy(self)
        counter = self.server.push_counter
        phases.job = job
        pushed_before = tf.identity(counter.pushes)
        fetched_at = _after([pushed_before, *phases.fetch()])
        with tf.control_dependencies([fetched_at]):
            results = phases.train()
        trained_at = _after(tf.nest.flatten(results))
        with tf.control_dependencies([trained_at]):
            push_ops = list(phases.push())
        with tf.control_dependencies([trained_at, *push_ops]):
            others = tf.identity(counter.pushes) - pushed_before
            with tf.control_dependencies([others]):
                push_count = counter.add(indices) if self.counts else others
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            job.texts,
            *phases.traffic(),
            phases.staleness(others),
            tf.stack([began, fetched_at, trained_at, _after([push_count])]),
        ).packed()

    @functools.cached_property
    def function(self) -> tf.types.experimental.PolymorphicFunction:
        """``tf.function`` that prepares and runs a job, and returns its packed `JobResult`.

        The first access is not thread-safe. The arguments are:

        sources : Tensor [n], string
        ranges : Tensor [n, 2], int32
            Source and range of each of n units; see `read_entries`. A unit may have no entries.
        indices : Tensor [n], int32
            Indices of the units in the push counter; negative for empty units.
        keys : Tensor [n, 2], int32
        alphas : Tensor [n, 2], float32
        replicas : Tensor [], float32
            Number of concurrent jobs.
        number : Tensor [], int64
            Unique number of the job.
        """

        def do_job(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
            began = tf.timestamp()
            job = self.prepare(sources, ranges, keys, alphas, replicas, number)
            packed = self.run(job, indices, began)
            allow_parallel()
            return packed

        threads = self.config.threads
        signature = [
            tf.TensorSpec([threads], tf.string),
            tf.TensorSpec([threads, 2], tf.int32),
            tf.TensorSpec([threads], tf.int32),
            tf.TensorSpec([threads, 2], tf.int32),
            tf.TensorSpec([threads, 2], tf.float32),
            tf.TensorSpec([], tf.float32),
            tf.TensorSpec([], tf.int64),
        ]
        return tf.function(do_job, autograph=False, input_signature=signature)


def _after(results: Iterable[Any]) -> tf.Tensor:
    """Time at which all elements of `results` have been computed."""
    with tf.control_dependencies(list(results)):
        return tf.timestamp()
