"""``tfw2v cluster ls``, ``logs`` and ``stop``, for clusters started by the tool on this machine.

A cluster's folder, which contains the logs of its tasks, is locked while its program runs: see
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

Name = Annotated[str | None, option("Name as in tfw2v cluster ls; needed if several are running.")]


def ls(verbose: Verbose = False) -> None:
    """List the clusters that tfw2v has started from this machine, locally or over ssh.

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
    """Print the output of a cluster's tasks; each line is preceded by the task's name."""
    from gensim_tfw2v.cluster.started_cluster import is_noise

    folder = _chosen(name)[1]
    if not (paths := sorted(folder.glob(f"{task}.log"))):
        known = ", ".join(sorted(path.stem for path in folder.glob("*.log"))) or "none"
        raise BadInput(f"TASK is {quoted(task)}, which has no log; tasks with logs: {known}")
    for path in paths:
        for line in path.read_text("utf-8", "replace").splitlines():
            if not is_noise(line):
                print(f"{path.stem} | {line}")


def stop(name: Name = None, verbose: Verbose = False) -> None:
    """Stop a cluster and its training, and wait until it has exited; checkpoints are kept."""
    name, _, (pid, *_) = _chosen(name)
    os.kill(pid, signal.SIGTERM)
    while name in _running():
        time.sleep(0.1)


def _running() -> dict[str, tuple[Path, list[Any]]]:
    """Return the folder of each running cluster and the description of its program, by name.

    Folders of other users are skipped, because such a folder could name any process as its program.
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
    if not running:
        raise BadInput("no cluster is running that tfw2v has started from this machine")
    if len(names) != 1 or names[0] not in running:
        known = ", ".join(running)
        raise BadInput(f"give the --name of a running cluster (tfw2v cluster ls): {known}")
    return names[0], *running[names[0]]
