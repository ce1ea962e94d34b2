"""A training, or a finished model, as a run for TensorBoard."""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation import evaluate_pairs
from gensim_tfw2v.monitor.events import EventLog, TaskLog, has_events
from gensim_tfw2v.monitor.projector import norms, write_projector
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.monitor.traffic import write_trace

#: Seconds between two points, until a thousand are written; then they grow with the time passed.
SECONDS = 1.0
POINTS = 1000

#: The speed at the end is that since so many points before.
LAST = 5

#: Probe words by default: how many, and their ranks, evenly spread on a logarithmic scale.
PROBES = 8
FIRST_RANK = 100
LAST_RANK = 20_000

#: Neighbours are looked for among so many of the most frequent words.
NEIGHBOURS_AMONG = 50_000

#: Ends the name of the file of an evaluation, so that a later one of the model can replace it.
EVALUATED = ".evaluated"

logger = logging.getLogger(__name__)


class RunLog:
    """Writes the curves of a training, and what is known of its vectors after each epoch.

    A step of the curves is a word of the text; of those below ``vs_epoch``, an epoch. Where the
    folder cannot be written to, that is logged as an error, once, and nothing more is written.

    Parameters
    ----------
    options : TensorBoardLog
    made_with : mapping
        As of `options.hyperparameters`.
    traffic : callable
        Gives the `Traffic` of the cluster so far, None without one.
    before : (int, int)
        Words and epochs of trainings before, of the same model.
    goes_on : bool
        Whether this goes on with a run that is in the folder.

    Attributes
    ----------
    reached : (int, int)
        Words and epochs of all trainings of this run.
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
                "%s holds another training's run: TensorBoard will draw both as one. Give each "
                "training a folder of its own",
                options.path,
            )
        self.options = options
        self._before = self.reached = before
        self._words_each = max(1, int(made_with["words"]))
        self.events = EventLog(options.path, outlived=True)
        self._task = TaskLog(options.path, events=self.events)
        self._began = time.monotonic()
        self._loss = self._predictions = 0.0
        self._words = 0
        self._values: dict[str, float] = {}  # of the last unit
        self._points = deque([(self._began, 0)], maxlen=LAST)  # times and words of the last
        self._traffic_of = traffic
        self._traffic = None
        self.events.hyperparameters(made_with)

    def unit(self, report: Any, words: int) -> None:
        """Take the report of a unit, and write a point if one is due.

        `words` is how many of the text this training has been through, over all epochs.
        """
        self._loss += report.loss
        self._predictions += report.predictions
        self._words += report.unit.raw_words
        self.reached = self._before[0] + words, self.reached[1]
        self._values["training/alpha"] = report.alpha
        self._values["training/epoch"] = self._before[1] + words / self._words_each
        now = time.monotonic()
        if now - self._points[-1][0] >= max(SECONDS, (now - self._began) / POINTS):
            self._point()

    def _point(self, is_last: bool = False) -> None:
        if self._words == self._points[-1][1]:
            return
        now = time.monotonic()
        # so little may be left at the end that its speed alone would say nothing
        since, words = self._points[0 if is_last else -1]
        values = self._values | self._of_cluster(self._traffic_of())
        values["training/words_per_second"] = (self._words - words) / max(1e-3, now - since)
        if self._predictions:
            values["loss/running"] = self._loss / self._predictions
        self.events.scalars(values, self.reached[0])
        self._loss = self._predictions = 0.0
        self._points.append((now, self._words))

    def _of_cluster(self, traffic: Any) -> dict[str, float]:
        """Changes of the cluster's counters since the last point."""
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
        """Write the mean losses of the epochs that have ended, and what the vectors are like."""
        began = time.monotonic()
        vectors = model.wv
        step, before = self.reached
        self.reached = step, before + epochs
        if self.events.failed:
            return
        for epoch, loss in enumerate(losses, 1):
            words = step - (epochs - epoch) * self._words_each
            self._per_epoch("loss/epoch", loss, words, before + epoch)
        for pairs in self.options.word_pairs:
            score = evaluate_pairs(vectors, pairs)
            if score.used > 1:
                self._per_epoch(quality_tag(pairs), score.spearman, step, before + epochs)
        lengths = {f"vectors/norms of ranks {band}": of for band, of in norms(vectors).items()}
        self.events.histograms(lengths, step)
        if table := _neighbours(vectors, self._probes(vectors)):
            self.events.text("neighbours", table, step)
        if is_last or self.options.projector_each_epoch:
            self.projector(model, is_last)
        # nothing was trained meanwhile
        paused = time.monotonic() - began
        self._points = deque(((at + paused, words) for at, words in self._points), maxlen=LAST)

    def projector(self, model: Any, is_last: bool = True) -> None:
        """Write the vectors for the projector, with a layout if they are the last."""
        if words := self.options.projector_words:
            of = model.wv, self.options.path, words, is_last, getattr(model, "dv", None)
            self.events.write(lambda: write_projector(*of))

    def _per_epoch(self, tag: str, value: float, words: int, epoch: int) -> None:
        """Write a point by words of the text, and by the number of the epoch."""
        name = "loss" if tag == "loss/epoch" else tag.partition("/")[2]
        self.events.scalars({tag: value}, words)
        self.events.scalars({f"vs_epoch/{name}": value}, epoch)

    def _probes(self, vectors: KeyedVectors) -> list[str]:
        if self.options.probe_words is not None:
            return [word for word in self.options.probe_words if word in vectors]
        last = min(LAST_RANK, len(vectors)) - 1
        ranks = np.geomspace(min(FIRST_RANK, last) + 1, last + 1, PROBES).astype(int) - 1
        return [vectors.index_to_key[rank] for rank in dict.fromkeys(ranks.tolist())]

    def close(self) -> None:
        """Write what is left."""
        self._point(is_last=True)
        if (traffic := self._traffic_of()) is not None and traffic.jobs:
            self.events.write(lambda: write_trace(self.options.path, traffic.jobs))
        self._task.close()
        self.events.close()


