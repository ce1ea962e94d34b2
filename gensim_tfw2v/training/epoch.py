"""One epoch of a training: its step sizes, its log lines and counters in gensim's form."""

import logging
import queue
import threading
from timeit import default_timer
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.units import EncodedCorpus, WorkUnit
from gensim_tfw2v.kernel.task import UnitReport, UnitTask
from gensim_tfw2v.training.session import Training

logger = logging.getLogger(__name__)


def train_epoch(
    model: Any,
    training: Training,
    epoch: int,
    total_examples: int | None,
    total_words: int | None,
    report_delay: float,
    is_corpus_file_mode: bool = False,
) -> tuple[int, int, int]:
    """Train an epoch, and put vectors and counters into the model.

    Parameters
    ----------
    model : TFWord2Vec
    training : Training
    epoch : int
        From 0.
    total_examples, total_words : int, optional
        What gensim's `train` was told of the corpus.
    report_delay : float
        Seconds between two log lines.
    is_corpus_file_mode : bool
        Whether the corpus is a file.

    Returns
    -------
    (int, int, int)
        Words trained on, raw words, units.
    """
    corpus = training.corpus
    # gensim decays alpha by what it was told of the corpus, not by what it finds
    told = (
        corpus.total_sentences / total_examples
        if total_examples
        else corpus.total_raw_words / (total_words or 1)
    )

    def tasks_of(epoch: int) -> list[UnitTask]:
        units = training.units_of(epoch)
        alphas = _step_sizes(model, corpus, units, epoch, told, threads, is_corpus_file_mode)
        return [
            UnitTask.of(unit, of_unit, training.seed, epoch)
            for unit, of_unit in zip(units, alphas, strict=True)
        ]

    config = training.config
    # in gensim each thread counts only what it has trained of a file itself; what trains a
    # sub-model, and what takes the part of a worker in this process, is one thread
    apart = config.regime_of_workers.trains_apart
    one_thread = config.regime is not None and (apart or config.cluster is None)
    threads = config.workers if is_corpus_file_mode and not one_thread else 1
    if epoch < training.position.epoch:  # trained before the checkpoint, or with those before
        tasks_of(epoch)  # the model notes the step sizes
        return training.position.finished[epoch]
    epochs = [tasks_of(number) for number in training.epochs_from(epoch)]

    restored = training.position.trained  # of this epoch: no part of the rates
    no_queue: queue.Queue[None] = queue.Queue()
    start = default_timer() - 0.00001
    next_report = 1.0
    lock = threading.Lock()

    def report(result: UnitReport) -> None:
        nonlocal next_report
        with lock:
            position = training.position
            if result.unit.index in position.done:
                return  # of a sub-model that was begun anew
            position.add(result, in_total=bool(model.compute_loss))
            if model.compute_loss:
                model.running_training_loss += result.loss  # which a callback may have set to 0
            training.log(result)
            training.bar.update(result.unit.raw_words)
            elapsed = default_timer() - start
            if elapsed >= next_report:
                model._log_progress(
                    None, no_queue, epoch, position.sentences, total_examples,
                    position.raw_words // len(epochs), total_words,
                    max(0, position.trained - restored) // len(epochs), elapsed,
                )  # fmt: skip
                next_report = elapsed + report_delay

    training.train(epochs, report)
    trained, raw_words, trained_units = training.end_epoch()
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
    return trained, raw_words, trained_units


def _step_sizes(
    model: Any,
    corpus: EncodedCorpus,
    units: list[WorkUnit],
    epoch: int,
    told: float,
    threads: int,
    is_corpus_file_mode: bool,
) -> list[tuple[float, float]]:
    """Step sizes at the beginning and end of each unit.

    Parameters
    ----------
    told : float
        The corpus divided by what `train` was told of it.
    threads : int
        How many count what they have trained, each its own part of the corpus.
    """
    done = np.cumsum([0] + [unit.raw_words for unit in units])
    reached = told * done / max(1, corpus.total_raw_words) / threads
    before = model.min_alpha_yet_reached
    alphas = [float(model._get_next_alpha(part, epoch)) for part in reached]
    # what gensim has noted at the end, and warns of later: nothing for files, else what its
    # last batch began with
    last_batch = max(0.0, 1 - model.batch_words / max(1, corpus.total_raw_words))
    model._get_next_alpha(told * last_batch, epoch)
    if is_corpus_file_mode:
        model.min_alpha_yet_reached = before
    return list(zip(alphas, alphas[1:], strict=False))
