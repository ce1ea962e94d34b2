"""``tfw2v cluster ssh``: a training on hosts that ssh reaches."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose
from gensim_tfw2v.cli.given_training import checkpointed, given_training, supervise

if TYPE_CHECKING:
    from gensim_tfw2v.cluster import Task


def ssh(
    context: typer.Context,
    hosts: Annotated[
        Path,
        typer.Option(
            help="JSON or YAML file with the addresses of all tasks, this machine's as chief: "
            '{"chief": ["10.0.0.1:2222"], "ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}.'
        ),
    ],
    ssh: Annotated[
        str, typer.Option(help="The client of OpenSSH, with options: 'ssh -p 2200 -l me'.")
    ] = "ssh",
    command: Annotated[
        str,
        typer.Option(
            help="How tfw2v is called on the hosts, in sh: '. venv/bin/activate && tfw2v'."
        ),
    ] = "tfw2v",
    seconds: Annotated[
        float, typer.Option(help="How long the tasks have to come up.", min=1)
    ] = 30.0,
    verbose: Verbose = False,
) -> None:
    """Run a training on other hosts: tfw2v cluster ssh --hosts FILE -- train CORPUS -o MODEL.

    Each task is started by ssh on its host, without a password, and what it writes is shown.
    Tasks that end are started anew; all end with the training, which runs here. A ps that ends, or
    this training, costs what came after the last checkpoint.
    """
    arguments, values = given_training(context)

    from gensim_tfw2v.cluster.spec import read_hosts
    from gensim_tfw2v.cluster.ssh import SshCluster

    cluster = read_hosts(hosts)
    if cluster.chief is None:
        raise BadInput(
            f"{hosts}: has no chief; add the address at which tasks reach this machine, as "
            '"chief": ["10.0.0.1:2222"]'
        )
    try:
        client = shlex.split(ssh)
    except ValueError as error:
        raise BadInput(f"--ssh is {ssh!r}: write it as for a shell ({error})") from error
    if not client:
        raise BadInput("--ssh is empty: give the client of OpenSSH, as in --ssh 'ssh -p 2200'")
    log_dir = None if values["log_dir"] is None else os.path.abspath(values["log_dir"])
    with (
        checkpointed(arguments, values) as training,
        SshCluster(cluster, _show, client, command, seconds, log_dir) as tasks,
        tasks.restarting(),
    ):
        status = supervise(
            [*training, "--cluster", "TF_CONFIG"], {"TF_CONFIG": cluster.tf_config("chief", 0)}
        )
    raise typer.Exit(status)


def _show(task: Task, line: str) -> None:
    from gensim_tfw2v.cluster.tasks import prefixed

    # in one call, for several threads write
    sys.stderr.write(f"{prefixed(task, line)}\n")
    sys.stderr.flush()
