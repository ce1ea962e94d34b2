"""TensorBoard log of a training run, with its options and graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gensim_tfw2v.monitor.graph import objective_graph
from gensim_tfw2v.monitor.graph_inputs import InputLayer
from gensim_tfw2v.monitor.run import RunLog
from gensim_tfw2v.monitor.traffic import Traffic
from gensim_tfw2v.options.hyperparameters import hyperparameters
from gensim_tfw2v.training.epoch import Position
from gensim_tfw2v.training.training_plan import Plan


def open_run_log(
    model: Any, plan: Plan, position: Position, read_traffic: Callable[[], Traffic | None]
) -> RunLog:
    """Open the log of a training run, and write its options and its graph.

    Parameters
    ----------
    model : TFWord2Vec
    plan : Plan
        Plan of the training. Its option `log` must be set.
    position : Position
        Progress before this training run: that of a checkpoint, or none.
    read_traffic : callable
        Function that returns the traffic so far, for `RunLog`.
    """
    config = plan.options
    assert config.log is not None and plan.corpus is not None
    # the log continues that of earlier training of this model, or of the run that is resumed
    progress = *model._state.logged_until, position.epoch, position.n_units
    log = RunLog(
        config.log,
        hyperparameters(model, plan.corpus.total_raw_words),
        read_traffic,
        model._state.logged_until,
        is_continued=any(progress),
    )
    input_layer = InputLayer(
        plan.vocabulary.count_rows().inputs,
        has_ngrams=config.has_subwords,
        has_tags=config.has_documents,
        trains_words=config.dbow_words,
        n_concatenated=config.concatenated,
    )
    sizes = len(model.wv), config.vector_size, plan.shape.shared
    log.graph(lambda: objective_graph(config.objective, input_layer, *sizes, model.ns_exponent))
    return log
