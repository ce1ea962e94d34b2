"""``tfw2v cluster ls``, ``logs``, ``stop`` and `status`, for clusters started from this machine.

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
from gensim_tfw2v.files.temporary import OWNED, PREFIX, try_lock
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
    name, _, (pid, *_, command) = _chosen(name)
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(pid, signal.SIGTERM)
    while name in _running():
        time.sleep(0.1)
    print(f"stopped {name}: {command}")


def none_runs() -> bool:
    """Return whether this machine has started no cluster that is running."""
    return not _running()


def print_states(name: str | None, seconds: float) -> bool:
    """Print the state of the tasks of one cluster, or of all; return whether all serve.

    Waits up to `seconds` until they do.
    """
    names = sorted(_running()) if name is None else [_chosen(name)[0]]
    deadline = time.monotonic() + seconds
    while True:
        running = _running()
        states = {one: _states(*running[one]) for one in names if one in running}
        serve = all(state == "serves" for tasks in states.values() for *_, state in tasks)
        is_complete = serve and len(states) == len(names)
        if is_complete or time.monotonic() >= deadline:
            break
        time.sleep(0.1)
    for one in names:
        print(f"{one}: {running[one][1][-1] if one in running else 'has ended'}")
        for task, pid, state in states.get(one, ()):
            role, _, index = task.rpartition("-")
            print(f"{role:<7}{index:<4}{f'pid {pid}' if pid else '':<24}{state}")
    return is_complete


def _states(folder: Path, program: list[Any]) -> list[tuple[str, int, str]]:
    """Return the name, process id (0 for none) and state of each task of a cluster.

    Local tasks may be in a network that this process cannot reach, so processes and logs are read.
    """
    from gensim_tfw2v.cluster.started_cluster import TASKS

    started = {}
    with contextlib.suppress(OSError):  # no task has been started yet
        started = json.loads((folder / TASKS).read_text("utf-8"))
    _, ps, workers, _ = program
    tasks = [f"ps-{index}" for index in range(ps)] + [f"worker-{i}" for i in range(workers)]
    return [
        (task, started.get(task, [0])[0], _state(folder / f"{task}.log", *started.get(task, ())))
        for task in tasks
    ]


def _state(log: Path, pid: int = 0, start: int = 0) -> str:
    """Return the state of a task from its process and its log, which begins at `start`."""
    import psutil  # only one command needs it

    if not pid:
        return "not started"
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return "has ended"
    except psutil.NoSuchProcess:
        return "has ended"
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(start)
        if any(line.rstrip().endswith(b") serves") for line in file):
            return "serves"
    return "starting"


def _running() -> dict[str, tuple[Path, list[Any]]]:
    """Return the folder of each running cluster and the description of its program, by name.

    Folders of other users are skipped, because such a folder could name any process as its program.
    """
    from gensim_tfw2v.cluster.started_cluster import PROGRAM

    found = {}
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}cluster-*"):
        with contextlib.suppress(OSError), (folder / OWNED).open("r+b") as file:
            if folder.lstat().st_uid == os.geteuid() and try_lock(file) is False:
                program = json.loads((folder / PROGRAM).read_text("utf-8"))
                found[folder.name.rpartition("-")[2]] = folder, program
    return found


def _chosen(name: str | None) -> tuple[str, Path, list[Any]]:
    running = _running()
    names = list(running) if name is None else [name]
    asked = "" if name is None else f"--name is {quoted(name)}: "
    if not running:
        raise BadInput(
            f"{asked}no cluster is running that tfw2v has started from this machine; tfw2v cluster "
            "local and tfw2v cluster ssh start one"
        )
    if len(names) != 1 or names[0] not in running:
        known = ", ".join(running)
        raise BadInput(f"{asked}give the --name of a running cluster (tfw2v cluster ls): {known}")
    return names[0], *running[names[0]]
