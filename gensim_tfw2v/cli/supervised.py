"""The training that a command is given, after ``--``, in a process of its own.

It is run again when it is killed, and never left behind.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from gensim_tfw2v.cli.common import BadInput, fail
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.cli.training import is_stream
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.children import start_module

#: Settings of a command with a training: its own options end at ``--``, or at ``train``.
TAKES_TRAINING = {"allow_extra_args": True, "allow_interspersed_args": False}

#: How often a training that was killed is started again.
RESTARTS = 10

#: Seconds that a training has to end when this process is to end.
ENDING_SECONDS = 60.0

_trainings = typer.Typer(add_completion=False)
_trainings.command()(train)


def parse_training(context: typer.Context) -> tuple[list[str], dict[str, Any]]:
    """The arguments after ``train``, and their values by the names of the parameters of `train`."""
    if context.args[:1] != ["train"]:
        path = context.command_path.split(" ", 1)[-1]
        raise BadInput(f"give the training after --, as in: tfw2v {path} -- train CORPUS -o MODEL")
    arguments = context.args[1:]
    if any(argument.split("=")[0] == "--cluster" for argument in arguments):
        raise BadInput("--cluster is what this command is for: leave it out after --")
    parser = typer.main.get_command(_trainings)
    values = parser.make_context("tfw2v train", list(arguments)).params
    if is_stream(Path(values["corpus"])):
        raise BadInput(
            f"{values['corpus']}: a training that may be started again needs a file that can be "
            "read again; write the text to one (or: tfw2v train - --cluster local:ps=1,worker=2)"
        )
    return arguments, values


@contextlib.contextmanager
def checkpointed(arguments: Sequence[str], values: Mapping[str, Any]) -> Iterator[list[str]]:
    """The arguments of ``tfw2v`` for a training with checkpoints, by default temporary ones."""
    command = ["train", *arguments]
    if values["checkpoint_dir"] is not None:
        yield command
        return
    with TemporaryFolder("checkpoints") as folder:
        yield [*command, "--checkpoint-dir", str(folder)]


def supervise(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a command of this tool, again each time that it was killed; give its exit status.

    It has a process group of its own, so that Ctrl-C comes to it once: from here, whether the
    terminal has sent it or another process, and with time to end. It ends with this process.
    """
    for restart in range(RESTARTS + 1):
        process = start_module("gensim_tfw2v.cli.start", *command, environment=environment)
        try:
            status = process.wait()
        except BaseException as error:
            is_interrupted = isinstance(error, KeyboardInterrupt)
            _end(process, signal.SIGINT if is_interrupted else signal.SIGTERM)
            raise
        finally:
            assert process.stdin is not None
            process.stdin.close()
        if status >= 0:
            return status
        if restart < RESTARTS:
            print(
                f"tfw2v: the training was killed by signal {-status}; going on from its last "
                "checkpoint",
                file=sys.stderr,
            )
    fail(f"the training was killed {RESTARTS + 1} times", status=1)


def _end(process: subprocess.Popen[bytes], number: int) -> None:
    process.send_signal(number)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
    finally:  # also at a second Ctrl-C
        process.kill()
        process.wait()
