"""A whole cluster on this machine: real processes, real sockets."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from gensim_tfw2v.cluster.connect import READY_SECONDS, MissingTasks
from gensim_tfw2v.cluster.logs import logging_files
from gensim_tfw2v.cluster.process_launcher import ProcessLauncher
from gensim_tfw2v.cluster.restarts import restarting
from gensim_tfw2v.cluster.server import SERVES
from gensim_tfw2v.cluster.spec import LOG_DIR, Cluster, Task
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.children import last_lines
from gensim_tfw2v.processes.forkserver import Forked
from gensim_tfw2v.processes.machine import cores_each

#: How many operations a process of TensorFlow runs side by side.
OP_THREADS = "TF_NUM_INTEROP_THREADS"

#: Seconds between asking a task to end and killing it.
GRACE_SECONDS = 5.0


class TaskEnded(ConnectionError):
    """A task of a local cluster has ended by itself.

    Attributes
    ----------
    task : Task
    status : int
        Its exit status; below 0 the signal that ended it.
    """

    def __init__(self, task: Task, status: int, log: Path) -> None:
        self.task, self.status = task, status
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        super().__init__(f"{task} ended with {how}{last_lines(log)}")


class LocalCluster:
    """ps and worker tasks as processes of this machine, which end with this process.

    Use it as a context manager: tasks are started, waited for, and ended on leaving.

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
        addresses = [f"127.0.0.1:{port}" for port in free_ports(max(0, ps) + max(0, workers))]
        self.cluster = Cluster(tuple(addresses[: max(0, ps)]), tuple(addresses[max(0, ps) :]))
        self.ready_seconds = ready_seconds
        self._log_dir, self._isolated, self._process_launcher = log_dir, isolated, process_launcher
        self._tensorboard_dir = tensorboard_dir
        self._processes: dict[Task, subprocess.Popen[bytes] | Forked] = {}
        self._logged: dict[Task, int] = {}  # bytes in its log when it was started
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> "LocalCluster":
        try:
            if self._log_dir is None:
                self._log_dir = self._cleanup.enter_context(TemporaryFolder("cluster"))
            self._log_dir.mkdir(parents=True, exist_ok=True)
            if self._process_launcher is None:
                self._process_launcher = ProcessLauncher(self._isolated)
                self._cleanup.callback(self._process_launcher.close)
            for task in self.cluster.tasks():
                self.start(task)
            self._cleanup.enter_context(logging_files(self.cluster.servers(), self.log))
            self.wait(self.cluster.tasks())
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
        if task in self._processes:
            self._processes.pop(task).communicate()
        with self.log(task).open("ab") as log:
            self._logged[task] = log.tell()
            self._processes[task] = self.start_module(
                "gensim_tfw2v.cluster.server",
                "--with-parent",
                environment={
                    "TF_CONFIG": self.cluster.tf_config(task.role, task.index),
                    "CUDA_VISIBLE_DEVICES": "",  # tasks of one machine would fight for its GPU
                    LOG_DIR: self._tensorboard_dir or "",
                    **self._own_threads(task),
                },
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _own_threads(self, task: Task) -> dict[str, str]:
        """What a task is told of its share of the machine's cores.

        TensorFlow gives each process as many threads as there are cores. Those of workers that
        share cores would hand a unit's operations to each other, and wake each other for it, for
        nothing: no core is free. A number that is set already is left as it is.
        """
        if task.role != "worker" or OP_THREADS in os.environ:
            return {}
        return {OP_THREADS: str(cores_each(len(self.cluster.worker)))}

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes] | Forked":
        """Run a module of this package where it reaches the tasks; see `children.start_module`."""
        assert self._process_launcher is not None, "the cluster has not been started"
        return self._process_launcher.start_module(module, *arguments, **options)

    def wait(self, tasks: Iterable[Task]) -> None:
        """Wait until tasks say that they serve: they need not be in this process's network.

        Raises
        ------
        TaskEnded, MissingTasks
        """
        deadline = time.monotonic() + self.ready_seconds
        waiting = list(tasks)
        while True:
            self.check(waiting)
            waiting = [task for task in waiting if not self._serves(task)]
            if not waiting:
                return
            if time.monotonic() >= deadline:
                raise MissingTasks(waiting, self.ready_seconds)
            time.sleep(0.05)

    def _serves(self, task: Task) -> bool:
        with self.log(task).open("rb") as log:
            log.seek(self._logged[task])
            return SERVES.format(task).encode() in log.read()

    def check(self, tasks: Iterable[Task] | None = None) -> None:
        """See that tasks (by default all) are running.

        Raises
        ------
        TaskEnded
            For the first that is not.
        """
        for task in list(self._processes) if tasks is None else tasks:
            status = self._processes[task].poll()
            if status is not None:
                raise TaskEnded(task, status, self.log(task))

    def keeping_workers(self) -> AbstractContextManager[None]:
        """Start workers anew when they end; see `restarting`."""

        def ended() -> Iterator[tuple[Task, int]]:
            for task, process in list(self._processes.items()):
                if task.role == "worker" and (status := process.poll()) is not None:
                    yield task, status

        return restarting(
            ended, lambda task, status: TaskEnded(task, status, self.log(task)), self.start
        )

    def log(self, task: Task) -> Path:
        """The file with a task's output."""
        assert self._log_dir is not None, "the cluster has not been started"
        return self._log_dir / f"{task.role}-{task.index}.log"

    def pid(self, task: Task) -> int:
        """The process of a task."""
        return self._processes[task].pid

    def close(self) -> None:
        """End all tasks: by SIGTERM, and those that are left after a while by SIGKILL."""
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.communicate()
        self._processes.clear()
        self._cleanup.close()


def free_ports(number: int) -> list[int]:
    """Ports of this machine that are free now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]
