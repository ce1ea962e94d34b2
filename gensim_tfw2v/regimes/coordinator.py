"""The process that coordinates a cluster: started by `CoordinatedRegime`, which it answers.

Without a cluster it trains itself.

It reads pickled requests on standard input, and writes pickled answers to what was its standard
output. It ends when its standard input does.
"""

import logging
import os
import pickle
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.cluster.connect import connect
from gensim_tfw2v.cluster.spec import Cluster, ClusterLost
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.task import Divergence, UnitReport, UnitTask
from gensim_tfw2v.monitor.events import TaskLog
from gensim_tfw2v.parameter_server.liveness import Liveness
from gensim_tfw2v.parameter_server.traffic import Traffic
from gensim_tfw2v.parameter_server.workers import ClusterWorkers, LocalWorkers
from gensim_tfw2v.processes.children import name_process
from gensim_tfw2v.processes.hazards import prepare_environment
from gensim_tfw2v.regimes.options import RegimeOptions
from gensim_tfw2v.regimes.parameter_server import Setup
from gensim_tfw2v.regimes.sub_model_plan import SubModelPlan

#: Seconds between two answers that say what the cluster has done, where that is logged.
TRAFFIC_SECONDS = 1.0

#: Seconds between two signs of life. TensorFlow keeps all threads of Python waiting while it tells
#: the tasks of a function; if one never answers, only the silence tells.
ALIVE_SECONDS = 5.0


class ClusterSetup(NamedTuple):
    """Everything that a coordinator is told.

    Attributes
    ----------
    cluster : Cluster, optional
        None if the coordinator itself is to train, with threads.
    ready_seconds : float
        How long its tasks have to come up.
    regime : RegimeOptions
    setup : Setup
    log_dir : str, optional
        Where the training logs for TensorBoard.
    """

    cluster: Cluster | None
    ready_seconds: float
    regime: RegimeOptions
    setup: Setup
    log_dir: str | None = None


class Coordinator:
    """Carries out requests, each by the method of its name.

    Parameters
    ----------
    setup : ClusterSetup
    say : callable
        Sends an answer.
    stop : callable
        Whether to leave the rest of the units.
    liveness : Liveness
        Of its tasks.
    """

    def __init__(
        self, setup: ClusterSetup, say: Any, stop: Callable[[], bool], liveness: Liveness
    ) -> None:
        self._folder, self._say, self._stop = setup.setup.folder, say, stop
        self._told = 0.0
        self._log = None if setup.log_dir is None else TaskLog(setup.log_dir, "chief")
        self._regime = _open(setup, liveness)

    def train(self, tasks: Sequence[UnitTask]) -> Any:
        """Train units, reporting each; give the traffic so far."""
        self._regime.train_epoch(tasks, self._report, self._stop)
        return self.traffic

    def train_models(self, which: Sequence[int], plan: SubModelPlan) -> Any:
        """Train sub-models, reporting each unit and each that is done; give the traffic so far."""
        self._regime.train_models(
            which, plan, self._report, lambda number: self._say("model", number), self._stop
        )
        return self.traffic

    @property
    def traffic(self) -> Traffic | None:
        """The traffic so far, if there is any."""
        return getattr(self._regime, "traffic", None)

    def _report(self, report: UnitReport) -> None:
        if self._log is not None and time.monotonic() - self._told > TRAFFIC_SECONDS:
            self._told = time.monotonic()
            self._say("traffic", self.traffic)
        self._say("report", report)

    def step_graph(self) -> bytes | None:
        """The graph of a step."""
        graph: bytes | None = self._regime.step_graph()
        return graph

    def load(self) -> None:
        """Go on from the rows in the files of the folder."""
        names = Tables._fields
        self._regime.load(Tables(*(np.load(self._folder / f"{name}.npy", "r") for name in names)))

    def export(self) -> None:
        """Write the rows into the files of the folder."""
        names = Tables._fields
        self._regime.export(
            Tables(*(np.load(self._folder / f"{name}.npy", "r+") for name in names))
        )


def _open(asked: ClusterSetup, liveness: Liveness) -> Any:
    """Make the regime that is asked for."""
    if asked.cluster is None:
        return asked.regime.make(asked.setup, LocalWorkers(asked.setup.program.workers))
    coordinator = connect(asked.cluster, asked.ready_seconds)
    workers = ClusterWorkers(coordinator, asked.cluster.servers(), liveness)
    return asked.regime.make(asked.setup, workers)


class _Forwarding(logging.Handler):
    """Lets the process that asks log what this one has to say."""

    def __init__(self, say: Callable[[str, Any], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say("log", (record.name, record.levelno, record.getMessage()))


def main() -> None:
    """Answer requests until standard input ends."""
    name_process("tfw2v chief")
    prepare_environment()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print is not an answer
    lock = threading.Lock()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stopped = threading.Event()
    coordinator: Coordinator | None = None
    liveness = Liveness([])

    def say(kind: str, content: Any) -> None:
        with lock:
            pickle.dump((kind, content), answers)
            answers.flush()

    logging.getLogger("gensim_tfw2v").addHandler(_Forwarding(say))

    def read() -> None:
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except (EOFError, pickle.UnpicklingError):
                os._exit(1)
            if request[0] == "stop":
                stopped.set()
                continue
            if request[0].startswith("train"):
                stopped.clear()  # of a stop that came when all had been trained
            requests.put(request)

    def live() -> None:
        while True:
            time.sleep(ALIVE_SECONDS)
            say("alive", None)

    for forever in (read, live):
        threading.Thread(target=forever, daemon=True).start()
    while True:
        name, *arguments = requests.get()
        if name == "open" and arguments[0].cluster is not None:
            liveness = Liveness(arguments[0].cluster.servers())
            # the process that asks ends this one, whatever it waits for
            liveness.watch(lambda lost: say("lost", str(lost)))
        try:
            with liveness.busy():
                if name == "open":
                    coordinator = Coordinator(arguments[0], say, stopped.is_set, liveness)
                    answer = coordinator.traffic
                else:
                    answer = getattr(coordinator, name)(*arguments)
            say("done", answer)
        except (ConnectionError, ClusterLost) as error:
            say("lost", str(error))
        except Divergence as error:
            say("diverged", str(error))
        except OSError as error:  # a disk that is full, say
            say("system", error)
        except Exception:
            say("failed", traceback.format_exc())


if __name__ == "__main__":
    main()
