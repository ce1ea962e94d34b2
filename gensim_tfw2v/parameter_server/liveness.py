"""Checks that the tasks of a cluster still respond, train, and have their state."""

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

#: Seconds without a newly trained unit after which all tasks are probed.
PROBE_AFTER_SECONDS = 60.0

#: Seconds without a newly trained unit after which training is given up.
GIVE_UP_SECONDS = 900.0

#: Part of the message of an InvalidArgumentError that a task raises after it was unreachable for a
#: while, because it no longer has the tensors that were sent to it before.
LOST_TENSOR_MESSAGE = "relevant tensor remote_handle"

#: Maximum time in seconds for tasks to answer a probe.
ANSWER_SECONDS = 5.0

#: Seconds between two checks of the monitoring thread.
PAUSE_SECONDS = 1.0


@functools.cache
def lost_errors() -> tuple[type[Exception], ...]:
    """Return the types of errors that TensorFlow raises if a task is lost or was restarted."""
    return (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
        tf.errors.NotFoundError,
    )


class Liveness:
    """Monitor of the tasks of a training.

    A call to a hung task does not return. So `watch` checks the tasks in a separate thread.

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
        """Return a context for calls to tasks, in which the thread of `watch` checks them."""
        self.progress()
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    def watch(self, on_loss: Callable[[ClusterLost], None]) -> None:
        """Start the thread that checks the tasks.

        When a check fails, the thread calls `on_loss` with the error, and exits.
        """

        def check_repeatedly() -> None:
            while True:
                time.sleep(PAUSE_SECONDS)
                if self._is_busy:
                    try:
                        self.check()
                    except ClusterLost as error:
                        on_loss(error)
                        return

        threading.Thread(target=check_repeatedly, name="tfw2v-liveness", daemon=True).start()

    def check(self) -> None:
        """Raise an error if training does not progress.

        If no unit has been trained for `PROBE_AFTER_SECONDS`, all tasks must answer. If no unit has
        been trained for `GIVE_UP_SECONDS`, an error is raised even if they do.

        Raises
        ------
        ClusterLost
        """
        idle_seconds = time.monotonic() - self._last
        if idle_seconds < PROBE_AFTER_SECONDS:
            return
        try:
            wait_for_tasks(self._tasks, ANSWER_SECONDS)
        except MissingTasks as missing:
            raise ClusterLost(
                f"no unit was trained for {idle_seconds:.0f} s: {missing}"
            ) from missing
        if idle_seconds > GIVE_UP_SECONDS:
            raise ClusterLost(
                f"no unit was trained for {idle_seconds:.0f} s although all tasks answer: see "
                "their logs"
            )

    def intact(self, tables: Sequence[Layout]) -> bool:
        """Return whether all ps tasks still have their state.

        If so, only a worker was lost. TensorFlow raises the same errors when a worker exits during
        a push as when a ps task exits, so the ps tasks must be checked.

        Raises
        ------
        BlockedPaths
            If a worker runs but cannot reach a ps.
        """
        if not self._tasks:
            return True
        # Wait, because a ps task that is being killed may still answer for a moment.
        time.sleep(1.0)
        try:
            wait_for_tasks((task for task in self._tasks if task.role == "ps"), ANSWER_SECONDS)
            with convert_task_errors():
                for table in tables:
                    table.check()
        except ConnectionError:
            return False
        if self._checking.acquire(blocking=False):  # if not, a concurrent call checks the paths
            try:
                with contextlib.suppress(MissingTasks):  # the lost worker does not answer
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
        raise _as_cluster_lost(error) from error
    except AssertionError as error:
        # TensorFlow's coordinator fails an assertion about its count of closures if a ps task and a
        # worker exit simultaneously.
        if not isinstance(error.__context__, lost_errors()):
            raise
        raise _as_cluster_lost(error.__context__) from error


def _as_cluster_lost(error: tf.errors.OpError) -> ClusterLost:
    """Convert an error of TensorFlow to `ClusterLost`, with the reason of the error."""
    # The first line of the message only contains the graph that failed, the last line the reason.
    lines = [line.strip() for line in error.message.splitlines() if line.strip()]
    reason = lines[-1] if lines else type(error).__name__
    return ClusterLost(f"the cluster lost a task, or a task lost its parameters ({reason})")
