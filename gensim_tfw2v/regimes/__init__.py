"""Interface of a regime: a strategy that assigns work units to workers and merges their updates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gensim_tfw2v.files.array_file import ArrayFile
from gensim_tfw2v.initial_rows import InitialRows
from gensim_tfw2v.kernel.tables import Reporter, Tables, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays

if TYPE_CHECKING:
    from gensim_tfw2v.parameter_server.job_config import JobConfig

#: Returns whether to stop training and skip the remaining work.
Stop = Callable[[], bool]


#: Error message if rows are not finite after an epoch.
NOT_FINITE = "training diverged: its vectors are not finite"


def never() -> bool:
    """Return False: never stop."""
    return False


class Setup(NamedTuple):
    """Arguments from which a regime that trains on workers is created.

    Attributes
    ----------
    config : JobConfig
    words : WordArrays of ndarray or ArrayFile
        Arrays of the vocabulary.
    rates : Tables of ndarray or ArrayFile [rows]
        Mean number of predictions per trained token that each row takes part in; see
        `pair_rates`.
    n_rows : Tables of int
        Number of rows of each table; 0 for an unused table.
    n_units : int
        Maximum number of units per epoch.
    seed : int
    folder : Path
        Folder with the files of the units.
    initial_inputs : tuple of InitialRows
        Rows with which the table of inputs starts if nothing was trained; empty if unknown.
    is_drawn : bool
        Whether the entries of units are drawn, instead of read from files.
    walk_file : Path, optional
        File from which walks are drawn, if the units consist of walks.
    """

    config: JobConfig
    words: WordArrays
    rates: Tables
    n_rows: Tables
    n_units: int
    seed: int
    folder: Path
    initial_inputs: tuple[InitialRows, ...] = ()
    is_drawn: bool = False
    walk_file: Path | None = None

    def with_files(self, folder: Path) -> Setup:
        """Write the arrays of the vocabulary to a folder, and return a setup with `ArrayFile`s.

        Such a setup is quickly sent to a different process, and tasks can map the files.
        """
        names = map("{:02}.bin".format, itertools.count())

        def save(source: Any) -> Any:
            """Save an array, or all arrays in a named tuple."""
            if isinstance(source, tuple):
                return type(source)(*map(save, source))
            return ArrayFile.save(folder / next(names), source)

        return self._replace(words=save(self.words), rates=save(self.rates))


class Regime(Protocol):
    """Trains units on the tables that it holds."""

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once.

        Parameters
        ----------
        tasks : sequence of UnitTask
            Units of one epoch.
        report : callable
            Called after each unit, from any thread.
        stop : callable
            Called before each unit. Once it returns True, the remaining units are neither trained
            nor reported.

        Raises
        ------
        Divergence
            If updates become non-finite.
        ClusterLost
            If the rows are lost. `load` and `export` raise this error, too.
        """

    def load(self, arrays: Tables) -> None:
        """Set all rows to copies of these arrays.

        Exception: `LocalRegime` trains a table in place if it is passed as a `RowMemory`.
        """

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays, which may be files: see `RowFile`.

        Raises
        ------
        Divergence
            If rows are not finite. Arrays in memory are then not changed.
        """

    def close(self) -> None:
        """Free the tables and all other resources of the regime."""
