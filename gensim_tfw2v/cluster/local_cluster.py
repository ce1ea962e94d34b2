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

    What they write is in files of a temporary folder, and logged as INFO of
    ``gensim_tfw2v.cluster``. While the cluster is `restarting`, workers are started anew when they
    end.

    Parameters
    ----------
    ps, workers : int
        How many of each; a `ClusterError` says that one is below 1.
    ready_seconds : float
        How long the tasks have to come up.
    process_launcher : ProcessLauncher, optional
        Where to start them; by default one of their own.
    tensorboard_dir : str, optional
        Where each writes a run for TensorBoard, with what it takes of the machine.

    Attributes
    ----------
    cluster : Cluster
        Their addresses; in a network of their own, the addresses there.
    """

    restarted = ("worker",)

    def __init__(
        self,
        ps: int = 1,
        workers: int = 1,
        ready_seconds: float = READY_SECONDS,
        process_launcher: ProcessLauncher | None = None,
        tensorboard_dir: str | None = None,
    ) -> None:
        ps, workers = max(0, ps), max(0, workers)
        addresses = [f"127.0.0.1:{port}" for port in free_ports(ps + workers)]
        super().__init__(Cluster(tuple(addresses[:ps]), tuple(addresses[ps:])), ready_seconds)
        self._process_launcher, self._tensorboard_dir = process_launcher, tensorboard_dir
        self._logs = TemporaryFolder("cluster")
        self._cleanup = contextlib.ExitStack()
        self._cleanup.callback(self._logs.close)

    def __enter__(self: Local) -> Local:
        if self._process_launcher is None:
            self._process_launcher = ProcessLauncher()
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
        return self._logs.folder / f"{task.role}-{task.index}.log"

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
