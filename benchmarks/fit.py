"""Costs that `tfw2v plan` assumes, fitted to results: ``python -m benchmarks.fit``.

A test compares them with the constants of `gensim_tfw2v.planning`.
"""

import json
from statistics import median
from typing import Any, NamedTuple

from benchmarks.machine import ROOT
from gensim_tfw2v.planning import Frequencies

RESULTS = ROOT / "docs/benchmarks"


class Fit(NamedTuple):
    """Costs in the units of `gensim_tfw2v.planning`."""

    #: Nanoseconds of a core per word after subsampling, and per dimension; for CBOW and skip-gram.
    core_ns: dict[bool, tuple[float, float]]
    worker_factor: float  # time of a worker task, divided by that of one machine
    link_error: float  # largest relative error of a speed that is predicted for a slow link


def results(name: str) -> Any:
    """Return the results of a study."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def fit() -> Fit:
    """Fit the costs to the committed results, with lines through the times for D = 100 and 300."""
    speed, scaling = results("speed"), results("scaling")
    kept = Frequencies.zipf(speed["runs"][0]["vocabulary"]).kept

    def core_ns(words_per_second: float, threads: int) -> float:
        return threads * 1e9 / (words_per_second * kept)

    def alone(setting: str) -> float:
        speeds = [
            run["words_per_second"]
            for run in speed["runs"]
            if (run["setting"], run["engine"]) == (setting, "TFWord2Vec corpus_file")
        ]
        return core_ns(median(speeds), speed["settings"][setting]["workers"])

    costs = {}
    for is_skipgram, objective in enumerate(("cbow", "sg")):
        small, large = alone(f"{objective}100"), alone(f"{objective}300")
        dimension = (large - small) / 200
        costs[bool(is_skipgram)] = small - 100 * dimension, dimension
    machines = scaling["simulated"][0]
    worker = core_ns(machines["rows"][0]["words_per_second"], machines["cores"])
    errors = [
        abs(run["predicted"] / run["found"]["words_per_second"] - 1)
        for run in results("links")["runs"]
    ]
    return Fit(costs, worker / alone("sg100"), max(errors))


if __name__ == "__main__":
    for name, value in fit()._asdict().items():
        print(f"{name}: {value}")
