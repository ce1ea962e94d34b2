"""Fresh interpreters for measurements, and the memory of the processes they start."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

from gensim_tfw2v.processes.children import end_with_parent

ROOT = Path(__file__).resolve().parents[1]

# A process on its way to exec still shares its parent's memory, and would count it twice;
# for that reason the system's own figure for children (RUSAGE_CHILDREN) is of no use here.
SETTLED_SECONDS = 0.2


def descendants_bytes(pid: int) -> int:
    """Memory that belongs to the descendants of a process alone, shared pages left out."""
    total = 0
    try:
        for process in psutil.Process(pid).children(recursive=True):
            if time.time() - process.create_time() > SETTLED_SECONDS:
                total += process.memory_full_info().uss
    except psutil.Error:  # one of them ended meanwhile; the next sample is not far
        pass
    return total


def family_bytes(pid: int) -> int:
    """Memory of a process and of its descendants at this moment, 0 while it has none."""
    try:
        return (below := descendants_bytes(pid)) and below + psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0


class FamilyPeak(threading.Thread):
    """Samples `family_bytes` until told to stop; `peak` is the largest sum seen."""

    def __init__(self, pid: int, interval: float = 0.1) -> None:
        super().__init__(daemon=True)
        self.pid, self.interval = pid, interval
        self.peak = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        """Sample until `stopped` is set."""
        while not self.stopped.wait(self.interval):
            self.peak = max(self.peak, family_bytes(self.pid))


def pool_of_measurements(processes: int) -> ProcessPoolExecutor:
    """Open a pool of fresh interpreters, for TensorFlow can't be forked.

    On Linux they end with this process, however it ends.
    """
    initializer = end_with_parent if sys.platform == "linux" else None
    return ProcessPoolExecutor(processes, get_context("spawn"), initializer)


def one_run(arguments: list[str], given: str = "") -> dict[str, Any]:
    """Run `benchmarks.one_run` and return what it printed last.

    Parameters
    ----------
    arguments : list of str
        Its command line.
    given : str
        Its standard input.

    Returns
    -------
    dict
        The JSON object of its last line, with `family_bytes` added: 0 if it started no process.

    Raises
    ------
    SystemExit
        If it failed; the message ends with what it wrote to stderr.
    """
    command = [sys.executable, "-m", "benchmarks.one_run", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT
    ) as process:
        watch = FamilyPeak(process.pid)
        watch.start()
        try:
            output, errors = process.communicate(given)
        finally:
            watch.stopped.set()
            if process.poll() is None:
                process.kill()
    if process.returncode:
        raise SystemExit(f"a run ended with exit code {process.returncode}:\n{errors[-4000:]}")
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return {**answer, "family_bytes": watch.peak}
