"""The regime that a model asks for, ready to train."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from gensim_tfw2v.attributes import rates_of, unit_program, words_of
from gensim_tfw2v.cluster.opening import LocalTasks, open_cluster, parse_cluster
from gensim_tfw2v.cluster.probe import READY_SECONDS
from gensim_tfw2v.options import ClusterProgram
from gensim_tfw2v.regimes import AsynchronousRegime, LocalRegime, Regime


@contextlib.contextmanager
def open_regime(
    model: Any, tokens: int, units: int, max_entries: int, seed: int
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
            opened = stack.enter_context(open_cluster(which, READY_SECONDS))
            workers, threads = len(opened.cluster.worker), model.workers
            if isinstance(which, LocalTasks):
                threads = min(threads, max(1, len(os.sched_getaffinity(0)) // workers))
            regime = AsynchronousRegime(
                ClusterProgram(program, workers, threads),
                words_of(model),
                rates_of(model),
                rows=len(model.wv),
                units=units,
                coordinator=opened.coordinator,
                tasks=[task for task in opened.cluster.tasks() if task.role != "chief"],
                seed=seed,
            )
        try:
            yield regime
        finally:
            regime.close()
