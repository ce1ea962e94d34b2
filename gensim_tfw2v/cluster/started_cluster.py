"""ps and worker tasks that this process starts, monitors, restarts and stops."""

import abc
import contextlib
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gensim_tfw2v.cluster.connect import MissingTasks
from gensim_tfw2v.cluster.launcher import Process
from gensim_tfw2v.cluster.spec import ROLES, Cluster, Role, Task
from gensim_tfw2v.cluster.started_task import LOOK_SECONDS, StartedTask
from gensim_tfw2v.files.temporary import TemporaryFolder

logger = logging.getLogger(__name__)

#: Maximum number of restarts of a task per minute.
MAX_RESTARTS = 5

#: File in the folder with a cluster's logs. It describes the program that started the cluster: its
#: process id, the numbers of ps and worker tasks, and its command line.
PROGRAM_FILE = "program.json"

#: File in the same folder. For each task, by the stem of its log, it contains the id of the task's
#: process on this machine, and the size of the log when that process was started.
TASKS_FILE = "tasks.json"

#: Seconds that a task has to exit after its standard input closes; then SIGTERM is sent.
CLOSING_SECONDS = 2.0

#: Seconds that a task has to exit after SIGTERM; then SIGKILL is sent.
GRACE_SECONDS = 5.0

#: Exit statuses of a task that was killed or terminated, as Python and as shells report them.
KILLED_STATUSES = [
    status for number in (signal.SIGKILL, signal.SIGTERM) for status in (-number, 128 + number)
]


class TaskEnded(ConnectionError):
    """Unexpected exit of a task, or loss of the connection to its host.

    Attributes
    ----------
    task : Task
        The task.
    tasks : tuple of Task
        The same task, as in other errors about tasks.
    status : int
        Exit status of the task's process on this machine; -n if it was killed by signal n.
    was_killed : bool
        Whether a signal that another process or Linux has sent ended the task.
    """

    def __init__(self, task: Task, status: int, description: str) -> None:
        self.task = task
        self.tasks = (task,)
        self.status = status
        self.was_killed = status in KILLED_STATUSES
        super().__init__(f"{task} ended with {description}")


