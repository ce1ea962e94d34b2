"""A whole cluster on other hosts: each task is a command that ssh runs there."""

import contextlib
import logging
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

from gensim_tfw2v.cluster.connect import READY_SECONDS, MissingTasks, wait_for_tasks
from gensim_tfw2v.cluster.local import GRACE_SECONDS
from gensim_tfw2v.cluster.logs import show_lines
from gensim_tfw2v.cluster.restarts import restarting
from gensim_tfw2v.cluster.server import SERVES
from gensim_tfw2v.cluster.spec import LOG_DIR, Cluster, Task

logger = logging.getLogger(__name__)

#: Options of OpenSSH's client, after those of the user, which prevail: it asks for no password,
#: notices within half a minute that a host is gone, and ends with its own connection.
OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ControlPath=none"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"),
)

#: Seconds after the start of a task before it is started again.
PAUSE_SECONDS = 2.0

#: Seconds that a task has to end when its standard input has closed.
CLOSING_SECONDS = 2.0

#: What exit statuses mean: of ssh itself, and of a shell.
_MEANING = {
    255: "ssh could not connect, the connection broke, or the task was killed",
    127: "the command was not found there: say how tfw2v is called on that host",
}


class RemoteTaskEnded(ConnectionError):
    """A task on another host has ended by itself, or its connection has.

    Attributes
    ----------
    task : Task
    status : int
        Of ssh: the task's exit status, 255 if ssh itself failed, below 0 the signal that ended ssh.
    """

    def __init__(self, task: Task, status: int, last_line: str = "") -> None:
        self.task, self.status = task, status
        why = _MEANING.get(status, "")
        super().__init__(
            f"{task} ended with status {status}"
            + (f" ({why})" if why else "")
            + (f"; it last said: {last_line}" if last_line else "")
        )


class SshCluster:
    """ps and worker tasks on other hosts, which end with this process and with their connections.

    Use it as a context manager: tasks are started and waited for, and ended on leaving.

    Parameters
    ----------
    cluster : Cluster
        Each address's host is where its task is started.
    show : callable
        Takes a task and a line that it has written; called from several threads.
    ssh : sequence of str
        OpenSSH's client, with options.
    command : str
        How ``tfw2v`` is called on the hosts: the beginning of a line of ``sh``.
    ready_seconds : float
        How long the tasks have to come up.
    tensorboard_dir : str, optional
        The folder, on each host, where its tasks write a run each for TensorBoard.

    Raises
    ------
    RemoteTaskEnded
        If a task ends while it comes up.
    MissingTasks
        If tasks do not answer in time.
    """

    def __init__(
        self,
        cluster: Cluster,
        show: Callable[[Task, str], None],
        ssh: Sequence[str] = ("ssh",),
        command: str = "tfw2v",
        ready_seconds: float = READY_SECONDS,
        tensorboard_dir: str | None = None,
    ) -> None:
        self.cluster, self.ready_seconds = cluster, ready_seconds
        self._show, self._ssh, self._command = show, tuple(ssh), command
        self._tensorboard_dir = tensorboard_dir
        self._tasks: dict[Task, _RemoteTask] = {}

    def __enter__(self) -> "SshCluster":
        try:
            for task in self.cluster.servers():
                self.start(task)
            self.wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self, task: Task) -> None:
        """Start a task, or start it anew after it has ended."""
        if task in self._tasks:
            self._tasks.pop(task).close()
        self._tasks[task] = _RemoteTask(task, self.arguments(task), self._show)

    def arguments(self, task: Task) -> list[str]:
        """The command that starts a task from here.

        What ssh is given is one line for the login shell of the host, whichever that is: quoted
        words alone.
        """
        line = f"{self._command} task --with-parent"
        config = self.cluster.tf_config(task.role, task.index)
        environment = {"TF_CONFIG": config, LOG_DIR: self._tensorboard_dir or ""}
        given = (f"{name}={value}" for name, value in environment.items())
        remote = shlex.join(["env", *given, "sh", "-c", line])
        return [*self._ssh, *OPTIONS, "--", task.host, remote]

    def wait(self) -> None:
        """Wait until all tasks say that they serve, and answer.

        Raises
        ------
        RemoteTaskEnded, MissingTasks
        """
        deadline = time.monotonic() + self.ready_seconds
        while waiting := [task for task, one in self._tasks.items() if not one.serves.is_set()]:
            for one in self._tasks.values():
                one.check()
            if time.monotonic() >= deadline:
                raise MissingTasks(waiting, self.ready_seconds)
            time.sleep(0.05)
        try:
            wait_for_tasks(self._tasks, max(1.0, deadline - time.monotonic()))
        except MissingTasks as missing:
            raise MissingTasks(missing.tasks, self.ready_seconds) from None

    def keeping_tasks(self) -> AbstractContextManager[None]:
        """Start tasks anew when they end; see `restarting`."""

        def ended() -> Iterator[tuple[Task, int]]:
            for task, one in list(self._tasks.items()):
                rested = time.monotonic() - one.started >= PAUSE_SECONDS
                if rested and (status := one.process.poll()) is not None:
                    yield task, status

        return restarting(ended, RemoteTaskEnded, self.start)

    def close(self) -> None:
        """End all tasks, by closing their input; then ssh, by SIGTERM and at last by SIGKILL."""
        tasks = list(self._tasks.values())
        for one in tasks:
            one.close_input()
        for seconds, number in (
            (CLOSING_SECONDS, signal.SIGTERM),
            (GRACE_SECONDS, signal.SIGKILL),
        ):
            deadline = time.monotonic() + seconds
            for one in tasks:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.process.wait(max(0.0, deadline - time.monotonic()))
            for one in tasks:
                one.send(number)
        for one in tasks:
            one.close()
        self._tasks.clear()


class _RemoteTask:
    """A client of ssh, and what its task writes."""

    def __init__(
        self, task: Task, arguments: Sequence[str], show: Callable[[Task, str], None]
    ) -> None:
        self.task, self.serves, self.started = task, threading.Event(), time.monotonic()
        self._last_line = ""
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,  # it closes when this process ends, and then the task's does
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C ends the training first
        )

        def note(line: str) -> None:
            self._last_line = line.strip()
            if self._last_line == SERVES.format(task):
                self.serves.set()
            show(task, line)

        assert self.process.stdout is not None
        self._reader = threading.Thread(
            target=show_lines, args=(self.process.stdout, note), name=f"tfw2v-{task}", daemon=True
        )
        self._reader.start()

    def check(self) -> None:
        """See that it is running."""
        status = self.process.poll()
        if status is not None:
            self._reader.join(1.0)  # what it said last
            raise RemoteTaskEnded(self.task, status, self._last_line)

    def close_input(self) -> None:
        """Let the task know that it is to end."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def send(self, number: int) -> None:
        """Send a signal to ssh and to what it has started, unless it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def close(self) -> None:
        """Free what is left of one that has ended."""
        self.close_input()
        self.process.wait()
        self._reader.join(1.0)
        # a reader is left to itself whose stream something else still holds open
        if not self._reader.is_alive():
            assert self.process.stdout is not None
            self.process.stdout.close()
