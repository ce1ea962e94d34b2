"""TensorBoard run of a training, or of a finished model."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation import evaluate_pairs
from gensim_tfw2v.monitor.events import EventLog, TaskLog, has_events
from gensim_tfw2v.monitor.labels import printed, quality_tags
from gensim_tfw2v.monitor.projector import norms, write_projector
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.monitor.traffic import write_trace
from gensim_tfw2v.typed_words import find_key

#: Minimum number of seconds between two points of a curve.
SECONDS = 1.0

#: After this number of points, the interval grows to the elapsed time divided by this number.
POINTS = 1000

#: Number of points over which the speed of the last point is measured.
LAST = 5

#: Default number of probe words. Their ranks are evenly spaced on a logarithmic scale.
PROBES = 8

#: First rank of a default probe word.
FIRST_RANK = 100

#: Last rank of a default probe word.
LAST_RANK = 20_000

#: Number of most frequent words among which neighbours are searched.
NEIGHBOURS_AMONG = 50_000

#: Number of neighbours of a probe word.
N_NEAR = 8

#: Suffix of an evaluation's event file, by which a later evaluation finds and replaces the file.
EVALUATED = ".evaluated"

logger = logging.getLogger(__name__)


class RunLog:
    """Writes the curves of a training, and properties of its vectors after each epoch.

    The step of a curve is the number of raw words processed, except that it is the epoch for curves
    below ``vs_epoch``. No method raises an error, because a log must not end a training: if one
    fails, an error is logged, and nothing more is written.

    Parameters
    ----------
    options : TensorBoardLog
    made_with : mapping
        Result of `options.hyperparameters`.
    traffic : callable
        Returns the `Traffic` of the cluster so far; None without a cluster.
    before : (int, int)
        Number of words and of epochs of earlier trainings of the same model.
    goes_on : bool
        True if this training continues a run that is already in the folder.

    Attributes
    ----------
    reached : (int, int)
        Number of words and of epochs of all trainings of this run.
    """

    def __init__(
        self,
        options: TensorBoardLog,
        made_with: Mapping[str, bool | int | float | str],
        traffic: Callable[[], Any],
        before: tuple[int, int] = (0, 0),
        goes_on: bool = False,
    ) -> None:
        if not goes_on and has_events(options.path):
            logger.warning(
                "%s already contains the run of a training: TensorBoard will show both as one. Use "
                "a separate folder for each training",
                options.path,
            )
        self.options = options
        self._before = self.reached = before
        self._words_each = max(1, int(made_with["words"]))
        self.events = EventLog(options.path, outlived=True)
        self._task: TaskLog | None = None
        self.events.write(self._start_task)
        self._began = time.monotonic()
        self._loss = self._predictions = 0.0
        self._words = 0
        self._values: dict[str, float] = {}  # values of the last work unit
        self._points = deque([(self._began, 0)], maxlen=LAST)  # time and words of the last points
        self._traffic_of = traffic
        self._traffic = None
        self.events.hyperparameters(made_with)

    def _start_task(self) -> None:
        self._task = TaskLog(self.options.path, events=self.events)

    def graph(self, serialize: Callable[[], bytes]) -> None:
        """Write the objective's graph; `serialize` returns a serialized ``GraphDef``."""
        self.events.write(lambda: self.events.add(graph_def=serialize()))

    def unit(self, report: Any, words: int) -> None:
        """Add the report of a work unit, and write a point if one is due.

        `words` is the number of raw words that this training has processed in all epochs.
        """
        self._loss += report.loss
        self._predictions += report.predictions
        self._words += report.unit.raw_words
        self.reached = self._before[0] + words, self.reached[1]
        self._values["training/alpha"] = report.alpha
        self._values["training/epoch"] = self._before[1] + words / self._words_each
        now = time.monotonic()
        if now - self._points[-1][0] >= max(SECONDS, (now - self._began) / POINTS):
            self.events.write(self._point)

    def _point(self, is_last: bool = False) -> None:
        if self._words == self._points[-1][1]:
            return
        now = time.monotonic()
        # the last point may cover too few words to measure a speed: use several points
        since, words = self._points[0 if is_last else -1]
        values = self._values | self._of_cluster(self._traffic_of())
        values["training/words_per_second"] = (self._words - words) / max(1e-3, now - since)
        if self._predictions:
            values["loss/running"] = self._loss / self._predictions
        self.events.scalars(values, self.reached[0])
        self._loss = self._predictions = 0.0
        self._points.append((now, self._words))

    def _of_cluster(self, traffic: Any) -> dict[str, float]:
        """Return averages of the cluster's work since the last point, and its repeated units."""
        before = self._traffic
        self._traffic = traffic
        if traffic is None:
            return {}
        new = traffic if before is None else traffic - before
        if not new.tokens:
            return {}
        values = {
            "workers/bytes_per_token": new.bytes_per_token,
            "workers/units_repeated": float(traffic.repeated),
        }
        if new.staleness:
            values["workers/staleness"] = float(np.mean(new.staleness))
        shares = new.seconds / max(1e-9, float(new.seconds.sum()))
        for name, share in zip(("fetching", "training", "pushing"), shares, strict=True):
            values[f"workers/share_of_time_{name}"] = float(share)
        return values

    def epoch(self, model: Any, is_last: bool, losses: Sequence[float], epochs: int = 1) -> None:
        """Write the mean losses of finished epochs, and properties of the vectors."""
        began = time.monotonic()
        step, before = self.reached
        self.reached = step, before + epochs
        self.events.write(lambda: self._epoch(model, losses, step, before, epochs))
        if is_last or self.options.projector_each_epoch:
            self.projector(model, is_last)
        # the time of this method does not count for the speed
        paused = time.monotonic() - began
        self._points = deque(((at + paused, words) for at, words in self._points), maxlen=LAST)

    def _epoch(
        self, model: Any, losses: Sequence[float], step: int, before: int, epochs: int
    ) -> None:
        vectors = model.wv
        for epoch, loss in enumerate(losses, 1):
            words = step - (epochs - epoch) * self._words_each
            self._per_epoch("loss/epoch", loss, words, before + epoch)
        for pairs, tag in quality_tags(self.options.word_pairs).items():
            score = evaluate_pairs(vectors, pairs)
            if score.used > 1:
                self._per_epoch(tag, score.spearman, step, before + epochs)
        lengths = {f"vectors/norms of ranks {band}": of for band, of in norms(vectors).items()}
        self.events.histograms(lengths, step)
        if table := _neighbours(vectors, self._probes(vectors)):
            self.events.text("neighbours", table, step)

    def projector(self, model: Any, is_last: bool = True) -> None:
        """Write the vectors for the projector; with a layout if they are final."""
        if words := self.options.projector_words:
            documents = getattr(model, "dv", None)
            self.events.write(
                lambda: write_projector(model.wv, self.options.path, words, is_last, documents)
            )

    def _per_epoch(self, tag: str, value: float, words: int, epoch: int) -> None:
        """Write a value to two curves: one by raw words, one by epochs."""
        name = "loss" if tag == "loss/epoch" else tag.partition("/")[2]
        self.events.scalars({tag: value}, words)
        self.events.scalars({f"vs_epoch/{name}": value}, epoch)

    def _probes(self, vectors: KeyedVectors) -> list[Any]:
        if self.options.probe_words is not None:
            keys = (find_key(word, vectors) for word in self.options.probe_words)
            return [key for key in keys if key is not None]
        last = min(LAST_RANK, len(vectors)) - 1
        ranks = np.geomspace(min(FIRST_RANK, last) + 1, last + 1, PROBES).astype(int) - 1
        return [vectors.index_to_key[rank] for rank in dict.fromkeys(ranks.tolist())]

    def close(self) -> None:
        """Write the last point and the timeline of a cluster, and close the files."""
        self.events.write(lambda: self._point(is_last=True))
        self.events.write(self._trace)
        if self._task is not None:
            self._task.close()
        self.events.close()

    def _trace(self) -> None:
        traffic = self._traffic_of()
        if traffic is not None and traffic.jobs:
            write_trace(self.options.path, traffic.jobs)


