"""Commands in separate processes, with the time and memory that they and their descendants use.

The system reports a process's resource usage to the process that waits for it. Descendants whose
parent exits first are normally inherited by the init process, and their usage would be lost. On
Linux, this process inherits them instead.
"""

import contextlib
import ctypes
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

ROOT = Path(__file__).resolve().parents[1]

#: Constant of Linux's prctl.h.
PR_SET_CHILD_SUBREAPER = 36

#: Program that calls a function by name, with keyword arguments, and prints JSON of the result.
CALL = (
    "import json, pkgutil, sys; function = pkgutil.resolve_name(sys.argv[1]); "
    "print(json.dumps(function(**json.loads(sys.argv[2]))))"
)

#: Seconds that descendants have to exit after the command, before they are killed.
GRACE_SECONDS = 10.0

#: Seconds between two samples of memory.
SAMPLE_SECONDS = 0.1

#: Number of characters of a failed command's output that an error message shows.
SHOWN_CHARACTERS = 2000

#: Minimum age in seconds of a process whose memory is counted. Between fork and exec, a process
#: shares its parent's memory, which would be counted twice. The system's own figure for children
#: (RUSAGE_CHILDREN) has this error.
SETTLED_SECONDS = 0.2


class CommandError(Exception):
    """A command that failed or timed out; the message contains the end of its output."""


class CommandTimeout(CommandError):
    """A command that reached its time limit and was killed."""


@dataclass(frozen=True)
class Measured:
    """Resources used by a command."""

    wall_seconds: float  # from its start to its exit
    cpu_seconds: float  # user and system time, including all descendants
    largest_bytes: int  # peak resident memory of its largest process
    #: Peak of the sampled sum: resident memory of the command's process, plus memory that only its
    #: descendants use (USS); 0 without descendants.
    family_bytes: int
    output: str  # stdout

    @property
    def peak_bytes(self) -> int:
        """Peak memory of the largest process, or of all processes if that is larger."""
        return max(self.largest_bytes, self.family_bytes)


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    cores: Sequence[int] | None = None,
    limit: float = float("inf"),
) -> Measured:
    """Run a command until it exits; Python commands can import the modules of this repository.

    `environment` is added to this process's. If the system supports it, the command is bound to
    `cores`. After `limit` seconds, the command and its descendants are killed.

    Raises
    ------
    CommandError
        If the command could not be started or exited with a status other than 0.
    CommandTimeout
        If the command took longer than `limit` seconds.
    """
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    variables = {"PYTHONPATH": os.pathsep.join(paths), **(environment or {})}
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        _inheriting_orphans(),
    ):
        other_children = {child.pid for child in psutil.Process().children()}
        start = time.perf_counter()
        try:
            with _pin_cores(cores):
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    env=os.environ | variables,
                    start_new_session=True,
                )
        except OSError as error:
            raise CommandError(f"{shlex.join(command)}\ncould not be started: {error}") from error
        watch = FamilyPeak(process.pid)
        watch.start()
        try:
            status, cpu, largest = _wait(process, start + limit)
        except BaseException:  # also on Ctrl-C, no process is left behind
            _kill_family(process.pid)
            raise
        finally:
            watch.stopped.set()
            wall = time.perf_counter() - start
            orphan_seconds = _wait_for_orphans(other_children)
        if status != 0:
            last_output = _read_end(errors) or _read_end(output)
            if status is None:
                reason = f"took longer than {limit:g} s"
                raise CommandTimeout(f"{shlex.join(command)}\n{reason}:\n{last_output}")
            reason = f"ended with exit code {status}"
            raise CommandError(f"{shlex.join(command)}\n{reason}:\n{last_output}")
        output.seek(0)
        text = output.read().decode(errors="replace")
        return Measured(wall, cpu + orphan_seconds, largest, watch.peak, text)


def call(function: str, arguments: Mapping[str, Any], **options: Any) -> tuple[Any, Measured]:
    """Call ``module:function`` in a new interpreter, and measure its resources.

    Keyword arguments and result are passed as JSON. Options are those of `run`.
    """
    measured = run([sys.executable, "-c", CALL, function, json.dumps(arguments)], **options)
    return json.loads(measured.output.splitlines()[-1]), measured


class FamilyPeak(threading.Thread):
    """Thread that samples the memory of a process and its descendants until `stopped` is set.

    `peak` is the largest sum of their memory in bytes, or 0 if no descendant was seen.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        """Sample until `stopped` is set."""
        while not self.stopped.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, self._bytes())

    def _bytes(self) -> int:
        descendants_bytes = 0
        try:
            root = psutil.Process(self.pid)
            for process in root.children(recursive=True):
                if time.time() - process.create_time() > SETTLED_SECONDS:
                    descendants_bytes += process.memory_full_info().uss
            if not descendants_bytes:
                return 0
            return descendants_bytes + int(root.memory_info().rss)
        except psutil.Error:  # a process has exited meanwhile; skip this sample
            return 0


def _wait(process: subprocess.Popen[bytes], end: float) -> tuple[int | None, float, int]:
    """Wait until a process exits; kill it and its descendants at the time `end`.

    Returns the exit code (None after a timeout), the CPU seconds and the peak memory in bytes.
    """
    status = None
    while not (wait_result := os.wait4(process.pid, os.WNOHANG))[0]:
        if time.perf_counter() > end:
            _kill_family(process.pid)
            wait_result = os.wait4(process.pid, 0)
            break
        time.sleep(0.01)
    else:
        status = os.waitstatus_to_exitcode(wait_result[1])
    # wait4 has reaped the process, so Popen cannot find its status.
    process.returncode = os.waitstatus_to_exitcode(wait_result[1])
    usage = wait_result[2]
    unit = 1 if sys.platform == "darwin" else 1024
    return status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def _wait_for_orphans(other_children: set[int]) -> float:
    """Wait for inherited descendants, kill those that do not exit, and return their CPU seconds."""
    seconds, end = 0.0, time.perf_counter() + GRACE_SECONDS
    while True:
        orphans = [
            child for child in psutil.Process().children() if child.pid not in other_children
        ]
        if not orphans:
            return seconds
        for orphan in orphans:
            if time.perf_counter() > end:
                with contextlib.suppress(psutil.Error):
                    orphan.kill()
            with contextlib.suppress(ChildProcessError):
                pid, _, usage = os.wait4(orphan.pid, os.WNOHANG)
                seconds += usage.ru_utime + usage.ru_stime if pid else 0.0
        time.sleep(0.01)


def _kill_family(pid: int) -> None:
    """Kill a process and its descendants, including those in sessions of their own."""
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)


@contextlib.contextmanager
def _inheriting_orphans() -> Iterator[None]:
    """Let this process inherit descendants whose parent exits; only on Linux."""
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
def _pin_cores(cores: Sequence[int] | None) -> Iterator[None]:
    """Bind this thread, and so the processes that it starts, to these cores within the context."""
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    previous_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, previous_cores)


def _read_end(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").strip()[-SHOWN_CHARACTERS:]
