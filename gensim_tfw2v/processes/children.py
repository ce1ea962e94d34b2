"""Python processes that work for this one, and end with it.

`multiprocessing` is not used: its "spawn" runs the user's script again, and "fork" is unsafe with
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

# from Linux's prctl.h
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15

#: Number of lines of a process's log that an error message shows.
LOG_LINES = 12


def last_lines(log: Path) -> str:
    """Return the last lines of a process's log, for an error message; empty if there are none."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return f"; its log, {log}, ends:\n" + "\n".join(lines[-LOG_LINES:]) if lines else ""


def name_process(name: str) -> None:
    """Set the name of this process in ``ps`` and ``top``; at most 15 bytes are used.

    The name must not contain blanks: Slurm splits ``/proc/PID/stat`` at blanks, and would then
    overlook processes.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def exit_with_parent() -> None:
    """Have Linux kill this process when its parent exits."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run_and_exit(run: Callable[[], object]) -> None:
    """Run a function, then exit without finalizing the interpreter.

    With TensorFlow imported, finalization takes half a second and has no use. Functions registered
    with ``atexit`` are called as usual. Exceptions from `run` end the process as usual, SystemExit
    with its status.
    """
    status = 0

    def leave() -> None:
        flush_streams()
        os._exit(status)

    atexit.register(leave)  # registered before the functions of `run`, so called last
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
            # Ctrl-C during the exit would only print a traceback
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def python() -> str:
    """Return the path of the Python interpreter for new processes.

    The path is ``sys.executable``. If that is empty, as in programs that embed Python, it is the
    path of an interpreter of the same version in this Python's folders, or on the PATH.

    Raises
    ------
    RuntimeError
        If no interpreter is found.
    """
    if sys.executable:
        return sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in (os.path.join(sys.prefix, "bin"), os.path.join(sys.base_prefix, "bin"), None):
        if path := shutil.which(name, path=folder):
            return path
    raise RuntimeError(
        f"cannot start Python: sys.executable is empty, and no {name} is on the PATH: set "
        "sys.executable to an interpreter of this version"
    )


def start_module(
    module: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    launcher: Sequence[str] = (),
    **options: Any,
) -> "subprocess.Popen[bytes]":
    """Run a module of this package in a new process, which Ctrl-C does not reach.

    Its standard input closes when this process ends in any way; the module must exit then.
    `environment` contains variables in addition to those of this process. `launcher` is a command
    that executes the command after it. `options` are passed to ``subprocess.Popen``.
    """
    options.setdefault("stdin", subprocess.PIPE)
    return subprocess.Popen(
        [*launcher, python(), "-m", module, *arguments],
        env=_make_environment(environment or {}),
        start_new_session=True,
        **options,
    )


def exec_module(module: str, *arguments: str) -> NoReturn:
    """Replace this program by a module of this package, run as by `start_module`.

    The process keeps its id, its parent and its standard streams. All other resources are freed.
    """
    flush_streams()
    os.execve(python(), [python(), "-m", module, *arguments], _make_environment({}))


def _make_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of this process, those for Python's paths, and `extra`."""
    # Python ignores entries that are not strings, such as paths.
    entries = [entry for entry in sys.path if isinstance(entry, str)]
    paths = [*entries, str(Path(__file__).parents[2])]
    python_variables = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONSAFEPATH": "1",  # files in the working directory must not shadow modules
    }
    return os.environ | python_variables | dict(extra)
