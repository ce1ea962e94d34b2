"""Compare what both have given in a cell."""

import json
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.options.cells import Cell
from benchmarks.options.measure import overlap
from benchmarks.options.run import record_path, seeds

#: The largest norm may be so many times gensim's, a loss differ by such a share of it, and such a
#: share of neighbours be lost beside what two seeds of gensim have in common.
NORM, LOSS, LOST = 1.5, 0.05, 0.05


@dataclass(frozen=True)
class Verdict:
    """A cell, with ratios to gensim's figures."""

    cell: Cell
    error: str | None = None
    largest: float = 1.0
    mean: float = 1.0
    loss: float = 1.0
    shared: float = 0.0  # neighbours shared with gensim
    own: float = 0.0  # neighbours that gensim's seeds share
    speed: float = 0.0  # gensim's seconds divided by ours

    @property
    def faults(self) -> list[str]:
        """The names of what does not hold."""
        if self.error is not None:
            return [self.error]
        found = {
            "norm": self.largest > NORM or self.largest < 1 / NORM,
            "loss": abs(self.loss - 1) > LOSS,
            "neighbours": self.shared < self.own - LOST,
        }
        return [name for name, is_wrong in found.items() if is_wrong]


def judge(cell: Cell, records: Path, place: str) -> Verdict | None:
    """Compare the means over the seeds; None where gensim's vectors mean nothing."""
    gensim, ours = (_records(cell, records, engine) for engine in ("gensim", place))
    if any("error" in record or record["loss"] > cell.untrained_loss for record in gensim):
        return None
    if errors := [record["error"] for record in ours if "error" in record]:
        return Verdict(cell, errors[0])

    def ratio(name: str) -> float:
        return mean(r[name] for r in ours) / mean(r[name] for r in gensim)

    near, near_gensim = ([r["neighbours"] for r in records] for records in (ours, gensim))
    return Verdict(
        cell,
        largest=ratio("largest"),
        mean=ratio("mean"),
        loss=ratio("loss"),
        shared=mean(overlap(a, b) for a, b in product(near, near_gensim)),
        own=mean(overlap(a, b) for a, b in combinations(near_gensim, 2)),
        speed=1 / ratio("seconds"),
    )


def _records(cell: Cell, records: Path, engine: str) -> list[dict[str, Any]]:
    return [
        json.loads(record_path(records, cell, engine, seed).read_text())
        for seed in seeds(cell, engine)
    ]
