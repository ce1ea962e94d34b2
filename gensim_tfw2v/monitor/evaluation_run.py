"""TensorBoard run of an evaluation of a finished model."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gensim_tfw2v.monitor.events import EventLog, has_events
from gensim_tfw2v.monitor.labels import quality_tags

#: Suffix of an evaluation's event file, by which a later evaluation finds and replaces the file.
SUFFIX = ".evaluated"


def write_baseline(
    folder: Path, scores: Mapping[str, Any], hyperparameters: Mapping[str, Any] | None
) -> None:
    """Write the scores of a model as a point of each curve.

    The step of the points is the number of words that the model was trained on. The tags are those
    of the curves of training, so that TensorBoard shows scores and curves in the same charts.
    Scores of an earlier evaluation are replaced.

    Parameters
    ----------
    folder : path
        Folder of the TensorBoard run, without curves of training: see `check_run`.
    scores : mapping
        Result of `gensim_tfw2v.evaluation.summary`, optionally with ``held_out_loss``.
    hyperparameters : mapping or None
        Result of `options.hyperparameters`, from which the step is computed. If None, the step is
        0.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    labels = scores.get("labels", {})
    edges = scores.get("edges", {})
    tags = quality_tags([*scores["pairs"], *scores["analogies"], *labels, *edges])
    values = {tags[name]: score["spearman"] for name, score in scores["pairs"].items()}
    for name, metrics in scores["analogies"].items():
        values[tags[name]] = metrics["gensim"]["total"]
    for name, score in labels.items():
        for f1 in score["f1"]:
            percent = f"{100 * f1['train_share']:.0f}"
            values[f"{tags[name]}/micro_f1_{percent}"] = f1["micro"]
            values[f"{tags[name]}/macro_f1_{percent}"] = f1["macro"]
    for name, score in edges.items():
        for operator, area in score["auc"].items():
            values[f"{tags[name]}/auc_{operator}"] = area
    values["loss/held_out"] = scores.get("held_out_loss")
    old_files = list(folder.glob(f"*{SUFFIX}"))
    step = 0
    with contextlib.closing(EventLog(folder, SUFFIX)) as events:
        if hyperparameters is not None:
            step = hyperparameters["words"] * hyperparameters["epochs"]
            events.hyperparameters(hyperparameters)
        events.scalars({tag: value for tag, value in values.items() if value is not None}, step)
    for old_file in old_files:
        old_file.unlink()


def check_run(folder: Path) -> None:
    """Raise ValueError if the folder contains curves of training, which scores would mix with."""
    if has_events(folder) and not any(folder.glob(f"*{SUFFIX}")):
        raise ValueError(
            f"{folder} holds the log of a training run: give the scores another name (--run)"
        )
