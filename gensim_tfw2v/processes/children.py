"""Python processes that work for this one, and end with it.

Not with `multiprocessing`: its "spawn" runs the user's script again, and "fork" is unsafe beside
the threads of TensorFlow.
"""

import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gensim_tfw2v.processes.process_guards import flush_streams

# of Linux's prctl.h
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15

#: Lines of a process's log that an error shows.
LOG_LINES = 12


def last_lines(log: Path) -> str:
    """Where a process's log ends, for an error; nothing if the log is empty or not there."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return f"; its log, {log}, ends:\n" + "\n".join(lines[-LOG_LINES:]) if lines else ""


def name_process(name: str) -> None:
    """Give this process a name that ``ps`` and ``top`` show, of 15 bytes at most.

    It has no blanks: Slurm, for one, splits ``/proc/PID/stat`` at them, and misses processes.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def end_with_parent() -> None:
    """Let Linux kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run_and_exit(run: Callable[[], object]) -> None:
    """Run all that a process is for, and end it without taking the interpreter apart.

    With TensorFlow imported that takes half a second, for nothing: ``atexit``'s functions are
    called as always, and what `run` raises ends the process as always, SystemExit with its status.
    """
    status = 0

    def leave() -> None:
        flush_streams()
        os._exit(status)

    atexit.register(leave)  # before all that `run` registers: it is called last
    try:
        run()
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        raise
    except BaseException:
        status = 1
        raise
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # which would only be printed


def python() -> str:
    """Return the interpreter that processes are started with: this one's, or one like it.

    A program that Python is embedded in may have none, and name another.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    if sys.executable:
        return sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in (os.path.join(sys.prefix, "bin"), os.path.join(sys.base_prefix, "bin"), None):
        if found := shutil.which(name, path=folder):
            return found
    raise RuntimeError(
        f"sys.executable is empty, as where Python is embedded, and no {name} is on the PATH: set "
        "sys.executable to an interpreter of this version, which other processes are started with"
    )


def start_module(
    module: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    launcher: Sequence[str] = (),
    **options: Any,
) -> "subprocess.Popen[bytes]":
    """Run a module of this package in another process, out of Ctrl-C's reach.

    Its standard input closes when this process ends, however it does: the module has to end then.
    `environment` are variables beside those of this process; `launcher` is a command that becomes
    the one that follows it; `options` are for ``subprocess.Popen``.
    """
    options.setdefault("stdin", subprocess.PIPE)
    return subprocess.Popen(
        [*launcher, python(), "-m", module, *arguments],
        env=_environment(environment or {}),
        start_new_session=True,
        **options,
    )


def exec_module(module: str, *arguments: str) -> NoReturn:
    """Run a module of this package in place of this program, as `start_module` would.

    The process keeps its number, its parent and its standard streams. All else of it is freed.
    """
    flush_streams()
    os.execve(python(), [python(), "-m", module, *arguments], _environment({}))


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    paths = [*sys.path, str(Path(__file__).parents[2])]
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONSAFEPATH": "1",  # modules in the working folder do not take others' places
    }
    return os.environ | own | dict(more)
