"""Training through a coordinator process, from the side of the user's program.

A process can connect TensorFlow to one cluster only, and cannot disconnect it. Functions that were
traced before the connection fail after it, and a call that waits for a lost task cannot be
cancelled. A separate process can be killed and restarted, whatever it waits for, and the user's
process stays as it was. If TensorFlow cannot be used in the user's process, a coordinator is
started without a cluster, and trains in its own threads.
"""

import logging
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.cluster.launcher import Process
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.files.row_file import RowFile, file_of
from gensim_tfw2v.files.sharded_rows import ShardedRows, load_tables
from gensim_tfw2v.kernel.tables import Reporter, Tables, UnitReport, UnitTask
from gensim_tfw2v.monitor.traffic import Traffic
from gensim_tfw2v.parameter_server.liveness import GIVE_UP_SECONDS
from gensim_tfw2v.processes.children import last_lines, start_module
from gensim_tfw2v.processes.running_clock import RunningClock
from gensim_tfw2v.processes.threads import interrupt_is_pending
from gensim_tfw2v.regimes import Stop, never
from gensim_tfw2v.regimes.coordinator_pipe import STOP, ClusterSetup, Message, ProgramEnd

#: Seconds that the coordinator needs to report an error after `Heartbeat.give_up_seconds` without
#: progress. It counts as lost if it has not done so then.
REPORT_SECONDS = 60.0

#: Seconds without a finished job after which an interrupted training run no longer waits for the
#: running jobs. It then loses all training since the last checkpoint.
INTERRUPTED_SECONDS = 120.0

#: Seconds after which an interrupted training run logs that it waits for running jobs.
PATIENCE_SECONDS = 3.0

#: Seconds without a heartbeat after which the coordinator counts as lost. TensorFlow blocks all
#: Python threads while it registers a function with the tasks. If a task never answers, missing
#: heartbeats are the only sign of it.
SILENT_SECONDS = 75.0

#: Seconds between two checks of the tasks and of the interrupts while no message arrives.
PAUSE_SECONDS = 0.1

#: Number of rows that are compared at a time. With more rows, the array of bools that a comparison
#: creates would take much memory.
N_COMPARED_ROWS = 1 << 14

#: Requests that allocate or send the rows.
LOADING_METHODS = ("open", "load")

logger = logging.getLogger(__name__)


