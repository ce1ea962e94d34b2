"""Progress that a model's arrays and its checkpoints contain, and when a checkpoint is written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.training.epoch import Position

if TYPE_CHECKING:
    from gensim_tfw2v.files.sharded_rows import ShardedRows
    from gensim_tfw2v.training.checkpoint_cut import SavedCut
    from gensim_tfw2v.training.checkpoints import Checkpoints


class SavedTraining(NamedTuple):
    """Training in a checkpoint.

    Attributes
    ----------
    tables : Tables
        Read-only arrays, or `ShardedRows` if ps tasks have written them. An unused table has no
        rows.
    position : Position
        Progress that the tables contain.
    kernel : str
        Name of the kernel that trained; "" if it is not known.
    cut : SavedCut
        Cut of the epoch into work units.
    """

    tables: Tables
    position: Position
    kernel: str
    cut: SavedCut

    def shards(self) -> dict[str, ShardedRows]:
        """Return the tables that ps tasks have written, by name."""
        from gensim_tfw2v.files.sharded_rows import ShardedRows

        tables: dict[str, Any] = self.tables._asdict()
        return {name: table for name, table in tables.items() if isinstance(table, ShardedRows)}


class CheckpointManager:
    """Progress that the model's arrays and the last checkpoint contain.

    A training returns to the newer one if its cluster is lost. Without `checkpoints`, nothing is
    written, so that this is always the progress of the arrays.

    Parameters
    ----------
    checkpoints : Checkpoints or None
    state_of : callable
        Function that returns the state of a checkpoint at a `Position`, as a dict for JSON.

    Attributes
    ----------
    arrays_position : Position
        Progress that the model's arrays contain.
    """

    def __init__(
        self, checkpoints: Checkpoints | None, state_of: Callable[[Position], Mapping[str, Any]]
    ) -> None:
        self.checkpoints = checkpoints
        self._state_of = state_of
        self.arrays_position = Position()
        self._saved_position: Position | None = None  # progress that the last checkpoint contains
        # tables and progress of the last checkpoint, if it is newer than the model's arrays
        self._shards: tuple[dict[str, ShardedRows], Position] | None = None

    @property
    def kept_position(self) -> Position:
        """Progress that `newest_tables` contain, to which a training returns."""
        return self.arrays_position if self._shards is None else self._shards[1]

    def newest_tables(self, tables: Tables) -> Tables:
        """Return `tables`, which are the model's arrays, or newer ones of a checkpoint."""
        return tables if self._shards is None else tables._replace(**self._shards[0])

    def note_arrays(self, position: Position) -> None:
        """Note that the model's arrays now contain the progress `position`, and are the newest."""
        self.arrays_position = copy.deepcopy(position)
        self._shards = None

    def note_restored(self, position: Position, shards: dict[str, ShardedRows]) -> None:
        """Note that the last checkpoint, which contains `shards`, was copied to the arrays."""
        self.note_arrays(position)
        self._saved_position = copy.deepcopy(position)
        if shards:
            self._shards = shards, copy.deepcopy(position)

    def load(self, vector_size: int) -> SavedTraining | None:
        """Return the training in the last checkpoint on disk; None if there is none.

        Raises the exceptions of `Checkpoints.load_latest`.
        """
        from gensim_tfw2v.training.checkpoint_cut import SavedCut

        def take(arrays: dict[str, np.ndarray], state: Any) -> SavedTraining:
            kernel = state.pop("kernel", "")
            cut = SavedCut.of(state.pop("cut"))
            no_rows = np.zeros((0, vector_size), np.float32)
            tables = dict.fromkeys(Tables._fields, no_rows) | arrays
            return SavedTraining(Tables(**tables), Position.of(state), kernel, cut)

        return None if self.checkpoints is None else self.checkpoints.load_latest(take)

    def expire(self) -> None:
        """Let the next `save` write a checkpoint even without progress, as the arrays differ."""
        self._saved_position = None

    def save(self, find_tables: Callable[[], Tables], n_epochs: int) -> None:
        """Write a checkpoint of the model's arrays, which `find_tables` returns.

        Without progress since the last checkpoint, none is written. Only callbacks may have changed
        the arrays since, and they are called again when the training is resumed. `n_epochs` is the
        number of epochs of the whole training.
        """
        position = self.arrays_position
        if self.checkpoints is None or position == self._saved_position:
            return
        if self._shards is not None:
            return  # they are newer than the model's arrays
        is_last = position.epoch == n_epochs
        self.checkpoints.save(find_tables()._asdict(), self._state_of(position), is_last)
        self._saved_position = copy.deepcopy(position)

    def save_shards(self, regime: Any, position: Position) -> bool:
        """Let each ps task of a regime write its rows; return whether all could do so.

        This is faster than copying the rows to the model's arrays if those are in files, because no
        rows are sent. The arrays stay as they are.
        """
        if self.checkpoints is None:
            return False
        position = copy.deepcopy(position)
        shards = self.checkpoints.save_shards(regime.save, self._state_of(position))
        if not shards:
            return False
        self._shards = shards, position
        self._saved_position = position
        return True

    def wait(self) -> None:
        """Wait until the last checkpoint is written, so that the model's arrays may change."""
        if self.checkpoints is not None:
            self.checkpoints.wait()
