"""``tfw2v cluster``: whole clusters."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gensim_tfw2v.cli import manifest
from gensim_tfw2v.cli.failures import Verbose
from gensim_tfw2v.cli.ssh import ssh
from gensim_tfw2v.cli.supervision import supervise
from gensim_tfw2v.cli.train_arguments import WITH_TRAINING, checkpointed, given_training

app = typer.Typer(no_args_is_help=True, help="Start a cluster, or see whether one is there.")
app.add_typer(manifest.app, name="manifest")

app.command(context_settings=WITH_TRAINING)(ssh)


@app.command(context_settings=WITH_TRAINING)
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
    arguments, values = given_training(context)
    with checkpointed(arguments, values) as command:
        status = supervise([*command, "--cluster", f"local:ps={ps},worker={workers}"])
    raise typer.Exit(status)


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
