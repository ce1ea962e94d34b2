"""ps and worker tasks on other hosts: commands that ssh runs there."""

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence

from gensim_tfw2v.cluster.connect import MissingTasks, wait_for_tasks
from gensim_tfw2v.cluster.spec import LOG_DIR, READY_SECONDS, Cluster, Task
from gensim_tfw2v.cluster.started_cluster import StartedCluster, is_noise

#: Options of OpenSSH's client, after those of the user, which prevail: it asks for no password,
#: notices within half a minute that a host is gone, and ends with its own connection.
OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ControlPath=none"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"),
)

#: What exit statuses mean: of ssh itself, and of a shell.
_MEANING = {
    255: " (ssh could not connect, the connection broke, or the task was killed)",
    127: " (the command was not found there: say how tfw2v is called on that host)",
}


class SshCluster(StartedCluster):
    """ps and worker tasks on other hosts, which end with this process and with their connections.

    While the cluster is `restarting`, all of them are started anew when they end.

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
    """

    pause_seconds = 2.0

    def __init__(
        self,
        cluster: Cluster,
        show: Callable[[Task, str], None],
        ssh: Sequence[str] = ("ssh",),
        command: str = "tfw2v",
        ready_seconds: float = READY_SECONDS,
        tensorboard_dir: str | None = None,
    ) -> None:
        super().__init__(cluster, ready_seconds)
        self._show_line = show
        self._ssh = tuple(ssh)
        self._command = command
        self._tensorboard_dir = tensorboard_dir

    def _start_process(self, task: Task) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.arguments(task),
            stdin=subprocess.PIPE,  # it closes when this process ends, and then the task's does
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C ends the training first
        )

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

    def _show(self, task: Task, line: str) -> None:
        if not is_noise(line):
            self._show_line(task, line)
        super()._show(task, line)

    def _how(self, task: Task, status: int, last_line: str) -> str:
        said = f"; it last said: {last_line}" if last_line else ""
        return f"status {status}{_MEANING.get(status, '')}{said}"

    def wait(self, tasks: Sequence[Task]) -> None:
        """Wait until tasks say that they serve, and answer.

        Raises
        ------
        TaskEnded, MissingTasks
        """
        deadline = time.monotonic() + self.ready_seconds
        try:
            super().wait(tasks)
            wait_for_tasks(tasks, max(1.0, deadline - time.monotonic()))
        except MissingTasks as missing:
            advice = ". If they are only slow to start, set a longer --seconds"
            raise MissingTasks(missing.tasks, self.ready_seconds, advice) from None
