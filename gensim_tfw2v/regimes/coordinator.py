"""The coordinator process of a cluster: ``python -m gensim_tfw2v.regimes.coordinator``.

The process connects to the cluster, creates a regime, and calls its methods in the order of the
requests. The process exits when the user's program closes the pipe: see `coordinator_pipe`.
"""

import functools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from logging.handlers import QueueHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import connect
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.row_file import RowFile
from gensim_tfw2v.files.sharded_rows import ShardedRows, save_description
from gensim_tfw2v.kernel.tables import Divergence, Tables, UnitReport, UnitTask
from gensim_tfw2v.monitor.task_log import TaskLog
from gensim_tfw2v.parameter_server.liveness import Liveness, shorten_reason
from gensim_tfw2v.parameter_server.workers import ClusterWorkers, LocalWorkers
from gensim_tfw2v.processes.children import name_process
from gensim_tfw2v.processes.process_guards import prepare_environment
from gensim_tfw2v.regimes.coordinator_pipe import (
    ClusterSetup,
    CoordinatorEnd,
    Heartbeat,
    Request,
)

logger = logging.getLogger("gensim_tfw2v.regimes.coordinator")  # also if this is __main__

#: Seconds between two heartbeats of the coordinator.
ALIVE_SECONDS = 5.0

#: Minimum number of seconds between two messages with counts of the cluster's work. Such messages
#: are sent only if a TensorBoard log is written.
TRAFFIC_SECONDS = 1.0


class Coordinator:
    """Answers the requests of the user's program by calling the methods of a regime.

    Parameters
    ----------
    pipe : CoordinatorEnd
    setup : ClusterSetup
        Argument of the first request, which is to `open`.
    """

    def __init__(self, pipe: CoordinatorEnd, setup: ClusterSetup) -> None:
        self._pipe = pipe
        self._regime: Any = None
        self._log: TaskLog | None = None
        self._traffic_time = 0.0  # time.monotonic() of the last "traffic" message; first 0
        self._liveness = Liveness([] if setup.cluster is None else setup.cluster.servers())
        if setup.cluster is not None:
            # the user's program kills this process when it receives the error, even if a call hangs
            self._liveness.watch(functools.partial(pipe.send, "error"))

    def start_heartbeats(self) -> None:
        """Start the thread that sends heartbeats until this process exits."""

        def send_heartbeats() -> None:
            while True:
                time.sleep(ALIVE_SECONDS)
                liveness = self._liveness
                heartbeat = Heartbeat(liveness.last_progress, liveness.give_up_seconds)
                self._pipe.send("alive", heartbeat)

        threading.Thread(target=send_heartbeats, daemon=True).start()

    def answer(self, request: Request) -> None:
        """Call the requested method, and send its result or its error."""
        methods: dict[str, Callable[..., None]] = {
            "open": self.open,
            "train_epoch": self.train_epoch,
            "load": self.load,
            "export": self.export,
            "save": self.save,
        }
        try:
            is_training = request.method == "train_epoch"
            with self._liveness.busy(is_training), self._liveness.convert_errors():
                methods[request.method](*request.arguments)
            self._pipe.send("done", getattr(self._regime, "traffic", None))
        except ClusterLost as error:
            self._pipe.send("error", self._liveness.name_lost_tasks(error))
        except (Divergence, OSError) as error:  # such as a full disk, or a cluster that is unusable
            self._pipe.send("error", error)
        except Exception as error:
            if request.method == "open" and isinstance(error, ValueError):  # options
                self._pipe.send("error", ValueError(str(error)))
                return
            logger.debug("the coordinator failed", exc_info=True)
            text = f"the coordinator failed: {type(error).__name__}: {shorten_reason(error)}"
            self._pipe.send("error", RuntimeError(text))

    def open(self, setup: ClusterSetup) -> None:
        """Connect to the cluster, and create the regime."""
        if setup.log_dir is not None:
            self._log = TaskLog(setup.log_dir, "chief")
        self._regime = make_regime(setup, self._liveness)

    def train_epoch(self, tasks: Sequence[UnitTask]) -> None:
        """Train units; see `Regime.train_epoch`."""
        self._regime.train_epoch(tasks, self._report, self._pipe.must_stop)

    def _report(self, report: UnitReport) -> None:
        if self._log is not None and time.monotonic() > self._traffic_time + TRAFFIC_SECONDS:
            self._traffic_time = time.monotonic()
            # the list of jobs is left out, because it is long
            self._pipe.send("traffic", replace(self._regime.traffic, jobs=[]))
        self._pipe.send("report", report)

    def load(self, sources: Tables) -> None:
        """Set all rows to those of files: paths, or `ShardedRows`."""
        self._regime.load(
            Tables(
                *(
                    source
                    if isinstance(source, ShardedRows)
                    else RowFile(source, is_writable=False)
                    for source in sources
                )
            )
        )

    def export(self, paths: Tables) -> None:
        """Write the current rows to the files at these paths."""
        self._regime.export(Tables(*map(RowFile, paths)))

    def save(self, folder: Path) -> None:
        """Let the ps tasks write their rows to a folder, and write the files' description."""
        tables = self._regime.save(folder)
        if tables:
            save_description(folder, tables)


def make_regime(setup: ClusterSetup, liveness: Liveness) -> Any:
    """Create the requested regime, on the workers of a cluster or on threads of this process."""
    # the user's process may not have loaded the engine's ops
    setup.setup.config.engine.check()
    # optimizing the graphs takes as long as building them, and does not make them faster
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    if setup.cluster is None:
        return setup.regime.make(setup.setup, LocalWorkers(setup.setup.config.workers))
    coordinator = connect(setup.cluster, liveness.presence, setup.ready_seconds)
    workers = ClusterWorkers(coordinator, setup.cluster.servers(), liveness)
    return setup.regime.make(setup.setup, workers)


def main() -> None:
    """Answer requests until the user's program closes the pipe."""
    name_process("tfw2v-chief")
    prepare_environment()
    pipe = CoordinatorEnd()
    # The user's program handles the log records of this process, and drops those below its level.
    record_queue = SimpleNamespace(put_nowait=functools.partial(pipe.send, "log"))
    package_logger = logging.getLogger("gensim_tfw2v")
    package_logger.setLevel(logging.INFO)
    package_logger.addHandler(QueueHandler(record_queue))
    logger.setLevel(logging.DEBUG)
    request = pipe.next_request()
    coordinator = Coordinator(pipe, *request.arguments)
    coordinator.start_heartbeats()
    while True:
        coordinator.answer(request)
        request = pipe.next_request()


if __name__ == "__main__":
    main()
