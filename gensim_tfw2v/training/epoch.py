"""An epoch in gensim's form: learning rates, counts and log lines."""

from __future__ import annotations

import logging
import queue
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from timeit import default_timer
from typing import Any, NamedTuple

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus, WorkUnit
from gensim_tfw2v.kernel.tables import UnitReport, UnitTask

logger = logging.getLogger(__name__)

#: gensim's ``MAX_SENTENCE_LEN``: words of a batch that its threads read from a file.
FILE_BATCH_WORDS = 10_000


class Expected(NamedTuple):
    """What gensim's `train` is given with a corpus."""

    examples: int | None
    words: int | None
    report_delay: float  # seconds between log lines
    is_file: bool  # one that gensim's threads would read themselves


@dataclass
class Position:
    """Progress of a training: its epoch, and what has been trained of it."""

    epoch: int = 0
    done: set[int] = field(default_factory=set)  # indices of this epoch's units that are trained
    sentences: int = 0  # this and the next four: of these units
    trained: int = 0  # words, after subsampling
    raw_words: int = 0  # words of the text
    #: Summed loss, and of how many predictions, of each epoch that is being trained.
    losses: list[list[float]] = field(default_factory=list)
    #: Words trained on, raw words and units of each epoch before.
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    mean_losses: list[float] = field(default_factory=list)
    total_loss: float = 0.0  # gensim's `running_training_loss`

    def add(self, report: UnitReport) -> None:
        """Count a unit."""
        self.done.add(report.unit.index)
        self.sentences += report.unit.sentences
        self.trained += report.kept
        self.raw_words += report.unit.raw_words
        while len(self.losses) <= report.epoch:
            self.losses.append([0.0, 0.0])
        self.losses[report.epoch][0] += report.loss
        self.losses[report.epoch][1] += report.predictions

    def means(self) -> list[float]:
        """Mean loss per prediction of the epochs being trained that have computed it."""
        return [loss / predictions for loss, predictions in self.losses if predictions]

    def end_epochs(self, number: int, raw_words: int) -> None:
        """Go on after so many epochs that were trained as one, as if it had been each.

        `raw_words` are those of the text, also those that stand in no unit.
        """
        trained = self.trained
        units = len(self.done)
        self.finished += [
            (trained * (e + 1) // number - trained * e // number, raw_words, units)
            for e in range(number)
        ]
        self.mean_losses += self.means()
        self.epoch = self.epoch + number
        self.done = set()
        self.sentences = self.trained = self.raw_words = 0
        self.losses = []

    def state(self) -> dict[str, Any]:
        """The same as values that JSON can hold."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Position:
        """Make one of what `state` gave."""
        finished = [tuple(ended) for ended in state["finished"]]
        return cls(**state | {"done": set(state["done"]), "finished": finished})


def unit_tasks(
    model: Any,
    corpus: EncodedCorpus,
    units: Sequence[WorkUnit],
    threads: int | None,
    seed: int,
    epoch: int,
    expected: Expected,
) -> list[UnitTask]:
    """Units, in their order, with their learning rates; the model notes the lowest as gensim does.

    `threads` are those of gensim that would read the file, each its part; None if none would.
    """
    all_words = max(1, corpus.total_raw_words)
    # gensim decays alpha by what it expects of the corpus, not by what it finds
    ratio = corpus.total_raw_words / (expected.words or 1)
    if expected.examples:
        ratio = corpus.total_sentences / expected.examples
    # gensim trains a batch, which has a sentence or more, with the learning rate at its beginning:
    # so it never reaches the lowest
    batch = model.batch_words if threads is None else threads * FILE_BATCH_WORDS
    batch = max(batch, all_words // max(1, corpus.total_sentences))
    last = 1 - min(batch, all_words) / all_words
    lowest = model.min_alpha_yet_reached
    words = 0
    rate = float(model._get_next_alpha(0.0, epoch))
    tasks = []
    for unit in units:
        begin = rate
        words += unit.raw_words
        # in gensim each thread counts only what it has trained of a file itself
        reached = last * words / all_words * (ratio / (threads or 1))
        rate = float(model._get_next_alpha(reached, epoch))
        tasks.append(UnitTask.of(unit, (begin, rate), seed, epoch))
    # what gensim has noted at the end, and warns of later: nothing for files, else what its last
    # batch began with
    model._get_next_alpha(ratio * last, epoch)
    if threads is not None:
        model.min_alpha_yet_reached = lowest
    return tasks


@dataclass
class EpochLog:
    """gensim's log lines of an epoch that begins, or of several as one, and its seconds."""

    model: Any
    epoch: int
    expected: Expected
    restored: int  # words of this epoch that were trained on before: no part of the rates
    epochs: int = 1
    start: float = field(default_factory=default_timer)
    due: float = 1.0  # seconds after the start

    def progress(self, position: Position) -> None:
        """Log how far the epoch is, if a line is due."""
        elapsed = default_timer() - self.start
        if elapsed < self.due:
            return
        no_queue: queue.Queue[None] = queue.Queue()
        examples = self.expected.examples and self.epochs * self.expected.examples
        words = self.expected.words and self.epochs * self.expected.words
        self.model._log_progress(
            None, no_queue, self.epoch, position.sentences, examples, position.raw_words, words,
            max(0, position.trained - self.restored), elapsed,
        )  # fmt: skip
        self.due = elapsed + self.expected.report_delay

    def end(self, position: Position, sentences: int) -> None:
        """Log that the epoch, of so many sentences, has ended, and its mean loss."""
        model = self.model
        trained, raw_words, _ = position.finished[self.epoch]
        elapsed = default_timer() - self.start
        model._log_epoch_end(
            self.epoch, sentences, self.expected.examples, raw_words, self.expected.words,
            max(0, trained - self.restored), elapsed, self.expected.is_file,
        )  # fmt: skip
        if len(position.mean_losses) > len(model.mean_losses):
            model.mean_losses = list(position.mean_losses)
            logger.info("EPOCH %i: mean loss %.4f", self.epoch, model.mean_losses[-1])
        model.total_train_time += elapsed
