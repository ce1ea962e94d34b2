"""Cut of a checkpoint's epoch into work units, which may differ from the cut of this training.

The cut depends on the numbers of workers and threads. So a checkpoint contains the entries that
were trained in its epoch, not only the numbers of units. If the cuts differ, the entries that are
left are cut into new units, so that each entry is trained exactly once per epoch.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.entry_ranges import EntryRange
from gensim_tfw2v.training.checkpoints import CheckpointError
from gensim_tfw2v.training.epoch import EpochUnits, Position

logger = logging.getLogger(__name__)


class SavedCut(NamedTuple):
    """Cut of a checkpoint's epoch.

    Attributes
    ----------
    description : str
        Result of `EpochUnits.describe`.
    ranges : list of EntryRange, optional
        Entries whose training in the current epoch is in the checkpoint's arrays. None if they are
        unknown, because an earlier version of this package has written the checkpoint.
    """

    description: str
    ranges: list[EntryRange] | None

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "SavedCut":
        """Restore a cut from its `state`."""
        ranges = state.get("ranges")
        return cls(
            state["units"],
            None if ranges is None else [(start, stop) for start, stop in ranges],
        )

    def state(self) -> dict[str, Any]:
        """Return the cut as values that JSON can encode."""
        return {"units": self.description, "ranges": self.ranges}


def check_cut(cut: SavedCut, epoch: EpochUnits, deterministic: bool, folder: Path) -> None:
    """Check that a checkpoint's training can be resumed with the units of this one.

    `epoch` has the units of a whole epoch. `folder` is that of the checkpoints, for the message.

    Raises
    ------
    CheckpointError
        If the cuts differ, and training is deterministic or the trained entries are unknown.
    """
    description = epoch.describe()
    if cut.description == description:
        return
    units = f"it has {cut.description}, this one has {description}"
    advice = "or start from scratch with a different checkpoint_dir"
    if cut.ranges is None:
        raise CheckpointError(
            f"{folder} has a checkpoint by an earlier version of this package, which only a "
            f"training with the same work units can resume: {units}. Resume it with the corpus, "
            f"the cluster and the number of workers with which it began, {advice}"
        )
    if deterministic:
        raise CheckpointError(
            f"{folder} has a checkpoint of a deterministic training with different work units, "
            f"which would not give the same vectors: {units}. Resume it as it began, on a "
            f"cluster or without one, {advice}"
        )


def resume_epoch(
    position: Position,
    cut: SavedCut,
    epoch: EpochUnits,
    corpus: EncodedCorpus,
    max_entries: int,
    has_partial_epochs: bool,
) -> EpochUnits:
    """Return the units with which a checkpoint's epoch is completed, and adapt the position.

    If the cuts are equal, these are the units of the whole epoch, and some of them are done.

    Parameters
    ----------
    position : Position
        Position of the checkpoint; changed in place if the cuts differ.
    cut : SavedCut
    epoch : EpochUnits
        Units of a whole epoch of this training.
    corpus : EncodedCorpus
    max_entries : int
        Maximum entries of a unit.
    has_partial_epochs : bool
        Whether the arrays contain the training of a part of an epoch. Otherwise the epoch begins
        again, because units that were trained differently are not in the arrays.
    """
    is_same_cut = cut.description == epoch.describe()
    if not position.n_units:
        return epoch
    if is_same_cut and (cut.ranges is None or bool(cut.ranges) == has_partial_epochs):
        return epoch
    if not has_partial_epochs or not cut.ranges:
        logger.info("epoch %i begins again: its vectors contain only whole epochs", position.epoch)
        position.restart_epoch()
        return epoch
    position.n_earlier_units = position.n_units
    position.done = set()
    units = corpus.units(max_entries, cut.ranges)
    logger.info(
        "the rest of epoch %i is cut into %i work units, for this number of workers",
        position.epoch,
        len(units),
    )
    # the seed differs, so that units with the same number do not have the same draws
    seed = epoch.seed + position.n_earlier_units
    return EpochUnits(units, seed, cut.ranges, position.raw_words)