class StartedCluster(abc.ABC):
    """ps and worker tasks, as processes that exit when this one does.

    Use it as a context manager. On entry, the tasks are started, and the context waits until they
    serve. On exit, the tasks are stopped.

    Parameters
    ----------
    cluster : Cluster
    ready_seconds : float
        Time limit for the tasks to start.

    Raises
    ------
    TaskEnded
        If a task exits during the start.
    MissingTasks
        If tasks do not answer in time.
    """

    #: Roles of the tasks that `restarting` restarts.
    restarted_roles: Sequence[Role] = ROLES

    #: Minimum number of seconds between two starts of a task.
    pause_seconds = 0.0

    def __init__(self, cluster: Cluster, ready_seconds: float) -> None:
        self.cluster = cluster
        self.ready_seconds = ready_seconds
        self._tasks: dict[Task, StartedTask] = {}
        self._processes: dict[str, tuple[int, int]] = {}
        self._logs = TemporaryFolder("cluster")

    @abc.abstractmethod
    def _start_process(self, task: Task) -> Process:
        """Start a task's process, in a new session, with pipes for its input and output."""

    def _show(self, task: Task, line: str) -> None:
        """Append a line of a task's output to its log. A thread per task calls this."""
        with self.log(task).open("a", encoding="utf-8") as log:
            log.write(line)

    def log(self, task: Task) -> Path:
        """Return the path of the file with a task's output."""
        return self._logs.folder / f"{task.role}-{task.index}.log"

    @abc.abstractmethod
    def _describe_end(self, task: Task, status: int, last_line: str) -> str:
        """Describe how a task exited; `last_line` is its last output before it served."""

    def __enter__(self) -> "StartedCluster":
        if callable(signal.getsignal(signal.SIGTERM)):  # `tfw2v cluster stop` needs a handler
            n_ps = len(self.cluster.ps)
            n_workers = len(self.cluster.worker)
            program = json.dumps([os.getpid(), n_ps, n_workers, shlex.join(sys.argv)])
            (self._logs.folder / PROGRAM_FILE).write_text(program, encoding="utf-8")
        try:
            for task in self.cluster.servers():
                self.start(task)
            self.wait(self.cluster.servers())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, task: Task) -> None:
        """Start a task, or restart it after it has exited."""
        log = self.log(task)
        size = log.stat().st_size if log.exists() else 0
        process = self._start_process(task)  # if this fails, `restarting` tries again
        if task in self._tasks:
            self._tasks[task].close()
        self._tasks[task] = StartedTask(task, process, self._show, self.ready_seconds)
        self._processes[log.stem] = self.pid(task), size
        with contextlib.suppress(OSError):  # full disk
            new_file = self._logs.folder / f"{TASKS_FILE}.new"
            new_file.write_text(json.dumps(self._processes), encoding="utf-8")
            new_file.replace(self._logs.folder / TASKS_FILE)

    def wait(self, tasks: Sequence[Task]) -> None:
        """Wait until tasks report that they serve.

        Tasks that are killed meanwhile are restarted, each up to `MAX_RESTARTS` times.

        Raises
        ------
        TaskEnded, MissingTasks
        """
        deadline = time.monotonic() + self.ready_seconds
        n_restarts: dict[Task, int] = defaultdict(int)
        while True:
            missing = [task for task in tasks if not self._tasks[task].serves.is_set()]
            if not missing:
                return
            try:
                self.check(tasks)
            except TaskEnded as error:
                if not error.was_killed or n_restarts[error.task] == MAX_RESTARTS:
                    raise
                n_restarts[error.task] += 1
                deadline = time.monotonic() + self.ready_seconds
                logger.warning("%s; it is started again", error)
                self.start(error.task)
            if time.monotonic() >= deadline:
                raise MissingTasks.after(self.ready_seconds, missing)
            time.sleep(0.05)

    def check(self, tasks: Iterable[Task] | None = None) -> None:
        """Check that the processes of tasks (by default of all) are running.

        Raises
        ------
        TaskEnded
            For the first task whose process has exited.
        """
        for task in list(self._tasks) if tasks is None else tasks:
            if self._tasks[task].process.poll() is not None:
                raise self._end_error(task)

    def _end_error(self, task: Task) -> TaskEnded:
        started_task = self._tasks[task]
        status = started_task.process.wait()
        started_task.reader.join(1.0)  # so that the last output has been read
        description = started_task.why_killed
        if description:
            description = f"SIGKILL because {description}"
        else:
            description = self._describe_end(task, status, started_task.last_line)
        return TaskEnded(task, status, description)

    @contextlib.contextmanager
    def restarting(self) -> Iterator[None]:
        """Restart tasks that exit in this context, each at most `MAX_RESTARTS` times per minute.

        Tasks that hang are killed, and so restarted, too.
        """
        end_event = threading.Event()

        def watch() -> None:
            restart_times: dict[Task, list[float]] = defaultdict(list)
            while not end_event.wait(LOOK_SECONDS):
                for task, started_task in list(self._tasks.items()):
                    started_task.kill_if_hung()
                    now = time.monotonic()
                    restart_times[task] = [t for t in restart_times[task] if now - t < 60.0]
                    if (
                        task.role in self.restarted_roles
                        and started_task.process.poll() is not None
                        and now - started_task.start_time >= self.pause_seconds
                        and len(restart_times[task]) < MAX_RESTARTS
                    ):
                        restart_times[task].append(now)
                        self._restart(task)

        watcher = threading.Thread(target=watch, name="tfw2v-restarts", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            end_event.set()
            watcher.join()

    def _restart(self, task: Task) -> None:
        try:
            logger.warning("%s; it is started again", self._end_error(task))
            self.start(task)
        except OSError as error:
            logger.error("%s could not be started again: %s", task, error)

    def pid(self, task: Task) -> int:
        """Return the id of a task's process on this machine."""
        return self._tasks[task].process.pid

    def close(self) -> None:
        """Stop all tasks: close their input, send SIGTERM to those still running, then SIGKILL."""
        # after an interrupt, a thread may still be restarting a task, which changes the dictionary
        started_tasks = list(self._tasks.values())
        for started_task in started_tasks:
            started_task.close_input()
        self._wait_and_send(started_tasks, CLOSING_SECONDS, signal.SIGTERM)
        self._wait_and_send(started_tasks, GRACE_SECONDS, signal.SIGKILL)
        for started_task in started_tasks:
            started_task.close()
        self._tasks.clear()
        self._logs.close()

    @staticmethod
    def _wait_and_send(
        started_tasks: Sequence[StartedTask], seconds: float, signal_number: int
    ) -> None:
        """Wait up to `seconds` for all tasks to exit; send a signal to those that have not."""
        deadline = time.monotonic() + seconds
        for started_task in started_tasks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                started_task.process.wait(max(0.0, deadline - time.monotonic()))
        for started_task in started_tasks:
            started_task.send(signal_number)
