"""``tfw2v task``: one ps or worker of a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose


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
    from gensim_tfw2v.cluster.hosts import read_hosts
    from gensim_tfw2v.cluster.server import serve
    from gensim_tfw2v.cluster.spec import from_tf_config

    if hosts is None:
        cluster, own = from_tf_config(os.environ)
    else:
        cluster = read_hosts(hosts)
        own = cluster.task(role, index)
    if own.role == "chief":
        raise BadInput("TF_CONFIG says that this is the chief: run the program that trains here")
    number = serve(cluster, own, with_parent, log_dir or None)
    # TensorFlow's server cannot be stopped, and would keep the interpreter from ending
    os._exit(128 + number if number else 0)
