"""Training as the commands do it: a model, its log, and a summary of what it took."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.failures import BadInput, one_line

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec


@dataclass(frozen=True)
class TrainedModel:
    """A trained model, and what training it took.

    Attributes
    ----------
    model : TFWord2Vec
    seconds : float
        Time from the corpus to the vectors, counting the words included.
    """

    model: TFWord2Vec
    seconds: float

    def print(self, saved: Iterable[Path] = ()) -> None:
        """Print what a user wants to know, a line each.

        Words a second are those of the corpus, before subsampling and before rare words are left
        out, over the time inside ``train()``; without those that a checkpoint had.
        """
        model = self.model
        words, before = (
            model.corpus_total_words * model.epochs,
            getattr(model, "_restored_words", 0),
        )
        speed = (words - before) / max(model.total_train_time, 1e-9)
        rows = [
            ("vocabulary", f"{len(model.wv):,} words x {model.vector_size} dimensions"),
            ("corpus", f"{model.corpus_total_words:,} words, {model.epochs} epochs"),
            ("speed", f"{speed:,.0f} words/s"),
            ("time", f"{self.seconds:.1f} s, {model.total_train_time:.3g} s of it training"),
        ]
        if before:
            rows.append(("resumed", f"{before:,} of {words:,} words had been trained before"))
        if model.compute_loss:
            rows.append(("loss", f"{model.get_latest_training_loss():,.1f}"))
        traffic = getattr(model, "traffic", None)
        if traffic is not None and model.cluster is not None:
            rows += traffic.rows()
        if (report := getattr(model, "merge_report", None)) is not None:
            rows.append(("merged", str(report)))
        rows += [("saved", str(path)) for path in saved]
        for name, value in rows:
            print(f"{name:<11}{value}")


def model_class() -> type[TFWord2Vec]:
    """Give the class that the commands train."""
    from gensim_tfw2v import TFWord2Vec

    return TFWord2Vec


def train_model(**arguments: Any) -> TrainedModel:
    """Construct a model, which trains it.

    Parameters
    ----------
    **arguments
        The corpus (``corpus_file`` or ``sentences``) and the options of the class.

    Raises
    ------
    BadInput
        No word of the corpus is frequent enough to train.
    """
    start = time.perf_counter()
    try:
        model = model_class()(**arguments)
    except RuntimeError as error:
        if "build vocabulary" not in str(error):
            raise
        raise BadInput(
            "the corpus holds no word that is frequent enough (--min-count); lower it, or give "
            "a larger corpus"
        ) from error
    return TrainedModel(model, time.perf_counter() - start)


def set_log(options: dict[str, Any]) -> None:
    """Put a `TensorBoardLog` in place of the options for it, if they name a folder.

    Raises
    ------
    BadInput
        If there are such options and no folder, or a file of word pairs cannot be read.
    """
    folder = options.pop("log_dir")
    given = {
        "word_pairs": options.pop("log_pairs"),
        "probe_words": options.pop("log_words"),
        "projector_words": options.pop("projector_words"),
        "projector_each_epoch": options.pop("projector_each_epoch") or None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if folder is None:
        if given:
            raise BadInput("what is to be logged for TensorBoard needs a folder: give --log-dir")
        return

    from gensim_tfw2v.evaluation import EvaluationFileError
    from gensim_tfw2v.monitor.options import TensorBoardLog

    try:
        options["log_dir"] = TensorBoardLog(folder, **given)
    except (EvaluationFileError, OSError) as error:
        raise BadInput(f"--log-pairs: {one_line(error)}") from error
