"""``tfw2v cluster``: whole clusters; ``tfw2v task``: one ps or worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from gensim_tfw2v.cli import manifest
from gensim_tfw2v.cli.failures import BadInput, Verbose
from gensim_tfw2v.cli.given_training import WITH_TRAINING, checkpointed, given_training, supervise
from gensim_tfw2v.cli.ssh import ssh

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


def task(
    hosts: Annotated[
        Path | None,
        typer.Option(
            help='JSON or YAML file with the addresses of all tasks: {"ps": ["10.0.0.2:2222"], '
            '"worker": ["10.0.0.3:2222"]}. By default TF_CONFIG says them.'
        ),
    ] = None,
    role: Annotated[Literal["ps", "worker"], typer.Option(help="Which task this is.")] = "worker",
    index: Annotated[int, typer.Option(help="Its number among those of its role.", min=0)] = 0,
    log_dir: Annotated[
        str | None,
        typer.Option(
            envvar="TFW2V_LOG_DIR",
            help="The training's folder for TensorBoard: this task writes a run into it, with "
            "the CPU time, memory and network that it takes.",
        ),
    ] = None,
    with_parent: Annotated[
        bool,
        typer.Option("--with-parent", help="End when standard input closes, as over ssh."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run one task of a cluster, a ps or a worker, until SIGTERM or Ctrl-C.

    The program that trains, with cluster="TF_CONFIG", is the cluster's chief. TensorFlow's server
    has no authentication: whoever reaches its port can run programs on this machine.
    """
    from gensim_tfw2v.cluster.server import serve
    from gensim_tfw2v.cluster.spec import from_tf_config, read_hosts

    if hosts is None:
        cluster, own = from_tf_config(os.environ)
    else:
        cluster = read_hosts(hosts)
        own = cluster.task(role, index)
    if own.role == "chief":
        raise BadInput("TF_CONFIG says that this is the chief: run the program that trains here")
    serve(cluster, own, with_parent, log_dir or None)
