"""Command ``tfw2v demo``, which trains a model on a corpus that gensim contains."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from gensim_tfw2v.cli import common, formats, model_files, model_training
from gensim_tfw2v.cli.common import Verbose, option
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.monitor.progress import phase

#: Words whose neighbours are printed.
PROBE_WORDS = ("attacks", "israeli", "qantas", "economy", "cricket")


def demo(
    out: Annotated[Path | None, option("Where to save the model.")] = None,
    cluster: Annotated[
        str, option("Cluster to train on; 'none' trains in this process.")
    ] = "local:ps=2,worker=2",
    log_dir: Annotated[Path | None, option("Write TensorBoard logs to this folder.")] = None,
    epochs: Annotated[int, option("Passes over the corpus.", min=1)] = 30,
    verbose: Verbose = False,
) -> None:
    """Train skip-gram vectors on a local cluster, and print the neighbours of some words.

    The corpus is 300 Australian news texts of 2001 (60,000 words) that come with gensim.
    """
    if out is not None:
        model_files.check_can_save(out)
        formats.check_model_name(out)
    cluster_value = None if cluster == "none" else cluster
    if cluster_value is not None:
        from gensim_tfw2v.cluster.descriptions import parse_cluster

        parse_cluster(cluster_value)
    if log_dir is not None:
        check_folder("log_dir", log_dir)
    location = "in this process" if cluster_value is None else f"on {cluster}"
    print(f"Training skip-gram vectors on 300 news texts of 2001, {location} ...", flush=True)
    with phase("loading gensim", None):
        from gensim.test.utils import datapath
        from gensim.utils import simple_preprocess

        model_training.model_class()
    with open(datapath("lee_background.cor"), encoding="utf-8") as texts:
        sentences = [simple_preprocess(text) for text in texts]
    model, seconds = model_training.train_model(
        model_training.new_model,
        sentences=sentences,
        sg=1,
        epochs=epochs,
        cluster=cluster_value,
        log_dir=log_dir,
    )
    saved = [] if out is None else list(model_files.save_model(model, out, None, False))
    model_training.print_results(model, seconds, saved)
    if log_dir is not None:
        common.print_rows([("look", f"tfw2v tensorboard {shlex.quote(str(log_dir))}")])
    common.print_neighbours({word: model.wv.most_similar(word, topn=5) for word in PROBE_WORDS})
