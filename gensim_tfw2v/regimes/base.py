"""What a regime offers to the model."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from gensim_tfw2v.corpus.units import WorkUnit
from gensim_tfw2v.regimes.tables import Tables


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


def unit_key(seed: int, epoch: int, index: int) -> np.ndarray:
    """The name of a unit as two int32, well mixed."""
    words = np.random.SeedSequence([abs(int(seed)), epoch, index]).generate_state(2)
    return words.view(np.int32)


class ClusterLost(ConnectionError):
    """Tasks of a cluster that hold parameters are gone, or no worker is left."""


def never() -> bool:
    """Do not stop."""
    return False


class Regime(Protocol):
    """Trains the units of an epoch on tables that it holds."""

    def train_epoch(
        self,
        units: Sequence[WorkUnit],
        epoch: int,
        alphas: Sequence[tuple[float, float]],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once.

        Parameters
        ----------
        units : sequence of WorkUnit
        epoch : int
            Keys the random draws, with the seed and the unit's index.
        alphas : sequence of (float, float)
            Step size at the beginning and at the end of each unit.
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
