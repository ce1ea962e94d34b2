"""One training that meets faults: its program, run again where it ends, and what has to hold."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.faults.disks import DISKS, Disks

#: An environment variable that a training's processes, and no others, have.
MARK = "TFW2V_FAULTS"

#: How often a program that has ended is run again.
RUNS = 12

#: Seconds that processes have to end after their program has.
ENDING_SECONDS = 30.0

#: Vector size of the model that stands where the new one is to be saved.
OLD_SIZE = 7


class Hang(Exception):
    """A training has taken longer than it may."""


class FaultyTraining:
    """A training in a program of its own, with all that it writes in one folder.

    Parameters
    ----------
    folder : Path
        Empty; kept by the caller as long as it is of interest.
    corpus : Path
    options : dict
        Of the class, beside the folders.
    seconds : float
        That the training may take.
    launcher : callable, optional
        Starts the program where it reaches its cluster; like ``subprocess.Popen``.
    environment : dict, optional
        Variables of the program beside those of this process.
    """

    def __init__(
        self,
        folder: Path,
        corpus: Path,
        options: dict[str, Any],
        seconds: float,
        launcher: Callable[..., subprocess.Popen[str]] = subprocess.Popen,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.folder, self.disks = folder, Disks(folder)
        self.mark, self.runs = uuid.uuid4().hex, 0
        self.found: dict[str, Any] = {}  # what the program said when it was done
        self.failures: list[str] = []
        self.log = folder / "log"
        self._launcher, self._environment = launcher, environment or {}
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        self._output = self.disks.path("output") / "model"
        self._deadline = time.monotonic() + seconds
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._vector_size = options["vector_size"]
        folders = {name: str(self.disks.path(name)) for name in DISKS if name != "output"}
        settings = {
            "corpus": str(corpus),
            "output": str(self._output),
            "unit_entries": 1 << 13,
            "bytes_a_run": 1 << 18,
            "options": options | folders,
        }
        (folder / "settings.json").write_text(json.dumps(settings))
        save_old_model(self._output)
        self.start()

    def start(self) -> None:
        """Run the program, for the first time or again."""
        self.runs += 1
        if self.runs > RUNS:
            raise Hang(f"the program has ended {RUNS} times")
        with self.log.open("ab") as log:
            self.program = self._launcher(
                [sys.executable, "-m", "benchmarks.faults.program", self.folder / "settings.json"],
                env=os.environ
                | {MARK: self.mark, "TMPDIR": str(self._temporary), "CUDA_VISIBLE_DEVICES": ""}
                | self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                text=True,
            )
        threading.Thread(target=self._read, args=(self.program, self.runs), daemon=True).start()

    def _read(self, program: subprocess.Popen[str], run: int) -> None:
        assert program.stdout is not None
        with program.stdout as lines:
            for line in lines:
                with contextlib.suppress(ValueError):  # cut short by the program's end
                    self._events.put(json.loads(line) | {"run": run})
        self._events.put({"event": "ended", "status": program.wait(), "run": run})

    def hear(self, *names: str) -> dict[str, Any]:
        """Wait for an event of these names, "ended" (run again) and "done" among them.

        Raises
        ------
        Hang
        """
        while True:
            try:
                event = self._events.get(timeout=max(0.01, self._deadline - time.monotonic()))
            except queue.Empty:
                raise Hang(f"it has not ended in time; {self.tail()}") from None
            name = event["event"]
            if name == "done":
                self.found = event
            if name == "ended":
                # a kill may come between the program's last word and its end
                if event["status"] not in (0, -signal.SIGKILL) and self.found:
                    self.failures.append(f"exit status {event['status']} though it was done")
                if not self.found:
                    self._check_model()
                    self.start()
            if name in (*names, "ended", "done"):
                return event

    def forget(self) -> None:
        """Forget what the program has said of its training so far."""
        with contextlib.suppress(queue.Empty):
            kept = []
            while True:
                event = self._events.get_nowait()
                if event["event"] in ("ended", "done"):
                    kept.append(event)
        for event in kept:
            self._events.put(event)

    def end(self) -> None:
        """Wait until the program is done, whatever it takes; then see what has to hold."""
        while not self.found:
            self.hear()
        self.hear("ended")
        if self.found["words"] != self.found["of_words"]:
            self.failures.append(f"{self.found['words']} words of {self.found['of_words']} counted")
        if self._check_model() != self._vector_size:
            self.failures.append("the new model is not there")
        deadline = time.monotonic() + ENDING_SECONDS
        while (left := list(self.processes())) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.failures += [f"left running: {name}" for name, _ in left]
        self.failures += [f"left behind: {path}" for path in self._left_behind()]

    def _left_behind(self) -> Iterator[Path]:
        yield from (Path(name) for name in sorted(os.listdir(self._temporary)))
        for name in DISKS:
            for path in sorted(self.disks.path(name).iterdir()):
                if path.name.startswith(("tfw2v", ".tfw2v")) or "unfinished" in path.name:
                    yield path.relative_to(self.folder)

    def _check_model(self) -> int | None:
        """The vector size of the model that stands at the output, old or new, if it is whole."""
        from gensim.models import Word2Vec

        try:
            model = Word2Vec.load(str(self._output))
            assert model.wv.vectors.shape == (len(model.wv), model.vector_size)
        except Exception as error:  # whatever a file that is cut short leads to
            self.failures.append(f"the model's file is damaged: {error!r}")
            return None
        return int(model.vector_size)

    def processes(self) -> Iterator[tuple[str, psutil.Process]]:
        """The names of all processes of this training, and they."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(MARK) != self.mark:
                    continue
                if process.status() != psutil.STATUS_ZOMBIE:
                    yield process.name(), process

    def times_back(self) -> int:
        """How often it has gone back to a checkpoint."""
        return self.log.read_text(errors="replace").count("going back to the last checkpoint")

    def tail(self) -> str:
        """Where its log ends."""
        return " / ".join(self.log.read_text(errors="replace").splitlines()[-3:])

    def close(self) -> None:
        """End all that still runs, and give the disks back."""
        for _, process in list(self.processes()):
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.program.wait()
        self.disks.close()


def save_old_model(path: Path) -> None:
    """Save a model of two words, for the new one to take the place of."""
    from gensim.models import Word2Vec

    path.parent.mkdir(parents=True, exist_ok=True)
    Word2Vec([["old", "model"]] * 5, vector_size=OLD_SIZE, min_count=1, epochs=1).save(str(path))