class CoordinatedRegime:
    """Trains on the workers of a cluster through a coordinator process; see `Regime`.

    Parameters
    ----------
    setup : ClusterSetup
        In ``setup.setup.folder``, rows are exchanged with the coordinator, unless they are in files
        already, and it writes its log.
    check : callable
        Called while waiting for the coordinator; raises ConnectionError if a local task is lost.
    start : callable, optional
        Starts the coordinator in the network of the cluster's tasks; like `start_module`.

    Raises
    ------
    ClusterLost
        If the coordinator or a task exits while the coordinator connects.
    ConnectionError
        If the cluster cannot be used, for example because a task has a different version.

    Attributes
    ----------
    traffic : Traffic, optional
        Counts of the cluster's work so far; None until the coordinator has created its regime.
    """

    def __init__(
        self,
        setup: ClusterSetup,
        check: Callable[[], None],
        start: Callable[..., Process] = start_module,
    ) -> None:
        self.traffic: Traffic | None = None
        self._folder = setup.setup.folder
        self._check = check
        self._is_saved = False  # whether files contain the cluster's current rows
        self._identities: dict[str, object] = {}  # of these files, by the table's name
        # The function of the last call of `train_epoch`. If an exception ends that call, reports of
        # its units arrive later, but before the answer to `export`.
        self._report: Reporter = _ignore
        self._log = self._folder / "coordinator.log"
        with self._log.open("wb") as log:
            self._process = start(
                "gensim_tfw2v.regimes.coordinator",
                # the coordinator of a cluster trains nothing itself, and must not occupy a GPU
                environment={} if setup.cluster is None else {"CUDA_VISIBLE_DEVICES": ""},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._pipe = ProgramEnd(self._process)
        try:
            self._call("open", setup)
        except BaseException:
            self.close()
            raise

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, and again if its worker failed.

        After a stop, workers finish and push their running jobs, which are reported.

        Raises
        ------
        ClusterLost
            If a ps or the coordinator exits or does not answer, or no worker is left.
        """
        self._is_saved = False
        self._report = report
        self._call("train_epoch", tasks, stop=stop)

    def load(self, arrays: Tables) -> None:
        """Send the rows, unless the cluster already holds them; see `Regime.load`."""
        tables = arrays._asdict()
        if self._is_saved and all(self._is_current(*table) for table in tables.items()):
            return
        self._is_saved = False  # until the coordinator has read the files
        sources = {}
        for name, array in tables.items():
            source = array if isinstance(array, ShardedRows) else file_of(array)
            if source is None:
                source = self._exchange_path(name)
                save_array(source, array)
            sources[name] = source
        self._call("load", Tables(**sources))
        self._note_files(sources)

    def export(self, arrays: Tables) -> None:
        """See `Regime.export`."""
        paths = {}
        for name, array in arrays._asdict().items():
            path = array.path if isinstance(array, RowFile) else self._exchange_path(name)
            if not path.exists():
                RowFile.create(path, array.shape)
            paths[name] = path
        if not self._is_saved or any(isinstance(array, RowFile) for array in arrays):
            self._call("export", Tables(**paths))
            self._note_files(paths)
        for array, path in zip(arrays, paths.values(), strict=True):
            if not isinstance(array, RowFile):
                array[:] = np.load(path, "r")

    def save(self, folder: Path) -> dict[str, ShardedRows]:
        """Let each ps task write its rows to files in a folder.

        Returns the tables in use by name, or an empty dict if a ps task cannot write there.

        Raises
        ------
        OSError
            If a file cannot be written.
        """
        self._call("save", folder)
        tables = load_tables(folder)
        if tables:
            self._note_files(tables)
        return tables

    def _exchange_path(self, name: str) -> Path:
        """Return the path of the file through which the rows of a table are exchanged.

        A table that is mapped from a file of its own has no such file.
        """
        return self._folder / f"{name}.npy"

    def _note_files(self, sources: Mapping[str, Path | ShardedRows]) -> None:
        """Note that the rows in these files are the cluster's."""
        self._identities = {name: _identity_of(source) for name, source in sources.items()}
        self._is_saved = True

    def _is_current(self, name: str, array: np.ndarray) -> bool:
        """Return whether an array equals the rows that the cluster held when it was last saved."""
        if isinstance(array, ShardedRows):
            return self._identities.get(name) == array
        path = file_of(array)
        if path is None:
            path = self._exchange_path(name)
            return path.exists() and _are_equal(array, np.load(path, "r"))
        return not array.flags.writeable and self._identities.get(name) == _identity_of(path)

    def close(self) -> None:
        """Kill the coordinator."""
        self._process.kill()
        self._pipe.close()
        self._process.wait()

    def _call(self, method: str, *arguments: Any, stop: Stop = never) -> None:
        """Call a method of the coordinator, and process messages until its answer arrives.

        Raises
        ------
        ClusterLost
            If the coordinator exits or does not answer in time. It is killed then, so that later
            calls fail immediately.
        ConnectionError
            If the coordinator cannot use the cluster when it opens it.
        """
        request_id = self._pipe.send(method, *arguments)
        try:
            self._wait(request_id, stop)
        except ClusterLost as loss:
            self._process.kill()
            loss.is_loading = method in LOADING_METHODS
            raise
        except ConnectionError as error:
            self._process.kill()
            if method == "open":
                raise
            raise ClusterLost(str(error)) from error

    def _wait(self, request_id: int, stop: Stop) -> None:
        """Process messages until the answer to a request arrives."""
        # a coordinator can't be heard while this process is stopped
        clock = RunningClock()
        # A heartbeat is a message, but no answer: only the latter show that training progresses.
        now = answer_time = message_time = clock.read()
        give_up_seconds = GIVE_UP_SECONDS
        progress_time: float | None = None  # of the last heartbeat
        stop_time: float | None = None
        is_logged = False
        while True:
            if stop_time is None and stop():
                self._pipe.send(STOP, request_id)
                stop_time = answer_time = now
            limit = give_up_seconds + REPORT_SECONDS
            if stop_time is not None and interrupt_is_pending():
                limit = INTERRUPTED_SECONDS
                if not is_logged and now > stop_time + PATIENCE_SECONDS:
                    is_logged = True
                    logger.warning(
                        "interrupted: waiting at most %.0f s for the workers' running jobs", limit
                    )
            message = self._receive()
            now = clock.read()
            if message is None:
                self._check_tasks()
                self._check_silence(now - answer_time, limit)
                self._check_silence(now - message_time, SILENT_SECONDS)
                continue
            message_time = now
            if message.kind == "alive":
                last_progress_time = progress_time
                progress_time, give_up_seconds = message.content
                if progress_time != last_progress_time:  # such as a block of rows that were copied
                    answer_time = now
                continue
            answer_time = now
            self._process_message(message)
            if message.kind == "done" and message.request_id == request_id:
                return

    def _receive(self) -> Message | None:
        try:
            return self._pipe.receive(PAUSE_SECONDS)
        except EOFError:
            raise ClusterLost(
                f"the coordinator exited unexpectedly{last_lines(self._log)}"
            ) from None

    def _check_tasks(self) -> None:
        try:
            self._check()
        except ConnectionError as error:
            raise ClusterLost(str(error), getattr(error, "tasks", ())) from error

    def _check_silence(self, silence: float, limit: float) -> None:
        if silence > limit:
            raise ClusterLost(
                f"the coordinator has not answered for {limit:.0f} s{last_lines(self._log)}"
            )

    def _process_message(self, message: Message) -> None:
        content = message.content
        if message.kind == "report":
            self._report(content)
        elif message.kind in ("traffic", "done"):
            self.traffic = content
        elif message.kind == "log":
            record_logger = logging.getLogger(content.name)
            if record_logger.isEnabledFor(content.levelno):
                record_logger.handle(content)
        elif message.kind == "error":
            # errors of abandoned requests are raised, too, because the rows may be incomplete then
            if isinstance(content, OSError) and content.errno and content.filename is None:
                content.filename = str(self._folder)  # the coordinator writes to this folder
            raise content


def _ignore(report: UnitReport) -> None:
    """Ignore a report."""


def _identity_of(source: Path | ShardedRows) -> object:
    """Return what identifies files, whatever the name of a single one is."""
    if isinstance(source, ShardedRows):
        return source
    status = source.stat()
    return status.st_dev, status.st_ino


def _are_equal(array: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether arrays are equal, comparing a few rows at a time."""
    return array.shape == rows.shape and all(
        np.array_equal(
            array[start : start + N_COMPARED_ROWS], rows[start : start + N_COMPARED_ROWS]
        )
        for start in range(0, len(array), N_COMPARED_ROWS)
    )
