"""Loss of a text that a model was not trained on."""

import copy
from dataclasses import replace
from typing import Any

from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.files import Source
from gensim_tfw2v.kernel.tables import UnitTask
from gensim_tfw2v.training.session import Training
from gensim_tfw2v.training.state import check_state
from gensim_tfw2v.training.weights import complete


def held_out_loss(model: Any, source: Source) -> float:
    """Mean loss of the predictions of a text, in nats; the model stays as it is.

    What is computed is what a training on the text would report for its first epoch if its step
    sizes were 0, with the same random draws in each call: so two models of the same objective,
    vocabulary and options can be told apart by it on much less text than by rated word pairs.
    Words that the model does not know are left out. It is computed in this process, on `workers`
    threads, also if the model, a `TFWord2Vec`, has a cluster. `TFWord2Vec.held_out_loss` says what
    is raised.
    """
    complete(model)
    config = replace(
        TrainingConfig.of(model),
        cluster=None,
        regime=None,
        layout="rows",
        log=None,
        checkpoint_dir=None,
    )
    observer = copy.copy(model)  # with the model's own arrays, which nothing is written to
    observer.seed = 0 if model.seed is None else model.seed  # the same draws in each call
    observer.compute_loss = True
    observer.epochs = 1
    observer.train_count = 0
    observer.running_training_loss = 0.0
    check_state(observer, config)
    corpus = model._corpus_reader.read("reading the text", source, model.wv.key_to_index, config)
    training = Training(observer, config, corpus)
    training.bar.set_description("predicting")
    try:
        training.regime.load(training.weights.load())
        tasks = [UnitTask.of(unit, (0.0, 0.0), training.seed) for unit in training.units]
        training.regime.train_epoch(tasks, training.count)
    finally:
        training.close()
    if not (means := training.position.means()):
        raise ValueError(
            "nothing was predicted: the text has no two words of the vocabulary in a sentence, or "
            f"too few for sample={model.sample}"
        )
    return means[0]
