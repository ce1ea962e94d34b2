"""Runs to tables: medians, ratios paired by round, means and ranges of quality."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, Protocol, TypeVar

from benchmarks.records import REFERENCE, Run

MEGABYTE = 2**20


class Round(Protocol):
    """A run of whatever kind: those of the same round are compared, and vectors have a quality."""

    @property
    def round(self) -> int:
        """Which round it ran in."""

    @property
    def quality(self) -> Mapping[str, float | None]:
        """Scores by name."""


RunT = TypeVar("RunT", bound=Round)


def unique(values: Iterable[str]) -> list[str]:
    """The distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def paired_ratios(
    runs: Sequence[RunT], reference: Sequence[RunT], measure: Callable[[RunT], float]
) -> list[float]:
    """`measure` of each run over that of the reference's run in the same round."""
    base = {run.round: measure(run) for run in reference}
    return [measure(run) / base[run.round] for run in runs if run.round in base]


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Median, and the range if there is more than one value."""
    if not values:
        return "–"
    middle = format(median(values), form)
    if len(values) == 1:
        return middle
    return f"{middle} ({format(min(values), form)}–{format(max(values), form)})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with its first column to the left and the others to the right."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def speed_table(groups: Mapping[str, Sequence[Run]]) -> str:
    """Speed, times and memory of each engine; speed and times also as ratios to the reference."""
    base = groups.get(REFERENCE, [])
    rows = [
        [
            engine,
            f"{median([run.words_per_second for run in runs]) / 1e6:.3f} M",
            spread(paired_ratios(runs, base, lambda run: run.words_per_second)),
            f"{median([run.text_seconds for run in runs]):.1f}",
            spread(paired_ratios(runs, base, lambda run: 1 / run.text_seconds)),
            f"{median([run.process_seconds for run in runs]):.1f}",
            spread(paired_ratios(runs, base, lambda run: 1 / run.process_seconds)),
            f"{median([run.cpu_seconds for run in runs]):.1f}",
            f"{median([run.memory_bytes for run in runs]) / MEGABYTE:.0f}",
        ]
        for engine, runs in groups.items()
    ]
    head = ["engine", "raw words/s in train()", "× gensim", "text to vectors, s", "× gensim"]
    head += ["with start and imports, s", "× gensim", "CPU s in train()", "peak memory, MiB"]
    return table(head, rows)


def quality_cell(values: Sequence[float], base: Sequence[float]) -> str:
    """Mean ± half the range, then the difference to the reference's mean."""
    if not values:
        return "–"
    cell = f"{fmean(values):.3f}"
    if len(values) > 1:
        cell += f" ± {(max(values) - min(values)) / 2:.3f}"
    return f"{cell} ({fmean(values) - fmean(base):+.3f})" if base else cell


def quality_table(groups: Mapping[str, Sequence[Round]], what: str = "engine") -> str:
    """Quality of each engine, or what else it is called; empty if none was evaluated."""
    names = unique(name for runs in groups.values() for run in runs for name in run.quality)
    if not names:
        return ""

    def scores(engine: str, name: str) -> list[float]:
        found = [run.quality.get(name) for run in groups.get(engine, [])]
        return [score for score in found if score is not None]

    rows = [
        [
            engine,
            *(
                quality_cell(
                    scores(engine, name), [] if engine == REFERENCE else scores(REFERENCE, name)
                )
                for name in names
            ),
        ]
        for engine in groups
    ]
    return table([what, *names], rows)


def machine_lines(document: Mapping[str, Any]) -> str:
    """The corpus, the machine and the versions as a list."""
    machine, corpus = document["machine"], document["corpus"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items() if v)
    imports = ", ".join(
        f"{name} {size / MEGABYTE:.0f} MiB"
        for name, size in document.get("import_bytes", {}).items()
    )
    return "\n".join(
        [
            f"- corpus: {corpus['name']}, {corpus['bytes'] / 1e6:.1f} MB, "
            f"{corpus['words']:,} words",
            f"- machine: {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}, "
            f"load {machine['load_average'][0]:.1f} at the start",
            f"- versions: {versions}",
            *([f"- memory of a process that only imports: {imports}"] if imports else []),
            f"- date: {document['date']}",
        ]
    )


NOTES = f"""\
Every training ran in a fresh process, the engines one after the other in each round, with
the order changed from round to round. Times and memory are medians. A ratio ("× gensim",
larger is better for us) compares the two runs of the same round, with {REFERENCE};
given are its median and its range over the rounds. Quality is the mean ± half the range over
the seeds, then the difference to {REFERENCE}'s mean: Spearman correlation for word pairs,
and accuracy for analogies among the 30,000 most frequent words, both by gensim's functions.
Peak memory is that of the process and its children. A cluster's time in train() has the start
of its tasks in it, some seconds; its CPU time is that of all tasks."""


def markdown(document: Mapping[str, Any], runs: Sequence[Run]) -> str:
    """The whole page.

    Parameters
    ----------
    document : mapping
        What `benchmarks.compare` writes as JSON; its runs are not read.
    runs : sequence of Run
        The runs, in any order.

    Returns
    -------
    str
        Markdown, ending with a line feed.
    """
    parts = [f"# Beside gensim: {document['corpus']['name']}", machine_lines(document), NOTES]
    for setting in unique(run.setting for run in runs):
        chosen = sorted((run for run in runs if run.setting == setting), key=lambda run: run.round)
        engines = sorted({run.engine for run in chosen}, key=lambda name: (name != REFERENCE, name))
        groups = {name: [run for run in chosen if run.engine == name] for name in engines}
        options = ", ".join(f"{k}={v}" for k, v in document["settings"][setting].items())
        seeds = ", ".join(str(seed) for seed in sorted({run.seed for run in chosen}))
        parts += [f"## {setting}", f"{options}; seeds {seeds}"]
        parts += [speed_table(groups)]
        if quality := quality_table(groups):
            parts.append(quality)
    return "\n\n".join(parts) + "\n"
