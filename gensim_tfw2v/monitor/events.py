"""Event files for TensorBoard, and curves of a process's own CPU, memory and network use.

TensorBoard orders groups of curves, what is before the ``/`` of their tags, by the alphabet.
"""

import contextlib
import logging
import os
import re
import socket
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

from gensim_tfw2v.processes.connections import TcpBytes

#: A file without events, which makes a folder a run.
EMPTY = "events.out.tfevents.0.projector"

#: What a file of events begins with.
VERSION = "brain.Event:2"

#: Where the runs of a cluster's tasks are, in the training's folder.
TASKS = "tasks"

#: Seconds between two points, until a thousand are written; then they grow with the time passed.
SECONDS = 2.0
POINTS = 1000

_EVENTS = re.compile(r"events\.out\.tfevents\.(\d+)\.")

logger = logging.getLogger(__name__)


class EventLog:
    """Writes scalars, texts, hyperparameters and a graph into a new file of a run.

    Parameters
    ----------
    folder : path
        The run's; TensorBoard shows the files of one folder as one run.
    suffix : str
        Of the file's name.
    outlived : bool
        Whether what is logged goes on where the folder cannot be written to.

    Attributes
    ----------
    failed : bool
        Whether the folder could not be written to; then nothing more is.

    Raises
    ------
    OSError
        If the folder cannot be written to, unless the log is outlived; as all methods.

    Notes
    -----
    Not by TensorBoard's ``EventFileWriter``: that writes on a thread, which ends with a traceback
    where a disk is full, and errors come up in whatever is logged next.
    """

    def __init__(
        self, folder: str | os.PathLike[str], suffix: str = "", outlived: bool = False
    ) -> None:
        self._folder = folder
        self._outlived = outlived
        self.failed = False
        self._lock = threading.Lock()
        self._file: Any = None
        self.write(lambda: self._open(suffix))
        self._add(file_version=VERSION)

    def write(self, do: Callable[[], Any]) -> None:
        """Do what writes there; if the system refuses, log it once as an error."""
        if self.failed:
            return
        try:
            do()
        except OSError as error:
            if not self._outlived:
                raise
            self.failed = True
            logger.error(
                "%s cannot be written to (%s): training goes on without its log for TensorBoard",
                self._folder,
                error.strerror or error,
            )

    def _open(self, suffix: str) -> None:
        os.makedirs(self._folder, exist_ok=True)
        now = time.time_ns()
        # a process that is started anew within a second must not write over its first file
        name = (
            f"events.out.tfevents.{now // 10**9:010d}.{socket.gethostname()}.{os.getpid()}"
            f".{now % 10**9:09d}{suffix}"
        )
        self._file = RecordWriter(open(os.path.join(self._folder, name), "xb"))

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write a point of each curve."""
        for tag, value in values.items():
            self._add(step, summary=scalar_pb(tag, value))

    def histograms(self, values: Mapping[str, Any], step: int) -> None:
        """Write an array of each histogram."""
        for tag, array in values.items():
            self._add(step, summary=histogram_pb(tag, array))

    def text(self, tag: str, markdown: str, step: int) -> None:
        """Write a text."""
        self._add(step, summary=text_pb(tag, markdown))

    def hyperparameters(self, values: Mapping[str, bool | int | float | str]) -> None:
        """Write what a run was made with."""
        # without an id of its own, it goes by the name of the run
        self._add(summary=hparams_pb(dict(values), trial_id=""))

    def graph(self, graph: bytes) -> None:
        """Write a serialized ``GraphDef``."""
        self._add(graph_def=graph)

    def _add(self, step: int = 0, **content: Any) -> None:
        record = _event(step, **content)
        with self._lock:
            self.write(lambda: (self._file.write(record), self._file.flush()))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            try:
                self.write(self._file.close)
            finally:
                with contextlib.suppress(OSError):
                    self._file.close()  # of a log that has failed


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
        self._events = events or EventLog(folder, outlived=True)
        self._owned = events is None
        self._ended = threading.Event()
        self._process = psutil.Process()
        self._tcp = TcpBytes()
        self._before = self._look()
        self._thread = threading.Thread(target=self._write, name="tfw2v-task-log", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        began = time.monotonic()
        seconds = SECONDS
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


def has_events(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder already holds the run of a training."""
    return any(_made(folder))


def make_run(folder: Path) -> None:
    """Write a file without events, unless there are files of events."""
    if not any(folder.glob("*tfevents*")):
        with (folder / EMPTY).open("wb") as file:
            RecordWriter(file).write(_event(file_version=VERSION))


def do_without_tensorflow() -> None:
    """Have TensorBoard leave TensorFlow alone, in a process that is this library's own.

    It starts in a second instead of ten, in an eighth of the memory. Nothing that this library
    writes needs TensorFlow to be written or read.
    """
    # what TensorBoard looks for
    sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))


def _event(step: int = 0, **content: Any) -> bytes:
    return bytes(Event(wall_time=time.time(), step=step, **content).SerializeToString())


def _made(folder: str | os.PathLike[str]) -> Iterator[float]:
    """When the files of a run were made, by their names."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name != EMPTY and (found := _EVENTS.match(name)):
                yield float(found[1])
