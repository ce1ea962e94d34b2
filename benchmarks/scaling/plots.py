"""A study's document as pictures."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any


def draw(document: Mapping[str, Any], base: Path) -> list[Path]:
    """Write BASE-speed.svg, BASE-quality.svg and BASE-usage.svg, as far as there is what they show.

    Raises
    ------
    ImportError
        Without matplotlib, saying how to install it.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib: pip install matplotlib, or leave them out"
        ) from error
    # the same document gives the same file
    pyplot.rcParams["svg.hashsalt"] = "tfw2v"
    written = []
    for name, of in (("speed", _speed), ("quality", _quality), ("usage", _usage)):
        figure = of(document, pyplot)
        if figure is None:
            continue
        path = base.with_name(f"{base.name}-{name}.svg")
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        written.append(path)
    return written


def _speed(document: Mapping[str, Any], pyplot: Any) -> Any:
    if "simulated" not in document:
        return None
    figure, (speed, busy) = pyplot.subplots(1, 2, figsize=(11, 4))
    rows = document["simulated"]
    workers = [one["workers"] for one in rows]
    simulated = [one["words_per_second"] / 1e6 for one in rows]
    speed.plot(workers, simulated, "o--", label="simulated, one machine per task")
    speed.plot(workers, [simulated[0] / workers[0] * n for n in workers], ":", label="linear")
    real: dict[int, list[float]] = {}
    for one in document["real"]:
        measured = one["measured"]
        real.setdefault(measured["workers"], []).append(measured["words_per_second"] / 1e6)
    middle = [median(values) for values in real.values()]
    speed.plot(list(real), middle, "s-", label="measured, all tasks on one machine")
    speed.set(xlabel="workers", ylabel="million words/s", xscale="log", yscale="log")
    speed.legend()
    for name in rows[0]["busy"]:
        busy.plot(workers, [100 * one["busy"][name] for one in rows], "o-", label=name)
    busy.set(xlabel="workers", ylabel="busy, % (simulated)", xscale="log", ylim=(0, 105))
    busy.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _quality(document: Mapping[str, Any], pyplot: Any) -> Any:
    rows = document["quality"]
    if not rows:
        return None
    figure, axes = pyplot.subplots(figsize=(6, 4))
    workers = sorted({one["workers"] for one in rows} - {0})
    for name in rows[0]["quality"]:
        of = {
            n: fmean(one["quality"][name] for one in rows if one["workers"] == n)
            for n in {one["workers"] for one in rows}
        }
        (line,) = axes.plot(workers, [of[n] for n in workers], "o-", label=name)
        if 0 in of:
            axes.axhline(of[0], color=line.get_color(), linestyle=":")
    axes.set(xlabel="workers (dotted: without a cluster)", ylabel="quality", xscale="log")
    axes.legend()
    return figure


def _usage(document: Mapping[str, Any], pyplot: Any) -> Any:
    """Each process over time, of the largest cluster that was run."""
    if not document.get("usage"):
        return None
    largest = max(document["usage"], key=int)
    usage = document["usage"][largest]
    began = min(of["times"][0] for of in usage.values())
    figure, axes = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True)
    for name, of in usage.items():
        times = [time - began for time in of["times"]]
        both = [(a + b) / 1e6 for a, b in zip(of["sent"], of["received"], strict=True)]
        axes[0].plot(times, of["cores"], label=name)
        axes[1].plot(times, [size / 2**20 for size in of["memory"]])
        axes[2].plot(times, both)
    axes[0].set(ylabel="cores", title=f"{largest} workers on one machine")
    axes[1].set(ylabel="memory, MiB")
    axes[2].set(ylabel="sent and received, MB/s", xlabel="seconds")
    axes[0].legend(ncols=4, fontsize="small")
    return figure
