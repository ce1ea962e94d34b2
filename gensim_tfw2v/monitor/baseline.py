"""The scores of a finished model as a run for TensorBoard, beside those of trainings."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gensim.models import Word2Vec

from gensim_tfw2v.monitor.events import EventLog, has_events
from gensim_tfw2v.monitor.hyperparameters import hyperparameters

#: Ends the name of the file, so that a later evaluation of the model can replace it.
SUFFIX = ".evaluated"


def write_baseline(
    folder: str | os.PathLike[str], model: Any, scores: Mapping[str, Any]
) -> dict[str, float]:
    """Write the scores of a model at the step of the words that it was trained on.

    What an evaluation wrote there before is replaced.

    Parameters
    ----------
    folder : path
        The run's.
    model : Word2Vec or KeyedVectors
        Without a whole model, the step is 0.
    scores : mapping
        As of `gensim_tfw2v.evaluation.summary`; with ``held_out_loss``, that too.

    Returns
    -------
    dict
        What was written, by tag: those of a training where it has such a curve.

    Raises
    ------
    ValueError
        If the folder holds the run of a training.
    OSError
        If nothing can be written there.
    """
    values = {quality_tag(name): score["spearman"] for name, score in scores["pairs"].items()}
    values |= {quality_tag(name): by["gensim"]["total"] for name, by in scores["analogies"].items()}
    values["loss/held_out"] = scores.get("held_out_loss")
    values = {tag: value for tag, value in values.items() if value is not None}

    check_run(folder)
    for old in Path(folder).glob(f"*{SUFFIX}"):
        old.unlink()
    step, events = 0, EventLog(os.fspath(folder), SUFFIX)
    if isinstance(model, Word2Vec):
        step = model.corpus_total_words * model.epochs
        events.hyperparameters(hyperparameters(model) | {"words": model.corpus_total_words})
    events.scalars(values, step)
    events.close()
    return values


def check_run(folder: str | os.PathLike[str]) -> None:
    """Raise ValueError if the folder holds the run of a training."""
    if has_events(os.fspath(folder)) and not list(Path(folder).glob(f"*{SUFFIX}")):
        raise ValueError(f"{folder} holds the run of a training: give the scores another name")


def quality_tag(word_pairs: str | os.PathLike[str]) -> str:
    """The curve of a set of word pairs or of analogies."""
    return f"quality/{Path(word_pairs).stem}"
