"""``tfw2v cluster ls``, ``logs``, ``stop`` and ``status``, for clusters started from this machine.

Each running cluster has a temporary folder with the logs of its tasks. The program that started the
cluster holds a lock on the folder (see `gensim_tfw2v.files.temporary`), so a locked folder means
that the cluster is running.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gensim_tfw2v.cli.common import BadInput, Verbose, fail, option, print_table
from gensim_tfw2v.files.temporary import OWNED, PREFIX, try_lock
from gensim_tfw2v.messages import quoted

#: Seconds that `stop` waits before it prints what it is waiting for.
PATIENCE_SECONDS = 10.0

#: Seconds that a training process has to exit after a signal. It waits up to 120 s for running
#: jobs, then for a checkpoint.
STOPPING_SECONDS = 600.0

Name = Annotated[str | None, option("Name as in tfw2v cluster ls; needed if several are running.")]


def ls(verbose: Verbose = False) -> None:
    """List the clusters that tfw2v has started from this machine, locally or over ssh.

    Prints a table on a terminal, and tab-separated values to a file or pipe.
    """
    rows = [[name, *map(str, program)] for name, (_, program) in _find_running().items()]
    print_table(["name", "pid", "ps", "worker", "command"], rows)


def logs(
    task: Annotated[
        str, typer.Argument(metavar="[TASK]", help="Task, such as worker-0; by default all.")
    ] = "*",
    name: Name = None,
    verbose: Verbose = False,
) -> None:
    """Print the output of a cluster's tasks; each line is preceded by the task's name."""
    from gensim_tfw2v.cluster.started_task import is_noise

    folder = _select(name)[1]
    if not (paths := sorted(folder.glob(f"{task}.log"))):
        names = ", ".join(sorted(path.stem for path in folder.glob("*.log"))) or "none"
        raise BadInput(f"TASK is {quoted(task)}, which has no log; tasks with logs: {names}")
    for path in paths:
        for line in path.read_text("utf-8", "replace").splitlines():
            if not is_noise(line):
                print(f"{path.stem} | {line}")


def stop(name: Name = None, verbose: Verbose = False) -> None:
    """Stop a cluster and its training, and wait until it has exited; checkpoints are kept."""
    name, _, (pid, *_, command) = _select(name)
    with contextlib.suppress(ProcessLookupError):  # the program has just exited
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)  # a program that is suspended (Ctrl-Z) must handle it, too
    start = time.monotonic()
    is_reported = False
    while name in _find_running():
        seconds = time.monotonic() - start
        if seconds > STOPPING_SECONDS:
            fail(f"{name} still runs after {seconds:.0f} s; kill -9 {pid} ends it", status=1)
        if seconds > PATIENCE_SECONDS and not is_reported:
            is_reported = True
            print(
                f"waiting at most {STOPPING_SECONDS:.0f} s for {name} to finish its running jobs, "
                "and to write a checkpoint",
                file=sys.stderr,
            )
        time.sleep(0.1)
    print(f"stopped {name}: {command}")


def has_running_cluster() -> bool:
    """Return whether a cluster that was started from this machine is running."""
    return bool(_find_running())


def print_states(name: str | None, seconds: float) -> bool:
    """Print the state of each task of one cluster, or of all clusters.

    Waits up to `seconds` until all tasks serve, and returns whether they do.
    """
    names = sorted(_find_running()) if name is None else [_select(name)[0]]
    deadline = time.monotonic() + seconds
    while True:
        running = _find_running()
        states = {name: _list_states(*running[name]) for name in names if name in running}
        all_serve = all(state == "serves" for tasks in states.values() for *_, state in tasks)
        is_complete = all_serve and len(states) == len(names)
        if is_complete or time.monotonic() >= deadline:
            break
        time.sleep(0.1)
    for cluster in names:
        print(f"{cluster}: {running[cluster][1][-1] if cluster in running else 'has ended'}")
        for task, pid, state in states.get(cluster, ()):
            role, _, index = task.rpartition("-")
            print(f"{role:<7}{index:<4}{f'pid {pid}' if pid else '':<24}{state}")
    return is_complete


def _list_states(folder: Path, program: list[Any]) -> list[tuple[str, int, str]]:
    """Return the name, process id (0 for none) and state of each task of a cluster.

    Local tasks may be in a network that this process cannot reach. So states are derived from the
    tasks' processes and logs, not from calls to the tasks.
    """
    from gensim_tfw2v.cluster.started_cluster import TASKS_FILE

    processes = {}
    with contextlib.suppress(OSError):  # no task has been started yet
        processes = json.loads((folder / TASKS_FILE).read_text("utf-8"))
    _, n_ps, n_workers, _ = program
    tasks = [f"ps-{index}" for index in range(n_ps)]
    tasks += [f"worker-{index}" for index in range(n_workers)]
    states = []
    for task in tasks:
        pid, log_start = processes.get(task, (0, 0))
        states.append((task, pid, _derive_state(folder / f"{task}.log", pid, log_start)))
    return states


def _derive_state(log: Path, pid: int, log_start: int) -> str:
    """Return the state of a task, derived from its process and from its output.

    `log_start` is the size of the log, in bytes, when the process was started: earlier output is of
    a previous process of the task.
    """
    import psutil  # deferred: only one command needs it

    if not pid:
        return "not started"
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return "has ended"
    except psutil.NoSuchProcess:
        return "has ended"
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(log_start)
        if any(line.rstrip().endswith(b") serves") for line in file):
            return "serves"
    return "starting"


def _find_running() -> dict[str, tuple[Path, list[Any]]]:
    """Return, by the cluster's name, the folder of each running cluster and its program.

    A program is described by its process id, the numbers of ps and worker tasks, and its command.

    Folders of other users are skipped, because such a folder could name any process as its program.
    """
    from gensim_tfw2v.cluster.started_cluster import PROGRAM_FILE

    clusters = {}
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}cluster-*"):
        with contextlib.suppress(OSError), (folder / OWNED).open("r+b") as file:
            if folder.lstat().st_uid == os.geteuid() and try_lock(file) is False:
                program = json.loads((folder / PROGRAM_FILE).read_text("utf-8"))
                clusters[folder.name.rpartition("-")[2]] = folder, program
    return clusters


def _select(name: str | None) -> tuple[str, Path, list[Any]]:
    """Return the name, folder and program of the running cluster with a name.

    Without a name, it is the only running cluster.

    Raises
    ------
    BadInput
        If no cluster has the name, or several are running and no name is given.
    """
    running = _find_running()
    names = list(running) if name is None else [name]
    problem = "" if name is None else f"--name is {quoted(name)}: "
    if not running:
        raise BadInput(
            f"{problem}no cluster is running that tfw2v has started from this machine; tfw2v "
            "cluster local and tfw2v cluster ssh start one"
        )
    if len(names) != 1 or names[0] not in running:
        running_names = ", ".join(running)
        raise BadInput(
            f"{problem}give the --name of a running cluster (tfw2v cluster ls): {running_names}"
        )
    return names[0], *running[names[0]]
