"""The least time in which a tool trains vectors as good as gensim's."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.peers.evaluate import ALL_QUESTIONS
from benchmarks.peers.records import PeerRun
from benchmarks.records import REFERENCE
from benchmarks.report import paired_ratios, unique

DEFINITION = """\
"Quality" is the mean of all measures that every run has, analogies once, as gensim counts
them. To be reached is the mean quality of {reference} over its seeds, with all {epochs}
epochs, less half the range over these seeds: {target:.4f} = {mean:.4f} - {tolerance:.4f}.
Each number of epochs is a training of its own, whose step sizes fall over these epochs. The
figure is the least whole time, from the start of the command to the vectors in a file, of a
number of epochs whose mean quality over the seeds reaches that, in seconds (median) and
divided by {reference}'s whole time with all epochs in the same round. Smaller is better;
{reference} itself may be below 1, if fewer epochs are enough for it."""


@dataclass(frozen=True)
class Goal:
    """What is to be reached: `mean` - `tolerance` of gensim with all `epochs`, by `measures`."""

    measures: tuple[str, ...]
    epochs: int
    mean: float
    tolerance: float

    @property
    def target(self) -> float:
        """The quality to be reached."""
        return self.mean - self.tolerance

    def quality(self, run: PeerRun) -> float:
        """Mean of the measures of a run."""
        return fmean(run.quality.get(name) or 0.0 for name in self.measures)


@dataclass(frozen=True)
class Reached:
    """The quickest training of a tool that reaches the goal."""

    epochs: int
    quality: float  # mean over the seeds
    seconds: float  # median of the whole times
    ratios: tuple[float, ...]  # to those of gensim with all epochs, in the same rounds


def goal(runs: Sequence[PeerRun]) -> Goal | None:
    """What is to be reached, by runs of all tools; None as long as none of gensim succeeded.

    The most epochs among them are "all epochs".
    """
    runs = [run for run in runs if run.error is None]
    epochs = max((run.epochs for run in runs), default=0)
    measures = tuple(
        name
        for name in unique(name for run in runs for name in run.quality)
        if name != ALL_QUESTIONS
        and all(run.quality.get(name) is not None for run in runs if run.quality)
    )
    full = [run for run in runs if run.peer == REFERENCE and run.epochs == epochs]
    if not full or not measures:
        return None
    scores = [Goal(measures, epochs, 0.0, 0.0).quality(run) for run in full]
    return Goal(measures, epochs, fmean(scores), (max(scores) - min(scores)) / 2)


def reached(runs: Sequence[PeerRun], peer: str, aim: Goal) -> Reached | None:
    """The quickest training of a tool that is good enough, by runs of all; None if none is."""
    runs = [run for run in runs if run.error is None]
    reference = [run for run in runs if run.peer == REFERENCE and run.epochs == aim.epochs]
    found = []
    for epochs in {run.epochs for run in runs if run.peer == peer}:
        own = [run for run in runs if run.peer == peer and run.epochs == epochs]
        quality = fmean(map(aim.quality, own))
        if quality >= aim.target - 1e-12:  # means of the same values may differ by rounding
            seconds = median(run.wall_seconds for run in own)
            ratios = paired_ratios(own, reference, lambda run: run.wall_seconds)
            found.append(Reached(epochs, quality, seconds, tuple(ratios)))
    return min(found, key=lambda one: one.seconds, default=None)
