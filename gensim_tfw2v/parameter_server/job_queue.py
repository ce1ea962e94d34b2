"""A queue of jobs on the ps tasks, from which each worker draws until it is empty.

A worker's call lasts an epoch. The coordinator fills the queue and polls it for finished jobs; it
takes no part in a job. The job of a failed worker stays unfinished, and is put into the queue again
under a new sequence number. A worker that was only unreachable may still report a result under the
old number.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import UnitTask
from gensim_tfw2v.ops.library import allow_parallel
from gensim_tfw2v.parameter_server.job import Job, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_result import packed_size
from gensim_tfw2v.parameter_server.text import NOTHING, source_of

Item = TypeVar("Item")

#: Bytes of text of the next jobs that `JobQueue.stage` keeps on the ps, if workers cannot read the
#: files. Workers train on less between two calls, so they need not wait for text.
AHEAD_BYTES = 64 << 20

#: Distance between the first sequence numbers of two refills. It is large because workers also draw
#: numbers past the last job.
SPACING = 1 << 32

#: Limit of sequence numbers that ``ResourceCountUpTo`` requires; it is never reached.
FOREVER = (1 << 62) - 1


def runs_of(items: Sequence[Item], length: int) -> list[Sequence[Item]]:
    """Split items into runs of this length; the last may be shorter."""
    return [items[first : first + length] for first in range(0, len(items), length)]


def jobs_of(tasks: Sequence[UnitTask], threads: int) -> list[Sequence[UnitTask]]:
    """Group tasks of similar lengths into jobs, so that the threads of a job end together.

    Tasks in a job are in order, and jobs in the order of their first tasks.
    """
    if threads == 1:
        return runs_of(tasks, 1)
    by_length = sorted(
        range(len(tasks)), key=lambda index: tasks[index].unit.start - tasks[index].unit.stop
    )
    return [
        [tasks[index] for index in job] for job in sorted(map(sorted, runs_of(by_length, threads)))
    ]


class JobQueue:
    """Jobs of an epoch, and their results, in variables on the ps tasks.

    Parameters
    ----------
    n_jobs : int
        Maximum number of jobs J.
    config : JobConfig
        A job has ``config.threads`` units, n.
    """

    def __init__(self, n_jobs: int, config: JobConfig) -> None:
        self._config = config
        threads = config.threads
        # refill() adds SPACING before use, so no job gets number 0, the initial value in
        # `_results` (no result yet)
        self._first = 0

        def variable(shape: list[int], dtype: tf.DType) -> tf.Variable:
            return tf.Variable(lambda: tf.zeros(shape, dtype), trainable=False)

        self._next_number = variable([], tf.int64)
        # first sequence number, and the one after the last
        self._range = variable([2], tf.int64)
        # one row per job, in the order of sequence numbers, and an empty row at the end. For each
        # unit: index of its file, first entry, end of its entries, index in the epoch, and key (2)
        self._units = variable([n_jobs + 1, threads, 6], tf.int32)
        self._alphas = variable([n_jobs + 1, threads, 2], tf.float32)
        # for each finished job: its packed `JobResult`, then its sequence number
        self._results = variable([n_jobs + 1, packed_size(threads) + 1], tf.float64)
        self._stage = f"tfw2v-text-{uuid.uuid4().hex}"

    def refill(self, jobs: Sequence[Sequence[UnitTask]]) -> tf.Tensor:
        """Replace the jobs in the queue; return an argument of the workers' function.

        Returns
        -------
        Tensor [F], string
            Paths of the units' files; empty if workers cannot read them.
        """
        self._jobs = jobs
        self._seen = set[int]()
        self._staged = 0
        self._first += SPACING
        files: dict[bytes, int] = {}
        units = np.zeros(self._units.shape, np.int32)
        alphas = np.zeros(self._alphas.shape, np.float32)
        units[:, :, 3] = -1
        for job, tasks in enumerate(jobs):
            alphas[job] = tasks[0].alphas
            for unit, task in enumerate(tasks):
                file = 0
                entry_range = (0, 0)
                if self._config.shared_corpus:
                    path, entry_range = source_of(task.unit, self._config)
                    file = files.setdefault(path, len(files))
                units[job, unit] = file, *entry_range, task.unit.index, *task.key
                alphas[job, unit] = task.alphas
        self._units.assign(units)
        self._alphas.assign(alphas)
        self._next_number.assign(self._first)
        self._range.assign([self._first, self._first + len(jobs)])
        if not self._config.shared_corpus:
            with tf.device(self._next_number.device):
                tf.raw_ops.MapClear(dtypes=[tf.string], shared_name=self._stage)
            self.stage()
        return tf.constant(list(files), tf.string)

    def close(self) -> None:
        """Close the queue, so that workers draw no more jobs."""
        self._range.assign([self._first, self._first])

    def stage(self) -> None:
        """Stage the texts of the next jobs at the ps, if workers cannot read the files."""
        if self._config.shared_corpus:
            return
        next_number = int(self._next_number)
        ahead = 0
        for index, tasks in enumerate(self._jobs):
            number = self._first + index
            if number >= next_number:
                ahead += sum(4 * (task.unit.stop - task.unit.start) for task in tasks)
            if ahead > AHEAD_BYTES and number > next_number:
                return
            if index < self._staged:
                continue
            texts = [source_of(task.unit, self._config)[0] for task in tasks]
            texts += [NOTHING[0]] * (self._config.threads - len(texts))
            with tf.device(self._next_number.device):
                tf.raw_ops.MapStage(
                    key=tf.constant(number, tf.int64),
                    indices=[0],
                    values=[tf.constant(texts)],
                    dtypes=[tf.string],
                    shared_name=self._stage,
                )
            self._staged = index + 1

    def collect(self) -> list[tuple[Sequence[UnitTask], np.ndarray]]:
        """Return newly finished jobs, each with its packed `JobResult`."""
        with tf.device(self._results.device):
            reported = self._results[: len(self._jobs), -1]
        finished = np.flatnonzero(reported.numpy() == self._first + np.arange(len(self._jobs)))
        new = [index for index in finished.tolist() if index not in self._seen]
        if not new:
            return []
        self._seen.update(new)
        results = self._results.sparse_read(new).numpy()
        return [(self._jobs[index], row[:-1]) for index, row in zip(new, results, strict=True)]

    def left(self) -> list[Sequence[UnitTask]]:
        """Return the jobs that have not been collected."""
        return [tasks for index, tasks in enumerate(self._jobs) if index not in self._seen]

    def worker_function(self, config: WorkerJob) -> tf.types.experimental.PolymorphicFunction:
        """Build the ``tf.function`` that draws and runs jobs until the queue is empty.

        While it runs one job, the next is drawn and prepared.

        Returns
        -------
        function (Tensor [F], string, Tensor []) -> Tensor []
            Its arguments are the result of `refill`, and the number of concurrent jobs.
        """

        def look_up(number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            """Return whether a job is still in the queue, and the index of its row.

            For an unknown sequence number, it is the index of the empty row.
            """
            first, end = tf.unstack(tf.identity(self._range))
            none = self._results.shape[0] - 1
            is_known = (first <= number) & (number < first + none)
            return (first <= number) & (number < end), tf.where(is_known, number - first, none)

        def take(files: tf.Tensor, replicas: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, Job]:
            """Draw a sequence number; return it, the indices of its units, and the prepared job."""
            with tf.device(self._next_number.device):
                number = tf.raw_ops.ResourceCountUpTo(
                    resource=self._next_number.handle, limit=FOREVER, T=tf.int64
                )
            with tf.control_dependencies([number]):
                is_one, row = look_up(number)
            units = self._units.sparse_read(row)
            alphas = self._alphas.sparse_read(row)
            ranges = units[:, 1:3] * tf.cast(is_one, tf.int32)  # without a job, empty units
            sources = self._sources(number, is_one, units, files)
            job = config.prepare(sources, ranges, units[:, 4:], alphas, replicas, number)
            return number, units[:, 3], job

        def work(files, replicas):  # type: ignore[no-untyped-def]
            number, indices, first = take(files, replicas)

            def do(_, number, indices, *tensors):  # type: ignore[no-untyped-def]
                then, then_indices, then_job = take(files, replicas)
                packed = config.run(_restored(first, tensors), indices, tf.timestamp())
                report = tf.concat([packed, [tf.cast(number, tf.float64)]], 0)
                with tf.control_dependencies([report]):
                    are_some, rows = look_up(tf.stack([number, then]))
                write = self._results.scatter_update(tf.IndexedSlices(report, rows[0]))
                with tf.control_dependencies([write]):
                    goes_on = tf.identity(are_some[1])
                allow_parallel()
                return goes_on, then, then_indices, *_tensors(then_job)

            allow_parallel()
            is_left, *_ = tf.while_loop(
                lambda goes_on, *_: goes_on,
                do,
                (look_up(number)[0], number, indices, *_tensors(first)),
                parallel_iterations=1,
            )
            return is_left

        signature = [tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.float32)]
        return tf.function(work, autograph=False, input_signature=signature)

    def _sources(
        self, number: tf.Tensor, is_one: tf.Tensor, units: tf.Tensor, files: tf.Tensor
    ) -> tf.Tensor:
        if self._config.shared_corpus:
            return tf.gather(files, units[:, 0])

        def unstage() -> tf.Tensor:
            with tf.device(self._next_number.device):
                (texts,) = tf.raw_ops.MapUnstage(
                    key=number, indices=[0], dtypes=[tf.string], shared_name=self._stage
                )
            return texts

        texts = tf.cond(is_one, unstage, lambda: tf.fill([self._config.threads], NOTHING[0]))
        return tf.ensure_shape(texts, [self._config.threads])


def _tensors(job: Job) -> list[tf.Tensor]:
    """Tensors of a job, as a loop's variables."""
    return [leaf for leaf in tf.nest.flatten(job) if tf.is_tensor(leaf)]


def _restored(like: Job, tensors: Sequence[tf.Tensor]) -> Job:
    """Copy of a job with these tensors."""
    iterator = iter(tensors)
    leaves = [next(iterator) if tf.is_tensor(leaf) else leaf for leaf in tf.nest.flatten(like)]
    return tf.nest.pack_sequence_as(like, leaves)
