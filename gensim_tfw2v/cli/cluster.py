"""``tfw2v cluster``: whole clusters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from typing import Annotated

import typer

from gensim_tfw2v.cli import manifest
from gensim_tfw2v.cli.failures import BadInput, Verbose, fail

app = typer.Typer(no_args_is_help=True, help="Start a cluster, or see whether one is there.")
app.add_typer(manifest.app, name="manifest")

#: How often a command that was killed is started again.
RESTARTS = 10


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def local(
    context: typer.Context,
    ps: Annotated[int, typer.Option(help="Tasks that hold the vectors.", min=1)] = 1,
    workers: Annotated[int, typer.Option(help="Tasks that train.", min=1)] = 2,
    verbose: Verbose = False,
) -> None:
    """Run a training on a cluster of this machine: tfw2v cluster local -- train CORPUS -o MODEL.

    Tasks are started, watched and ended with it. A worker that is killed is started anew and goes
    on; if a ps, the coordinator or the command itself is, training goes on from the last
    checkpoint.
    """
    command = context.args
    if not command or command[0] != "train":
        raise BadInput("give the training after --, as in: tfw2v cluster local -- train CORPUS ...")
    if any(argument.split("=")[0] == "--cluster" for argument in command):
        raise BadInput("--cluster is what this command is for: leave it out after --")
    with tempfile.TemporaryDirectory(prefix="tfw2v-checkpoints-") as folder:
        command = [*command, "--cluster", f"local:ps={ps},worker={workers}"]
        if not any(argument.split("=")[0] == "--checkpoint-dir" for argument in command):
            command += ["--checkpoint-dir", folder]
        raise typer.Exit(_supervised([sys.executable, "-m", "gensim_tfw2v", *command]))


def _supervised(command: list[str]) -> int:
    """Run a command, again each time that it was killed; give its exit status."""
    for restart in range(RESTARTS + 1):
        process = subprocess.Popen(command)
        try:
            status = process.wait()
        except BaseException as error:
            # Ctrl-C has come to the command as well; SIGTERM has not
            if not isinstance(error, KeyboardInterrupt):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        if status >= 0:
            return status
        if restart < RESTARTS:
            print(
                f"tfw2v: the training was killed by signal {-status}; going on from its last "
                "checkpoint",
                file=sys.stderr,
            )
    fail(f"the training was killed {RESTARTS + 1} times", status=1)


@app.command()
def status(
    seconds: Annotated[float, typer.Option(help="How long to wait for each.", min=0.1)] = 3.0,
    verbose: Verbose = False,
) -> None:
    """Say which tasks of the cluster that TF_CONFIG describes answer; status 1 if one does not."""
    from gensim_tfw2v.cluster import MissingTasks, from_tf_config, wait_for_tasks

    cluster, _ = from_tf_config(os.environ)
    tasks = cluster.servers()
    missing: tuple[object, ...] = ()
    try:
        wait_for_tasks(tasks, seconds)
    except MissingTasks as error:
        missing = error.tasks
    for task in tasks:
        print(f"{task.role:<7}{task.index:<4}{task.address:<24}", end="")
        print("does not answer" if task in missing else "answers")
    if missing:
        raise typer.Exit(1)
