"""Checks that a cluster's tasks still hold their state, and still train."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import MissingTasks, check_paths, wait_for_tasks
from gensim_tfw2v.cluster.spec import ClusterLost, Task
from gensim_tfw2v.parameter_server.layout import Layout

#: After how many seconds without a trained unit tasks are asked whether they are there, and after
#: how many training is given up.
PROBE_AFTER_SECONDS = 60.0
GIVE_UP_SECONDS = 900.0

#: In the message of the InvalidArgumentError of a task that was not reached for a while, and does
#: not know what it was told before.
FORGOTTEN = "relevant tensor remote_handle"

#: Seconds that tasks have to answer, and between two times that they are asked.
ANSWER_SECONDS = 5.0
PAUSE_SECONDS = 1.0


@functools.cache
def lost_errors() -> tuple[type[Exception], ...]:
    """Errors that TensorFlow raises where a task is gone or was restarted."""
    return (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
        tf.errors.NotFoundError,
    )


class Liveness:
    """Looks after the tasks of a training.

    A call to a task that has stopped does not return, so a thread of its own has to look.

    Parameters
    ----------
    tasks : sequence of Task
        Its ps and workers.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._is_busy = False
        self._checking = threading.Lock()
        self.progress()

    def progress(self) -> None:
        """Note that a unit has been trained."""
        self._last = time.monotonic()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Have tasks looked after while something is asked of them."""
        self.progress()
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    def watch(self, lost: Callable[[ClusterLost], None]) -> None:
        """Start the thread; `lost` is called in it, once."""

        def look() -> None:
            while True:
                time.sleep(PAUSE_SECONDS)
                if self._is_busy:
                    try:
                        self.check()
                    except ClusterLost as error:
                        lost(error)
                        return

        threading.Thread(target=look, name="tfw2v-liveness", daemon=True).start()

    def check(self) -> None:
        """See, if no unit has been trained for long, that all tasks answer.

        Raises
        ------
        ClusterLost
        """
        silent = time.monotonic() - self._last
        if silent < PROBE_AFTER_SECONDS:
            return
        try:
            wait_for_tasks(self._tasks, ANSWER_SECONDS)
        except MissingTasks as missing:
            raise ClusterLost(f"no unit was trained for {silent:.0f} s: {missing}") from missing
        if silent > GIVE_UP_SECONDS:
            raise ClusterLost(
                f"no unit was trained for {silent:.0f} s, though all tasks answer: see their logs"
            )

    def intact(self, tables: Sequence[Layout]) -> bool:
        """Return whether all ps tasks still hold their state: then only a worker has ended.

        TensorFlow takes a worker that ends while it pushes for a ps that has ended.

        Raises
        ------
        BlockedPaths
            If a worker runs, but does not reach a ps.
        """
        if not self._tasks:
            return True
        time.sleep(1.0)  # a ps that is being killed may still answer
        try:
            wait_for_tasks((task for task in self._tasks if task.role == "ps"), ANSWER_SECONDS)
            with convert_task_errors():
                for table in tables:
                    table.check()
        except ConnectionError:
            return False
        if self._checking.acquire(blocking=False):  # else another thread does it
            try:
                with contextlib.suppress(MissingTasks):  # a worker that has ended
                    check_paths(self._tasks)
            finally:
                self._checking.release()
        return True


@contextlib.contextmanager
def convert_task_errors() -> Iterator[None]:
    """Turn `lost_errors`, and what a task has `FORGOTTEN`, into one error.

    Raises
    ------
    ClusterLost
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not isinstance(error, lost_errors()) and FORGOTTEN not in error.message:
            raise
        raise _lost(error) from error
    except AssertionError as error:
        # TensorFlow's coordinator loses count of its closures where a ps ends beside a worker
        if not isinstance(error.__context__, lost_errors()):
            raise
        raise _lost(error.__context__) from error


def _lost(error: tf.errors.OpError) -> ClusterLost:
    # TensorFlow's first line says that a graph failed, its last ones why
    lines = [line.strip() for line in error.message.splitlines() if line.strip()]
    said = lines[-1] if lines else type(error).__name__
    return ClusterLost(f"the cluster has lost its parameters ({said})")
