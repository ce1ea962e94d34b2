"""Minimum time that a tool needs to train vectors as good as gensim's."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.peers.evaluate import ALL_QUESTIONS
from benchmarks.peers.records import PeerRun
from benchmarks.records import REFERENCE
from benchmarks.report import paired_ratios, unique

DEFINITION = """\
“Quality” is the mean of all measures that every run has; analogies count once, by gensim's
metric. The goal is the mean quality of {reference} over its seeds, with all {epochs}
epochs, minus half the range over these seeds: {target} = {mean} - {tolerance}.
Each number of epochs was a separate run, whose learning rate falls over these epochs. The row
of a tool is its fastest run that reached the goal: the number of epochs, the mean quality over
the seeds, the median total time, from the start of the command to the vectors in a file, and this
time as a share of {reference}'s total time with all epochs in the same round (smaller is
better). {reference} itself may be below 1, if fewer epochs are enough for it."""


@dataclass(frozen=True)
class Goal:
    """Quality that a tool must reach: `mean` - `tolerance`.

    `mean` is gensim's quality, averaged over `measures` and seeds, after all `epochs`.
    """

    measures: tuple[str, ...]
    epochs: int
    mean: float
    tolerance: float

    @property
    def target(self) -> float:
        """Quality to reach."""
        return self.mean - self.tolerance

    def quality(self, run: PeerRun) -> float:
        """Return the quality of a run: the mean of its `measures`."""
        return fmean(run.quality.get(name) or 0.0 for name in self.measures)


@dataclass(frozen=True)
class Reached:
    """Fastest training run of a tool that reaches the goal."""

    epochs: int
    quality: float  # mean over the seeds
    seconds: float  # median of the total times
    ratios: tuple[float, ...]  # total times, divided by gensim's with all epochs, by round


def goal(runs: Sequence[PeerRun]) -> Goal | None:
    """Return the goal from the runs of all tools; None until a run of gensim has succeeded.

    "All epochs" is the maximum number of epochs of any run.
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


def time_to_goal(runs: Sequence[PeerRun], peer: str, aim: Goal) -> Reached | None:
    """Return the fastest training run of a tool that reaches the goal; None if none does."""
    runs = [run for run in runs if run.error is None]
    reference = [run for run in runs if run.peer == REFERENCE and run.epochs == aim.epochs]
    candidates = []
    for epochs in {run.epochs for run in runs if run.peer == peer}:
        peer_runs = [run for run in runs if run.peer == peer and run.epochs == epochs]
        quality = fmean(map(aim.quality, peer_runs))
        if quality >= aim.target - 1e-12:  # means of the same values may differ by rounding
            seconds = median(run.wall_seconds for run in peer_runs)
            ratios = paired_ratios(peer_runs, reference, lambda run: run.wall_seconds)
            candidates.append(Reached(epochs, quality, seconds, tuple(ratios)))
    return min(candidates, key=lambda candidate: candidate.seconds, default=None)
