"""The tool itself: its name, its commands, and what all of them share."""

from typing import Annotated

import typer

from gensim_tfw2v import __version__
from gensim_tfw2v.cli import cluster
from gensim_tfw2v.cli.cluster import task
from gensim_tfw2v.cli.demo import demo
from gensim_tfw2v.cli.evaluate import evaluate
from gensim_tfw2v.cli.failures import CommandsWithClearFailures
from gensim_tfw2v.cli.merge import merge
from gensim_tfw2v.cli.neighbours import neighbours
from gensim_tfw2v.cli.plan import plan
from gensim_tfw2v.cli.tensorboard import projector, tensorboard
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.processes.children import run_and_leave
from gensim_tfw2v.processes.hazards import holding_interrupts

app = typer.Typer(
    name="tfw2v",
    cls=CommandsWithClearFailures,
    help="Train word2vec vectors on TensorFlow, evaluate them, and look at them.",
    epilog="Exit status: 0 done, 2 wrong usage or input, 130 interrupted, 143 terminated.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tfw2v {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say the version, and end.", callback=_say_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take what goes before the name of a command."""


for command in (train, merge, evaluate, neighbours, projector, tensorboard, plan, demo, task):
    app.command()(command)
app.add_typer(cluster.app, name="cluster")


def main() -> None:
    """Be the tool: do what the arguments of this process ask for, and end it."""
    with holding_interrupts():
        command = typer.main.get_command(app)
    run_and_leave(lambda: command(prog_name="tfw2v"))
