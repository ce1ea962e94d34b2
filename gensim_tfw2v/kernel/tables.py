"""Trained tables; task, result and report of a work unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus.encoded_corpus import WorkUnit


class Tables(NamedTuple):
    """Trained tables: variables, their handles, or arrays. An unused table has no rows.

    Attributes
    ----------
    inputs : [V, D]
        gensim's ``wv.vectors``.
    outputs : [V, D]
        gensim's ``syn1neg``, for negative sampling.
    nodes : [V, D]
        gensim's ``syn1``, for hierarchical softmax.
    """

    inputs: Any
    outputs: Any
    nodes: Any


class UnitTask(NamedTuple):
    """Unit to train.

    Attributes
    ----------
    epoch : int
        Index of the epoch, from 0.
    key : ndarray [2], int32
        Key of the unit's random draws, from `unit_key`.
    alphas : (float, float)
        Learning rates at the unit's start and at its end.
    """

    unit: WorkUnit
    epoch: int
    key: np.ndarray
    alphas: tuple[float, float]


class UnitResult(NamedTuple):
    """Result of training a unit; each field is a tensor, or an array [n] for n units.

    Attributes
    ----------
    kept : int32
        Number of tokens trained on, after subsampling.
    loss, predictions : float32
        Summed loss of the blocks or steps whose loss is computed, and number of their predictions.
    magnitude : float32
        Sum of the sizes of all scores (compiled kernels) or of the norms of all updates before
        clipping (TensorFlow fallback). It is infinite or NaN if training has diverged.
    """

    kept: Any
    loss: Any
    predictions: Any
    magnitude: Any

    def reports(
        self, units: Sequence[WorkUnit], alphas: Iterable[float], epoch: int = 0
    ) -> list[UnitReport]:
        """Return the reports of n units, from a result whose fields are arrays [n].

        `alphas` are the learning rates at the ends of the units.
        """
        sums = zip(units, alphas, self.kept, self.loss, self.predictions, strict=False)
        return [
            UnitReport(unit, int(n_tokens), float(loss), float(predictions), float(alpha), epoch)
            for unit, alpha, n_tokens, loss, predictions in sums
        ]


class UnitReport(NamedTuple):
    """Report of a trained unit.

    Attributes
    ----------
    kept : int
        Number of tokens trained on, after subsampling.
    loss, predictions : float
        Summed loss, and the number of predictions in it; both 0 unless the loss is computed.
    alpha : float
        Learning rate at the unit's end.
    epoch : int
        Index, from 0, among the epochs that a regime trains in one call.
    """

    unit: WorkUnit
    kept: int
    loss: float
    predictions: float
    alpha: float
    epoch: int = 0


#: Function that is called after each unit, from any thread.
Reporter = Callable[[UnitReport], None]


class Divergence(ArithmeticError):
    """Divergence of training: vectors that are not finite, or so long that they stop learning."""

    @classmethod
    def at(cls, subject: str, window: int, negative: int, alpha: float) -> Divergence:
        """Make the error; `subject` names what diverged. The message lists options to lower."""
        return cls(
            f"{subject} diverged: its vectors are not finite or far too long, with "
            f"alpha={alpha:g}, window={window} and negative={negative}: use a smaller alpha, "
            "window or negative"
        )
