"""The regime that a model asks for, ready to train."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gensim_tfw2v.attributes import rates_of, unit_program, words_of
from gensim_tfw2v.children import usable_cores
from gensim_tfw2v.cluster.nursery import Nursery
from gensim_tfw2v.cluster.opening import LocalTasks, open_cluster, parse_cluster
from gensim_tfw2v.cluster.probe import READY_SECONDS
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.monitor.options import log_options
from gensim_tfw2v.options import (
    UNIT_ENTRIES,
    ClusterProgram,
    choose_noise_reuse,
    choose_unit_entries,
)
from gensim_tfw2v.regimes import CoordinatedRegime, LocalRegime, Regime, Setup


def unit_entries(model: Any, tokens: int) -> int:
    """Entries of a work unit, at most, for a corpus of so many tokens."""
    if model.cluster is None:
        return UNIT_ENTRIES
    which = parse_cluster(model.cluster)
    workers = which.workers if isinstance(which, LocalTasks) else len(which.worker)
    return choose_unit_entries(tokens, workers * _threads(model, which))


def open_nursery(model: Any) -> None:
    """Let a local cluster's processes get ready, if the model trains on one."""
    local = model.cluster is not None and isinstance(parse_cluster(model.cluster), LocalTasks)
    if local and model._nursery is None:
        model._nursery = Nursery()


def _threads(model: Any, which: Cluster | LocalTasks) -> int:
    """Of each worker: those of one machine share its cores."""
    if isinstance(which, LocalTasks):
        return min(model.workers, max(1, usable_cores() // which.workers))
    return int(model.workers)


@contextlib.contextmanager
def open_regime(
    model: Any, tokens: int, units: int, max_entries: int, seed: int, folder: Path
) -> Iterator[Regime]:
    """Make it, and end it, with the tasks that were started for it.

    Parameters
    ----------
    model : TFWord2Vec
    tokens : int
        Of the corpus, that are in the vocabulary.
    units, max_entries : int
        Work units of an epoch, and entries of each, at most.
    seed : int
    folder : Path
        For what a cluster needs while it trains.

    Raises
    ------
    MissingTasks
        If tasks of the cluster do not answer.
    """
    program = unit_program(model, tokens, max_entries)
    with contextlib.ExitStack() as stack:
        regime: Regime
        if model.cluster is None:
            regime = LocalRegime(program, words_of(model), workers=model.workers, seed=seed)
        else:
            which = parse_cluster(model.cluster)
            log = log_options(model.log_dir)
            log_dir = None if log is None else log.path
            opened = stack.enter_context(
                open_cluster(which, READY_SECONDS, model._nursery, log_dir)
            )
            setup = Setup(
                opened.cluster,
                ClusterProgram(
                    replace(program, noise_reuse=choose_noise_reuse(tokens)),
                    len(opened.cluster.worker),
                    _threads(model, which),
                ),
                words_of(model),
                rates_of(model),
                rows=len(model.wv),
                units=units,
                seed=seed,
                folder=folder,
                ready_seconds=READY_SECONDS,
                log_dir=log_dir,
            )
            regime = CoordinatedRegime(setup, opened.check, opened.start_module)
        try:
            yield regime
        finally:
            regime.close()
