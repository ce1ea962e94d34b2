"""Costs that `tfw2v plan` assumes, fitted to results: ``python -m benchmarks.fit``.

A test compares them with the constants of `gensim_tfw2v.planning`.
"""

from statistics import median
from typing import Any, NamedTuple

from benchmarks.results import document_of
from gensim_tfw2v.planning import Frequencies


class Fit(NamedTuple):
    """Costs in the units of `gensim_tfw2v.planning`."""

    #: Nanoseconds of a core per word after subsampling, and per dimension; for CBOW and skip-gram.
    core_ns: dict[bool, tuple[float, float]]
    worker_factor: float  # time of a worker task, divided by that of one machine
    link_error: float  # largest relative error of a speed that is predicted for a slow link


def results(study: str) -> dict[str, Any]:
    """Return the results of a study; raise if it has never been run."""
    if (document := document_of(study)) is None:
        raise FileNotFoundError(f"{study}: no results; run benchmarks.results --only {study}")
    return document


def alone_per_second(setting: str) -> float:
    """Return the median words/s of one machine in the study of speed."""
    return median(
        run["words_per_second"]
        for run in results("speed")["runs"]
        if (run["setting"], run["engine"]) == (setting, "TFWord2Vec corpus_file")
    )


def fit() -> Fit:
    """Fit the costs to the committed results, with lines through the times for D = 100 and 300."""
    speed, scaling = results("speed"), results("scaling")
    kept_fraction = Frequencies.zipf(speed["runs"][0]["vocabulary"]).kept

    def core_ns(words_per_second: float, threads: int) -> float:
        return threads * 1e9 / (words_per_second * kept_fraction)

    def nanoseconds_per_token(setting: str) -> float:
        return core_ns(alone_per_second(setting), speed["settings"][setting]["workers"])

    costs = {}
    for is_skipgram, objective in enumerate(("cbow", "sg")):
        small, large = (
            nanoseconds_per_token(f"{objective}100"),
            nanoseconds_per_token(f"{objective}300"),
        )
        dimension = (large - small) / 200
        costs[bool(is_skipgram)] = small - 100 * dimension, dimension
    machines = scaling["simulated"][0]
    worker = core_ns(machines["rows"][0]["words_per_second"], machines["cores"])
    errors = [
        abs(run["predicted"] / run["found"]["words_per_second"] - 1)
        for run in results("links")["runs"]
    ]
    return Fit(costs, worker / nanoseconds_per_token("sg100"), max(errors))


if __name__ == "__main__":
    for name, value in fit()._asdict().items():
        print(f"{name}: {value}")
