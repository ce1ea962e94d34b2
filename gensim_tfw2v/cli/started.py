"""``tfw2v cluster ls``, ``logs`` and ``stop``: the clusters that the tool runs from this machine.

A cluster's folder, which has the logs of its tasks, is locked as long as its program runs: see
`gensim_tfw2v.files.temporary`.
"""

import contextlib
import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gensim_tfw2v.cli.common import BadInput, Verbose, option, print_table
from gensim_tfw2v.files.temporary import OWNED, PREFIX, locked
from gensim_tfw2v.messages import quoted

Name = Annotated[str | None, option("Name that tfw2v cluster ls prints, needed if several run.")]


def ls(verbose: Verbose = False) -> None:
    """List the clusters that tfw2v has started from this machine, local ones and those over ssh.

    Prints a table on a terminal, and tab-separated values to a file or pipe.
    """
    rows = [[name, *map(str, program)] for name, (_, program) in _running().items()]
    print_table(["name", "pid", "ps", "worker", "command"], rows)


def logs(
    task: Annotated[
        str, typer.Argument(metavar="[TASK]", help="Task, such as worker-0; by default all.")
    ] = "*",
    name: Name = None,
    verbose: Verbose = False,
) -> None:
    """Print what the tasks of a cluster have written, each line after the name of its task."""
    from gensim_tfw2v.cluster.started_cluster import is_noise

    folder = _chosen(name)[1]
    if not (paths := sorted(folder.glob(f"{task}.log"))):
        known = ", ".join(sorted(path.stem for path in folder.glob("*.log"))) or "none"
        raise BadInput(f"TASK is {quoted(task)}, of which there is no log; there is {known}")
    for path in paths:
        for line in path.read_text("utf-8", "replace").splitlines():
            if not is_noise(line):
                print(f"{path.stem} | {line}")


def stop(name: Name = None, verbose: Verbose = False) -> None:
    """Stop a cluster and its training, which keeps its checkpoints; wait until it has ended."""
    name, _, (pid, *_) = _chosen(name)
    os.kill(pid, signal.SIGTERM)
    while name in _running():
        time.sleep(0.1)


def _running() -> dict[str, tuple[Path, list[Any]]]:
    """Give each cluster's folder, and what its program has noted of itself, by the cluster's name.

    Folders of other users, who could name any process, are left out.
    """
    from gensim_tfw2v.cluster.started_cluster import PROGRAM

    found = {}
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}cluster-*"):
        with contextlib.suppress(OSError), (folder / OWNED).open("r+b") as file:
            if folder.lstat().st_uid == os.geteuid() and locked(file) is False:
                program = json.loads((folder / PROGRAM).read_text("utf-8"))
                found[folder.name.rpartition("-")[2]] = folder, program
    return found


def _chosen(name: str | None) -> tuple[str, Path, list[Any]]:
    running = _running()
    names = list(running) if name is None else [name]
    if len(names) != 1 or names[0] not in running:
        known = ", ".join(running) or "none"
        raise BadInput(f"give --name, that of a cluster that runs (tfw2v cluster ls): {known}")
    return names[0], *running[names[0]]
