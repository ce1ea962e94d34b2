"""Python processes that work for this one, and end with it.

Not with `multiprocessing`: its "spawn" runs the user's script again, and "fork" is unsafe beside
the threads of TensorFlow.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Lines of a process's log that an error shows.
LOG_LINES = 12


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not Linux


def last_lines(log: Path) -> str:
    """Where a process's log ends, for an error; nothing if the log is empty."""
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    return f"; its log, {log}, ends:\n" + "\n".join(lines) if lines else ""


def start_module(
    module: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> "subprocess.Popen[bytes]":
    """Run a module of this package in another process.

    Its standard input closes when this process ends, however it does: the module has to end then.
    Ctrl-C comes to this process alone.

    Parameters
    ----------
    module : str
        Its name.
    *arguments : str
    environment : mapping, optional
        Variables beside those of this process.
    **options
        For ``subprocess.Popen``.
    """
    paths = [*sys.path, str(Path(__file__).parents[1])]
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONSAFEPATH": "1",  # modules in the working folder do not take others' places
        }
        | dict(environment or {}),
        start_new_session=True,
        **options,
    )
