"""Training on a cluster through a coordinator process: both ends of the pipe to it.

A process can connect TensorFlow to one cluster only, and cannot disconnect it. Functions that were
traced before the connection fail after it, and a call that waits for a lost task cannot be
cancelled. A separate process can be killed and restarted, whatever it waits for, and the user's
process stays as it was. If TensorFlow cannot be used in the user's process, a coordinator is
started without a cluster, and trains in its own threads.

`CoordinatedRegime` writes pickled requests to the coordinator's standard input, and reads pickled
answers from its standard output. Each request has a number, which is repeated in its answers, so
that the answer to an abandoned request isn't taken for that of a later one. In the coordinator,
`main` creates a regime and calls the requested methods, in the order of the requests; it exits when
standard input closes. Rows are exchanged through files.
"""

import contextlib
import functools
import itertools
import logging
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from logging.handlers import QueueHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import connect
from gensim_tfw2v.cluster.spec import Cluster, ClusterLost
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.kernel.native import load_ops, why_not
from gensim_tfw2v.kernel.tables import (
    Divergence,
    Reporter,
    Tables,
    UnitReport,
    UnitTask,
    all_finite,
)
from gensim_tfw2v.monitor.task_log import TaskLog
from gensim_tfw2v.monitor.traffic import Traffic
from gensim_tfw2v.options.regimes import RegimeOptions
from gensim_tfw2v.parameter_server.liveness import GIVE_UP_SECONDS, Liveness, convert_task_errors
from gensim_tfw2v.parameter_server.workers import ClusterWorkers, LocalWorkers
from gensim_tfw2v.processes.children import last_lines, name_process, start_module
from gensim_tfw2v.processes.launcher import Process
from gensim_tfw2v.processes.process_guards import prepare_environment
from gensim_tfw2v.processes.threads import interrupt_is_pending
from gensim_tfw2v.regimes import Setup, Stop, never

#: Seconds without a finished job after which an interrupted training no longer waits for the
#: running jobs, and loses what was trained since the last checkpoint.
INTERRUPTED_SECONDS = 120.0

#: Seconds after which an interrupted training logs what it is waiting for.
PATIENCE_SECONDS = 3.0

#: Seconds between two heartbeats of the coordinator.
ALIVE_SECONDS = 5.0

#: Seconds without a heartbeat after which the coordinator counts as lost. TensorFlow blocks all
#: Python threads while it registers a function with the tasks. If a task never answers, missing
#: heartbeats are the only sign of it.
SILENT_SECONDS = 75.0

#: Number of rows that are compared at a time: few, because a comparison makes an array of bools.
COMPARED_ROWS = 1 << 14

#: Minimum number of seconds between two messages with counts of the cluster's work. They are sent
#: only if a TensorBoard log is written.
TRAFFIC_SECONDS = 1.0


logger = logging.getLogger(__name__)


class ClusterSetup(NamedTuple):
    """First request to a coordinator: the cluster to connect to, and the regime to create."""

    cluster: Cluster | None  # None: the coordinator itself trains, with threads
    ready_seconds: float  # time limit for the tasks to start
    regime: RegimeOptions
    setup: Setup
    log_dir: str | None = None  # folder of the training's TensorBoard log


def _rows_in(folder: Path, mode: Literal["r", "r+"]) -> Tables:
    """Map the row files of a folder into memory."""
    return Tables(*(np.load(folder / f"{name}.npy", mode) for name in Tables._fields))


def _are_equal(array: np.ndarray, other: np.ndarray) -> bool:
    """Return whether arrays of the same shape are equal, comparing a few rows at a time."""
    number = 1 + len(array) // COMPARED_ROWS
    return all(map(np.array_equal, np.array_split(array, number), np.array_split(other, number)))


