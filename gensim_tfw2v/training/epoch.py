"""Learning rates, counts and log lines of an epoch, as in gensim."""

import logging
import queue
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from timeit import default_timer
from typing import Any, NamedTuple

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus, WorkUnit, unit_key
from gensim_tfw2v.kernel.tables import UnitReport, UnitTask
from gensim_tfw2v.options.config import TrainingConfig

logger = logging.getLogger(__name__)

#: gensim's ``MAX_SENTENCE_LEN``: words per batch that its threads read from a file.
FILE_BATCH_WORDS = 10_000


class Expected(NamedTuple):
    """Arguments of gensim's `train` about a corpus."""

    examples: int | None  # its `total_examples`
    words: int | None  # its `total_words`
    report_delay: float  # seconds between log lines
    is_file: bool  # True if gensim's threads would read the corpus from a file


@dataclass
class Position:
    """Progress of a training: its epoch, and the trained part of that epoch."""

    epoch: int = 0  # index of the current epoch
    done: set[int] = field(default_factory=set)  # indices of the epoch's trained units
    sentences: int = 0  # number of sentences in these units
    trained: int = 0  # number of words in these units, after subsampling
    raw_words: int = 0  # number of raw words in these units
    #: For each epoch that is being trained: summed loss of the units, number of predictions.
    losses: list[list[float]] = field(default_factory=list)
    #: For each finished epoch: words after subsampling, raw words, units.
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    #: Mean loss per prediction of each finished epoch.
    mean_losses: list[float] = field(default_factory=list)
    total_loss: float = 0.0  # gensim's `running_training_loss`

    def add(self, report: UnitReport) -> None:
        """Count a trained unit."""
        self.done.add(report.unit.index)
        self.sentences += report.unit.sentences
        self.trained += report.kept
        self.raw_words += report.unit.raw_words
        while len(self.losses) <= report.epoch:
            self.losses.append([0.0, 0.0])
        self.losses[report.epoch][0] += report.loss
        self.losses[report.epoch][1] += report.predictions

    def means(self) -> list[float]:
        """Return the mean loss per prediction of each epoch being trained that has predictions."""
        return [loss / predictions for loss, predictions in self.losses if predictions]

    def end_epochs(self, n_epochs: int, raw_words: int) -> None:
        """Finish `n_epochs` epochs that were trained as one, and divide the words among them.

        `raw_words` is the number of raw words in the text, including any that are in no unit.
        """
        trained = self.trained
        units = len(self.done)
        self.finished += [
            (trained * (epoch + 1) // n_epochs - trained * epoch // n_epochs, raw_words, units)
            for epoch in range(n_epochs)
        ]
        self.mean_losses += self.means()
        self.epoch = self.epoch + n_epochs
        self.done = set()
        self.sentences = 0
        self.trained = 0
        self.raw_words = 0
        self.losses = []

    def state(self) -> dict[str, Any]:
        """Return the position as values that JSON can encode."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Position":
        """Restore a position from its `state`."""
        finished = [tuple(counts) for counts in state["finished"]]
        return cls(**state | {"done": set(state["done"]), "finished": finished})


def unit_tasks(
    model: Any,
    config: TrainingConfig,
    corpus: EncodedCorpus,
    units: Sequence[WorkUnit],
    seed: int,
    epoch: int,
    expected: Expected,
) -> list[UnitTask]:
    """Make the tasks of an epoch's units, in order, with their learning rates.

    The model's `min_alpha_yet_reached` is updated as in gensim.
    """
    threads = None  # number of gensim's threads that would each read and count a part of a file
    if expected.is_file and not config.deterministic:
        # one for a sub-model, and for a regime whose workers run in this process
        is_one = config.cluster is None or config.regime_of_workers.trains_apart
        threads = 1 if config.regime is not None and is_one else config.workers
    all_words = max(1, corpus.total_raw_words)
    # gensim decays alpha by the expected size of the corpus, not by its actual size
    ratio = corpus.total_raw_words / (expected.words or 1)
    if expected.examples:
        ratio = corpus.total_sentences / expected.examples
    # gensim trains a batch, of at least one sentence, with the learning rate at the batch's start,
    # so it never reaches the lowest rate. Its last batch is shorter than the others, so its last
    # rate is up to one batch's decay lower than ours; the mean rates of an epoch are the same.
    batch = model.batch_words if threads is None else threads * FILE_BATCH_WORDS
    batch = max(batch, all_words // max(1, corpus.total_sentences))
    last = 1 - min(batch, all_words) / all_words
    lowest = model.min_alpha_yet_reached
    words = 0
    rate = float(model._get_next_alpha(0.0, epoch))
    reached = 0.0
    end_progress = model.epochs - epoch  # progress of this epoch at which alpha is min_alpha
    tasks = []
    for unit in units:
        begin = rate
        reached_before = reached
        words += unit.raw_words
        # in gensim, each thread counts only the words of a file that it has trained itself
        reached = last * words / all_words * (ratio / (threads or 1))
        rate = float(model._get_next_alpha(reached, epoch))
        # with a wrong total, the rate stops falling within the unit: keep its mean
        if reached_before < end_progress < reached:
            begin = rate + (begin - rate) * (end_progress - reached_before) / (
                reached - reached_before
            )
        key = unit_key(seed, epoch, unit.index)
        tasks.append(UnitTask(unit, epoch, key, (begin, rate)))
    # gensim stores the learning rate at the start of its last batch, except for files, and warns if
    # a later training starts above the stored rate
    model._get_next_alpha(ratio * last, epoch)
    if threads is not None:
        model.min_alpha_yet_reached = lowest
    return tasks


@dataclass
class EpochLog:
    """gensim's log lines, and duration, of an epoch or of several that are trained as one."""

    model: Any
    epoch: int
    expected: Expected
    restored: int  # words of this epoch restored from a checkpoint, not counted in words/s
    epochs: int = 1
    start: float = field(default_factory=default_timer)
    due: float = 1.0  # seconds from the start to the next progress line

    def progress(self, position: Position) -> None:
        """Log the progress of the epoch, if a line is due."""
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
        """Log the end of the epoch and its mean loss; `sentences` is the size of the corpus."""
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
