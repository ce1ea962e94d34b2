"""``tfw2v demo``: training seen to work, in under a minute and without a corpus of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from gensim_tfw2v.cli.failures import Verbose

PROBES = ("attacks", "israeli", "qantas", "economy", "cricket")


def demo(
    out: Annotated[Path | None, typer.Option(help="Save the model there.")] = None,
    cluster: Annotated[
        str, typer.Option(help="Where to train; 'none' is in this process.")
    ] = "local:ps=2,worker=2",
    log_dir: Annotated[
        Path | None, typer.Option(help="Log for TensorBoard into this folder.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the corpus.", min=1)] = 30,
    verbose: Verbose = False,
) -> None:
    """Train skip-gram vectors on a cluster of this machine, and print neighbours of some words.

    The corpus is 300 Australian news texts of 2001 (60,000 words) that come with gensim.
    """
    from rich.console import Console

    from gensim_tfw2v.cli import model_files as saving
    from gensim_tfw2v.cli.neighbours import neighbours_table
    from gensim_tfw2v.cli.training import model_class, train_model
    from gensim_tfw2v.monitor.progress import phase

    if out is not None:
        saving.check_can_save(out)
    where = "in this process" if cluster == "none" else f"on {cluster}"
    print(f"Training skip-gram vectors on 300 news texts of 2001, {where} ...", flush=True)
    with phase("loading gensim", None):
        from gensim.test.utils import datapath
        from gensim.utils import simple_preprocess

        model_class()
    with open(datapath("lee_background.cor"), encoding="utf-8") as texts:
        sentences = [simple_preprocess(text) for text in texts]
    options = {"cluster": None if cluster == "none" else cluster, "log_dir": log_dir}
    options = {name: value for name, value in options.items() if value is not None}
    training = train_model(sentences=sentences, sg=1, vector_size=100, epochs=epochs, **options)
    vectors = training.model.wv
    saved = saving.save_whole(out, training.model.save) if out is not None else []
    training.print(saved)
    if log_dir is not None:
        print(f"{'look':<11}tfw2v tensorboard {shlex.quote(str(log_dir))}")
    columns = {word: vectors.most_similar(word, topn=5) for word in PROBES}
    Console(highlight=False).print(neighbours_table(columns))
