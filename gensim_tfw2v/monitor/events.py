"""Event files for TensorBoard, and curves of a process's own CPU, memory and network use.

TensorBoard sorts groups of curves alphabetically; the group is the part of a tag before ``/``.
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

#: Name of a file without events, which makes a folder a run.
EMPTY = "events.out.tfevents.0.projector"

#: Version of the file format, the first event of each file.
VERSION = "brain.Event:2"

#: Subfolder of the training's folder with the runs of a cluster's tasks.
TASKS = "tasks"

#: Minimum number of seconds between two points of a curve.
SECONDS = 2.0

#: After this number of points, the interval grows to the elapsed time divided by this number.
POINTS = 1000

_EVENTS = re.compile(r"events\.out\.tfevents\.(\d+)\.")

logger = logging.getLogger(__name__)


class EventLog:
    """Writes scalars, texts, hyperparameters and a graph to a new event file of a run.

    Parameters
    ----------
    folder : path
        Folder of the run; TensorBoard shows the files of one folder as one run.
    suffix : str
        Suffix of the file's name.
    outlived : bool
        If writing fails, log an error once instead of raising it.

    Attributes
    ----------
    failed : bool
        True after a failure. Nothing more is written then.

    Raises
    ------
    OSError
        If the folder cannot be written to, unless `outlived`. All methods raise it, too.

    Notes
    -----
    TensorBoard's ``EventFileWriter`` is not used. It writes in a thread, which ends with a
    traceback if the disk is full, and raises errors in later, unrelated calls.
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
        self.add(file_version=VERSION)

    def write(self, do: Callable[[], Any]) -> None:
        """Call a function that writes to the folder; log the first error if `outlived`.

        A log must not end a training, whatever fails: the disk, a file of word pairs that is gone,
        or the log's own code.
        """
        if self.failed:
            return
        try:
            do()
        except Exception as error:
            if not self._outlived:
                raise
            with self._lock:  # two threads may fail at once
                is_first = not self.failed
                self.failed = True
            if is_first:
                logger.error(
                    "%s cannot be written to (%s): training continues without its TensorBoard log",
                    *(self._folder, self._reason(error)),
                )
                logger.debug("the TensorBoard log failed", exc_info=error)

    def _reason(self, error: Exception) -> str:
        """Return the reason of a failure, with the file if it is not in the log's folder."""
        if not isinstance(error, OSError):
            return f"{type(error).__name__}: {error}"
        is_other = error.filename and not str(error.filename).startswith(str(self._folder))
        return f"{error.filename}: " * bool(is_other) + (error.strerror or str(error))

    def _open(self, suffix: str) -> None:
        os.makedirs(self._folder, exist_ok=True)
        now = time.time_ns()
        # nanoseconds: a process that restarts within a second must not overwrite its first file
        name = (
            f"events.out.tfevents.{now // 10**9:010d}.{socket.gethostname()}.{os.getpid()}"
            f".{now % 10**9:09d}{suffix}"
        )
        self._file = RecordWriter(open(os.path.join(self._folder, name), "xb"))

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write one point of each curve."""
        self.write(lambda: self._add_all(step, (scalar_pb(*item) for item in values.items())))

    def histograms(self, values: Mapping[str, Any], step: int) -> None:
        """Write one histogram of each array."""
        self.write(lambda: self._add_all(step, (histogram_pb(*item) for item in values.items())))

    def text(self, tag: str, markdown: str, step: int) -> None:
        """Write a text."""
        self.write(lambda: self.add(step, summary=text_pb(tag, markdown)))

    def hyperparameters(self, values: Mapping[str, bool | int | float | str]) -> None:
        """Write the hyperparameters of the run."""
        # without a trial id, TensorBoard shows the name of the run
        self.write(lambda: self.add(summary=hparams_pb(dict(values), trial_id="")))

    def add(self, step: int = 0, **content: Any) -> None:
        """Write an event; `content` is a field of ``Event``, such as a serialized ``graph_def``."""

        def append() -> None:
            record = _event(step, **content)
            with self._lock:
                self._file.write(record)
                self._file.flush()

        self.write(append)

    def _add_all(self, step: int, summaries: Iterator[Any]) -> None:
        for summary in summaries:
            self.add(step, summary=summary)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            try:
                self.write(self._file.close)
            finally:
                with contextlib.suppress(OSError):
                    self._file.close()  # `write` does nothing after a failure


class TaskLog:
    """Writes this process's CPU time, memory and TCP traffic periodically, in a thread.

    Parameters
    ----------
    folder : str
        Folder of the training.
    name : str, optional
        Name of a task, such as ``"worker-3"``, which gets a separate run. Without a name, the
        curves are part of the training's run.
    events : EventLog, optional
        Log of the run, if it is already open, to be used instead of a new file: TensorBoard follows
        only the last file of a folder.

    Notes
    -----
    Steps are seconds since the run's first file was created, so that a task that has restarted
    continues its curves.
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
            with contextlib.suppress(OSError, psutil.Error):  # no free file descriptor, for example
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
        """Write a last point, and stop the thread."""
        self._ended.set()
        self._thread.join()
        try:
            self._events.write(self._point)
        finally:
            if self._owned:
                self._events.close()


def has_events(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder already contains the run of a training."""
    return any(_made(folder))


def make_run(folder: Path) -> None:
    """Make a folder a run: write a file without events, unless it has event files."""
    if not any(folder.glob("*tfevents*")):
        with (folder / EMPTY).open("wb") as file:
            RecordWriter(file).write(_event(file_version=VERSION))


def do_without_tensorflow() -> None:
    """Keep TensorBoard from importing TensorFlow; for processes of this library only.

    TensorBoard then starts in one second instead of ten, with an eighth of the memory. Files of
    this library can be written and read without TensorFlow.
    """
    # TensorBoard checks whether this module exists
    sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))


def _event(step: int = 0, **content: Any) -> bytes:
    return Event(wall_time=time.time(), step=step, **content).SerializeToString()


def _made(folder: str | os.PathLike[str]) -> Iterator[float]:
    """Yield the times at which the files of a run were created, from their names."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name != EMPTY and (found := _EVENTS.match(name)):
                yield float(found[1])
