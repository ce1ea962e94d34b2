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

#: Seconds without a trained unit after which all tasks are probed.
PROBE_AFTER_SECONDS = 60.0

#: Seconds without a trained unit after which training is given up.
GIVE_UP_SECONDS = 900.0

#: Part of the message of an InvalidArgumentError. A task raises it if it was unreachable for a
#: while, and no longer has the tensors that were sent to it before.
LOST_TENSOR_MESSAGE = "relevant tensor remote_handle"

#: Seconds that tasks have to answer a probe.
ANSWER_SECONDS = 5.0

#: Seconds between two checks.
PAUSE_SECONDS = 1.0


@functools.cache
def lost_errors() -> tuple[type[Exception], ...]:
    """Errors that TensorFlow raises if a task is lost or was restarted."""
    return (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
        tf.errors.NotFoundError,
    )


class Liveness:
    """Monitors the tasks of a training.

    A call to a hung task does not return, so a separate thread checks the tasks.

    Parameters
    ----------
    tasks : sequence of Task
        ps and worker tasks of the training.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._is_busy = False
        self._checking = threading.Lock()
        self.progress()

    def progress(self) -> None:
        """Record that a unit has been trained, or that other work has started."""
        self._last = time.monotonic()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Let `watch` check the tasks during this context, in which calls to them run."""
        self.progress()
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    def watch(self, lost: Callable[[ClusterLost], None]) -> None:
        """Start the thread that checks the tasks; it calls `lost` at most once, then stops."""

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
        """Check that all tasks answer, if no unit has been trained for `PROBE_AFTER_SECONDS`.

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
                f"no unit was trained for {silent:.0f} s although all tasks answer: see their logs"
            )

    def intact(self, tables: Sequence[Layout]) -> bool:
        """Return whether all ps tasks still hold their state, so that only a worker was lost.

        TensorFlow reports a worker that ends during a push as if a ps had ended.

        Raises
        ------
        BlockedPaths
            If a worker runs but cannot reach a ps.
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
        if self._checking.acquire(blocking=False):  # otherwise a concurrent call checks the paths
            try:
                with contextlib.suppress(MissingTasks):  # the lost worker
                    check_paths(self._tasks)
            finally:
                self._checking.release()
        return True


@contextlib.contextmanager
def convert_task_errors() -> Iterator[None]:
    """Convert `lost_errors` and errors that contain `LOST_TENSOR_MESSAGE` to `ClusterLost`.

    Raises
    ------
    ClusterLost
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not isinstance(error, lost_errors()) and LOST_TENSOR_MESSAGE not in error.message:
            raise
        raise _lost(error) from error
    except AssertionError as error:
        # TensorFlow's coordinator miscounts its closures if a ps and a worker end simultaneously
        if not isinstance(error.__context__, lost_errors()):
            raise
        raise _lost(error.__context__) from error


def _lost(error: tf.errors.OpError) -> ClusterLost:
    # the first line only names the graph that failed; the last line contains the reason
    lines = [line.strip() for line in error.message.splitlines() if line.strip()]
    reason = lines[-1] if lines else type(error).__name__
    return ClusterLost(f"the cluster lost a task, or a task lost its parameters ({reason})")
