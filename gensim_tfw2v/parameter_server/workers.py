"""Who runs jobs: the worker tasks of a cluster, or threads of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.parameter_server.job import is_seen_by
from gensim_tfw2v.parameter_server.liveness import Liveness, convert_task_errors

#: The ``tf.function`` of a job.
Function = Callable[..., Any]


class ClusterWorkers:
    """The worker tasks of a cluster. They run jobs, each again if its worker ends.

    Parameters
    ----------
    coordinator : ClusterCoordinator
        Of a ``ParameterServerStrategy``.
    tasks : sequence of Task
        Its ps and workers.
    liveness : Liveness
        That is told when a job has ended.

    Attributes
    ----------
    number : int
        N.
    shards : int
        P: over how many ps tasks rows are spread.
    are_threads : bool
        Whether they are threads of this process.
    liveness : Liveness
        Of the tasks whose end would lose something; threads have none.
    """

    are_threads = False

    def __init__(self, coordinator: Any, tasks: Sequence[Task], liveness: Liveness) -> None:
        self.number = sum(task.role == "worker" for task in tasks)
        self.shards = sum(task.role == "ps" for task in tasks)
        self._coordinator = coordinator
        self.liveness = liveness

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Variables made inside are the ps tasks'."""
        return self._coordinator.strategy.scope()

    def schedule(self, function: Function, *arguments: tf.Tensor, slot: int | None = None) -> Job:
        """Hand a job to the next worker that is free; `slot` is for threads.

        ``result()`` of what is given waits for the job's result, an ndarray.
        """
        while True:
            try:
                scheduled = self._coordinator.schedule(function, args=arguments)
                return _OnCluster(scheduled, self.liveness)
            except tf.errors.OpError:
                # of another job, which gets it too; it is raised once
                continue

    def sees(self, folder: Path) -> bool:
        """Return whether jobs can read what this process writes to a folder."""
        return is_seen_by(self.number, folder)

    def close(self) -> None:
        """Its tasks are not ours to end."""


class _OnCluster:
    def __init__(self, scheduled: Any, liveness: Liveness) -> None:
        self._scheduled = scheduled
        self._liveness = liveness

    def result(self) -> Any:
        with convert_task_errors():
            result = self._scheduled.fetch()
        self._liveness.progress()
        return result


class LocalWorkers:
    """Threads of this process, each a worker; the tables are its own. See `ClusterWorkers`.

    Parameters
    ----------
    number : int
        N.
    """

    are_threads = True
    shards = 1

    def __init__(self, number: int) -> None:
        # Jobs run side by side, not their ops in pieces. TensorFlow takes it before its first op.
        with contextlib.suppress(RuntimeError):
            if not tf.config.threading.get_intra_op_parallelism_threads():
                tf.config.threading.set_intra_op_parallelism_threads(1)
        self.number = number
        self.liveness = Liveness([])
        self._pool = ThreadPoolExecutor(number, "tfw2v-worker")
        self._slots = [ThreadPoolExecutor(1, f"tfw2v-worker-{slot}") for slot in range(number)]

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Variables made inside are this process's."""
        return contextlib.nullcontext()

    def schedule(self, function: Function, *arguments: tf.Tensor, slot: int | None = None) -> Job:
        """Hand a job to the next thread that is free, or to that of a slot, below N."""
        pool = self._pool if slot is None else self._slots[slot]
        return pool.submit(lambda: function(*arguments).numpy())

    def sees(self, folder: Path) -> bool:
        """They are given what has been read: a part of a file, where a job would read it whole."""
        return False

    def close(self) -> None:
        """End the threads, after the jobs that they train."""
        for pool in (self._pool, *self._slots):
            pool.shutdown(cancel_futures=True)


#: Who runs jobs.
Workers = ClusterWorkers | LocalWorkers

#: A job that has been handed to a worker.
Job = _OnCluster | Future[Any]
