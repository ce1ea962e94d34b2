"""Sub-models: the sample of each, and functions that train its whole tables on one worker.

TensorFlow runs a job on any free worker. A worker remembers which sub-model it holds, and the
number of jobs that it has trained. It refuses jobs of different sub-models, and jobs out of order.
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
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_queue import runs_of
from gensim_tfw2v.parameter_server.layout import ROWS_AT_A_TIME
from gensim_tfw2v.parameter_server.scratch import Scratch


class SubModelTask(NamedTuple):
    """A sub-model to train, through all epochs."""

    number: int  # from 0
    sampling: Sampling
    epochs: Sequence[Sequence[UnitTask]]  # units of the whole corpus, in the order of each epoch

    def jobs(
        self, config: JobConfig, seed: int, seen: np.ndarray
    ) -> Iterator[tuple[int, list[WorkUnit], tuple[Any, ...]]]:
        """Yield each job: its epoch, its units for reports, and arguments of the worker's function.

        At least one job is yielded, possibly without units: a worker acquires the sub-model with
        the first job.

        Parameters
        ----------
        config : JobConfig
            A job has ``config.threads`` units.
        seed : int
        seen : ndarray [V], int64
            Number of occurrences of each word in the sample; updated in place before each job.

        Returns
        -------
        iterator of (int, list of WorkUnit, tuple of Tensor)
            The tensors are entries, keys and alphas, as in `SubModelFunctions`.
        """
        threads = config.threads
        number = self.number
        sampling = self.sampling
        has_units = False
        for epoch, tasks in enumerate(self.epochs):
            total = len(tasks)
            sampled_tasks = [
                task for task in tasks if sampling.has_unit(number, task.unit.index, total)
            ]
            for part in runs_of(sampled_tasks, threads):
                entries = []
                keys = []
                named = []
                for unit in (task.unit for task in part):
                    sample = sampling.select(unit.read(), number, unit.index, epoch)
                    seen += np.bincount(sample[sample >= 0], minlength=len(seen))
                    entries.append(config.engine.pack(sample))
                    # unique per sub-model, epoch and unit, since each has different entries
                    index = (epoch * sampling.n_samples + number) * total + unit.index
                    keys.append(unit_key(seed, epoch, index))
                    named.append(_share_of(unit, index, number, sampling))
                has_units = True
                alphas = [task.alphas for task in part]
                yield epoch, named, _tensors(threads, entries, keys, alphas)
        if not has_units:
            yield 0, [], _tensors(threads, [], [], [])


class SubModelDone(NamedTuple):
    """Report that a sub-model has been written to its files."""

    number: int


def file_of(folder: Path, number: int, name: str) -> Path:
    """Return the path of a sub-model's table, by its name in `Tables`, or of ``"seen"``.

    Returns
    -------
    Path
        A ``.npy`` file: a table, float32 [V, D]; or the number of occurrences of each word in the
        sample, int64 [V].
    """
    return folder / f"sub-model-{number:03}-{name}.npy"


def _tensors(
    threads: int, entries: list[bytes], keys: list[Any], alphas: list[Any]
) -> tuple[Any, ...]:
    """Convert units to arguments of the worker's function, padded with empty units."""
    empty = threads - len(entries)
    return (
        tf.constant(entries + [b""] * empty),
        tf.constant(keys + [[0, 0]] * empty, tf.int32),
        tf.constant(alphas + [(0.0, 0.0)] * empty, tf.float32),
    )


def _share_of(unit: WorkUnit, index: int, number: int, sampling: Sampling) -> WorkUnit:
    """Return a unit for reports. Over all sub-models, its counts add up to those of `unit`."""
    parts = {}
    if sampling.kind != "equal":
        for name in ("raw_words", "sentences", "tokens"):
            total = getattr(unit, name)
            first = total * number // sampling.n_samples
            parts[name] = total * (number + 1) // sampling.n_samples - first
    return replace(unit, index=index, **parts)


Function = Callable[..., Any]


def results_of(packed: np.ndarray) -> UnitResult:
    """Return the results [n] of a job's units; 0 for a job that was refused or trained before."""
    return UnitResult(*np.split(packed[1:], len(UnitResult._fields)))


class SubModelFunctions(NamedTuple):
    """Functions that a worker runs for a sub-model.

    Attributes
    ----------
    train : function (entries, keys, alphas, attempt, job, others) -> Tensor [1 + 4 n]
        Returns, in float64, 1 if the worker has trained the job, now or before, or 0 if it refuses
        the job; then the results of the job's units, for `results_of`.

        entries : Tensor [n], string
            Entries of each of n units, one per thread, from `Engine.pack`.
        keys, alphas : Tensor [n, 2], int32 and float32
        attempt, job : Tensor [], int64
            Number of the attempt to train the sub-model, from 1, and of the job in it, from 0.
        others : Tensor [m], int64
            Concurrent attempts, whose sub-models must not be replaced.
    read : Tables of function (attempt, first) -> Tensor [rows, D]
        Returns at most `ROWS_AT_A_TIME` rows of a table; none if the worker does not hold the
        sub-model of this attempt.
    """

    train: Function
    read: Tables


