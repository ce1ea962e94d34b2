"""A work unit that is to be trained, and what is known once it has been."""

from typing import NamedTuple

import numpy as np

from gensim_tfw2v.corpus.shards import WorkUnit
from gensim_tfw2v.kernel.choices import KernelConfig


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
    def of(
        cls, unit: WorkUnit, alphas: tuple[float, float], seed: int, epoch: int = 0
    ) -> "UnitTask":
        """A unit with the key that it has in an epoch of a training with this seed."""
        return cls(unit, epoch, unit_key(seed, epoch, unit.index), alphas)


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
    """

    unit: WorkUnit
    kept: int
    loss: float
    predictions: float
    alpha: float


class Divergence(ArithmeticError):
    """Divergence of training: vectors that are not finite, or too long to mean anything."""

    @classmethod
    def at(cls, place: str, program: KernelConfig, alpha: float) -> "Divergence":
        """Name the options that make steps shorter; `place` says what diverged where."""
        window = program.widest_window or program.shape.window
        return cls(
            f"{place} diverged: rows are not finite, or so long that they mean nothing, with "
            f"alpha={alpha:g}, window={window} and negative={program.objective.negative}: give a "
            "smaller alpha, window or negative"
        )
