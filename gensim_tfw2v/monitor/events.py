"""A run's file for TensorBoard.

TensorBoard orders groups of curves, what is before the ``/`` of their tags, by the alphabet.
"""

import contextlib
import io
import logging
import os
import socket
import sys
import threading
import time
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

#: A file without events, which makes a folder a run.
EMPTY = "events.out.tfevents.0.projector"

#: What a file of events begins with.
VERSION = "brain.Event:2"

logger = logging.getLogger(__name__)


class LogFolder:
    """A folder that is logged to as long as it can be: a training outlives its log.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    failed : bool
        Whether it could not be written to; then nothing more is.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.failed = False

    def write(self, do: Callable[[], Any]) -> None:
        """Do what writes there; if the system refuses, log it once as an error."""
        if self.failed:
            return
        try:
            do()
        except OSError as error:
            self.failed = True
            logger.error(
                "%s cannot be written to (%s): training goes on without its log for TensorBoard",
                self.path,
                error.strerror or error,
            )


class EventLog:
    """Writes scalars, texts, hyperparameters and a graph into a new file of a run.

    Parameters
    ----------
    folder : str
        The run's; TensorBoard shows the files of one folder as one run.
    suffix : str
        Of the file's name.
    within : LogFolder, optional
        Where that is more than the writer's own business: it logs what fails.

    Raises
    ------
    OSError
        If the folder cannot be written to, without `within`; as all methods.

    Notes
    -----
    Not by TensorBoard's ``EventFileWriter``: that writes on a thread, which ends with a traceback
    where a disk is full, and errors come up in whatever is logged next.
    """

    def __init__(self, folder: str, suffix: str = "", within: LogFolder | None = None) -> None:
        self._write = (lambda do: do()) if within is None else within.write
        self._lock = threading.Lock()
        self._file: Any = None
        self._write(lambda: self._open(folder, suffix))
        self._add(Event(file_version=VERSION), None)

    def _open(self, folder: str, suffix: str) -> None:
        os.makedirs(folder, exist_ok=True)
        now = time.time_ns()
        # a process that is started anew within a second must not write over its first file
        name = (
            f"events.out.tfevents.{now // 10**9:010d}.{socket.gethostname()}.{os.getpid()}"
            f".{now % 10**9:09d}{suffix}"
        )
        self._file = open(os.path.join(folder, name), "xb", buffering=0)

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write a point of each curve."""
        for tag, value in values.items():
            self._summary(scalar_pb(tag, value), step)

    def histograms(self, values: Mapping[str, Any], step: int) -> None:
        """Write an array of each histogram."""
        for tag, array in values.items():
            self._summary(histogram_pb(tag, array), step)

    def text(self, tag: str, markdown: str, step: int) -> None:
        """Write a text."""
        self._summary(text_pb(tag, markdown), step)

    def hyperparameters(self, values: Mapping[str, bool | int | float | str]) -> None:
        """Write what a run was made with."""
        # without an id of its own, it goes by the name of the run
        self._summary(hparams_pb(dict(values), trial_id=""), None)

    def graph(self, graph: bytes) -> None:
        """Write a serialized ``GraphDef``."""
        self._add(Event(graph_def=graph), 0)

    def _summary(self, summary: Any, step: int | None) -> None:
        # TensorFlow and TensorBoard each have a class of this message
        event = Event()
        event.summary.ParseFromString(summary.SerializeToString())
        self._add(event, step)

    def _add(self, event: Event, step: int | None) -> None:
        if step is not None:
            event.step = step
        record = _record(event)
        with self._lock:
            self._write(lambda: self._append(memoryview(record)))

    def _append(self, content: memoryview) -> None:
        while content:  # a disk that fills takes a part of the bytes before it complains
            content = content[self._file.write(content) :]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            try:
                self._write(self._file.close)
            finally:
                with contextlib.suppress(OSError):
                    self._file.close()  # of a log that has failed


def has_events(folder: str) -> bool:
    """Whether a folder holds a training's run already."""
    try:
        return any("tfevents" in name and name != EMPTY for name in os.listdir(folder))
    except OSError:
        return False


def make_run(folder: Path) -> None:
    """Write a file without events, unless there are files of events."""
    if not any(folder.glob("*tfevents*")):
        (folder / EMPTY).write_bytes(_record(Event(file_version=VERSION)))


def do_without_tensorflow() -> None:
    """Have TensorBoard leave TensorFlow alone, in a process that is this library's own.

    It starts in a second instead of ten, in an eighth of the memory. Nothing that this library
    writes needs TensorFlow to be written or read.
    """
    # what TensorBoard looks for
    sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))


def _record(event: Event) -> bytes:
    event.wall_time = time.time()
    content = io.BytesIO()
    RecordWriter(content).write(event.SerializeToString())
    return content.getvalue()
