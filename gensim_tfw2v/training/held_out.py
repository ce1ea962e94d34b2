"""The loss of a text that a model was not trained on."""

import copy
import threading
from dataclasses import replace
from typing import Any

from gensim_tfw2v.checks.state import check_state
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.cached import Extent, Source, encode_source
from gensim_tfw2v.kernel.task import UnitReport, UnitTask
from gensim_tfw2v.monitor.progress import reading_bar
from gensim_tfw2v.training.position import Position
from gensim_tfw2v.training.session import Training


def held_out_loss(model: Any, source: Source) -> float:
    """Mean loss of the predictions of a text, in nats; the model stays as it is.

    What is computed is what a training on the text would report for its first epoch if its step
    sizes were 0, with the same random draws in each call: so two models of the same objective,
    vocabulary and options can be told apart by it on much less text than by rated word pairs.

    Parameters
    ----------
    model : TFWord2Vec
        It is computed in this process, on `workers` threads, also if `model` has a cluster.
    source : Path or iterable of list of str
        Words that the model does not know are left out.

    Raises
    ------
    ValueError
        If nothing is predicted: no two words of the vocabulary stand in a sentence, or subsampling
        has left none. If the model's rows are not finite.
    """
    observer = copy.copy(model)  # with the model's own arrays, which nothing is written to
    config = replace(
        TrainingConfig.of(model),
        cluster=None,
        regime=None,
        layout="rows",
        log=None,
        checkpoint_dir=None,
    )
    observer.seed = 0 if model.seed is None else model.seed  # the same draws in each call
    observer.compute_loss, observer.epochs, observer.train_count = True, 1, 0
    check_state(observer, config)
    with reading_bar("reading the text", Extent.of(source), model.progress) as show:
        encoded = encode_source(source, model.wv.key_to_index, model.encoded_dir, progress=show)
    training = Training(observer, config, *encoded)
    training.bar.set_description("predicting")
    position, lock = Position(), threading.Lock()

    def report(result: UnitReport) -> None:  # from any thread
        with lock:
            position.add(result, in_total=True)
            training.bar.update(result.unit.raw_words)

    try:
        training.load()
        tasks = [UnitTask.of(unit, (0.0, 0.0), training.seed) for unit in training.units]
        training.regime.train_epoch(tasks, report)
    finally:
        training.close()
    if position.mean_loss is None:
        raise ValueError(
            "nothing was predicted: the text has no two words of the vocabulary in a sentence, or "
            f"too few for sample={model.sample}"
        )
    return position.mean_loss
