"""Learning rates, counts and log lines of an epoch, as in gensim."""

import logging
import queue
import zlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from timeit import default_timer
from typing import Any, NamedTuple

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus, WorkUnit, unit_key
from gensim_tfw2v.corpus.entry_ranges import EntryRange, join_ranges
from gensim_tfw2v.kernel.tables import UnitReport, UnitTask
from gensim_tfw2v.options.config import TrainingConfig

logger = logging.getLogger(__name__)

#: gensim's ``MAX_SENTENCE_LEN``: words per batch that its threads read from a file.
FILE_BATCH_WORDS = 10_000


class Expected(NamedTuple):
    """Arguments of gensim's `train` that describe the corpus and the log."""

    n_examples: int | None  # `total_examples`, the number of sentences; None if not passed
    n_words: int | None  # `total_words`, the number of raw words; None if not passed
    report_delay: float  # seconds between log lines
    is_file: bool  # True if gensim's threads would read the corpus from a file


@dataclass(frozen=True)
class EpochUnits:
    """Work units of an epoch, or those that are left of an epoch that is resumed.

    Attributes
    ----------
    units : list of WorkUnit
        In the order of the text, numbered from 0.
    seed : int
        Seed of the units' order and of their random draws.
    earlier_ranges : list of EntryRange
        Entries of the epoch that were trained in earlier units, which a checkpoint contains.
    n_earlier_words : int
        Raw words of the earlier units.
    """

    units: list[WorkUnit]
    seed: int
    earlier_ranges: Sequence[EntryRange] = ()
    n_earlier_words: int = 0

    def describe(self) -> str:
        """Describe the cut of the corpus into units, by their number and a checksum."""
        cut = [(unit.start, unit.stop, unit.tokens, unit.raw_words) for unit in self.units]
        return f"{len(self.units)} units, {zlib.crc32(repr(cut).encode()):08x}"

    def trained_ranges(self, corpus: EncodedCorpus, indices: Collection[int]) -> list[EntryRange]:
        """Return the epoch's trained entries: earlier ones, and those of units at `indices`."""
        units = [unit for unit in self.units if unit.index in indices]
        return join_ranges([*self.earlier_ranges, *corpus.unit_ranges(units)])


