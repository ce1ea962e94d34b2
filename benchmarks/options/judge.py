"""Comparison of gensim's and this package's results in a cell."""

import json
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.options.cells import Cell
from benchmarks.options.measure import overlap
from benchmarks.options.run import record_path, seeds

#: Maximum ratio of the largest norm to gensim's, or of gensim's to ours, in a cell that passes.
MAX_NORM_RATIO = 1.5

#: Maximum relative difference of the loss.
MAX_LOSS_DIFFERENCE = 0.05

#: Maximum difference between the fraction of neighbours that two gensim seeds share, and the
#: fraction shared with gensim.
MAX_LOST_NEIGHBOURS = 0.05


@dataclass(frozen=True)
class Verdict:
    """Result of a cell. Norms and losses are ratios to gensim's."""

    cell: Cell
    error: str | None = None
    largest: float = 1.0  # largest norm
    mean: float = 1.0  # mean norm
    loss: float = 1.0
    shared: float = 0.0  # fraction of neighbours shared with gensim
    own: float = 0.0  # fraction of neighbours that gensim's seeds share
    speed: float = 0.0  # gensim's seconds divided by this package's

    @property
    def faults(self) -> list[str]:
        """Names of the criteria that the cell fails."""
        if self.error is not None:
            return [self.error]
        faults = {
            "norm": self.largest > MAX_NORM_RATIO or self.largest < 1 / MAX_NORM_RATIO,
            "loss": abs(self.loss - 1) > MAX_LOSS_DIFFERENCE,
            "neighbours": self.shared < self.own - MAX_LOST_NEIGHBOURS,
        }
        return [name for name, is_wrong in faults.items() if is_wrong]


def judge(cell: Cell, records: Path, place: str) -> Verdict | None:
    """Compare the means over the seeds of gensim's and this package's records.

    Returns None if one of gensim's training runs failed or diverged.
    """
    gensim, ours = (_records(cell, records, engine) for engine in ("gensim", place))
    if any("error" in record or record["loss"] > cell.untrained_loss for record in gensim):
        return None
    if errors := [record["error"] for record in ours if "error" in record]:
        return Verdict(cell, errors[0])

    def ratio(name: str) -> float:
        return mean(r[name] for r in ours) / mean(r[name] for r in gensim)

    our_neighbours, gensim_neighbours = (
        [r["neighbours"] for r in records] for records in (ours, gensim)
    )
    return Verdict(
        cell,
        largest=ratio("largest"),
        mean=ratio("mean"),
        loss=ratio("loss"),
        shared=mean(overlap(a, b) for a, b in product(our_neighbours, gensim_neighbours)),
        own=mean(overlap(a, b) for a, b in combinations(gensim_neighbours, 2)),
        speed=1 / ratio("seconds"),
    )


def _records(cell: Cell, records: Path, engine: str) -> list[dict[str, Any]]:
    return [
        json.loads(record_path(records, cell, engine, seed).read_text())
        for seed in seeds(cell, engine)
    ]
