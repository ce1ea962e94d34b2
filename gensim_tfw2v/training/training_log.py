"""Start of a training's log for TensorBoard: its options and the graph of its objective."""

from collections.abc import Callable
from typing import Any

from gensim_tfw2v.monitor.graph import objective_graph
from gensim_tfw2v.monitor.graph_inputs import InputLayer
from gensim_tfw2v.monitor.run import RunLog
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.monitor.traffic import Traffic
from gensim_tfw2v.options.hyperparameters import hyperparameters
from gensim_tfw2v.training.training_plan import Plan


def open_log(
    options: TensorBoardLog,
    model: Any,
    plan: Plan,
    has_resumed: bool,
    find_traffic: Callable[[], Traffic | None],
) -> RunLog:
    """Open the log of a training.

    Parameters
    ----------
    options : TensorBoardLog
    model : TFWord2Vec
    plan : Plan
        Plan of the training, with its corpus.
    has_resumed : bool
        Whether the training continues that of a checkpoint. The run in the log then continues an
        earlier one, like that of a model that has been trained with a log before.
    find_traffic : callable
        Function that returns the traffic of the cluster since the start of training.
    """
    assert plan.corpus is not None
    config = plan.options
    reached = model._state.logged_until
    log = RunLog(
        options,
        hyperparameters(model, plan.corpus.total_raw_words),
        find_traffic,
        reached,
        has_resumed or any(reached),
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
