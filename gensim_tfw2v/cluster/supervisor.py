"""The process of ``tfw2v task``, which runs a task in a child process and kills it if it hangs.

Kubernetes, Compose, the script for Slurm, or a loop in a shell restart a command that exits. A task
that hangs does not exit by itself. So this process, its parent, kills it, and exits with its
status.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from typing import NoReturn

from gensim_tfw2v.cluster.server import EXIT_SIGNALS, STANDING, VERBOSE, WITH_PARENT
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.cluster.started_task import LOOK_SECONDS, StartedTask
from gensim_tfw2v.processes.children import start_module

#: Maximum number of seconds until the first heartbeat of a task. Python may be on a slow disk.
START_SECONDS = 600.0

#: Maximum number of seconds that a task may take to exit after a signal, before it is killed. After
#: the same time again, this process exits even if the task cannot be killed.
EXIT_SECONDS = 5.0

#: Seconds that a task has to exit after its parent on another host is lost, before it is killed.
ORPHAN_SECONDS = 1.5

#: Seconds without a heartbeat after which a parent on another host counts as lost.
SILENT_SECONDS = 60.0


def run_task(task: Task, verbose: bool = False) -> NoReturn:
    """Run the task that ``TF_CONFIG`` defines until this process receives a signal; then exit.

    With `verbose`, the task logs to standard error. The exit status is that of the task, or 137
    (128 + SIGKILL) if it was killed because it hung.
    """
    signals: list[int] = []
    for exit_signal in EXIT_SIGNALS:
        signal.signal(exit_signal, lambda number, _: signals.append(number))
    options = [WITH_PARENT, STANDING, *([VERBOSE] if verbose else [])]
    process = start_module("gensim_tfw2v.cluster.server", *options, stdout=subprocess.PIPE)
    child = StartedTask(task, process, _print_line, START_SECONDS)
    while process.poll() is None and not signals and not child.why_killed:
        time.sleep(LOOK_SECONDS)
        child.kill_if_hung()
    if child.why_killed:
        print(f"{task} was killed because {child.why_killed}", file=sys.stderr, flush=True)
    for signal_number in (*signals[:1], signal.SIGKILL):
        child.send(signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(EXIT_SECONDS)
    child.reader.join(1.0)  # so that all output is printed
    _exit_with(-signal.SIGKILL if process.returncode is None else process.returncode)


def run_task_of_parent(verbose: bool = False) -> NoReturn:
    """Run the task that ``TF_CONFIG`` defines for a parent process; then exit with its status.

    The parent, which may be on another host, kills the task if it hangs. The child's standard input
    is closed if the parent is lost. The child then exits, and is killed if it hangs. The parent
    counts as lost when our standard input closes, or after `SILENT_SECONDS` without a heartbeat: a
    connection between hosts can break without notice.
    """
    options = [WITH_PARENT, *([VERBOSE] if verbose else [])]
    process = start_module("gensim_tfw2v.cluster.server", *options)

    def end_without_parent() -> None:
        while select.select([0], [], [], SILENT_SECONDS)[0] and os.read(0, 1024):
            pass
        assert process.stdin is not None
        process.stdin.close()
        time.sleep(ORPHAN_SECONDS)
        process.kill()

    threading.Thread(target=end_without_parent, daemon=True).start()
    _exit_with(process.wait())


def _print_line(task: Task, line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def _exit_with(status: int) -> NoReturn:
    """Exit with a status of ``Popen``, as a shell reports it."""
    sys.exit(status if status >= 0 else 128 - status)
