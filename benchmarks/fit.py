"""Costs that `tfw2v plan` assumes, fitted to results: ``python -m benchmarks.fit``.

A test compares them with the constants of `gensim_tfw2v.planning`.
"""

import json
from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

from benchmarks.machine import ROOT
from gensim_tfw2v.planning import Frequencies

RESULTS = ROOT / "docs/benchmarks"


class Fit(NamedTuple):
    """Costs in the unit of `gensim_tfw2v.planning`."""

    #: Nanoseconds of a core per word after subsampling, and per dimension; for CBOW and skip-gram.
    kernel_ns: dict[bool, tuple[float, float]]
    machine_factor: float  # time of one machine divided by that in the kernels
    worker_factor: float  # the same for a worker task
    link_error: float  # largest relative error of a speed that is predicted for a slow link


def results(name: str) -> Any:
    """Return the results of a study."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def kernel_ns(kernels: Mapping[str, Any]) -> dict[bool, tuple[float, float]]:
    """Fit a line through the times for 100 and 300 dimensions of the processor's best kernel."""
    best = kernels["machine"]["isa"]
    found = {}
    for is_skipgram, objective in ((False, "CBOW"), (True, "skip-gram")):
        cells = (kernels["fastest"][name][best] for name in (objective, f"{objective}, D=300"))
        small, large = (cell["draw"] + cell["train"] for cell in cells)
        slope = (large - small) / 200
        found[is_skipgram] = small - 100 * slope, slope
    return found


def fit() -> Fit:
    """Fit the costs to the committed results."""
    kernels = kernel_ns(results("kernels"))

    def factor(words_per_second: float, threads: int, vocabulary: int, **options: int) -> float:
        word, dimension = kernels[bool(options["sg"])]
        kept = Frequencies.zipf(vocabulary).kept
        in_kernels = kept * (word + dimension * options["vector_size"])
        return threads / words_per_second * 1e9 / in_kernels

    speed = results("speed")
    of_machine = [
        factor(run["words_per_second"], options["workers"], run["vocabulary"],
               sg=options["sg"], vector_size=options["vector_size"])
        for run in speed["runs"]
        for options in [speed["settings"][run["setting"]]]
        if run["engine"] == "TFWord2Vec corpus_file" and not options.get("hs")
    ]  # fmt: skip
    scaling = results("scaling")
    machines = scaling["simulated"][0]
    of_worker = factor(
        machines["rows"][0]["words_per_second"], machines["cores"], speed["runs"][0]["vocabulary"],
        sg=scaling["options"]["sg"], vector_size=scaling["options"]["vector_size"],
    )  # fmt: skip
    errors = [
        abs(run["predicted"] / run["found"]["words_per_second"] - 1)
        for run in results("links")["runs"]
    ]
    return Fit(kernels, median(of_machine), of_worker, max(errors))


if __name__ == "__main__":
    for name, value in fit()._asdict().items():
        print(f"{name}: {value}")
