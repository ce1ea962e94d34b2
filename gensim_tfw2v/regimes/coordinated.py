"""A cluster, trained on by way of a process that coordinates it.

TensorFlow connects a process to one cluster for good: functions traced before fail afterwards, and
what waits for a task that is gone cannot be called off. A process of its own can be ended, and
started anew, whatever it waits for; and the user's is left as it was.
"""

import contextlib
import logging
import pickle
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.mapped import all_finite, pieces, save_array
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.task import Divergence, UnitReport, UnitTask
from gensim_tfw2v.parameter_server.liveness import GIVE_UP_SECONDS
from gensim_tfw2v.parameter_server.traffic import Traffic
from gensim_tfw2v.processes.children import last_lines, start_module
from gensim_tfw2v.processes.forkserver import Forked
from gensim_tfw2v.regimes.coordinator import ClusterSetup
from gensim_tfw2v.regimes.regime import never
from gensim_tfw2v.regimes.sub_model_plan import SubModelPlan

#: Seconds that the coordinator has to end what it does when training is interrupted.
ENDING_SECONDS = 30.0

#: Seconds without a sign of life after which it is given up. It gives one every few seconds.
SILENT_SECONDS = 120.0


class CoordinatedRegime:
    """Trains on the workers of a cluster.

    Parameters
    ----------
    setup : ClusterSetup
        Its folder is where rows are exchanged with the coordinator, and where its log is.
    check : callable
        Called while the coordinator is waited for; raises what is wrong with its tasks.
    start : callable, optional
        Starts the coordinator where it reaches its tasks; like `start_module`.

    Raises
    ------
    ClusterLost
        If the coordinator cannot connect.

    Attributes
    ----------
    traffic : Traffic, optional
        None where nothing travels.
    """

    def __init__(
        self,
        setup: ClusterSetup,
        check: Callable[[], None],
        start: "Callable[..., subprocess.Popen[bytes] | Forked]" = start_module,
    ) -> None:
        self.traffic: Traffic | None = None
        self._folder, self._check = setup.setup.folder, check
        self._are_rows = False  # whether the files hold the rows of the cluster
        self._log = self._folder / "coordinator.log"
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._log.open("wb") as log:
            self._process = start(
                "gensim_tfw2v.regimes.coordinator",
                # a cluster's only asks others to train
                environment={} if setup.cluster is None else {"CUDA_VISIBLE_DEVICES": ""},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for forever in self._read, self._write:
            threading.Thread(target=forever, name="tfw2v-coordinator", daemon=True).start()
        try:
            self.traffic = self._ask("open", setup)
        except BaseException:
            self.close()
            raise

    def train_epoch(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once, and again if its worker ended; see `Regime`.

        Raises
        ------
        ClusterLost
            If a ps or the coordinator has ended or does not answer, or no worker is left.
        """
        self._are_rows = False
        with self._stopping_when_interrupted(report):
            self.traffic = self._ask("train", tasks, report=report, stop=stop)

    def train_models(
        self,
        which: Sequence[int],
        plan: SubModelPlan,
        report: Callable[[UnitReport], None],
        done: Callable[[int], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train sub-models; see `SubModelsRegime`.

        Raises
        ------
        ClusterLost
            If a ps or the coordinator has ended.
        """
        with self._stopping_when_interrupted(report):
            self.traffic = self._ask(
                "train_models", which, plan, report=report, stop=stop, done=done
            )

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        if self._are_rows and all(
            np.array_equal(part, rows)
            for array, in_file in zip(arrays, self._rows_in_files(), strict=True)
            for part, rows in zip(pieces(array), pieces(in_file), strict=True)
        ):
            return  # what was exported last, and nothing trained since
        for name, array in arrays._asdict().items():
            save_array(self._file(name), array)
        self._ask("load")
        self._are_rows = True

    def finite(self) -> bool:
        """Return whether every row is finite."""
        self._export_to_files()
        return all(all_finite(rows) for rows in self._rows_in_files())

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""
        self._export_to_files()
        for array, rows in zip(arrays, self._rows_in_files(), strict=True):
            array[:] = rows

    def step_graph(self) -> bytes | None:
        """The graph of a step, which the coordinator has."""
        graph: bytes | None = self._ask("step_graph")
        return graph

    def _export_to_files(self) -> None:
        if not self._are_rows:
            self._ask("export")
            self._are_rows = True

    def _rows_in_files(self) -> Tables:
        return Tables(*(np.load(self._file(name), "r") for name in Tables._fields))

    def _file(self, table: str) -> Path:
        return self._folder / f"{table}.npy"

    def close(self) -> None:
        """End the coordinator."""
        self._process.kill()
        self._requests.put(None)
        self._process.wait()

    def _ask(
        self,
        *request: Any,
        report: Callable[[UnitReport], None] | None = None,
        stop: Callable[[], bool] = never,
        done: Callable[[int], None] | None = None,
    ) -> Any:
        """Send a request and wait for its answer, and for the reports before it."""
        self._say(*request)
        return self._answer(GIVE_UP_SECONDS + 60.0, report, stop, done)

    def _say(self, *request: Any) -> None:
        self._requests.put(pickle.dumps(request))

    def _answer(
        self,
        seconds: float,
        report: Callable[[UnitReport], None] | None,
        stop: Callable[[], bool] = never,
        done: Callable[[int], None] | None = None,
    ) -> Any:
        answered = heard = time.monotonic()
        stopped = False
        while True:
            if not stopped and stop():
                self._say("stop")
                stopped = True
            try:
                kind, content = self._answers.get(timeout=0.1)
            except queue.Empty:
                try:
                    self._check()
                except ConnectionError as ended:
                    raise ClusterLost(str(ended)) from ended
                for since, limit in (answered, seconds), (heard, SILENT_SECONDS):
                    if time.monotonic() > since + limit:
                        raise ClusterLost(
                            f"the coordinator has not answered for {limit:.0f} s"
                            f"{last_lines(self._log)}"
                        ) from None
                continue
            heard = time.monotonic()
            if kind == "alive":
                continue
            answered = heard
            if kind == "report" and report is not None:
                report(content)
            elif kind == "model" and done is not None:
                done(content)
            elif kind == "traffic":
                self.traffic = content
            elif kind == "log":
                name, level, text = content
                logging.getLogger(name).log(level, "%s", text)
            elif kind == "done":
                return content
            elif kind == "lost":
                raise ClusterLost(content)
            elif kind == "diverged":
                raise Divergence(content)
            elif kind == "system":
                if content.filename is None and content.errno is not None:
                    content.filename = str(self._folder)  # where the coordinator writes
                raise content
            elif kind == "failed":
                raise RuntimeError(f"the coordinator failed:\n{content}")
            elif kind == "ended":
                self._raise_ended()

    @contextlib.contextmanager
    def _stopping_when_interrupted(self, report: Callable[[UnitReport], None]) -> Iterator[None]:
        """On Ctrl-C let workers push what they train, and take their reports."""
        try:
            yield
        except KeyboardInterrupt:
            with contextlib.suppress(ClusterLost, Divergence):
                self._say("stop")
                self.traffic = self._answer(ENDING_SECONDS, report)
            raise

    def _write(self) -> None:
        """Send requests: one that has stopped reads none, and only its silence is noticed."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as requests:  # it has ended
            while (request := self._requests.get()) is not None:
                requests.write(request)
                requests.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers, contextlib.suppress(Exception):
            while True:
                self._answers.put(pickle.load(answers))
        self._answers.put(("ended", None))

    def _raise_ended(self) -> NoReturn:
        raise ClusterLost(f"the coordinator has ended{last_lines(self._log)}")
