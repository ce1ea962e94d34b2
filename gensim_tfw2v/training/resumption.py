"""Resumption of training: the state in the last checkpoint, for this training run's work units."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.files.row_file import copy_rows
from gensim_tfw2v.files.sharded_rows import ShardedRows
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.training.checkpoint_cut import SavedCut, check_cut, resume_epoch
from gensim_tfw2v.training.checkpoints import Checkpoints
from gensim_tfw2v.training.epoch import EpochUnits, Position

logger = logging.getLogger(__name__)


class Resumption(NamedTuple):
    """State from which training is resumed.

    Attributes
    ----------
    position : Position
        Progress that `tables` contain.
    epoch : EpochUnits
        Work units with which the epoch of the position is completed.
    tables : Tables
        Rows of the checkpoint.
    kernel : str
        Name of the kernel that trained before the checkpoint; "" if it is unknown.
    """

    position: Position
    epoch: EpochUnits
    tables: Tables
    kernel: str

    @property
    def shards(self) -> dict[str, ShardedRows]:
        """Tables that ps tasks have written, each its own rows, by name."""
        tables = self.tables._asdict().items()
        return {name: table for name, table in tables if isinstance(table, ShardedRows)}

    def fill(self, arrays: Tables) -> None:
        """Copy the rows of the checkpoint to the arrays of a model."""
        for array, saved_rows in zip(arrays, self.tables, strict=True):
            copy_rows(saved_rows, array)

    def count_words(self) -> tuple[int, int]:
        """Return the numbers of raw words, and of words after subsampling, that were trained."""
        position = self.position
        finished = [*position.finished, (position.trained, position.raw_words, 0)]
        trained, raw_words, _ = map(sum, zip(*finished, strict=True))
        return raw_words, trained

    def log(self, folder: Path, n_epochs: int) -> None:
        """Log the progress of a training run of `n_epochs` that resumes from a folder."""
        position = self.position
        n_done = position.n_units
        n_units = position.n_earlier_units + len(self.epoch.units)
        units = f" and {n_done} of {n_units} work units of the next" if n_done else ""
        epochs = f"{position.epoch} of {n_epochs} epochs"
        logger.info("resumed from %s: %s%s are trained", folder, epochs, units)


def load_resumption(
    checkpoints: Checkpoints,
    config: TrainingConfig,
    corpus: EncodedCorpus,
    whole_epoch: EpochUnits,
    max_entries: int,
) -> Resumption | None:
    """Load the last checkpoint of a training run; return None if there is none.

    Parameters
    ----------
    checkpoints : Checkpoints
    config : TrainingConfig
    corpus : EncodedCorpus
    whole_epoch : EpochUnits
        Units of a whole epoch of this training run.
    max_entries : int
        Maximum entries of a unit.

    Raises
    ------
    CheckpointError
        If the checkpoint cannot be resumed with the units of this training run; see `check_cut`.
    """

    def take(arrays: dict[str, np.ndarray], state: Any) -> tuple[Tables, Position, str, SavedCut]:
        kernel = state.pop("kernel", "")
        cut = SavedCut.of(state.pop("cut"))
        no_rows = np.zeros((0, config.vector_size), np.float32)
        tables = dict.fromkeys(Tables._fields, no_rows) | arrays
        return Tables(**tables), Position.of(state), kernel, cut

    checkpoint = checkpoints.load_latest(take)
    if checkpoint is None:
        return None
    tables, position, kernel, cut = checkpoint
    check_cut(cut, whole_epoch, config.deterministic, checkpoints.folder)
    epoch = resume_epoch(position, cut, whole_epoch, corpus, max_entries, config.regime_of_workers)
    return Resumption(position, epoch, tables, kernel)
