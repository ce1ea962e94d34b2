"""Costs for `tfw2v plan`, fitted to the committed results: ``python -m benchmarks.fit``.

`gensim_tfw2v.planning` has these costs as constants; a test compares the two.

Plans assume the cores of one processor, whichever processor the studies were last run on. Its
speeds are in a file of their own, reference_speeds.json. ``python -m benchmarks.fit --record``
replaces them by those of the study "speed-avx512". Run the study "scaling" on the same processor.
"""

import json
import sys
from pathlib import Path
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


#: Speeds of the processor that plans assume.
REFERENCE = Path(__file__).with_name("reference_speeds.json")


def record() -> None:
    """Write `REFERENCE`: median words/s of training without a cluster."""
    document = results("speed-avx512")
    speeds = {
        setting: median(
            run["words_per_second"]
            for run in document["runs"]
            if (run["setting"], run["engine"]) == (setting, "TFWord2Vec corpus_file")
        )
        for setting in ("cbow100", "cbow300", "sg100", "sg300")
    }
    reference = {
        "date": document["date"],
        "machine": document["machine"],
        "threads": document["settings"]["sg100"]["workers"],
        "vocabulary": document["runs"][0]["vocabulary"],
        "words_per_second": speeds,
    }
    REFERENCE.write_text(json.dumps(reference, indent=1) + "\n", encoding="utf-8")


def reference_speeds() -> dict[str, Any]:
    """Return what `record` has written."""
    speeds: dict[str, Any] = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return speeds


def fit() -> Fit:
    """Fit the costs to the committed results.

    The costs per word and per dimension are those of the line through the times per word for
    D = 100 and D = 300. These times include the start of a training run of one epoch, which
    takes hardly any time of a long run. So they are scaled to the speed of threads in the study
    "scaling", which leaves out the first epoch.
    """
    reference, scaling = reference_speeds(), results("scaling")
    threads = median(run["threads_words_per_second"] for run in scaling["real"])
    steady_share = reference["words_per_second"]["sg100"] / threads
    kept_fraction = Frequencies.zipf(reference["vocabulary"]).kept

    def nanoseconds_per_token(setting: str) -> float:
        speed = reference["words_per_second"][setting] / steady_share
        return reference["threads"] * 1e9 / (speed * kept_fraction)

    costs = {}
    for is_skipgram, objective in enumerate(("cbow", "sg")):
        small, large = (
            nanoseconds_per_token(f"{objective}100"),
            nanoseconds_per_token(f"{objective}300"),
        )
        dimension = (large - small) / 200
        costs[bool(is_skipgram)] = small - 100 * dimension, dimension
    one_worker = scaling["simulated"][0]["rows"][0]  # with as many cores
    errors = [
        abs(run["predicted"] / run["found"]["words_per_second"] - 1)
        for run in results("links")["runs"]
    ]
    return Fit(costs, threads / one_worker["words_per_second"], max(errors))


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    for name, value in fit()._asdict().items():
        print(f"{name}: {value}")