@dataclass
class Position:
    """Progress of a training run: its epoch, and the trained part of that epoch.

    The counts of sentences and words include those of `n_earlier_units`.
    """

    epoch: int = 0  # index of the current epoch
    done: set[int] = field(default_factory=set)  # indices of the epoch's trained units
    sentences: int = 0  # number of sentences in the trained units
    trained: int = 0  # number of words in the trained units, after subsampling
    raw_words: int = 0  # number of raw words in the trained units
    #: For each epoch that is being trained: summed loss of the units, number of predictions.
    losses: list[list[float]] = field(default_factory=list)
    #: For each finished epoch: words after subsampling, raw words, units.
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    #: Mean loss per prediction of each finished epoch.
    mean_losses: list[float] = field(default_factory=list)
    total_loss: float = 0.0  # gensim's `running_training_loss`
    #: Number of the epoch's units that were trained before a checkpoint, from a different cut.
    n_earlier_units: int = 0

    @property
    def n_units(self) -> int:
        """Number of the epoch's trained units."""
        return self.n_earlier_units + len(self.done)

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
        n_units = self.n_units
        self.finished += [
            (trained * (epoch + 1) // n_epochs - trained * epoch // n_epochs, raw_words, n_units)
            for epoch in range(n_epochs)
        ]
        self.mean_losses += self.means()
        self.epoch = self.epoch + n_epochs
        self._clear_epoch()

    def restart_epoch(self) -> None:
        """Reset the counts of the current epoch, so that all of it is trained again."""
        if self.total_loss:  # otherwise the loss is computed for the log only
            self.total_loss -= sum(loss for loss, _ in self.losses)
        self._clear_epoch()

    def _clear_epoch(self) -> None:
        self.done = set()
        self.n_earlier_units = 0
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
    n_earlier_words: int = 0,
) -> list[UnitTask]:
    """Make the tasks of an epoch's units, in order, with their learning rates.

    In a resumed epoch, `n_earlier_words` raw words were trained in earlier units. Rates fall from
    there to the epoch's end. This is exact if the earlier units were the first ones in order. With
    several workers, up to one unit per thread was not, so rates differ by as many units' decay.

    The model's `min_alpha_yet_reached` is updated as in gensim.
    """
    threads = None  # number of threads with which gensim reads a file in parts; None: no file
    if expected.is_file and not config.deterministic:
        # one thread for a sub-model, and for a regime in this process, however many workers it has
        is_single = config.cluster is None or config.regime_of_workers.trains_apart
        threads = 1 if config.regime is not None and is_single else config.workers
    n_all_words = max(1, corpus.total_raw_words)
    # gensim decays alpha by the expected size of the corpus, not by its actual size
    ratio = corpus.total_raw_words / (expected.n_words or 1)
    if expected.n_examples:
        ratio = corpus.total_sentences / expected.n_examples
    # gensim trains a batch, of at least one sentence, with the learning rate at the batch's start,
    # so it never reaches min_alpha. gensim's last batch is shorter, so gensim's last rate
    # is up to one batch's decay lower than ours; the mean rates of an epoch are the same.
    n_batch_words = model.batch_words if threads is None else threads * FILE_BATCH_WORDS
    n_batch_words = max(n_batch_words, n_all_words // max(1, corpus.total_sentences))
    last_start = 1 - min(n_batch_words, n_all_words) / n_all_words  # progress at the last batch
    lowest_rate = model.min_alpha_yet_reached
    n_words = n_earlier_words
    progress = last_start * n_words / n_all_words * (ratio / (threads or 1))
    last_rate = float(model._get_next_alpha(progress, epoch))
    end_progress = model.epochs - epoch  # progress of this epoch at which alpha is min_alpha
    tasks = []
    for unit in units:
        first_rate = last_rate
        earlier_progress = progress
        n_words += unit.raw_words
        # in gensim, each thread counts only the words of a file that it has trained itself
        progress = last_start * n_words / n_all_words * (ratio / (threads or 1))
        last_rate = float(model._get_next_alpha(progress, epoch))
        # If the expected corpus is too small, the rate reaches min_alpha within the unit. Then the
        # unit starts with a lower rate, so that its mean rate is right.
        if earlier_progress < end_progress < progress:
            first_rate = last_rate + (first_rate - last_rate) * (
                end_progress - earlier_progress
            ) / (progress - earlier_progress)
        key = unit_key(seed, epoch, unit.index)
        tasks.append(UnitTask(unit, epoch, key, (first_rate, last_rate)))
    # gensim stores the learning rate at the start of its last batch, except for files, and warns if
    # a later training run starts above the stored rate
    model._get_next_alpha(ratio * last_start, epoch)
    if threads is not None:
        model.min_alpha_yet_reached = lowest_rate
    return tasks


@dataclass
class EpochLog:
    """Logs an epoch, and times it, with the messages of gensim.

    `n_epochs` epochs that a regime trains in one call are logged as one.
    """

    model: Any
    epoch: int
    expected: Expected
    n_restored_words: int  # words of the epoch before a checkpoint, not counted in words/s
    n_epochs: int = 1
    start: float = field(default_factory=default_timer)  # time in seconds
    next_line: float = 1.0  # seconds from the start to the next progress line

    def progress(self, position: Position) -> None:
        """Log the progress of the epoch, if a line is due."""
        elapsed = default_timer() - self.start
        if elapsed < self.next_line:
            return
        no_queue: queue.Queue[None] = queue.Queue()
        n_examples = self.expected.n_examples and self.n_epochs * self.expected.n_examples
        n_words = self.expected.n_words and self.n_epochs * self.expected.n_words
        self.model._log_progress(
            None, no_queue, self.epoch, position.sentences, n_examples, position.raw_words, n_words,
            max(0, position.trained - self.n_restored_words), elapsed,
        )  # fmt: skip
        self.next_line = elapsed + self.expected.report_delay

    def end(self, position: Position, n_sentences: int) -> None:
        """Log the end of the epoch and its mean loss; `n_sentences` is the size of the corpus."""
        model = self.model
        trained, raw_words, _ = position.finished[self.epoch]
        elapsed = default_timer() - self.start
        model._log_epoch_end(
            self.epoch, n_sentences, self.expected.n_examples, raw_words, self.expected.n_words,
            max(0, trained - self.n_restored_words), elapsed, self.expected.is_file,
        )  # fmt: skip
        if len(position.mean_losses) > len(model.mean_losses):
            model.mean_losses = list(position.mean_losses)
            logger.info("EPOCH %i: mean loss %.4f", self.epoch, model.mean_losses[-1])
        model.total_train_time += elapsed