def _neighbours(vectors: KeyedVectors, words: list[str]) -> str:
    """The nearest neighbours of words as a table in Markdown."""
    if len(vectors) < 2 or not words:
        return ""
    lines = ["| word | nearest neighbours |", "| --- | --- |"]
    for word in words:
        near = vectors.most_similar(word, topn=8, restrict_vocab=NEIGHBOURS_AMONG)
        listed = ", ".join(f"{other} {similarity:.2f}" for other, similarity in near)
        lines.append(f"| {_cell(word)} | {_cell(listed)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def write_baseline(
    folder: Path, scores: Mapping[str, Any], made_with: Mapping[str, Any] | None
) -> None:
    """Write the scores of a model at the step of the words that it was trained on.

    What an evaluation wrote there before is replaced. Scores have the tags of a training's curves.

    Parameters
    ----------
    folder : path
        See `check_run`.
    scores : mapping
        As of `gensim_tfw2v.evaluation.summary`; with ``held_out_loss``, that too.
    made_with : mapping or None
        As of `hyperparameters`. Without it, the step is 0.

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    found = {quality_tag(name): score["spearman"] for name, score in scores["pairs"].items()}
    found |= {quality_tag(name): by["gensim"]["total"] for name, by in scores["analogies"].items()}
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
    """Raise ValueError if the folder holds the run of a training."""
    if has_events(folder) and not any(folder.glob(f"*{EVALUATED}")):
        raise ValueError(
            f"{folder} holds the run of a training: give the scores another name (--run)"
        )


def quality_tag(word_pairs: str | os.PathLike[str]) -> str:
    """The curve of a set of word pairs or of analogies."""
    return f"quality/{Path(word_pairs).stem}"
