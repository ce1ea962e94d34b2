"""Event files, from which TensorBoard reads curves, histograms, texts and graphs.

TensorBoard shows curves in groups, in alphabetical order. The group of a curve is the part of its
tag before ``/``.
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

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

#: Name of a file without events, see `make_run`.
EMPTY_FILE = "events.out.tfevents.0.projector"

#: Version of the file format. The first event of each file contains it.
FILE_VERSION = "brain.Event:2"

#: Pattern of the names of event files. Its group is the creation time, in seconds since 1970.
_EVENT_FILE = re.compile(r"events\.out\.tfevents\.(\d+)\.")

logger = logging.getLogger(__name__)


class EventLog:
    """New event file of a run for scalars, texts, hyperparameters and a graph.

    Parameters
    ----------
    folder : path
        Folder of the run; TensorBoard shows the files of one folder as one run.
    suffix : str
        Suffix of the file's name.
    log_errors : bool
        Whether the first error in writing is logged, and nothing is written after it. Otherwise,
        errors are raised.

    Attributes
    ----------
    failed : bool
        True after an error was logged.

    Raises
    ------
    OSError
        If the folder cannot be written to, unless `log_errors`. All methods can raise it, too.

    Notes
    -----
    TensorBoard's ``EventFileWriter`` is not used. It writes in a thread, which exits with a
    traceback if the disk is full, and raises errors in later, unrelated calls.
    """

    def __init__(
        self, folder: str | os.PathLike[str], suffix: str = "", log_errors: bool = False
    ) -> None:
        self._folder = folder
        self._log_errors = log_errors
        self.failed = False
        self._lock = threading.Lock()
        self._file: Any = None
        self.write(lambda: self._open(suffix))
        self.add(file_version=FILE_VERSION)

    def write(self, call: Callable[[], Any]) -> None:
        """Call a function that writes to the folder; with `log_errors`, log its error.

        Errors of all types are logged, because a log must not stop training: not by a full disk,
        a missing file of word pairs, nor an error in the log's own code.
        """
        if self.failed:
            return
        try:
            call()
        except Exception as error:
            if not self._log_errors:
                raise
            with self._lock:  # a second thread may fail at the same time
                is_first = not self.failed
                self.failed = True
            if is_first:
                logger.error(
                    "%s cannot be written to (%s): training continues without its TensorBoard log",
                    self._folder,
                    self._describe(error),
                )
                logger.debug("the TensorBoard log failed", exc_info=error)

    def _describe(self, error: Exception) -> str:
        """Return the reason of an error, with the file's path if it is outside the log's folder."""
        if not isinstance(error, OSError):
            return f"{type(error).__name__}: {error}"
        reason = error.strerror or str(error)
        if error.filename and not str(error.filename).startswith(str(self._folder)):
            return f"{error.filename}: {reason}"
        return reason

    def _open(self, suffix: str) -> None:
        """Create the event file, whose name ends in `suffix`."""
        os.makedirs(self._folder, exist_ok=True)
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        # The nanoseconds make the name unique, even if a process restarts within a second with the
        # same id.
        name = (
            f"events.out.tfevents.{seconds:010d}.{socket.gethostname()}.{os.getpid()}"
            f".{nanoseconds:09d}{suffix}"
        )
        self._file = RecordWriter(open(os.path.join(self._folder, name), "xb"))

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write one point of each curve; `values` are by tag."""
        self.write(lambda: self._add_all(step, (scalar_pb(*item) for item in values.items())))

    def histograms(self, values: Mapping[str, Any], step: int) -> None:
        """Write a histogram of each array; `values` are by tag."""
        self.write(lambda: self._add_all(step, (histogram_pb(*item) for item in values.items())))

    def text(self, tag: str, markdown: str, step: int) -> None:
        """Write a text, which TensorBoard formats as Markdown."""
        self.write(lambda: self.add(step, summary=text_pb(tag, markdown)))

    def hyperparameters(self, values: Mapping[str, bool | int | float | str]) -> None:
        """Write the hyperparameters of the run."""
        # With an empty id, TensorBoard shows the name of the run as the trial's name.
        self.write(lambda: self.add(summary=hparams_pb(dict(values), trial_id="")))

    def add(self, step: int = 0, **content: Any) -> None:
        """Write an event; `content` is one field of `Event`, such as ``graph_def=serialized``."""

        def append() -> None:
            record = _event(step, **content)
            with self._lock:
                self._file.write(record)
                self._file.flush()

        self.write(append)

    def _add_all(self, step: int, summaries: Iterator[Any]) -> None:
        """Write an event for each summary."""
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


def has_events(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder contains a run with events, of training or of an evaluation."""
    return any(creation_times(folder))


def make_run(folder: Path) -> None:
    """Make a folder a run for TensorBoard, by a file without events if it has no event file."""
    if not any(folder.glob("*tfevents*")):
        with (folder / EMPTY_FILE).open("wb") as file:
            RecordWriter(file).write(_event(file_version=FILE_VERSION))


def do_without_tensorflow() -> None:
    """Prevent TensorBoard from importing TensorFlow in this process.

    TensorBoard then starts in one second instead of ten, with an eighth of the memory. The files of
    this library can be written and shown without TensorFlow. Call this only in processes that
    belong to this library, because other code may need TensorBoard with TensorFlow.
    """
    # TensorBoard imports TensorFlow only if it cannot import a module of this name.
    sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))


def _event(step: int = 0, **content: Any) -> bytes:
    """Return a serialized event with the current time."""
    return Event(wall_time=time.time(), step=step, **content).SerializeToString()


def creation_times(folder: str | os.PathLike[str]) -> Iterator[float]:
    """Yield the creation times of a run's event files, in seconds since 1970."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            match = _EVENT_FILE.match(name)
            if match and name != EMPTY_FILE:
                yield float(match[1])
