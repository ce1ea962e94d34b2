"""The faults: what each does, and when it may come."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from benchmarks.faults.training import FaultyTraining

#: The events of the program after which a fault may come, in the order in which a training has
#: them, and the longest time between the two, in seconds.
PHASES = {"counting": 0.5, "trained": 1.5, "exporting": 0.05, "saving": 0.05}

#: Seconds that something is stopped, filled or cut, from and to.
PASSING_SECONDS = (1.0, 8.0)

#: Seconds that a process is waited for which is not there.
THERE_SECONDS = 10.0


@dataclass(frozen=True)
class Fault:
    """Something that fails.

    Attributes
    ----------
    phase : str
        Of `PHASES`.
    strike : function (training, choose) -> str or None
        Does it; gives what it has met, None if that is not there.
    """

    phase: str
    strike: Callable[[FaultyTraining, random.Random], str | None]


def _one(name: str, training: FaultyTraining, choose: random.Random) -> psutil.Process | None:
    """One of a training's processes whose names begin with this."""
    deadline = time.monotonic() + THERE_SECONDS
    while time.monotonic() < deadline:
        found = [process for called, process in training.processes() if called.startswith(name)]
        if found:
            return choose.choice(sorted(found, key=lambda process: process.pid))
        time.sleep(0.05)
    return None


def kill(name: str, phase: str = "trained") -> Fault:
    """SIGKILL to one of the processes of a name."""

    def strike(training: FaultyTraining, choose: random.Random) -> str | None:
        process = _one(name, training, choose)
        if process is None:
            return None
        called = process.name()
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
        return called

    return Fault(phase, strike)


def kill_program(phase: str = "trained") -> Fault:
    """SIGKILL to the program."""

    def strike(training: FaultyTraining, choose: random.Random) -> str:
        training.program.kill()
        return "the program"

    return Fault(phase, strike)


def stop(name: str, for_good: bool = False) -> Fault:
    """SIGSTOP, and SIGCONT after some seconds, unless it is for good."""

    def strike(training: FaultyTraining, choose: random.Random) -> str | None:
        process, seconds = _one(name, training, choose), choose.uniform(*PASSING_SECONDS)
        if process is None:
            return None
        if for_good:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
            return f"{process.name()} for good"

        def go_on() -> None:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()
        threading.Timer(seconds, go_on).start()
        return f"{process.name()} for {seconds:.1f} s"

    return Fault("trained", strike)


def fill(disk: str, phase: str = "trained") -> Fault:
    """No room on a disk, for some seconds."""

    def strike(training: FaultyTraining, choose: random.Random) -> str:
        seconds = choose.uniform(*PASSING_SECONDS)
        training.disks.fill(disk)
        threading.Timer(seconds, training.disks.free, (disk,)).start()
        return f"{disk} for {seconds:.1f} s"

    return Fault(phase, strike)


#: On one machine.
FAULTS: dict[str, Fault] = {
    **{f"kill {role}": kill(f"tfw2v {role}") for role in ("worker", "ps", "chief", "forks")},
    "kill program": kill_program(),
    **{f"stop {role}": stop(f"tfw2v {role}") for role in ("worker", "ps", "chief")},
    "stop worker for good": stop("tfw2v-worker", for_good=True),
    "kill ps while exporting": kill("tfw2v-ps", "exporting"),
    "kill chief while exporting": kill("tfw2v-chief", "exporting"),
    "kill program while exporting": kill_program("exporting"),
    "kill program while saving": kill_program("saving"),
}

#: Where disks can be made.
DISK_FAULTS: dict[str, Fault] = {
    "fill encoded_dir": fill("encoded_dir", "counting"),
    **{f"fill {disk}": fill(disk) for disk in ("checkpoint_dir", "tables_dir", "log_dir")},
    "fill output": fill("output", "exporting"),
}
