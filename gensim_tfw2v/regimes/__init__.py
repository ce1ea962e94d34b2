"""Who trains which work unit when, and when updates meet: the interface of a regime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from gensim_tfw2v.kernel.kernel_config import KernelConfig
    from gensim_tfw2v.kernel.tables import Reporter, Tables, UnitTask
    from gensim_tfw2v.kernel.word_arrays import WordArrays

#: Asked whether to leave the rest.
Stop = Callable[[], bool]


def never() -> bool:
    """Do not stop."""
    return False


class Setup(NamedTuple):
    """Everything that a regime is made from.

    Attributes
    ----------
    config : KernelConfig
    words : WordArrays
        Of the vocabulary.
    rates : Tables of ndarray [rows]
        See `pair_rates`; of None for threads that share the rows.
    rows : Tables of int
        Of each table; 0 of one without use.
    units : int
        Of an epoch, at most.
    seed : int
    folder : Path
        That the units' files are in.
    """

    config: KernelConfig
    words: WordArrays
    rates: Tables
    rows: Tables
    units: int
    seed: int
    folder: Path


class Regime(Protocol):
    """Trains the units of an epoch on tables that it holds."""

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
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

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""

    def finite(self) -> bool:
        """Return whether every row is finite."""

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""

    def close(self) -> None:
        """Free what the regime holds."""
