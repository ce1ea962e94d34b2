"""Workers that run jobs: tasks of a cluster, or threads of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.parameter_server.liveness import Liveness, convert_task_errors
from gensim_tfw2v.parameter_server.text import is_seen_by

#: The ``tf.function`` of a job.
Function = Callable[..., Any]


class ClusterWorkers:
    """Worker tasks of a cluster. If a worker ends, its job is run again.

    Parameters
    ----------
    coordinator : ClusterCoordinator
        Coordinator of a ``ParameterServerStrategy``.
    tasks : sequence of Task
        ps and worker tasks of the cluster.
    liveness : Liveness
        Notified of each finished job.

    Attributes
    ----------
    number : int
        Number of workers N.
    shards : int
        Number of ps tasks P that rows are distributed over.
    are_threads : bool
        Whether the workers are threads of this process.
    liveness : Liveness
        Monitor of the tasks; threads have no tasks to monitor.
    """

    are_threads = False

    def __init__(self, coordinator: Any, tasks: Sequence[Task], liveness: Liveness) -> None:
        self.number = sum(task.role == "worker" for task in tasks)
        self.shards = sum(task.role == "ps" for task in tasks)
        self._coordinator = coordinator
        self.liveness = liveness

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which variables are created on the ps tasks."""
        return self._coordinator.strategy.scope()

    def schedule(self, function: Function, *arguments: tf.Tensor, slot: int | None = None) -> Job:
        """Run a job on the next free worker; `slot` is ignored.

        ``result()`` of the returned object waits for the job's result and returns it, an ndarray.
        """
        while True:
            try:
                scheduled = self._coordinator.schedule(function, args=arguments)
                return _OnCluster(scheduled, self.liveness)
            except tf.errors.OpError:
                # error of an earlier job, whose `result` raises it too; it is raised here only once
                continue

    def sees(self, folder: Path) -> bool:
        """Return whether workers can read what this process writes to a folder."""
        return is_seen_by(self.number, folder)

    def close(self) -> None:
        """Do nothing: this object does not own the tasks."""


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
    """Threads of this process as workers; the tables are in its memory. See `ClusterWorkers`.

    Parameters
    ----------
    number : int
        Number of workers N.
    """

    are_threads = True
    shards = 1

    def __init__(self, number: int) -> None:
        # Jobs run in parallel, so one thread per op is enough. TensorFlow allows this setting only
        # before its first op.
        with contextlib.suppress(RuntimeError):
            if not tf.config.threading.get_intra_op_parallelism_threads():
                tf.config.threading.set_intra_op_parallelism_threads(1)
        self.number = number
        self.liveness = Liveness([])
        self._pool = ThreadPoolExecutor(number, "tfw2v-worker")
        self._slots = [ThreadPoolExecutor(1, f"tfw2v-worker-{slot}") for slot in range(number)]

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which variables are created in this process."""
        return contextlib.nullcontext()

    def schedule(self, function: Function, *arguments: tf.Tensor, slot: int | None = None) -> Job:
        """Run a job in the next free thread, or in the thread of a slot below N."""
        pool = self._pool if slot is None else self._slots[slot]
        return pool.submit(lambda: function(*arguments).numpy())

    def sees(self, folder: Path) -> bool:
        """Return False: entries are passed to jobs, which would otherwise read the whole file."""
        return False

    def close(self) -> None:
        """Stop the threads, after their current jobs."""
        for pool in (self._pool, *self._slots):
            pool.shutdown(cancel_futures=True)


#: Workers that run jobs.
Workers = ClusterWorkers | LocalWorkers

#: A job that has been scheduled on a worker.
Job = _OnCluster | Future[Any]
