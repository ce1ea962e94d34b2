"""A command in processes of its own: how long it and all its descendants took, and of what.

What a process took is told to the one that waits for it. Descendants whose parent ended first would
be waited for by the system's first process, and lost; on Linux they come to this one instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import psutil

from benchmarks.process import FamilyPeak

#: Of Linux's prctl.h.
PR_SET_CHILD_SUBREAPER = 36

GRACE_SECONDS = 10.0  # for descendants that are still ending when the command has ended
SHOWN_CHARACTERS = 2000


class CommandError(Exception):
    """A command that failed, or took too long; names it and the end of what it wrote."""


@dataclass(frozen=True)
class Measured:
    """What a command took.

    Parameters
    ----------
    wall_seconds : float
        From its start to its end.
    cpu_seconds : float
        Processor time, user and system, of it and all its descendants.
    peak_bytes : int
        Largest resident memory of one of its processes, or, if that is more, of all at one time,
        as sampled: the resident memory of the first and what belongs to the others alone.
    output : str
        What it wrote to stdout.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    cores: Sequence[int] | None = None,
    limit: float | None = None,
) -> Measured:
    """Run a command to its end.

    Parameters
    ----------
    command : sequence of str
    environment : mapping, optional
        Variables, in place of this process's.
    cores : sequence of int, optional
        Bind it to these, where the system can.
    limit : float, optional
        Seconds after which it and its descendants are killed.

    Raises
    ------
    CommandError
        It could not be started, ended with another status than 0, or took too long.
    """
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        _adopting(),
    ):
        others = {child.pid for child in psutil.Process().children()}
        began = time.perf_counter()
        try:
            with _bound(cores):
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    env=None if environment is None else dict(environment),
                    start_new_session=True,
                )
        except OSError as error:
            raise CommandError(f"{shlex.join(command)}\ncould not be started: {error}") from error
        watch = FamilyPeak(process.pid)
        watch.start()
        try:
            status, cpu, peak = _wait(process, None if limit is None else began + limit)
        except BaseException:  # Ctrl-C too: nothing that was started here is left
            _kill_family(process.pid)
            raise
        finally:
            watch.stopped.set()
            wall = time.perf_counter() - began
            left = _wait_for_orphans(others)
        if status != 0:
            why = (
                "took longer than {limit:g} s"
                if status is None
                else "ended with exit code {status}"
            )
            raise CommandError(
                f"{shlex.join(command)}\n{why.format(limit=limit, status=status)}:\n"
                f"{_end(errors) or _end(output)}"
            )
        output.seek(0)
        text = output.read().decode(errors="replace")
        return Measured(wall, cpu + left, max(peak, watch.peak), text)


def _wait(process: subprocess.Popen[bytes], end: float | None) -> tuple[int | None, float, int]:
    """Exit code (None: it took too long), CPU seconds and the largest process's memory."""
    status = None
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        if end is not None and time.perf_counter() > end:
            _kill_family(process.pid)
            ended = os.wait4(process.pid, 0)
            break
        time.sleep(0.01)
    else:
        status = os.waitstatus_to_exitcode(ended[1])
    # this process has waited in Popen's place
    process.returncode = os.waitstatus_to_exitcode(ended[1])
    used = ended[2]
    unit = 1 if sys.platform == "darwin" else 1024
    return status, used.ru_utime + used.ru_stime, used.ru_maxrss * unit


def _wait_for_orphans(others: set[int]) -> float:
    """CPU seconds of descendants that came to this process; those that stay are killed."""
    seconds, end = 0.0, time.perf_counter() + GRACE_SECONDS
    while True:
        orphans = [child for child in psutil.Process().children() if child.pid not in others]
        if not orphans:
            return seconds
        for orphan in orphans:
            if time.perf_counter() > end:
                with contextlib.suppress(psutil.Error):
                    orphan.kill()
            with contextlib.suppress(ChildProcessError):
                pid, _, used = os.wait4(orphan.pid, os.WNOHANG)
                seconds += used.ru_utime + used.ru_stime if pid else 0.0
        time.sleep(0.01)


def _kill_family(pid: int) -> None:
    """Kill a process and its descendants, also those that have sessions of their own."""
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(pid)
        for process in [*first.children(recursive=True), first]:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of descendants whose own has ended."""
    if not sys.platform.startswith("linux"):
        yield
        return
    library = ctypes.CDLL(None)
    library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        library.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@contextlib.contextmanager
def _bound(cores: Sequence[int] | None) -> Iterator[None]:
    """Bind this thread, and so what it starts, to some cores."""
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _end(file: IO[bytes]) -> str:
    """The last characters of a file."""
    file.seek(0)
    return file.read().decode(errors="replace").strip()[-SHOWN_CHARACTERS:]
