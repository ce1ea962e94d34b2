"""A whole cluster on this machine: real processes, real sockets."""

import contextlib
import logging
import os
import socket
import subprocess
from pathlib import Path
from typing import Any, TypeVar

from gensim_tfw2v.cluster.connect import READY_SECONDS
from gensim_tfw2v.cluster.process_launcher import ProcessLauncher
from gensim_tfw2v.cluster.spec import LOG_DIR, Cluster, Task
from gensim_tfw2v.cluster.tasks import StartedCluster, is_noise, prefixed
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.children import last_lines
from gensim_tfw2v.processes.forkserver import Forked
from gensim_tfw2v.processes.machine import cores_each

logger = logging.getLogger("gensim_tfw2v.cluster")

#: How many operations a process of TensorFlow runs side by side.
OP_THREADS = "TF_NUM_INTEROP_THREADS"

Local = TypeVar("Local", bound="LocalCluster")


class LocalCluster(StartedCluster):
    """ps and worker tasks as processes of this machine, which end with this process.

    Use it as a context manager: tasks are started, waited for, and ended on leaving. While it is
    `restarting`, workers are started anew when they end.

    Parameters
    ----------
    ps, workers : int
        How many of each.
    log_dir : Path, optional
        Where each task's output is written, ``ROLE-INDEX.log``; by default a temporary folder. It
        is logged as well, as INFO of ``gensim_tfw2v.cluster``.
    ready_seconds : float
        How long the tasks have to come up.
    isolated : bool
        Whether to start them in a network of their own, where the system has such: only what
        `start_module` starts reaches them there. Otherwise everybody does who reaches this
        machine's ports, and may run programs as this user.
    process_launcher : ProcessLauncher, optional
        Where to start them; by default one of their own.
    tensorboard_dir : str, optional
        Where each writes a run for TensorBoard, with what it takes of the machine.

    Attributes
    ----------
    cluster : Cluster
        Their addresses; in a network of their own, the addresses there.

    Raises
    ------
    ClusterError
        If `ps` or `workers` is below 1.
    TaskEnded
        If a task ends while it comes up.
    MissingTasks
        If tasks do not answer in time.
    """

    restarted = ("worker",)

    def __init__(
        self,
        ps: int = 1,
        workers: int = 1,
        log_dir: Path | None = None,
        ready_seconds: float = READY_SECONDS,
        isolated: bool = True,
        process_launcher: ProcessLauncher | None = None,
        tensorboard_dir: str | None = None,
    ) -> None:
        ps, workers = max(0, ps), max(0, workers)
        addresses = [f"127.0.0.1:{port}" for port in free_ports(ps + workers)]
        super().__init__(Cluster(tuple(addresses[:ps]), tuple(addresses[ps:])), ready_seconds)
        self._log_dir, self._isolated, self._process_launcher = log_dir, isolated, process_launcher
        self._tensorboard_dir = tensorboard_dir
        self._cleanup = contextlib.ExitStack()

    def __enter__(self: Local) -> Local:
        if self._log_dir is None:
            self._log_dir = self._cleanup.enter_context(TemporaryFolder("cluster"))
        self._log_dir.mkdir(parents=True, exist_ok=True)
        if self._process_launcher is None:
            self._process_launcher = ProcessLauncher(self._isolated)
            self._cleanup.callback(self._process_launcher.close)
        return super().__enter__()

    def _start_process(self, task: Task) -> "subprocess.Popen[bytes] | Forked":
        own = {
            "TF_CONFIG": self.cluster.tf_config(task.role, task.index),
            "CUDA_VISIBLE_DEVICES": "",  # tasks of one machine would fight for its GPU
            LOG_DIR: self._tensorboard_dir or "",
        }
        # TensorFlow gives each process as many threads as there are cores. Those of workers that
        # share cores would hand a unit's operations to each other, and wake each other for it, for
        # nothing: no core is free. A number that is set already is left as it is.
        if task.role == "worker" and OP_THREADS not in os.environ:
            own[OP_THREADS] = str(cores_each(len(self.cluster.worker)))
        return self.start_module(
            "gensim_tfw2v.cluster.server",
            "--with-parent",
            environment=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes] | Forked":
        """Run a module of this package where it reaches the tasks; see `children.start_module`."""
        assert self._process_launcher is not None, "the cluster has not been started"
        return self._process_launcher.start_module(module, *arguments, **options)

    def _show(self, task: Task, line: str) -> None:
        with self.log(task).open("a", encoding="utf-8") as log:
            log.write(line)
        if not is_noise(line):
            logger.info("%s", prefixed(task, line))

    def _how(self, task: Task, status: int, last_line: str) -> str:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"{how}{last_lines(self.log(task))}"

    def log(self, task: Task) -> Path:
        """The file with a task's output."""
        assert self._log_dir is not None, "the cluster has not been started"
        return self._log_dir / f"{task.role}-{task.index}.log"

    def close(self) -> None:
        """End all tasks."""
        super().close()
        self._cleanup.close()


def free_ports(number: int) -> list[int]:
    """Ports of this machine that are free now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]
