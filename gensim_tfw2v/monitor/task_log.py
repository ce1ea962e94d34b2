"""Curves of the CPU time, memory and network traffic of a process, for TensorBoard."""

import contextlib
import os
import threading
import time
from typing import NamedTuple

import psutil

from gensim_tfw2v.monitor.events import EventLog, creation_times
from gensim_tfw2v.processes.connections import TcpBytes

#: Subfolder of the training's folder in which each task of a cluster has a run.
TASKS = "tasks"

#: Minimum number of seconds between two points of a curve.
MIN_INTERVAL = 2.0

#: Number of points after which intervals become longer than `MIN_INTERVAL`. Each is then the
#: elapsed time divided by this number, so that a long training run has few points.
N_CLOSE_POINTS = 1000


class _Usage(NamedTuple):
    """Resources that this process has used up to a point in time."""

    time: float  # the point in time, from time.monotonic()
    cpu_seconds: float  # user time plus system time
    tcp_bytes: tuple[int, int] | None  # bytes sent and received; None if unknown


class TaskLog:
    """Periodic log of this process's CPU time, memory and TCP traffic, written by a thread.

    Parameters
    ----------
    folder : str
        Log folder of the training run.
    name : str, optional
        Name of a task, such as ``"worker-3"``, which gets a separate run. Without a name, the
        curves are part of the TensorBoard run that training writes.
    events : EventLog, optional
        Log of the run, if it is already open. Points are then written to its file rather than to a
        new one, because TensorBoard reads new events only from the last file of a folder.

    Notes
    -----
    The step of a point is the number of seconds since the run's first file was created. So a
    restarted task continues its curves.
    """

    def __init__(
        self, folder: str, name: str | None = None, events: EventLog | None = None
    ) -> None:
        if name is not None:
            folder = os.path.join(folder, TASKS, name)
        self._start_time = min([time.time(), *creation_times(folder)])
        self._events = events or EventLog(folder, log_errors=True)
        self._owns_events = events is None
        self._stop = threading.Event()
        self._process = psutil.Process()
        self._tcp = TcpBytes()
        self._last_usage = self._measure()
        self._thread = threading.Thread(target=self._write, name="tfw2v-task-log", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        """Write points at intervals until `close` is called."""
        start = time.monotonic()
        interval = MIN_INTERVAL
        while not self._stop.wait(interval):
            # If usage cannot be measured, for example because no file descriptor is free, the point
            # is left out.
            with contextlib.suppress(OSError, psutil.Error):
                self._write_point()
            interval = max(MIN_INTERVAL, (time.monotonic() - start) / N_CLOSE_POINTS)

    def _measure(self) -> _Usage:
        """Measure the resources that this process has used so far."""
        times = self._process.cpu_times()
        return _Usage(time.monotonic(), times.user + times.system, self._tcp.look())

    def _write_point(self) -> None:
        """Write a point: the use of resources since the last point."""
        last_usage = self._last_usage
        usage = self._measure()
        self._last_usage = usage
        seconds = max(1e-3, usage.time - last_usage.time)
        values = {
            "usage/cpu_percent": 100 * (usage.cpu_seconds - last_usage.cpu_seconds) / seconds,
            "usage/memory_MiB": self._process.memory_info().rss / 2**20,
        }
        tcp = usage.tcp_bytes
        last_tcp = last_usage.tcp_bytes
        if tcp is not None and last_tcp is not None and any(tcp):
            values["usage/sent_MB_per_second"] = (tcp[0] - last_tcp[0]) / seconds / 1e6
            values["usage/received_MB_per_second"] = (tcp[1] - last_tcp[1]) / seconds / 1e6
        self._events.scalars(values, int(time.time() - self._start_time))

    def close(self) -> None:
        """Write a last point, and stop the thread."""
        self._stop.set()
        self._thread.join()
        try:
            self._events.write(self._write_point)
        finally:
            if self._owns_events:
                self._events.close()
