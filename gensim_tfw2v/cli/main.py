"""The tool itself: its name, its commands, and what all of them share."""

import typer

from gensim_tfw2v.cli import benchmark, cluster
from gensim_tfw2v.cli.demo import demo
from gensim_tfw2v.cli.evaluate import evaluate
from gensim_tfw2v.cli.failures import CommandsWithClearFailures
from gensim_tfw2v.cli.merge import merge
from gensim_tfw2v.cli.neighbours import neighbours
from gensim_tfw2v.cli.plan import plan
from gensim_tfw2v.cli.projector import projector
from gensim_tfw2v.cli.task import task
from gensim_tfw2v.cli.tensorboard import tensorboard
from gensim_tfw2v.cli.train import train

app = typer.Typer(
    name="tfw2v",
    cls=CommandsWithClearFailures,
    help="Train word2vec vectors on TensorFlow, evaluate them, and look at them.",
    epilog="Exit status: 0 done, 2 wrong usage or input, 130 interrupted, 143 terminated.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (train, merge, evaluate, neighbours, projector, tensorboard, plan, demo, task):
    app.command()(command)
app.add_typer(cluster.app, name="cluster")
app.add_typer(benchmark.app, name="benchmark")