class CoordinatedRegime:
    """Trains on the workers of a cluster through a coordinator process; see `Regime`.

    Parameters
    ----------
    setup : ClusterSetup
        ``setup.setup.folder`` contains the files for rows, and the coordinator's log.
    check : callable
        Called while waiting for the coordinator; raises ConnectionError if a local task is lost.
    start : callable, optional
        Starts the coordinator in the network of the cluster's tasks; like `start_module`.

    Raises
    ------
    ClusterLost
        If the coordinator cannot connect.

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
        self._files_current = False  # whether the files hold the cluster's current rows
        self._numbers = itertools.count(1)  # of requests
        # reports of the units that were trained last; they may follow the end of `train_epoch`,
        # if an exception ends it, but precede the answer to `export`
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
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for forever in self._read, self._write:
            threading.Thread(target=forever, name="tfw2v-coordinator", daemon=True).start()
        try:
            self._ask("open", setup)
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
        self._files_current = False
        self._report = report
        self._ask("train_epoch", tasks, stop=stop)

    def load(self, arrays: Tables) -> None:
        """Send the rows, unless the cluster already holds them; see `Regime.load`."""
        if self._files_current and all(map(_are_equal, arrays, _rows_in(self._folder, "r"))):
            return  # equal to the files, and nothing was trained since they were written
        self._files_current = False  # until the coordinator has read the new files
        for name, array in arrays._asdict().items():
            save_array(self._folder / f"{name}.npy", array)
        self._ask("load")
        self._files_current = True

    def finite(self) -> bool:
        """See `Regime.finite`."""
        return all(map(all_finite, self._exported()))

    def export(self, arrays: Tables) -> None:
        """See `Regime.export`."""
        for array, rows in zip(arrays, self._exported(), strict=True):
            array[:] = rows

    def _exported(self) -> Tables:
        if not self._files_current:
            self._ask("export")
            self._files_current = True
        return _rows_in(self._folder, "r")

    def close(self) -> None:
        """Kill the coordinator."""
        self._process.kill()
        self._requests.put(None)
        self._process.wait()

    def _ask(self, *request: Any, stop: Stop = never) -> None:
        """Send a request, and handle messages until its answer arrives.

        Raises
        ------
        ClusterLost
            If the coordinator exits or does not answer in time. It is killed then, so that later
            requests fail immediately.
        """
        number = self._send(*request)
        try:
            self._wait(number, stop)
        except ClusterLost:
            self._process.kill()
            raise

    def _send(self, *request: Any) -> int:
        """Send a request; return its number."""
        number = next(self._numbers)
        self._requests.put(pickle.dumps((number, *request)))
        return number

    def _wait(self, number: int, stop: Stop) -> None:
        """Handle messages until the answer to a request arrives."""
        answered = heard = time.monotonic()
        stopped = 0.0
        is_logged = False
        while True:
            if not stopped and stop():
                self._send("stop", number)
                stopped = answered = time.monotonic()
            is_interrupted = stopped and interrupt_is_pending()
            if is_interrupted and not is_logged and time.monotonic() > stopped + PATIENCE_SECONDS:
                is_logged = True
                logger.warning(
                    "interrupted: waiting at most %.0f s for the workers' running jobs",
                    INTERRUPTED_SECONDS,
                )
            try:
                kind, of_request, content = self._answers.get(timeout=0.1)
            except queue.Empty:
                try:
                    self._check()
                except ConnectionError as ended:
                    raise ClusterLost(str(ended)) from ended
                limit = INTERRUPTED_SECONDS if is_interrupted else GIVE_UP_SECONDS + 60.0
                for since, seconds in (answered, limit), (heard, SILENT_SECONDS):
                    if time.monotonic() > since + seconds:
                        raise ClusterLost(
                            f"the coordinator has not answered for {seconds:.0f} s"
                            f"{last_lines(self._log)}"
                        ) from None
                continue
            heard = time.monotonic()
            if kind == "alive":
                continue
            answered = heard
            if kind == "report":
                self._report(content)
            elif kind == "traffic":
                self.traffic = content
            elif kind == "log":
                record_logger = logging.getLogger(content.name)
                if record_logger.isEnabledFor(content.levelno):
                    record_logger.handle(content)
            elif kind == "done":
                self.traffic = content
                if of_request == number:
                    return
            elif kind == "error":  # also of an abandoned request, whose rows may be spoilt
                if isinstance(content, OSError) and content.errno and content.filename is None:
                    content.filename = str(self._folder)  # where the coordinator writes
                raise content
            elif kind == "ended":
                self._answers.put((kind, of_request, content))  # for later requests
                raise ClusterLost(f"the coordinator exited unexpectedly{last_lines(self._log)}")

    def _write(self) -> None:
        """Send requests, in a thread: writing blocks if the coordinator hangs and reads nothing."""
        assert self._process.stdin is not None
        ended = contextlib.suppress(OSError, ValueError)  # ValueError: the file is closed
        with ended, self._process.stdin as requests:
            while (request := self._requests.get()) is not None:
                requests.write(request)
                requests.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers, contextlib.suppress(Exception):
            while True:
                self._answers.put(pickle.load(answers))
        self._answers.put(("ended", 0, None))


def _ignore(report: UnitReport) -> None:
    """Ignore a report."""


def _opened(asked: ClusterSetup, liveness: Liveness) -> Any:
    """Create the requested regime."""
    # the user's process may not have loaded these ops
    if asked.setup.config.native and load_ops() is None:
        raise RuntimeError(why_not())
    # optimizing the graphs takes as long as building them, and does not make them faster
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    if asked.cluster is None:
        return asked.regime.make(asked.setup, LocalWorkers(asked.setup.config.workers))
    coordinator = connect(asked.cluster, asked.ready_seconds)
    workers = ClusterWorkers(coordinator, asked.cluster.servers(), liveness)
    return asked.regime.make(asked.setup, workers)


def main() -> None:
    """Answer the requests on standard input until it closes."""
    name_process("tfw2v-chief")
    prepare_environment()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # only answers go to the pipe; everything else that is printed goes to stderr
    lock = threading.Lock()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    number = 0  # number of the request that is being answered
    stopped = 0  # number of the last request that is to stop

    def say(kind: str, content: Any) -> None:
        with lock:
            pickle.dump((kind, number, content), answers)
            answers.flush()

    # log records are handled by the process that sends the requests
    forward = SimpleNamespace(put_nowait=functools.partial(say, "log"))
    logging.getLogger("gensim_tfw2v").addHandler(QueueHandler(forward))

    def read() -> None:
        nonlocal stopped
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except (EOFError, pickle.UnpicklingError):
                os._exit(1)
            if request[1] == "stop":
                stopped = request[2]
            else:
                requests.put(request)

    def live() -> None:
        while True:
            time.sleep(ALIVE_SECONDS)
            say("alive", None)

    for forever in (read, live):
        threading.Thread(target=forever, daemon=True).start()

    number, _, asked = requests.get()  # the first request creates the regime
    folder = asked.setup.folder
    is_logged = asked.log_dir is not None
    liveness = Liveness([] if asked.cluster is None else asked.cluster.servers())
    if asked.cluster is not None:
        # the process that receives this error kills this one, even if a call hangs here
        liveness.watch(lambda lost: say("error", lost))
    regime: Any = None
    updated = 0.0

    def must_stop() -> bool:
        return stopped == number

    def report(of_unit: UnitReport) -> None:
        nonlocal updated
        if is_logged and time.monotonic() - updated > TRAFFIC_SECONDS:
            updated = time.monotonic()
            say("traffic", replace(regime.traffic, jobs=[]))  # the list of jobs is long
        say("report", of_unit)

    name = "open"
    arguments: list[Any] = []
    while True:
        try:
            with liveness.busy(), convert_task_errors():
                if name == "open":
                    log = TaskLog(asked.log_dir, "chief") if is_logged else None  # noqa: F841
                    regime = _opened(asked, liveness)
                elif name == "train_epoch":
                    regime.train_epoch(*arguments, report, must_stop)
                elif name == "load":
                    regime.load(_rows_in(folder, "r"))
                elif name == "export":
                    regime.export(_rows_in(folder, "r+"))
            say("done", getattr(regime, "traffic", None))
        except ConnectionError as error:
            say("error", ClusterLost(str(error)))
        except (Divergence, OSError) as error:  # OSError: such as a full disk
            say("error", error)
        except Exception:
            say("error", RuntimeError(f"the coordinator failed:\n{traceback.format_exc()}"))
        number, name, *arguments = requests.get()


if __name__ == "__main__":
    main()
