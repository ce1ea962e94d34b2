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
