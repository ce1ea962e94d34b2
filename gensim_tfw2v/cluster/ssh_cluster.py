"""ps and worker tasks on remote hosts, started through ssh."""

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence

from gensim_tfw2v.cluster.connect import MissingTasks, wait_for_tasks
from gensim_tfw2v.cluster.spec import LOG_DIR, READY_SECONDS, Cluster, Task
from gensim_tfw2v.cluster.started_cluster import StartedCluster
from gensim_tfw2v.cluster.started_task import is_noise

#: Settings of OpenSSH's client: do not ask for a password, do not share a connection, and detect
#: the loss of a host within half a minute.
SETTINGS = (
    "BatchMode=yes",
    "ControlMaster=no",
    "ControlPath=none",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
)

#: Options for OpenSSH's client. They follow the user's, and the first value of an option counts.
OPTIONS = ("-T", *(word for setting in SETTINGS for word in ("-o", setting)))

#: Meaning of exit statuses, that of ssh itself (255) and that of the remote shell (127).
_STATUS_MEANINGS = {
    255: " (ssh could not connect, the connection broke, or the task was killed)",
    127: " (the command was not found there: set --command to one that runs tfw2v on that host)",
}


class SshCluster(StartedCluster):
    """ps and worker tasks on remote hosts, which exit if this process or the connection is lost.

    Within the context `restarting`, all tasks that exit are restarted.

    Parameters
    ----------
    cluster : Cluster
        Each task is started on the host of its address.
    show : callable
        Function that receives a task and a line of the task's output. Several threads call it.
    ssh : sequence of str
        OpenSSH's client, with options.
    command : str
        Command that runs ``tfw2v`` on the hosts: the beginning of a line for ``sh``.
    ready_seconds : float
        Time limit for the tasks to start.
    tensorboard_dir : str, optional
        Folder on each host in which each of its tasks writes a TensorBoard run.
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
            stdin=subprocess.PIPE,  # if this process dies, ssh closes the task's input: it exits
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Ctrl-C does not stop ssh before the training
        )

    def arguments(self, task: Task) -> list[str]:
        """Return the command that starts a task from this machine.

        The last argument is a command line for the host's login shell. It consists only of quoted
        words, which any shell understands.
        """
        line = f"{self._command} task --with-parent"
        config = self.cluster.tf_config(task.role, task.index)
        environment = {"TF_CONFIG": config, LOG_DIR: self._tensorboard_dir or ""}
        assignments = (f"{name}={value}" for name, value in environment.items())
        remote_line = shlex.join(["env", *assignments, "sh", "-c", line])
        return [*self._ssh, *OPTIONS, "--", task.host, remote_line]

    def _show(self, task: Task, line: str) -> None:
        super()._show(task, line)  # first, because standard error may be closed
        if not is_noise(line):
            self._show_line(task, line)

    def _describe_end(self, task: Task, status: int, last_line: str) -> str:
        output = f"; its last output: {last_line}" if last_line else ""
        return f"status {status}{_STATUS_MEANINGS.get(status, '')}{output}"

    def wait(self, tasks: Sequence[Task]) -> None:
        """Wait until tasks have reported that they serve, and answer calls from this machine.

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
            raise MissingTasks.after(self.ready_seconds, missing.tasks, advice) from None
