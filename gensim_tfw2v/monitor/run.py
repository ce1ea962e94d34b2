"""TensorBoard log of a training run."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation import evaluate_pairs
from gensim_tfw2v.monitor.events import EventLog, has_events
from gensim_tfw2v.monitor.labels import quality_tags, word_label
from gensim_tfw2v.monitor.projector import write_projector
from gensim_tfw2v.monitor.task_log import TaskLog
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.monitor.traffic import write_trace
from gensim_tfw2v.monitor.word_groups import norms
from gensim_tfw2v.typed_words import find_key

#: Minimum number of seconds between two points of a curve.
MIN_INTERVAL = 1.0

#: Number of points after which intervals become longer than `MIN_INTERVAL`. Each is then the
#: elapsed time divided by this number, so that a long training run has few points.
N_CLOSE_POINTS = 1000

#: Number of points that are retained to measure the speed at the final point.
N_RETAINED_POINTS = 5

#: Number of default probe words, whose neighbours are logged after each epoch. The words' frequency
#: ranks are evenly spaced on a logarithmic scale.
N_PROBES = 8

#: Frequency rank of the first default probe word, from 0.
FIRST_RANK = 100

#: Frequency rank of the last default probe word, from 1, unless the vocabulary is smaller.
LAST_RANK = 20_000

#: Number of most frequent words among which neighbours are searched.
NEIGHBOURS_AMONG = 50_000

#: Number of neighbours that are logged per probe word.
N_NEIGHBOURS = 8

logger = logging.getLogger(__name__)


class RunLog:
    """Log of the curves of a training run, and of properties of its vectors after each epoch.

    The step (the x-axis) of a curve is the number of raw words processed. For curves whose tags
    begin with ``vs_epoch/``, it is the number of the epoch. No method raises an error, because a
    log must not stop training. Instead, the first error is logged, and nothing is written
    after it.

    Parameters
    ----------
    options : TensorBoardLog
        Folder, and options of what is logged.
    hyperparameters : mapping
        Result of `options.hyperparameters`.
    read_traffic : callable
        Function without arguments that returns the `Traffic` of the cluster so far, or None without
        a cluster.
    start : (int, int)
        Numbers of raw words and of epochs of earlier training runs of the same model.
    is_continued : bool
        True if training continues a TensorBoard run that is already in the folder.

    Attributes
    ----------
    reached : (int, int)
        Numbers of raw words and of epochs so far, of all training in this TensorBoard run.
    """

    def __init__(
        self,
        options: TensorBoardLog,
        hyperparameters: Mapping[str, bool | int | float | str],
        read_traffic: Callable[[], Any],
        start: tuple[int, int] = (0, 0),
        is_continued: bool = False,
    ) -> None:
        if not is_continued and has_events(options.path):
            logger.warning(
                "%s already contains the log of another training run: TensorBoard will show both "
                "as one. Use a separate folder for each training run",
                options.path,
            )
        self.options = options
        self.reached = start
        self._start = start
        self._words_per_epoch = max(1, int(hyperparameters["words"]))
        self.events = EventLog(options.path, log_errors=True)
        self._task_log: TaskLog | None = None
        self.events.write(self._start_task_log)
        self._start_time = time.monotonic()
        self._loss = 0.0  # sum of the losses since the last point
        self._predictions = 0.0  # number of predictions since the last point
        self._n_words = 0  # number of raw words of all work units so far
        self._values: dict[str, float] = {}  # learning rate and epoch at the last work unit, by tag
        # time of the last points, and number of raw words of all work units before them
        self._points = deque([(self._start_time, 0)], maxlen=N_RETAINED_POINTS)
        self._read_traffic = read_traffic
        self._traffic = None  # traffic of the cluster at the last point
        self.events.hyperparameters(hyperparameters)

    def _start_task_log(self) -> None:
        self._task_log = TaskLog(self.options.path, events=self.events)

    def graph(self, serialize: Callable[[], bytes]) -> None:
        """Write the graph of a training step; `serialize` returns its serialized ``GraphDef``."""
        self.events.write(lambda: self.events.add(graph_def=serialize()))

    def unit(self, report: Any, n_words: int) -> None:
        """Add the report of a work unit, and write a point if one is due.

        `n_words` is the number of raw words processed so far by this training run, in all epochs.
        """
        self._loss += report.loss
        self._predictions += report.predictions
        self._n_words += report.unit.raw_words
        self.reached = self._start[0] + n_words, self.reached[1]
        self._values["training/alpha"] = report.alpha
        self._values["training/epoch"] = self._start[1] + n_words / self._words_per_epoch
        now = time.monotonic()
        interval = max(MIN_INTERVAL, (now - self._start_time) / N_CLOSE_POINTS)
        if now - self._points[-1][0] >= interval:
            self.events.write(self._write_point)

    def _write_point(self, is_final: bool = False) -> None:
        """Write a point of each curve, unless no words were processed since the last point."""
        if self._n_words == self._points[-1][1]:
            return
        now = time.monotonic()
        # For the final point, measure the speed since the oldest retained point, because too few
        # words may have been processed since the last point.
        last_time, last_words = self._points[0 if is_final else -1]
        values = self._values | self._cluster_values(self._read_traffic())
        n_words = self._n_words - last_words
        values["training/words_per_second"] = n_words / max(1e-3, now - last_time)
        if self._predictions:
            values["loss/running"] = self._loss / self._predictions
        self.events.scalars(values, self.reached[0])
        self._loss = 0.0
        self._predictions = 0.0
        self._points.append((now, self._n_words))

    def _cluster_values(self, traffic: Any) -> dict[str, float]:
        """Return averages of the cluster's work since the last point, and all repeated units."""
        last_traffic = self._traffic
        self._traffic = traffic
        if traffic is None:
            return {}
        recent = traffic if last_traffic is None else traffic - last_traffic
        if not recent.tokens:
            return {}
        values = {
            "workers/bytes_per_token": recent.bytes_per_token,
            "workers/units_repeated": float(traffic.repeated),
        }
        if recent.staleness:
            values["workers/staleness"] = float(np.mean(recent.staleness))
        shares = recent.seconds / max(1e-9, float(recent.seconds.sum()))
        for name, share in zip(("fetching", "training", "pushing"), shares, strict=True):
            values[f"workers/share_of_time_{name}"] = float(share)
        return values

    def epoch(self, model: Any, is_last: bool, losses: Sequence[float], n_epochs: int = 1) -> None:
        """Write the losses of `n_epochs` newly finished epochs, and properties of the vectors.

        `losses` are the mean losses per prediction of these epochs, if they were computed.
        """
        start = time.monotonic()
        step, first_epoch = self.reached
        self.reached = step, first_epoch + n_epochs
        self.events.write(lambda: self._write_epochs(model, losses, step, first_epoch, n_epochs))
        if is_last or self.options.projector_each_epoch:
            self.projector(model, is_last)
        # Move the times of the retained points, so that the time of this method does not lower the
        # measured speed.
        pause = time.monotonic() - start
        points = [(point_time + pause, n_words) for point_time, n_words in self._points]
        self._points = deque(points, maxlen=N_RETAINED_POINTS)

    def _write_epochs(
        self, model: Any, losses: Sequence[float], step: int, first_epoch: int, n_epochs: int
    ) -> None:
        """Write the results of `n_epochs` epochs after `first_epoch`, which end at `step`."""
        vectors = model.wv
        for index, loss in enumerate(losses, 1):
            epoch_step = step - (n_epochs - index) * self._words_per_epoch
            self._write_per_epoch("loss/epoch", loss, epoch_step, first_epoch + index)
        for pairs, tag in quality_tags(self.options.word_pairs).items():
            score = evaluate_pairs(vectors, pairs)
            if score.used > 1:
                self._write_per_epoch(tag, score.spearman, step, first_epoch + n_epochs)
        histograms = {
            f"vectors/norms of ranks {band}": lengths for band, lengths in norms(vectors).items()
        }
        self.events.histograms(histograms, step)
        table = _neighbours_table(vectors, self._select_probes(vectors))
        if table:
            self.events.text("neighbours", table, step)

    def projector(self, model: Any, is_last: bool = True) -> None:
        """Write the vectors for the projector; after the last epoch, with a layout."""
        n_words = self.options.projector_words
        if n_words:
            documents = getattr(model, "dv", None)
            self.events.write(
                lambda: write_projector(model.wv, self.options.path, n_words, is_last, documents)
            )

    def _write_per_epoch(self, tag: str, value: float, n_words: int, epoch: int) -> None:
        """Write a value to two curves: one with raw words as its step, one with epochs."""
        name = "loss" if tag == "loss/epoch" else tag.partition("/")[2]
        self.events.scalars({tag: value}, n_words)
        self.events.scalars({f"vs_epoch/{name}": value}, epoch)

    def _select_probes(self, vectors: KeyedVectors) -> list[Any]:
        """Return the keys of the probe words that the vocabulary contains."""
        if self.options.probe_words is not None:
            keys = [find_key(word, vectors) for word in self.options.probe_words]
            return [key for key in keys if key is not None]
        last_row = min(LAST_RANK, len(vectors)) - 1
        first_row = min(FIRST_RANK, last_row)
        rows = np.geomspace(first_row + 1, last_row + 1, N_PROBES).astype(int) - 1
        return [vectors.index_to_key[row] for row in dict.fromkeys(rows.tolist())]

    def close(self) -> None:
        """Write the final point and the timeline of a cluster, and close the files."""
        self.events.write(lambda: self._write_point(is_final=True))
        self.events.write(self._write_trace)
        if self._task_log is not None:
            self._task_log.close()
        self.events.close()

    def _write_trace(self) -> None:
        """Write the timeline of the cluster's jobs, unless there is no cluster."""
        traffic = self._read_traffic()
        if traffic is not None and traffic.jobs:
            write_trace(self.options.path, traffic.jobs)


def _neighbours_table(vectors: KeyedVectors, words: list[Any]) -> str:
    """Return the nearest neighbours of words as a table in Markdown; "" if there are none."""
    if len(vectors) < 2 or not words:
        return ""
    lines = ["| word | nearest neighbours |", "| --- | --- |"]
    for word in words:
        # Query by the vector: gensim would treat a word that is a tuple or bytes as several words.
        vector = vectors.get_vector(word)
        pairs = vectors.most_similar(
            [vector], topn=1 + N_NEIGHBOURS, restrict_vocab=NEIGHBOURS_AMONG
        )
        cells = [f"{_cell(key)} {cosine:.2f}" for key, cosine in pairs if key != word]
        lines.append(f"| {_cell(word)} | {', '.join(cells[:N_NEIGHBOURS])} |")
    return "\n".join(lines)


def _cell(word: Any) -> str:
    """Return a word as text in a Markdown table."""
    return word_label(word).replace("|", "\\|")
