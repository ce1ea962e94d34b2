"""Jobs of a cluster's worker: fetch rows, train units on them, push changes.

A job consists of a few units. The worker's threads train them in parallel on a shared copy of the
rows (Niu et al. 2011, "Hogwild!"), so each row is sent only once per job. Every kind of job is a
subclass of `WorkerJob`. The subclass implements the phases of a job, and the base class measures
the time and the traffic of each phase.
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
from gensim_tfw2v.ops.walks import WalkFiles
from gensim_tfw2v.parameter_server import combining
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.scratch import WorkerVariables
from gensim_tfw2v.parameter_server.text import read_entries
from gensim_tfw2v.parameter_server.wire import row_bytes

#: Size in bytes of a row id. Counts of traffic include ids in the bytes of pushed changes, but not
#: in those of fetched rows.
ID_BYTES = 4


class PushCounter(NamedTuple):
    """Counts of pushed units, on a ps task, so that they are not lost with a worker.

    Attributes
    ----------
    pushes : Variable [], int64
        Number of units pushed in all epochs, including repeated units.
    times : Variable [units], int32
        Number of pushes of each unit in the current epoch.
    """

    pushes: tf.Variable
    times: tf.Variable

    def add(self, indices: tf.Tensor) -> tf.Operation:
        """Count pushed units by their indices; negative indices are skipped."""
        valid = tf.boolean_mask(indices, indices >= 0)
        return tf.group(
            self.pushes.assign_add(tf.size(valid, tf.int64), read_value=False),
            self.times.scatter_add(tf.IndexedSlices(tf.ones_like(valid), valid)),
        )


class ParameterServer(NamedTuple):
    """State of a training run on the ps tasks, and the variables of its workers.

    Attributes
    ----------
    tables : Tables of Layout
        Trained tables.
    words : WordArrays of Variable or of ArrayFile
    rates : Tables of Variable or of ArrayFile
        Mean number of predictions per token of each row, from `pair_rates`. `words` and `rates` are
        constants. Each worker copies them once, or maps them from files.
    push_counter : PushCounter
    worker_variables : WorkerVariables
        Variables on the workers, not on the ps tasks.
    walk_files : WalkFiles of Variable, optional
        Constants from which workers draw walks if they can't read the files.
    """

    tables: Tables
    words: WordArrays
    rates: Tables
    push_counter: PushCounter
    worker_variables: WorkerVariables
    walk_files: WalkFiles | None = None


class Job(NamedTuple):
    """Job whose units have been drawn and planned; all fields are tensors of a traced function.

    Attributes
    ----------
    units : list
        Units of the engine: see `Engine.prepare`.
    ids : dict of Tensor [n], int32
        Distinct row ids of the job, by the name of each table in use. The units contain indices
        into these ids. If the job does not fetch rows, the dict is empty, and units contain ids.
    words : WordArrays
        Arrays of the vocabulary; see `Engine.number_rows`.
    text_bytes : Tensor []
        Bytes of text received from the coordinator.
    alpha : Tensor []
        Learning rate at the start of the job.
    key : Tensor [2], int32
        Key of the first unit's random draws.
    replicas : Tensor [], float32
        Number of concurrent jobs.
    number : Tensor [], int64
        Unique number of the job.
    """

    units: list[Any]
    ids: dict[str, tf.Tensor]
    words: WordArrays
    text_bytes: tf.Tensor
    alpha: tf.Tensor
    key: tf.Tensor
    replicas: tf.Tensor
    number: tf.Tensor

    @property
    def tokens(self) -> tf.Tensor:
        """Number of tokens trained on: [], float32."""
        return tf.cast(tf.add_n([unit.kept for unit in self.units]), tf.float32)


class WorkerJob:
    """Functions that a worker runs for a job: `prepare`, then `run`.

    While a job runs, the next one can already be prepared. Subclasses override the phases `fetch`,
    `train` and `push` of `run`. In a phase, the attribute `job` is the prepared `Job`. The
    operations of `train` and `push` run after the previous phase: they have a control dependency on
    the timestamp at its end. `run` is traced on a copy of the object, so attributes that a phase
    sets for later phases belong to one trace only.

    Parameters
    ----------
    config : JobConfig
    server : ParameterServer
    """

    #: True if the job fetches rows. Its units then contain indices into `Job.ids`.
    fetches_rows = True
    #: True if the job's units are added to the push counter.
    counts = True
    #: True if learning rates are raised, and only a fraction of each change is pushed, which
    #: depends on the direction: see `combining`.
    by_direction = False
    #: Power of the number of workers by which learning rates are raised.
    growth_power = 1 / 4
    #: Number of concurrent jobs that each of the other jobs counts as; see
    #: `combining.concurrent_jobs`.
    delay_weight = 1.0
    #: Job that is being run.
    job: Job

    def __init__(self, config: JobConfig, server: ParameterServer) -> None:
        self.config = config
        self.server = server
        self.wire = tf.as_dtype(config.wire_dtype)
        # Functions that return the constants on this worker.
        self.words: Callable[[], WordArrays] = server.worker_variables.constants(server.words)
        self._rates: Callable[[], Tables] = server.worker_variables.constants(server.rates)
        self._walk_files: Callable[[], WalkFiles] = WalkFiles.none
        if server.walk_files is not None:
            self._walk_files = server.worker_variables.constants(server.walk_files)

    def fetch(self) -> Iterable[Any]:
        """Fetch the rows that training needs; return the tensors and operations that do so."""
        raise NotImplementedError

    def train(self) -> list[UnitResult]:
        """Train the units; return the result of each unit."""
        raise NotImplementedError

    def push(self) -> Iterable[Any]:
        """Push the changes to the ps tasks; return the operations that do so."""
        raise NotImplementedError

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the numbers of bytes fetched and pushed: two scalars."""
        n_rows = tf.add_n([tf.size(ids) for ids in self.job.ids.values()])
        return self.row_traffic(n_rows, n_rows)

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Return the staleness of the job, by default `others`.

        `others` is the number of units that other workers pushed while the job ran.
        """
        return others

    def rates(self) -> dict[str, tf.Tensor]:
        """Return the mean number of predictions per token of each row of the job: [n], by table."""
        rates = self._rates()
        return {name: tf.gather(getattr(rates, name), ids) for name, ids in self.job.ids.items()}

    def directions(
        self, rows: Mapping[str, tf.Tensor], rates: Mapping[str, tf.Tensor]
    ) -> dict[str, combining.Directions]:
        """Estimate, per table, the directions in which the workers' summed changes overshoot.

        `rows` and `rates` are as in `combining.directions`.
        """
        jobs = combining.concurrent_jobs(self.job.replicas, self.delay_weight)
        return combining.directions(rows, rates, self.job.key, jobs, self.config.rows_per_mean)

    def row_traffic(self, n_fetched: tf.Tensor, n_pushed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the bytes of `n_fetched` rows, and of `n_pushed` changes with their ids."""
        change_bytes = self.row_bytes + ID_BYTES
        return (
            tf.cast(n_fetched, tf.float64) * self.row_bytes,
            tf.cast(n_pushed, tf.float64) * change_bytes,
        )

    @property
    def row_bytes(self) -> int:
        """Number of bytes that are sent per row."""
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
        """Choose the training pairs of a job's units, and plan their steps, without fetching rows.

        The pairs follow from random draws: subsampling, windows and negatives. The compiled kernels
        have no steps to plan. For the arguments, see `function`.
        """
        config = self.config
        words = self.words()
        ids: dict[str, tf.Tensor] = {}
        if self.by_direction:
            alphas = combining.larger_step_sizes(
                config.max_growth, alphas, replicas, self.growth_power
            )
        walk_files = self._walk_files()
        entries = [
            read_entries(source, entry_range, config, walk_files)
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

    def run(self, job: Job, indices: tf.Tensor, start_time: tf.Tensor) -> tf.Tensor:
        """Run the phases of a prepared job.

        Control dependencies order the phases. The first phase waits for `start_time`. Each other
        phase waits for the timestamp at the end of the previous phase, which waits for all results
        of that phase.

        Parameters
        ----------
        job : Job
        indices : Tensor [n], int32
            Indices of the units in the push counter; negative for empty units.
        start_time : Tensor [], float64
            Time at which the job has started, in seconds since 1970.

        Returns
        -------
        Tensor [packed_size(n)]
            A packed `JobResult`.
        """
        phases = copy.copy(self)
        counter = self.server.push_counter
        phases.job = job
        with tf.control_dependencies([start_time]):
            pushed_before = tf.identity(counter.pushes)
            fetch_results = list(phases.fetch())
        fetched_at = _after([pushed_before, *fetch_results])
        with tf.control_dependencies([fetched_at]):
            results = phases.train()
        trained_at = _after(tf.nest.flatten(results))
        with tf.control_dependencies([trained_at]):
            push_ops = list(phases.push())
        with tf.control_dependencies([trained_at, *push_ops]):
            # number of units that other workers have pushed since this job started to fetch
            n_other_units = tf.identity(counter.pushes) - pushed_before
            with tf.control_dependencies([n_other_units]):
                push_count = counter.add(indices) if self.counts else n_other_units
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            job.text_bytes,
            *phases.traffic(),
            phases.staleness(n_other_units),
            tf.stack([start_time, fetched_at, trained_at, _after([push_count])]),
        ).pack()

    @functools.cached_property
    def function(self) -> tf.types.experimental.PolymorphicFunction:
        """``tf.function`` that prepares and runs a job, and returns the packed `JobResult`.

        The first access to this property builds the function, and is not thread-safe. The arguments
        of the function are:

        sources : Tensor [n], string
        ranges : Tensor [n, 2], int32
            Source of the text of each of n units, and the unit's range in it: see `read_entries`. A
            unit may have no entries.
        indices : Tensor [n], int32
            Indices of the units in the push counter; negative for empty units.
        keys : Tensor [n, 2], int32
            Key of each unit's random draws.
        alphas : Tensor [n, 2], float32
            Learning rates at the start and at the end of each unit.
        replicas : Tensor [], float32
            Number of concurrent jobs.
        number : Tensor [], int64
            Unique number of the job.
        """

        def do_job(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
            start_time = tf.timestamp()
            # without a dependency, TensorFlow may read the clock after it has drawn the pairs
            with tf.control_dependencies([start_time]):
                sources, ranges, keys = map(tf.identity, (sources, ranges, keys))
            job = self.prepare(sources, ranges, keys, alphas, replicas, number)
            packed = self.run(job, indices, start_time)
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
    """Return the time at which all elements of `results` have been computed."""
    with tf.control_dependencies(list(results)):
        return tf.timestamp()
