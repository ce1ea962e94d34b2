"""What a process takes of its machine, as curves for TensorBoard."""

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator

import psutil

from gensim_tfw2v.monitor.events import EMPTY, EventLog, LogFolder
from gensim_tfw2v.processes.machine import TcpBytes

#: Where the runs of a cluster's tasks are, in the training's folder.
TASKS = "tasks"

#: Seconds between two points, until a thousand are written; then they grow with the time passed.
SECONDS, POINTS = 2.0, 1000

_EVENTS = re.compile(r"events\.out\.tfevents\.(\d+)\.")


class TaskLog:
    """Writes this process's CPU time, memory and TCP traffic, now and then, by a thread.

    Parameters
    ----------
    folder : str
        The training's.
    name : str, optional
        Of a task, such as ``"worker-3"``, which gets a run of its own; without one, these are
        curves of the training's run.
    events : EventLog, optional
        Of the run, if it is open: TensorBoard follows only the last file of a folder.

    Notes
    -----
    The steps are seconds since the run's first file was made, so that a task that is started anew
    goes on with its curves.
    """

    def __init__(
        self, folder: str, name: str | None = None, events: EventLog | None = None
    ) -> None:
        if name is not None:
            folder = os.path.join(folder, TASKS, name)
        self._began = min([time.time(), *_made(folder)])
        self._events = events or EventLog(folder, within=LogFolder(folder))
        self._owned = events is None
        self._ended = threading.Event()
        self._process, self._tcp = psutil.Process(), TcpBytes()
        self._before = self._look()
        self._thread = threading.Thread(target=self._write, name="tfw2v-task-log", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        began, seconds = time.monotonic(), SECONDS
        while not self._ended.wait(seconds):
            with contextlib.suppress(OSError):  # it can open no more files at present
                self._point()
            seconds = max(SECONDS, (time.monotonic() - began) / POINTS)

    def _look(self) -> tuple[float, float, tuple[int, int] | None]:
        times = self._process.cpu_times()
        return time.monotonic(), times.user + times.system, self._tcp.look()

    def _point(self) -> None:
        now, cpu, tcp = self._look()
        before, cpu_before, tcp_before = self._before
        self._before = now, cpu, tcp
        seconds = max(1e-3, now - before)
        values = {
            "usage/cpu_percent": 100 * (cpu - cpu_before) / seconds,
            "usage/memory_MiB": self._process.memory_info().rss / 2**20,
        }
        if tcp is not None and tcp_before is not None and any(tcp):
            values["usage/sent_MB_per_second"] = (tcp[0] - tcp_before[0]) / seconds / 1e6
            values["usage/received_MB_per_second"] = (tcp[1] - tcp_before[1]) / seconds / 1e6
        self._events.scalars(values, int(time.time() - self._began))

    def close(self) -> None:
        """Write a last point."""
        self._ended.set()
        self._thread.join()
        self._point()
        if self._owned:
            self._events.close()


def _made(folder: str) -> Iterator[float]:
    """When the files of a run were made, by their names."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name != EMPTY and (found := _EVENTS.match(name)):
                yield float(found[1])
