"""Errors of commands as results publish them: without this machine's paths, and on one line."""

import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.process import ROOT, CommandError
from benchmarks.report import unique


def hide_paths(error: CommandError, names_by_path: Mapping[str, str]) -> str:
    """Return an error's text, in which placeholders replace this machine's paths.

    `names_by_path` contains the paths of the study's own files; those of Python, of this repository
    and of the user are added.
    """
    text = str(error)
    more_names = {
        sys.executable: "python",
        sys.prefix: "PREFIX",
        str(ROOT): "ROOT",
        str(Path.cwd()): "HERE",
        str(Path.home()): "HOME",
    }
    for path, name in {**names_by_path, **more_names}.items():
        text = text.replace(path, name) if len(path) > 1 else text
    return text


def first_and_last(error: str) -> str:
    """Return the cause of an error and the last line of its output, on one line.

    The JSON file contains the whole text.
    """
    _, *lines = error.splitlines()
    return " ".join(unique([*lines[:1], *lines[-1:]]))
