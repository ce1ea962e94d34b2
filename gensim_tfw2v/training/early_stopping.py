"""Callback that ends training before its last epoch and keeps the weights of the best one."""

import logging
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from gensim.models.callbacks import CallbackAny2Vec

from gensim_tfw2v import evaluation
from gensim_tfw2v.evaluation.analogies import NAMED_SETS
from gensim_tfw2v.evaluation.sets import file_kind, find_shipped
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.contents import STOPPING_RESULTS
from gensim_tfw2v.options.kinds import Finite, Whole
from gensim_tfw2v.training.model_arrays import renew_norms, weights_of

logger = logging.getLogger(__name__)

#: Names of the sets of word pairs and of analogies that are part of this package.
SETS = evaluation.NAMED_SETS | NAMED_SETS


class EarlyStopping(CallbackAny2Vec):
    """Callback that stops training when a score stops improving, and restores the best epoch.

    Options are named as in Keras.

    Parameters
    ----------
    monitor : str, path or callable
        The score, computed after each epoch: the Spearman correlation with a set of rated word
        pairs (``"ws353"``, ``"simlex999"`` or a file), the accuracy on analogies
        (``"questions-words"`` or a file), the mean loss of the epoch (``"loss"``, which turns
        `compute_loss` on), or the result of a function of the model.
    min_delta : float, default 0.0
        Smallest change that counts as an improvement, from 0 up.
    patience : int, default 2
        Number of epochs without improvement after which training stops, from 0 up. Use more if the
        score is noisy.
    mode : "auto", "max" or "min", default "auto"
        Whether higher or lower scores are better; ``"auto"`` is ``"min"`` for ``"loss"`` and
        ``"max"`` for everything else.
    restore_best_weights : bool, default True
        Restore the arrays of the best epoch at the end of training. The copy needs as much memory
        as the model's arrays (V x D float32 each), also with `tables_dir`.

    Attributes
    ----------
    history : list of float
        Score of each epoch. NaN is never an improvement. Epochs that were trained before the
        checkpoint that training resumed from, and all epochs of sub-models except the last, have
        NaN, too, and don't count for `patience`.
    best_epoch : int or None
        Index of the best epoch, from 0.
    best_score : float
        Score of that epoch. At the end of training, `history`, `best_epoch` and `best_score` are
        also set as attributes of the model.

    Raises
    ------
    TypeError, ValueError
        If an option is invalid; when training starts, if the vocabulary has too few words of the
        word pairs or analogies for a score; after an epoch, if a function returns no number.
    EvaluationFileError, OSError
        If a file cannot be read.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> from gensim_tfw2v import EarlyStopping, TFWord2Vec
    >>> stopping = EarlyStopping("loss", min_delta=100.0)  # no epoch improves the loss so much
    >>> model = TFWord2Vec(common_texts, min_count=1, epochs=50, callbacks=[stopping])
    >>> len(stopping.history), stopping.best_epoch
    (3, 0)
    """

    history: Sequence[float] = ()
    best_epoch: int | None = None
    best_score = math.nan

    def __init__(
        self,
        monitor: str | os.PathLike[str] | Callable[[Any], float],
        *,
        min_delta: float = 0.0,
        patience: int = 2,
        mode: Literal["auto", "max", "min"] = "auto",
        restore_best_weights: bool = True,
    ) -> None:
        if mode not in ("auto", "max", "min"):
            raise ValueError(f"mode is {quoted(mode)}: use 'auto', 'max' or 'min'")
        self.monitor = monitor
        self.restore_best_weights = restore_best_weights
        self.min_delta = Finite(0)("min_delta", min_delta)
        self.patience = Whole(0, exact=True)("patience", patience)
        # a score is better if `_sign` times the score is larger
        self._sign = -1 if mode == "min" or (mode == "auto" and monitor == "loss") else 1
        # attributes of the model and of its vectors, with copies of the best epoch's arrays
        self._best_weights: list[tuple[dict[str, Any], dict[str, np.ndarray]]] = []
        self._n_waited = 0  # epochs since the last improvement
        if not callable(monitor) and not isinstance(monitor, str | os.PathLike):
            raise TypeError(
                f"monitor is {quoted(monitor)}: pass the name of a set, the path of a file, 'loss' "
                "or a function of the model"
            )
        if not callable(monitor) and monitor != "loss":
            if not os.path.exists(path := _find_file(monitor)):
                monitors = ", ".join((*SETS, "loss"))
                raise FileNotFoundError(f"monitor is {quoted(monitor)}: use {monitors} or a file")
            file_kind(path)

    def on_train_begin(self, model: Any) -> None:
        """Reset the scores, and raise a ValueError if the model cannot be scored."""
        self.history = []
        self.best_epoch = None
        self.best_score = math.nan
        self._best_weights = []
        self._n_waited = 0
        if self.monitor == "loss":
            model.compute_loss = True
        elif not callable(self.monitor) and math.isnan(_compute_score(self.monitor, model)):
            raise ValueError(
                f"monitor={quoted(self.monitor)} has no score, because the vocabulary has too few "
                "of its words: use a different set or a larger corpus"
            )

    def on_epoch_end(self, model: Any) -> None:
        """Score the epoch, and copy the weights if it is the best so far.

        Training is stopped after `patience` epochs without improvement.
        """
        epoch = len(self.history)
        training = model._state.training
        # The vectors at the end of this epoch no longer exist if the epoch was trained before a
        # checkpoint, or along with later epochs by sub-models.
        is_gone = training is not None and training.position.epoch != epoch + 1
        score = (
            math.nan
            if is_gone
            else _check_score(_compute_score(self.monitor, model), self.monitor, epoch)
        )
        self.history = [*self.history, score]
        if math.isnan(score) and not is_gone:
            logger.warning(
                "EarlyStopping: the score of epoch %i is NaN, which counts as no improvement", epoch
            )
        self._n_waited += not is_gone
        is_better = self._sign * (score - self.best_score) > self.min_delta
        if is_better or math.isnan(self.best_score) and not math.isnan(score):
            self._n_waited = 0
            self.best_epoch = epoch
            self.best_score = score
            self._best_weights = []
            if self.restore_best_weights:
                for attributes, arrays in weights_of(model):
                    self._best_weights.append(
                        (attributes, {name: array.copy() for name, array in arrays.items()})
                    )
        # stop after the last epoch, too, so that the last checkpoint is of the best epoch
        if self._n_waited >= max(1, self.patience) or epoch + 1 == model.epochs:
            model.stop_training = True

    def on_train_end(self, model: Any) -> None:
        """Restore the weights of the best epoch, and set the model's `history` and best score."""
        for attributes, arrays in self._best_weights:
            # The arrays are replaced, not overwritten, because a thread of the user may be reading
            # the current ones, for example in a query.
            attributes.update(arrays)
        renew_norms(model)
        self._best_weights = []
        vars(model).update({name: getattr(self, name) for name in STOPPING_RESULTS})


def _compute_score(monitor: Any, model: Any) -> float:
    """Return the score that `EarlyStopping` monitors; NaN if no pair or question has a score."""
    if callable(monitor):
        return monitor(model)
    if monitor == "loss":
        return model.mean_losses[-1] if model.mean_losses else math.nan
    if file_kind(path := _find_file(monitor)) == "pairs":
        return evaluation.evaluate_pairs(model.wv, path).spearman
    score = evaluation.evaluate_analogies(model.wv, path)
    return score.total if score.counted else math.nan


def _check_score(score: Any, monitor: Any, epoch: int) -> float:
    """Return a score as a float.

    Raises
    ------
    TypeError
        If the score is not a number; the message names the monitor.
    """
    try:
        if not isinstance(score, str | bytes):
            return float(score)
    except (TypeError, ValueError):
        pass
    name = getattr(monitor, "__name__", None) or quoted(monitor)
    raise TypeError(
        f"the monitor of EarlyStopping, {name}, returned {quoted(score)} after epoch {epoch}: "
        "return a number, such as the model's score on a test set"
    )


def _find_file(monitor: Any) -> str:
    return os.fspath(find_shipped(SETS, monitor))