def sub_model_functions(config: JobConfig, server: ParameterServer) -> SubModelFunctions:
    """Build the functions of workers. Sub-models start from the rows on the ps tasks.

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
    job_of_any = WorkerJob(config, server)
    # sub-model that a worker holds: its attempt, and the number of jobs trained
    lease = server.worker_variables.own("lease", [2], tf.int64, device="CPU")

    def read_lease() -> tf.Tensor:
        """Attempt, and number of jobs trained: [2], int64; 0 for none."""
        return tf.cond(
            tf.raw_ops.VarIsInitializedOp(resource=lease()),
            lambda: tf.raw_ops.ReadVariableOp(resource=lease(), dtype=tf.int64),
            lambda: tf.zeros([2], tf.int64),
        )

    def hold(attempt: tf.Tensor, jobs: tf.Tensor) -> tf.Operation:
        return tf.raw_ops.AssignVariableOp(resource=lease(), value=tf.stack([attempt, jobs]))

    def begin(attempt: tf.Tensor) -> tf.Tensor:
        """Acquire the worker for an attempt: copy the initial rows from the ps tasks."""
        copied = [_copy(layout, table) for layout, table in zip(server.tables, tables, strict=True)]
        with tf.control_dependencies(copied):
            done = hold(attempt, tf.zeros([], tf.int64))
        with tf.control_dependencies([done]):
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
    def train(entries, keys, alphas, attempt, job, others):  # type: ignore[no-untyped-def]
        words = job_of_any.words()
        lease_now = read_lease()
        is_mine = tf.equal(lease_now[0], attempt)
        is_free = ~is_mine & tf.equal(job, 0) & ~tf.reduce_any(tf.equal(others, lease_now[0]))
        is_next = tf.cond(
            is_free, lambda: begin(attempt), lambda: is_mine & tf.equal(lease_now[1], job)
        )
        # the job was trained before, but its answer did not arrive
        was_trained = is_mine & tf.equal(lease_now[1], job + 1)

        def train_units() -> tf.Tensor:
            engine = config.engine
            handles = Tables(*(table.handle() for table in tables))
            units = zip(*map(tf.unstack, (entries, keys, alphas)), strict=True)
            prepared = [
                engine.prepare(words, engine.unpack(text), key, alpha, config.max_entries)
                for text, key, alpha in units
            ]
            results = [engine.train(unit, handles, words) for unit in prepared]
            fields = [tf.cast(tf.stack(parts), tf.float64) for parts in zip(*results, strict=True)]
            return tf.concat(fields, 0)

        # do not read any rows for a refused job: a worker without a sub-model has none
        results = tf.cond(
            is_next, train_units, lambda: tf.zeros([len(UnitResult._fields) * threads], tf.float64)
        )
        with tf.control_dependencies([results]):
            noted = hold(
                tf.where(is_next, attempt, lease_now[0]), tf.where(is_next, job + 1, lease_now[1])
            )
        with tf.control_dependencies([noted]):
            return tf.concat([tf.cast([is_next | was_trained], tf.float64), results], 0)

    def reader(table: Scratch) -> Function:
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([], tf.int64)] * 2)
        def read(attempt, first):  # type: ignore[no-untyped-def]
            return tf.cond(
                tf.equal(read_lease()[0], attempt),
                lambda: table.read_part(first, ROWS_AT_A_TIME),
                lambda: tf.zeros([0, config.vector_size]),
            )

        return read

    return SubModelFunctions(train, Tables(*map(reader, tables)))


def _copy(layout, table: Scratch) -> tf.Operation:  # type: ignore[no-untyped-def]
    """Copy the rows of a layout into a worker's variable, `ROWS_AT_A_TIME` at a time."""
    zeros = table.allocate(layout.rows)

    def copy(first: tf.Tensor) -> tf.Tensor:
        ids = tf.range(first, tf.minimum(layout.rows, first + ROWS_AT_A_TIME))
        rows = layout.fetch(layout.split(ids), tf.float32)
        with tf.control_dependencies([table.write_part(first, rows)]):
            return first + ROWS_AT_A_TIME

    with tf.control_dependencies([zeros]):
        begin = tf.constant(0)
    (end,) = tf.while_loop(lambda first: first < layout.rows, copy, [begin], parallel_iterations=1)
    return end
