"""Costs for `tfw2v plan`, fitted to the committed results: ``python -m benchmarks.fit``.

`gensim_tfw2v.planning` has these costs as constants; a test compares the two.
"""

from statistics import median
from typing import Any, NamedTuple

from benchmarks.results import document_of
from gensim_tfw2v.planning import Frequencies


class Fit(NamedTuple):
    """Costs in the units of `gensim_tfw2v.planning`."""

    #: Nanoseconds of a core per word after subsampling: a constant part, and a part per dimension.
    #: The key is False for CBOW and True for skip-gram.
    core_ns: dict[bool, tuple[float, float]]
    worker_factor: float  # core time per word of a worker task, relative to one machine
    link_error: float  # largest relative error of the speeds predicted for slow links


def results(study: str) -> dict[str, Any]:
    """Return the results of a study; raise if it has never been run."""
    if (document := document_of(study)) is None:
        raise FileNotFoundError(f"{study}: no results; run benchmarks.results --only {study}")
    return document


def alone_per_second(setting: str) -> float:
    """Return the median words/s of a training without a cluster, in the study "speed-avx512"."""
    return median(
        run["words_per_second"]
        for run in results("speed-avx512")["runs"]
        if (run["setting"], run["engine"]) == (setting, "TFWord2Vec corpus_file")
    )


def fit() -> Fit:
    """Fit the costs to the committed results.

    The costs per word and per dimension are those of the line through the times per word for
    D = 100 and D = 300.
    """
    speed, scaling = results("speed-avx512"), results("scaling")
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
