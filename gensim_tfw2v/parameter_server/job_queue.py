"""A queue of jobs on the ps tasks, from which each worker draws until the queue is empty.

The coordinator fills the queue, calls a function on each worker that lasts for an epoch, and polls
the queue for finished jobs. Single jobs need no call of the coordinator. The job of a failed worker
stays unfinished, and is put into the queue again under a new sequence number. A worker that was
only unreachable may still report a result under the old number, which is ignored.
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

#: Bytes of text of the next jobs that `JobQueue.stage` keeps on the ps task, if workers cannot read
#: the files. Workers need less text between two calls of `stage`, so they do not wait for text.
AHEAD_BYTES = 64 << 20

#: Distance between the first sequence numbers of two refills. The distance is large, because
#: workers also draw numbers after that of the last job.
SPACING = 1 << 32

#: Limit of sequence numbers, which ``ResourceCountUpTo`` requires. No training run reaches it.
MAX_NUMBER = (1 << 62) - 1


def runs_of(items: Sequence[Item], length: int) -> list[Sequence[Item]]:
    """Split items into consecutive groups of this length; the last group may be shorter."""
    return [items[first : first + length] for first in range(0, len(items), length)]


def jobs_of(tasks: Sequence[UnitTask], threads: int) -> list[Sequence[UnitTask]]:
    """Group tasks into jobs with a task per thread.

    The tasks of a job have similar lengths, so that no thread waits long for the others. They are
    in their original order, and jobs in the order of their first tasks.
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
        Maximum number of jobs in the queue.
    config : JobConfig
        Options of the jobs. A job has ``config.threads`` units.
    """

    def __init__(self, n_jobs: int, config: JobConfig) -> None:
        self._config = config
        threads = config.threads
        # Sequence number of the first job. refill() adds SPACING before use, so no job gets number
        # 0, which stands for "no result yet" in `_results`.
        self._first = 0

        def variable(shape: list[int], dtype: tf.DType) -> tf.Variable:
            return tf.Variable(lambda: tf.zeros(shape, dtype), trainable=False)

        self._next_number = variable([], tf.int64)
        # sequence number of the first job, and the one after that of the last job
        self._range = variable([2], tf.int64)
        # One row per job, in the order of sequence numbers, and an empty row at the end. Elements
        # of a unit: index of its file, first entry, end of its entries, index in the epoch, key
        # (2).
        self._units = variable([n_jobs + 1, threads, 6], tf.int32)
        self._alphas = variable([n_jobs + 1, threads, 2], tf.float32)
        # One row per job: when it is finished, its packed `JobResult`, then its sequence number.
        self._results = variable([n_jobs + 1, packed_size(threads) + 1], tf.float64)
        # name of TensorFlow's map of texts by sequence number, on the ps task
        self._stage = f"tfw2v-text-{uuid.uuid4().hex}"

    def refill(self, jobs: Sequence[Sequence[UnitTask]]) -> tf.Tensor:
        """Replace the jobs in the queue.

        Returns
        -------
        Tensor [F], string
            Paths of the units' files, an argument of `worker_function`; empty if workers cannot
            read the files.
        """
        self._jobs = jobs
        self._collected = set[int]()  # indices of the jobs that `collect` has returned
        self._n_staged = 0  # number of jobs whose texts have been sent
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
                    path, entry_range = source_of(task, self._config)
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
        """Send the texts of the next jobs to the ps task, unless workers can read the files.

        Workers fetch the texts from there. At most about `AHEAD_BYTES` are on the ps task.
        """
        if self._config.shared_corpus:
            return
        next_number = int(self._next_number)
        ahead_bytes = 0  # bytes of text of the jobs that no worker has drawn yet
        for index, tasks in enumerate(self._jobs):
            number = self._first + index
            if number >= next_number:
                ahead_bytes += sum(4 * task.unit.tokens for task in tasks)
            if ahead_bytes > AHEAD_BYTES and number > next_number:
                return
            if index < self._n_staged:
                continue
            texts = [source_of(task, self._config)[0] for task in tasks]
            texts += [NOTHING[0]] * (self._config.threads - len(texts))
            with tf.device(self._next_number.device):
                tf.raw_ops.MapStage(
                    key=tf.constant(number, tf.int64),
                    indices=[0],
                    values=[tf.constant(texts)],
                    dtypes=[tf.string],
                    shared_name=self._stage,
                )
            self._n_staged = index + 1

    def collect(self) -> list[tuple[Sequence[UnitTask], np.ndarray]]:
        """Return the jobs finished since the last call, each with its packed `JobResult`."""
        with tf.device(self._results.device):
            numbers = self._results[: len(self._jobs), -1]
        finished = np.flatnonzero(numbers.numpy() == self._first + np.arange(len(self._jobs)))
        indices = [index for index in finished.tolist() if index not in self._collected]
        if not indices:
            return []
        self._collected.update(indices)
        results = self._results.sparse_read(indices).numpy()
        return [(self._jobs[index], row[:-1]) for index, row in zip(indices, results, strict=True)]

    def remaining_jobs(self) -> list[Sequence[UnitTask]]:
        """Return the jobs that have not been collected."""
        return [tasks for index, tasks in enumerate(self._jobs) if index not in self._collected]

    def worker_function(self, worker_job: WorkerJob) -> tf.types.experimental.PolymorphicFunction:
        """Build the ``tf.function`` of a worker, which runs jobs until the queue is empty.

        While the worker runs a job, it draws and prepares the next one.

        Returns
        -------
        function (Tensor [F], string, Tensor []) -> Tensor []
            The arguments are the result of `refill`, and the number of concurrent jobs.
        """

        def look_up(number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            """Return whether a sequence number is that of a job in the queue, and the job's row.

            The row is an index into the variables. For unknown numbers, it is that of the empty
            row.
            """
            first, end = tf.unstack(tf.identity(self._range))
            empty_row = self._results.shape[0] - 1
            is_known = (first <= number) & (number < first + empty_row)
            return (first <= number) & (number < end), tf.where(is_known, number - first, empty_row)

        def take(files: tf.Tensor, replicas: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, Job]:
            """Draw a job; return its sequence number, its units' indices, and the prepared job."""
            with tf.device(self._next_number.device):
                number = tf.raw_ops.ResourceCountUpTo(
                    resource=self._next_number.handle, limit=MAX_NUMBER, T=tf.int64
                )
            with tf.control_dependencies([number]):
                is_job, row = look_up(number)
            units = self._units.sparse_read(row)
            alphas = self._alphas.sparse_read(row)
            ranges = units[:, 1:3] * tf.cast(is_job, tf.int32)  # empty if the queue is empty
            sources = self._sources(number, is_job, units, files)
            job = worker_job.prepare(sources, ranges, units[:, 4:], alphas, replicas, number)
            return number, units[:, 3], job

        def work(files, replicas):  # type: ignore[no-untyped-def]
            number, indices, first_job = take(files, replicas)

            def run_job(_, number, indices, *tensors):  # type: ignore[no-untyped-def]
                next_number, next_indices, next_job = take(files, replicas)
                packed = worker_job.run(_restore_job(first_job, tensors), indices, tf.timestamp())
                report = tf.concat([packed, [tf.cast(number, tf.float64)]], 0)
                with tf.control_dependencies([report]):
                    are_jobs, rows = look_up(tf.stack([number, next_number]))
                write = self._results.scatter_update(tf.IndexedSlices(report, rows[0]))
                with tf.control_dependencies([write]):
                    has_next = tf.identity(are_jobs[1])
                allow_parallel()
                return has_next, next_number, next_indices, *_tensors(next_job)

            allow_parallel()
            has_next, *_ = tf.while_loop(
                lambda has_next, *_: has_next,
                run_job,
                (look_up(number)[0], number, indices, *_tensors(first_job)),
                parallel_iterations=1,
            )
            return has_next

        signature = [tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.float32)]
        return tf.function(work, autograph=False, input_signature=signature)

    def _sources(
        self, number: tf.Tensor, is_job: tf.Tensor, units: tf.Tensor, files: tf.Tensor
    ) -> tf.Tensor:
        """Return the source of each unit of a job, for `read_entries`: [n], string."""
        if self._config.shared_corpus:
            return tf.gather(files, units[:, 0])

        def unstage() -> tf.Tensor:
            with tf.device(self._next_number.device):
                (texts,) = tf.raw_ops.MapUnstage(
                    key=number, indices=[0], dtypes=[tf.string], shared_name=self._stage
                )
            return texts

        texts = tf.cond(is_job, unstage, lambda: tf.fill([self._config.threads], NOTHING[0]))
        return tf.ensure_shape(texts, [self._config.threads])


def _tensors(job: Job) -> list[tf.Tensor]:
    """Return the tensors of a job, which a loop passes from one iteration to the next."""
    return [leaf for leaf in tf.nest.flatten(job) if tf.is_tensor(leaf)]


def _restore_job(like: Job, tensors: Sequence[tf.Tensor]) -> Job:
    """Return a job with the structure of `like` and these tensors, the inverse of `_tensors`."""
    iterator = iter(tensors)
    leaves = [next(iterator) if tf.is_tensor(leaf) else leaf for leaf in tf.nest.flatten(like)]
    return tf.nest.pack_sequence_as(like, leaves)
