"""Checks that the tasks of a cluster still respond, train, and have their state."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import MissingTasks, check_paths, wait_for_tasks
from gensim_tfw2v.cluster.presence import Presence
from gensim_tfw2v.cluster.spec import ClusterLost, Task
from gensim_tfw2v.parameter_server.layout import Layout
from gensim_tfw2v.processes.running_clock import RunningClock

logger = logging.getLogger(__name__)

#: Seconds without a newly trained unit after which all tasks are probed.
PROBE_AFTER_SECONDS = 60.0

#: Seconds without a newly trained unit after which a warning is logged, and training is given up
#: unless jobs may take longer.
GIVE_UP_SECONDS = 900.0

#: Multiple of the longest finished job that a running job may take.
JOB_TIMES = 10.0

#: Seconds that the first job may take. No job is known to take nearly as long.
FIRST_JOB_SECONDS = 12 * 3600.0

#: Maximum time in seconds for tasks to answer a probe.
ANSWER_SECONDS = 5.0

#: Seconds between two checks of the monitoring thread.
PAUSE_SECONDS = 1.0

#: Maximum length of TensorFlow's reason in an error message.
MAX_REASON = 300

#: Part of the message of an error that does not name the lost tasks.
UNNAMED_LOSS = "a task was lost, or lost its parameters"

#: TensorFlow's name of a task's devices, in its error messages.
DEVICE = re.compile(r"/job:(ps|worker)/replica:\d+/task:(\d+)")


@functools.cache
def lost_errors() -> tuple[type[Exception], ...]:
    """Return the types of errors that mean that a task is lost, was restarted or lacks memory."""
    return (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
        tf.errors.NotFoundError,
        tf.errors.ResourceExhaustedError,
    )


class Liveness:
    """Monitor of the tasks of a training run.

    A call to a hung task does not return. So `watch` checks the tasks in a separate thread.

    Parameters
    ----------
    tasks : sequence of Task
        ps and worker tasks of the training.

    Attributes
    ----------
    presence : Presence
        Mark of this process at the tasks.
    last_progress : float
        Time of the last progress, by a clock that stands while this process is stopped.
    longest_job : float
        Duration of the longest finished job in seconds; 0 before the first one has finished.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self.presence = Presence(tasks)
        self._clock = RunningClock()
        self._is_busy = False
        self._is_training = False
        self._checking = threading.Lock()
        self._missing_tasks: tuple[Task, ...] = ()  # tasks that the last warning has named
        self._warning_progress = 0.0  # `last_progress` at the last warning about a long job
        self.longest_job = 0.0
        self.progress()

    def progress(self, job_seconds: float = 0.0) -> None:
        """Record that a job has finished, rows were copied, or other work has started.

        `job_seconds` is the duration of the finished job; 0 for other work.
        """
        self.longest_job = max(self.longest_job, job_seconds)
        self.last_progress = self._clock.read()

    @contextlib.contextmanager
    def busy(self, is_training: bool = False) -> Iterator[None]:
        """Return a context for calls to tasks, in which the thread of `watch` checks them.

        With `is_training`, workers run jobs in this context, which may take long.
        """
        self.progress()
        self._is_training = is_training
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
            self._is_training = False

    @property
    def give_up_seconds(self) -> float:
        """Seconds without a newly trained unit after which training is given up.

        A job that takes longer than this would be lost again at each retry, so the limit follows
        from the jobs.
        """
        if not self._is_training:
            return GIVE_UP_SECONDS
        if not self.longest_job:
            return FIRST_JOB_SECONDS
        return max(GIVE_UP_SECONDS, JOB_TIMES * self.longest_job)

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

        If no unit has been trained for `PROBE_AFTER_SECONDS`, all ps tasks and at least one worker
        must answer. A lost worker is not needed, because the remaining ones repeat its job. If no
        unit has been trained for `give_up_seconds`, an error is raised even if the tasks answer.

        Raises
        ------
        ClusterLost
        """
        idle_seconds = self._clock.read() - self.last_progress
        if idle_seconds < PROBE_AFTER_SECONDS:
            return
        symptom = f"no unit was trained for {idle_seconds:.0f} s"
        try:
            wait_for_tasks(self._tasks, ANSWER_SECONDS)
            symptom += " although all tasks answer: see their logs"
            self._missing_tasks = ()
        except MissingTasks as missing:
            symptom += f": {missing}"
            if not self._can_train_without(missing.tasks):
                raise ClusterLost(symptom) from missing
            if missing.tasks != self._missing_tasks:
                self._missing_tasks = missing.tasks
                logger.warning("%s; the remaining workers continue", symptom)
        if idle_seconds > self.give_up_seconds:
            raise ClusterLost(symptom)
        if idle_seconds > GIVE_UP_SECONDS and self._warning_progress != self.last_progress:
            self._warning_progress = self.last_progress
            limit = self.give_up_seconds / 60
            logger.warning("%s; waiting at most %.0f min for the running jobs", symptom, limit)

    def _can_train_without(self, missing_tasks: Sequence[Task]) -> bool:
        """Return whether all ps tasks and at least one worker remain."""
        remaining_tasks = set(self._tasks) - set(missing_tasks)
        has_worker = any(task.role == "worker" for task in remaining_tasks)
        return has_worker and all(task.role == "worker" for task in missing_tasks)

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
            with self.convert_errors():
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
    def convert_errors(self) -> Iterator[None]:
        """Convert TensorFlow's errors about lost tasks to `ClusterLost`.

        These are `lost_errors`. A task that has restarted lacks what was sent to it before, so
        TensorFlow may raise errors of any type then. Any error counts if a task was lost.

        Raises
        ------
        ClusterLost
        """
        try:
            yield
        except tf.errors.OpError as error:
            if not isinstance(error, lost_errors()):
                if not self.presence.lost_tasks(ANSWER_SECONDS):
                    raise
            raise self._as_cluster_lost(error) from error
        except AssertionError as error:
            # TensorFlow's coordinator fails an assertion about its count of closures if a ps task
            # and a worker exit simultaneously.
            if not isinstance(error.__context__, lost_errors()):
                raise
            raise self._as_cluster_lost(error.__context__) from error

    def _as_cluster_lost(self, error: tf.errors.OpError) -> ClusterLost:
        """Convert an error of TensorFlow to `ClusterLost`, with the reason."""
        reason = shorten_reason(error)
        if not isinstance(error, tf.errors.ResourceExhaustedError):
            return ClusterLost(f"{UNNAMED_LOSS} ({reason})")
        devices = DEVICE.findall(error.message)
        tasks = [task for task in self._tasks if (task.role, str(task.index)) in devices]
        names = ", ".join(map(str, tasks)) or "a task"
        return ClusterLost(f"{names} ran out of memory ({reason})", tasks)

    def name_lost_tasks(self, error: ClusterLost) -> ClusterLost:
        """Return an error with the names of the ps tasks that were lost.

        These are tasks that have restarted or do not answer. If there are none, or the error
        already names tasks, it is returned unchanged.
        """
        if error.tasks:
            return error
        lost_tasks = self.presence.lost_tasks(ANSWER_SECONDS)
        lost_ps_tasks = [task for task in lost_tasks if task.role == "ps"]
        if not lost_ps_tasks:
            return error
        verb = "was" if len(lost_ps_tasks) == 1 else "were"
        loss = f"{', '.join(map(str, lost_ps_tasks))} {verb} lost"
        return ClusterLost(str(error).replace(UNNAMED_LOSS, loss), lost_ps_tasks)


def shorten_reason(error: Exception) -> str:
    """Return the message of an error on one line of limited length."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, tf.errors.OpError):
        # The first lines only contain the graph that failed, the last line the reason.
        lines = [line.strip() for line in error.message.splitlines() if line.strip()][-1:]
    reason = " ".join(lines) or type(error).__name__
    return reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]} …"