def _neighbours(vectors: KeyedVectors, words: list[Any]) -> str:
    """Return the nearest neighbours of words as a table in Markdown."""
    if len(vectors) < 2 or not words:
        return ""
    lines = ["| word | nearest neighbours |", "| --- | --- |"]
    for word in words:
        # by vector: gensim takes a word that is a tuple or bytes for several words
        vector = vectors.get_vector(word)
        near = vectors.most_similar([vector], topn=1 + N_NEAR, restrict_vocab=NEIGHBOURS_AMONG)
        listed = [f"{_cell(other)} {cosine:.2f}" for other, cosine in near if other != word]
        lines.append(f"| {_cell(word)} | {', '.join(listed[:N_NEAR])} |")
    return "\n".join(lines)


def _cell(word: Any) -> str:
    return printed(word).replace("|", "\\|")


def write_baseline(
    folder: Path, scores: Mapping[str, Any], made_with: Mapping[str, Any] | None
) -> None:
    """Write the scores of a model. The step is the number of words that it was trained on.

    Scores of an earlier evaluation are replaced. Scores have the same tags as a training's curves,
    so that TensorBoard shows them in the same charts.

    Parameters
    ----------
    folder : path
        See `check_run`.
    scores : mapping
        Result of `gensim_tfw2v.evaluation.summary`, optionally with ``held_out_loss``.
    made_with : mapping or None
        Result of `hyperparameters`. If None, the step is 0.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    tags = quality_tags([*scores["pairs"], *scores["analogies"]])
    found = {tags[name]: score["spearman"] for name, score in scores["pairs"].items()}
    found |= {tags[name]: by["gensim"]["total"] for name, by in scores["analogies"].items()}
    found["loss/held_out"] = scores.get("held_out_loss")
    for old in folder.glob(f"*{EVALUATED}"):
        old.unlink()
    step = 0
    events = EventLog(folder, EVALUATED)
    if made_with is not None:
        step = made_with["words"] * made_with["epochs"]
        events.hyperparameters(made_with)
    events.scalars({tag: value for tag, value in found.items() if value is not None}, step)
    events.close()


def check_run(folder: Path) -> None:
    """Raise ValueError if the folder contains the run of a training."""
    if has_events(folder) and not any(folder.glob(f"*{EVALUATED}")):
        raise ValueError(
            f"{folder} holds the run of a training: give the scores another name (--run)"
        )
