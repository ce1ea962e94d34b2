"""Workers that run jobs: tasks of a cluster, or threads of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.parameter_server.liveness import Liveness
from gensim_tfw2v.parameter_server.text import servers_can_write, tasks_can_read

#: The ``tf.function`` of a job.
Function = Callable[..., Any]


class ClusterWorkers:
    """Worker tasks of a cluster. If a worker exits, TensorFlow runs its job on a different one.

    Parameters
    ----------
    coordinator : ClusterCoordinator
        Coordinator of a ``ParameterServerStrategy``.
    tasks : sequence of Task
        ps and worker tasks of the cluster.
    liveness : Liveness
        Monitor of the tasks, to which each finished job is reported.

    Attributes
    ----------
    number : int
        Number of workers N.
    n_shards : int
        Number P of ps tasks, over which rows are distributed.
    are_threads : bool
        Whether the workers are threads of this process.
    liveness : Liveness
        Monitor of the tasks. The monitor of threads has no tasks, and does nothing.
    """

    are_threads = False

    #: Maximum number of errors of earlier jobs: more than can be in progress.
    max_errors = 1000

    def __init__(self, coordinator: Any, tasks: Sequence[Task], liveness: Liveness) -> None:
        self.number = sum(task.role == "worker" for task in tasks)
        self.n_shards = sum(task.role == "ps" for task in tasks)
        self._coordinator = coordinator
        self.liveness = liveness

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which variables are created on the ps tasks."""
        return self._coordinator.strategy.scope()

    def schedule(self, function: Function, *arguments: tf.Tensor, slot: int | None = None) -> Job:
        """Schedule a job on the next free worker; `slot` is ignored.

        The method ``result`` of the returned object waits until the job is finished, and returns
        the result of the function, an ndarray.
        """
        n_errors = 0
        while True:
            try:
                scheduled = self._coordinator.schedule(function, args=arguments)
                return _OnCluster(scheduled, self.liveness)
            except tf.errors.OpError:
                # This is the error of an earlier job, whose `result` raises it, too. Try again,
                # because TensorFlow raises each error only once here.
                n_errors += 1
                if n_errors > self.max_errors:
                    raise

    def sees(self, folder: Path) -> bool:
        """Return whether all workers can read files that this process writes to a folder."""
        return tasks_can_read(folder, "worker", self.number)

    def servers_can_write(self, folder: Path) -> bool:
        """Return whether all ps tasks can write files in a folder of this machine."""
        return servers_can_write(folder, self.n_shards)

    def close(self) -> None:
        """Do nothing, because the tasks belong to the cluster."""


class _OnCluster:
    """Job that has been scheduled on a worker task; `result` is like that of `Future`."""

    def __init__(self, scheduled: Any, liveness: Liveness) -> None:
        self._scheduled = scheduled
        self._liveness = liveness

    def result(self) -> Any:
        with self._liveness.convert_errors():
            result = self._scheduled.fetch()
        self._liveness.progress()
        return result


class LocalWorkers:
    """Threads of this process as workers, with the tables in its memory.

    The attributes and methods are those of `ClusterWorkers`.

    Parameters
    ----------
    number : int
        Number of workers N.
    """

    are_threads = True
    n_shards = 1

    def __init__(self, number: int) -> None:
        # Jobs run in parallel, so one thread per op is enough. After its first op, TensorFlow does
        # not allow this setting, and raises an error.
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
        """Schedule a job in the next free thread or, with `slot` below N, in a fixed thread."""
        pool = self._pool if slot is None else self._slots[slot]
        return pool.submit(lambda: function(*arguments).numpy())

    def sees(self, folder: Path) -> bool:
        """Return False, so that jobs receive their entries: each job would read the whole file."""
        return False

    def servers_can_write(self, folder: Path) -> bool:
        """Return False: there are no ps tasks."""
        return False

    def close(self) -> None:
        """Stop the threads when they have finished their current jobs."""
        for pool in (self._pool, *self._slots):
            pool.shutdown(cancel_futures=True)


#: Workers of either kind.
Workers = ClusterWorkers | LocalWorkers

#: A job that has been scheduled on a worker.
Job = _OnCluster | Future[Any]
