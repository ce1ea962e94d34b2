"""What a regime offers to the model."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from gensim_tfw2v.corpus.units import WorkUnit
from gensim_tfw2v.regimes.tables import Tables


def unit_key(seed: int, epoch: int, index: int) -> np.ndarray:
    """The name of a unit as two int32, well mixed."""
    words = np.random.SeedSequence([abs(int(seed)), epoch, index]).generate_state(2)
    return words.view(np.int32)


class UnitTask(NamedTuple):
    """A unit that is to be trained.

    Attributes
    ----------
    unit : WorkUnit
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
    """What is known once a unit has been trained.

    Attributes
    ----------
    unit : WorkUnit
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
    """Training has turned non-finite."""


class ClusterLost(ConnectionError):
    """Tasks of a cluster that hold parameters are gone, or no worker is left."""


def never() -> bool:
    """Do not stop."""
    return False


class Regime(Protocol):
    """Trains the units of an epoch on tables that it holds."""

    def train_epoch(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once.

        Parameters
        ----------
        tasks : sequence of UnitTask
            Of one epoch.
        report : callable
            Called after each unit, from any thread.
        stop : callable
            Asked before each unit: whether to leave the rest, which were not reported.

        Raises
        ------
        Divergence
            If updates turn non-finite.
        ClusterLost
            If the rows are gone. Likewise `load`, `finite` and `export`.
        """
        ...

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        ...

    def finite(self) -> bool:
        """Whether every row is finite."""
        ...

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""
        ...

    def step_graph(self) -> bytes | None:
        """The graph of a step, a serialized ``GraphDef``; None if there is none to show."""
        ...

    def close(self) -> None:
        """Free what the regime holds."""
        ...
