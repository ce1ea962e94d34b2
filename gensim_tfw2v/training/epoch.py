"""Epochs: step sizes, log lines and counters in gensim's form; the loss of a text held out."""

import copy
import logging
import queue
from dataclasses import replace
from itertools import pairwise
from timeit import default_timer
from typing import Any

import numpy as np

from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.files import Source
from gensim_tfw2v.kernel.tables import UnitReport, UnitTask
from gensim_tfw2v.training.corpus_reader import read_corpus
from gensim_tfw2v.training.session import Training
from gensim_tfw2v.training.state import check_state
from gensim_tfw2v.training.vocabulary import complete

logger = logging.getLogger(__name__)

#: gensim's ``MAX_SENTENCE_LEN``: words of a batch that its threads read from a file.
FILE_BATCH_WORDS = 10_000


def train_epoch(
    model: Any,
    training: Training,
    epoch: int,
    total_examples: int | None,
    total_words: int | None,
    report_delay: float,
    is_corpus_file_mode: bool = False,
) -> tuple[int, int, int]:
    """Train an epoch, and put vectors and counters into the model, a `TFWord2Vec`.

    `total_examples` and `total_words` are what gensim's `train` was told of the corpus, and
    `report_delay` is in seconds. Gives words trained on, raw words, and units.
    """
    corpus = training.corpus
    position = training.position
    # gensim decays alpha by what it was told of the corpus, not by what it finds
    corpus_ratio = (
        corpus.total_sentences / total_examples
        if total_examples
        else corpus.total_raw_words / (total_words or 1)
    )
    training.renew()
    if epoch < position.epoch:  # trained before the checkpoint, or with those before
        _tasks_of(model, training, epoch, corpus_ratio, is_corpus_file_mode)  # notes the step sizes
        return position.finished[epoch]
    epochs = [
        _tasks_of(model, training, number, corpus_ratio, is_corpus_file_mode)
        for number in range(epoch, epoch + training.epochs_at_once)
    ]
    restored = position.trained  # of this epoch: no part of the rates
    no_queue: queue.Queue[None] = queue.Queue()
    start = default_timer() - 0.00001
    next_report = 1.0

    def report(result: UnitReport) -> None:
        nonlocal next_report
        with training.counting:
            training.count(result)
            position = training.position
            elapsed = default_timer() - start
            if elapsed >= next_report:
                model._log_progress(
                    None, no_queue, epoch, position.sentences, total_examples,
                    position.raw_words // len(epochs), total_words,
                    max(0, position.trained - restored) // len(epochs), elapsed,
                )  # fmt: skip
                next_report = elapsed + report_delay

    training.train(epochs, report)
    training.end_epochs()
    trained, raw_words, units = training.position.finished[epoch]
    elapsed = default_timer() - start
    model._log_epoch_end(
        epoch, corpus.total_sentences, total_examples, raw_words, total_words,
        max(0, trained - restored), elapsed, is_corpus_file_mode,
    )  # fmt: skip
    if len(training.position.mean_losses) > len(model.mean_losses):
        model.mean_losses = list(training.position.mean_losses)
        logger.info("EPOCH %i: mean loss %.4f", epoch, model.mean_losses[-1])
    model.total_train_time += elapsed
    training.log_epoch()
    return trained, raw_words, units


def _tasks_of(
    model: Any, training: Training, epoch: int, corpus_ratio: float, is_corpus_file_mode: bool
) -> list[UnitTask]:
    """Units of an epoch with their step sizes, which the model notes as gensim does.

    `corpus_ratio` is the corpus divided by what `train` was told of it.
    """
    units = training.units_of(epoch)
    all_words = max(1, training.corpus.total_raw_words)
    is_corpus_file_mode = is_corpus_file_mode and not training.config.deterministic
    # in gensim each thread counts only what it has trained of a file itself
    threads = training.config.counting_threads if is_corpus_file_mode else 1
    # gensim trains a batch, which has a sentence or more, with the learning rate at its beginning:
    # so it never reaches the smallest
    batch = threads * FILE_BATCH_WORDS if is_corpus_file_mode else model.batch_words
    batch = max(batch, all_words // max(1, training.corpus.total_sentences))
    last = 1 - min(batch, all_words) / all_words
    reached = last * np.cumsum([0] + [unit.raw_words for unit in units]) / all_words
    reached *= corpus_ratio / threads
    before = model.min_alpha_yet_reached
    alphas = [float(model._get_next_alpha(part, epoch)) for part in reached]
    # what gensim has noted at the end, and warns of later: nothing for files, else what its
    # last batch began with
    model._get_next_alpha(corpus_ratio * last, epoch)
    if is_corpus_file_mode:
        model.min_alpha_yet_reached = before
    return [
        UnitTask.of(unit, sizes, training.seed, epoch)
        for unit, sizes in zip(units, pairwise(alphas), strict=True)
    ]


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
    observer.compute_loss = True
    observer.epochs = 1
    observer.train_count = 0
    observer.running_training_loss = 0.0
    check_state(observer, config)
    known = model.wv.key_to_index, config, model._known_tags
    corpus = read_corpus("reading the text", source, *known)
    training = Training(observer, config, corpus)
    training.bar.set_description("predicting")
    try:
        training.load()
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
