"""Cut of a checkpoint's epoch into work units, which may differ from that of this training run.

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
from gensim_tfw2v.options.regimes import RegimeOptions
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
    """Check that a checkpoint can be resumed with the units of this training run.

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
            f"{folder} has a checkpoint by an earlier version of this package, which only "
            f"training with the same work units can resume: {units}. Resume it with the corpus, "
            f"the cluster and the number of workers with which it began, {advice}"
        )
    if deterministic:
        raise CheckpointError(
            f"{folder} has a checkpoint of deterministic training with different work units, "
            f"which would not give the same vectors: {units}. Resume it as it began, on a "
            f"cluster or without one, {advice}"
        )


def has_partial_epochs(regime: RegimeOptions) -> bool:
    """Return whether a model's arrays contain the trained units of an epoch that is not finished.

    Sub-models are merged after their last epoch. A batch method makes a step after a whole epoch.
    """
    return not (regime.trains_apart or regime.is_batch)


def resume_epoch(
    position: Position,
    cut: SavedCut,
    epoch: EpochUnits,
    corpus: EncodedCorpus,
    max_entries: int,
    regime: RegimeOptions,
) -> EpochUnits:
    """Return the units with which a checkpoint's epoch is completed, and adapt the position.

    If the cuts are equal, these are the units of the whole epoch, and some of them are done. The
    epoch begins again if its trained units are in no arrays: see `has_partial_epochs`.

    Parameters
    ----------
    position : Position
        Position of the checkpoint, which this function changes unless its units are kept.
    cut : SavedCut
    epoch : EpochUnits
        Units of a whole epoch of this training run.
    corpus : EncodedCorpus
    max_entries : int
        Maximum entries of a unit.
    regime : RegimeOptions
        Regime of this training run. It may differ from the one that has written the checkpoint.
    """
    if not position.n_units:
        return epoch
    is_same_cut = cut.description == epoch.describe()
    if cut.ranges == [] or not has_partial_epochs(regime):
        if is_same_cut and regime.trains_apart and not cut.ranges:
            return epoch  # the position counts units of sub-models, also of finished ones
        logger.info("epoch %i begins again: the vectors contain no part of it", position.epoch)
        position.restart_epoch()
        return epoch
    if is_same_cut:
        return epoch
    assert cut.ranges is not None  # see `check_cut`
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
