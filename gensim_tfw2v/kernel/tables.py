"""Tables that are trained, units that train them, and what is known of a unit once it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit

if TYPE_CHECKING:
    from gensim_tfw2v.kernel.kernel_config import KernelConfig


class Tables(NamedTuple):
    """Trained tables, named after gensim's attributes; an unused table has no rows.

    Attributes
    ----------
    inputs : Variable, its handle, or ndarray [V, D]
        ``wv.vectors``
    outputs : [V, D]
        ``syn1neg``: of negative sampling.
    nodes : [V, D]
        ``syn1``: of hierarchical softmax.
    """

    inputs: Any
    outputs: Any
    nodes: Any


def all_finite(array: np.ndarray) -> bool:
    """Return whether all numbers are finite, without making an array of truth values."""
    array = np.asarray(array)  # a np.matrix has other arguments
    return bool(np.isfinite([array.min(initial=0), array.max(initial=0)]).all())


def unit_key(seed: int, epoch: int, index: int) -> np.ndarray:
    """The name of a unit as two int32, well mixed."""
    words = np.random.SeedSequence([abs(int(seed)), epoch, index]).generate_state(2)
    return words.view(np.int32)


class UnitTask(NamedTuple):
    """A unit that is to be trained.

    Attributes
    ----------
    epoch : int
        From 0.
    key : ndarray [2], int32
        Keys its random draws.
    alphas : (float, float)
        Step size at its beginning and at its end.
    """

    unit: WorkUnit
    epoch: int
    key: np.ndarray
    alphas: tuple[float, float]

    @classmethod
    def of(cls, unit: WorkUnit, alphas: tuple[float, float], seed: int, epoch: int = 0) -> UnitTask:
        """A unit with the key that it has in an epoch of a training with this seed."""
        return cls(unit, epoch, unit_key(seed, epoch, unit.index), alphas)


class UnitResult(NamedTuple):
    """Result of training a unit.

    Attributes
    ----------
    kept : int32
        Tokens trained on, after subsampling.
    loss, predictions : float32
        Summed loss, and of how many predictions, of the steps whose loss is computed.
    magnitude : float32
        Summed lengths of the updates before clipping: not finite if training has diverged.
    """

    kept: tf.Tensor
    loss: tf.Tensor
    predictions: tf.Tensor
    magnitude: tf.Tensor

    def reports(
        self, units: Sequence[WorkUnit], alphas: Iterable[float], epoch: int = 0
    ) -> list[UnitReport]:
        """Reports on units, of arrays [n]; each ended with the step size that is given."""
        sums = zip(units, alphas, self.kept, self.loss, self.predictions, strict=False)
        return [
            UnitReport(unit, int(kept), float(loss), float(predictions), float(alpha), epoch)
            for unit, alpha, kept, loss, predictions in sums
        ]


class UnitReport(NamedTuple):
    """Report on a unit that has been trained.

    Attributes
    ----------
    kept : int
        Tokens trained on, after subsampling.
    loss, predictions : float
        Summed loss, and of how many predictions; 0 unless asked for.
    alpha : float
        The step size that it ended with.
    epoch : int
        Among those trained at once, from 0.
    """

    unit: WorkUnit
    kept: int
    loss: float
    predictions: float
    alpha: float
    epoch: int = 0


#: Called after each unit, from any thread.
Reporter = Callable[[UnitReport], None]


class Divergence(ArithmeticError):
    """Divergence of training: vectors that are not finite, or too long to mean anything."""

    @classmethod
    def at(cls, place: str, config: KernelConfig, alpha: float) -> Divergence:
        """Name the options that make steps shorter; `place` says what diverged where."""
        window = config.max_window or config.shape.window
        return cls(
            f"{place} diverged: rows are not finite, or so long that they mean nothing, with "
            f"alpha={alpha:g}, window={window} and negative={config.objective.negative}: give a "
            "smaller alpha, window or negative"
        )
