"""Sub-models: the sample of each, and the functions that train all of its tables on one worker.

TensorFlow runs a job on any free worker, but all jobs of a sub-model must run on the worker that
stores its tables, in order. So a worker stores which sub-model it has, and the number of its jobs
that are trained. The worker refuses jobs of different sub-models, and jobs out of order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit, unit_key
from gensim_tfw2v.corpus.sampling import Sampling
from gensim_tfw2v.kernel.tables import Tables, UnitResult, UnitTask
from gensim_tfw2v.ops.library import allow_parallel
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_queue import runs_of
from gensim_tfw2v.parameter_server.scratch import Scratch


class SubModelTask(NamedTuple):
    """Sub-model to train, for all epochs.

    Attributes
    ----------
    number : int
        Number of the sub-model, from 0.
    sampling : Sampling
        Selects the sub-model's sample of the corpus.
    epoch_tasks : sequence of sequences of UnitTask
        For each epoch, the units of the whole corpus, in the order of training.
    """

    number: int
    sampling: Sampling
    epoch_tasks: Sequence[Sequence[UnitTask]]

    def jobs(
        self, config: JobConfig, seed: int, seen: np.ndarray
    ) -> Iterator[tuple[int, list[WorkUnit], tuple[Any, ...]]]:
        """Yield the jobs of the sub-model: epoch, units for reports, and arguments of `train`.

        At least one job is yielded, even if its sample has no units, because a worker acquires the
        sub-model with the first job.

        Parameters
        ----------
        config : JobConfig
            A job has ``config.threads`` units.
        seed : int
            Seed of the units' keys.
        seen : ndarray [V], int64
            Number of occurrences of each word in the sample; updated in place before each job.

        Returns
        -------
        iterator of (int, list of WorkUnit, tuple of Tensor)
            The tensors are the entries, keys and alphas of `SubModelFunctions.train`.
        """
        threads = config.threads
        number = self.number
        sampling = self.sampling
        has_units = False
        for epoch, tasks in enumerate(self.epoch_tasks):
            total = len(tasks)
            sampled_tasks = [
                task for task in tasks if sampling.has_unit(number, task.unit.index, total)
            ]
            for part in runs_of(sampled_tasks, threads):
                entries = []
                keys = []
                report_units = []
                for unit in (task.unit for task in part):
                    sample = sampling.select(unit.read(epoch), number, unit.index, epoch)
                    seen += np.bincount(sample[sample >= 0], minlength=len(seen))
                    entries.append(config.engine.pack(sample))
                    # Keys differ between sub-models, epochs and units, because entries do.
                    index = (epoch * sampling.n_samples + number) * total + unit.index
                    keys.append(unit_key(seed, epoch, index))
                    report_units.append(_share_of(unit, index, number, sampling))
                has_units = True
                alphas = [task.alphas for task in part]
                yield epoch, report_units, _tensors(threads, entries, keys, alphas)
        if not has_units:
            yield 0, [], _tensors(threads, [], [], [])


class SubModelDone(NamedTuple):
    """Report that all tables of the sub-model `number` have been written to files."""

    number: int


def file_of(folder: Path, number: int, name: str) -> Path:
    """Return the path of a ``.npy`` file of a sub-model.

    Parameters
    ----------
    folder : Path
    number : int
        Number of the sub-model.
    name : str
        Name of a table in `Tables`, float32 [V, D]; or ``"seen"``, the number of occurrences of
        each word in the sample, int64 [V].
    """
    return folder / f"sub-model-{number:03}-{name}.npy"


def _tensors(
    threads: int, entries: list[bytes], keys: list[Any], alphas: list[Any]
) -> tuple[Any, ...]:
    """Convert units to arguments of `SubModelFunctions.train`, padded with empty units."""
    n_empty = threads - len(entries)
    return (
        tf.constant(entries + [b""] * n_empty),
        tf.constant(keys + [[0, 0]] * n_empty, tf.int32),
        tf.constant(alphas + [(0.0, 0.0)] * n_empty, tf.float32),
    )


def _share_of(unit: WorkUnit, index: int, number: int, sampling: Sampling) -> WorkUnit:
    """Return a copy of `unit` for the reports of a sub-model.

    If several sub-models sample sentences of the unit, each reports an equal share of its counts,
    so that the shares of all sub-models add up to the counts of `unit`.
    """
    parts = {}
    if sampling.kind != "equal":
        for name in ("raw_words", "sentences", "tokens"):
            total = getattr(unit, name)
            first = total * number // sampling.n_samples
            parts[name] = total * (number + 1) // sampling.n_samples - first
    return replace(unit, index=index, **parts)


#: Number of rows that are sent at a time.
ROWS_AT_A_TIME = 1 << 14

#: The ``tf.function`` of a worker.
Function = Callable[..., Any]


def results_of(packed: np.ndarray) -> UnitResult:
    """Return the results [n] of a job's units, from the result of `SubModelFunctions.train`.

    They are 0 for a job that was refused or trained before.
    """
    return UnitResult(*np.split(packed[1:], len(UnitResult._fields)))


class SubModelFunctions(NamedTuple):
    """Functions that a worker runs for a sub-model.

    Attributes
    ----------
    train : function (entries, keys, alphas, attempt, job, attempts) -> Tensor [1 + 4 n]
        Trains a job. The first element of the result is 1 if the worker has trained the job, now
        or in an earlier call, and 0 if it refuses the job. The following elements are the results
        of the job's units, for `results_of`. All are float64.

        entries : Tensor [n], string
            Entries of each of n units, one per thread, from `Engine.pack`.
        keys, alphas : Tensor [n, 2], int32 and float32
            Key and learning rates of each unit.
        attempt, job : Tensor [], int64
            Number of the attempt to train the sub-model, from 1, and of the job in the attempt,
            from 0.
        attempts : Tensor [m], int64
            Numbers of all concurrent attempts. A worker that stores the sub-model of one of them
            must not replace it.
    read : Tables of function (attempt, first) -> Tensor [rows, D]
        Returns at most `ROWS_AT_A_TIME` rows of a table, from index `first`. The result has no rows
        if the worker does not store the sub-model of this attempt.
    """

    train: Function
    read: Tables


def sub_model_functions(config: JobConfig, server: ParameterServer) -> SubModelFunctions:
    """Build the functions of workers. Training starts from the rows on the ps tasks.

    Parameters
    ----------
    config : JobConfig
    server : ParameterServer
    """
    threads = config.threads
    tables = Tables(
        *(
            config.engine.scratch(server.worker_variables, name, config.vector_size)
            for name in Tables._fields
        )
    )
    worker_job = WorkerJob(config, server)
    # The lease of a worker is the attempt whose sub-model it stores, and the number of trained
    # jobs.
    lease = server.worker_variables.own("lease", [2], tf.int64, device="CPU")

    def read_lease() -> tf.Tensor:
        """Return the lease of this worker: [2], int64; zeros if it stores no sub-model."""
        return tf.cond(
            tf.raw_ops.VarIsInitializedOp(resource=lease()),
            lambda: tf.raw_ops.ReadVariableOp(resource=lease(), dtype=tf.int64),
            lambda: tf.zeros([2], tf.int64),
        )

    def write_lease(attempt: tf.Tensor, n_jobs: tf.Tensor) -> tf.Operation:
        return tf.raw_ops.AssignVariableOp(resource=lease(), value=tf.stack([attempt, n_jobs]))

    def begin(attempt: tf.Tensor) -> tf.Tensor:
        """Acquire this worker for an attempt, and copy the initial rows from the ps tasks."""
        copies = [_copy(layout, table) for layout, table in zip(server.tables, tables, strict=True)]
        with tf.control_dependencies(copies):
            write = write_lease(attempt, tf.zeros([], tf.int64))
        with tf.control_dependencies([write]):
            return tf.constant(True)

    @tf.function(
        autograph=False,
        input_signature=[
            tf.TensorSpec([threads], tf.string),
            tf.TensorSpec([threads, 2], tf.int32),
            tf.TensorSpec([threads, 2], tf.float32),
            tf.TensorSpec([], tf.int64),
            tf.TensorSpec([], tf.int64),
            tf.TensorSpec([None], tf.int64),
        ],
    )
    def train(entries, keys, alphas, attempt, job, attempts):  # type: ignore[no-untyped-def]
        words = worker_job.words()
        lease_value = read_lease()
        is_mine = tf.equal(lease_value[0], attempt)
        is_free = ~is_mine & tf.equal(job, 0) & ~tf.reduce_any(tf.equal(attempts, lease_value[0]))
        is_next = tf.cond(
            is_free, lambda: begin(attempt), lambda: is_mine & tf.equal(lease_value[1], job)
        )
        # True if the job was trained in an earlier call, whose result did not arrive.
        was_trained = is_mine & tf.equal(lease_value[1], job + 1)

        def train_units() -> tf.Tensor:
            engine = config.engine
            units = zip(*map(tf.unstack, (entries, keys, alphas)), strict=True)
            prepared = [
                engine.prepare(words, engine.unpack(text), key, alpha, config.max_entries)
                for text, key, alpha in units
            ]
            # new handles for each unit, as in `RowJob.train`
            results = [
                engine.train(unit, Tables(*(table.make_handle() for table in tables)), words)
                for unit in prepared
            ]
            allow_parallel()
            fields = [tf.cast(tf.stack(parts), tf.float64) for parts in zip(*results, strict=True)]
            return tf.concat(fields, 0)

        # Do not read rows for a refused job, because a worker without a sub-model has none.
        results = tf.cond(
            is_next, train_units, lambda: tf.zeros([len(UnitResult._fields) * threads], tf.float64)
        )
        with tf.control_dependencies([results]):
            write = write_lease(
                tf.where(is_next, attempt, lease_value[0]),
                tf.where(is_next, job + 1, lease_value[1]),
            )
        with tf.control_dependencies([write]):
            return tf.concat([tf.cast([is_next | was_trained], tf.float64), results], 0)

    def make_reader(table: Scratch) -> Function:
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([], tf.int64)] * 2)
        def read_rows(attempt, first):  # type: ignore[no-untyped-def]
            return tf.cond(
                tf.equal(read_lease()[0], attempt),
                lambda: table.read_part(first, ROWS_AT_A_TIME),
                lambda: tf.zeros([0, config.vector_size]),
            )

        return read_rows

    return SubModelFunctions(train, Tables(*map(make_reader, tables)))


def _copy(layout, table: Scratch) -> tf.Operation:  # type: ignore[no-untyped-def]
    """Copy the rows of a layout on the ps tasks to the worker's variable `table`, in chunks."""
    zeros = table.allocate(layout.n_rows)

    def copy(first: tf.Tensor) -> tf.Tensor:
        ids = tf.range(first, tf.minimum(layout.n_rows, first + ROWS_AT_A_TIME))
        rows = layout.fetch(layout.split(ids), tf.float32)
        with tf.control_dependencies([table.write_part(first, rows)]):
            return first + ROWS_AT_A_TIME

    with tf.control_dependencies([zeros]):
        begin = tf.constant(0)
    (end,) = tf.while_loop(
        lambda first: first < layout.n_rows, copy, [begin], parallel_iterations=1
    )
    return end
