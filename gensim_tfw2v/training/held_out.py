"""Held-out loss: the loss of a text that a model was not trained on."""

import contextlib
import threading
from dataclasses import replace
from typing import Any

from gensim_tfw2v.corpus.encoded_corpus import unit_key
from gensim_tfw2v.corpus.text_corpus import Source
from gensim_tfw2v.kernel.tables import UnitReport, UnitTask
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.training.corpus_reader import read_corpus
from gensim_tfw2v.training.epoch import Position
from gensim_tfw2v.training.model_arrays import complete_added_words
from gensim_tfw2v.training.model_checks import check_state
from gensim_tfw2v.training.training_plan import Plan, open_regime
from gensim_tfw2v.training.vocabulary import Vocabulary, seed_of
from gensim_tfw2v.training.weights import Weights


def held_out_loss(model: Any, source: Source) -> float:
    """Return the mean loss per prediction of a text, in nats; the model does not change.

    The result is that of one epoch of training on the text with a learning rate of 0. Random draws
    are the same in each call. So two models with the same objective, vocabulary and options can be
    compared on much less text than rated word pairs need. Unknown words are skipped. The
    computation runs in this process, on `workers` threads, even if the model has a cluster. See
    `TFWord2Vec.held_out_loss` for the exceptions.
    """
    complete_added_words(model)
    config = replace(
        model._current_config(),
        cluster=None,
        regime=None,
        layout="rows",
        log=None,
    )
    check_state(model, config)
    vocabulary = Vocabulary.of(model)
    model_vocabulary = model.wv.key_to_index, config, model._known_tags
    corpus = read_corpus("reading the text", source, *model_vocabulary)
    position = Position()
    position_lock = threading.Lock()
    with corpus.temporary:
        if config.deterministic:
            corpus.recut()
        plan = Plan(config, vocabulary, corpus, loss_every=1)
        units = corpus.units(plan.max_entries)
        seed = 0 if model.seed is None else seed_of(model)
        with (
            contextlib.ExitStack() as resources,
            progress_bar(
                "predicting", config.progress, total=corpus.total_raw_words, unit="words"
            ) as bar,
        ):
            regime = open_regime(plan, len(units), seed, resources)

            def report(result: UnitReport) -> None:
                with position_lock:
                    position.add(result)
                    bar.update(result.unit.raw_words)

            regime.load(Weights(model, vocabulary.subwords).tables())
            tasks = [UnitTask(unit, 0, unit_key(seed, 0, unit.index), (0.0, 0.0)) for unit in units]
            regime.train_epoch(tasks, report)
    if not (means := position.means()):
        raise ValueError(
            "nothing was predicted: no sentence of the text has two words of the vocabulary, or "
            f"subsampling with sample={model.sample} left none"
        )
    return means[0]
