"""Plots of a study's document."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any


def draw(document: Mapping[str, Any], path: Path) -> None:
    """Plot speed and utilization by number of workers; the file depends only on the document."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "tfw2v"
    figure, (speed, busy) = pyplot.subplots(1, 2, figsize=(11, 4))
    rows = document["simulated"][0]["rows"]
    workers = [row["workers"] for row in rows]
    simulated = [row["words_per_second"] / 1e6 for row in rows]
    speed.plot(workers, simulated, "o--", label="simulated, one machine per task")
    speed.plot(workers, [simulated[0] / workers[0] * n for n in workers], ":", label="linear")
    real: dict[int, list[float]] = {}
    for run in document["real"]:
        measured = run["measured"]
        real.setdefault(measured["workers"], []).append(measured["words_per_second"] / 1e6)
    medians = [median(values) for values in real.values()]
    speed.plot(list(real), medians, "s-", label="measured, all tasks on one machine")
    speed.set(xlabel="workers", ylabel="million words/s", xscale="log", yscale="log")
    speed.legend()
    for name in rows[0]["busy"]:
        busy.plot(workers, [100 * row["busy"][name] for row in rows], "o-", label=name)
    busy.set(xlabel="workers", ylabel="busy, % (simulated)", xscale="log", ylim=(0, 105))
    busy.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
