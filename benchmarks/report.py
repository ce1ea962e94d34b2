"""Pages from results: tables of medians, ratios paired by round, means and ranges of quality."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.machine import describe, kernels_hash
from benchmarks.records import REFERENCE

#: Bytes per MiB.
MEGABYTE = 2**20


def begin(corpus: Path | None = None, packages: Iterable[str] = ()) -> dict[str, Any]:
    """Start a document with the date, the machine, versions of packages, and the corpus."""
    document = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": describe(packages),
    }
    if corpus is not None:
        document["corpus"] = {"name": corpus.name, "bytes": corpus.stat().st_size}
    return document


def write(base: Path, document: Mapping[str, Any], text: str) -> None:
    """Write a document and its page to BASE.json and BASE.md."""
    base.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{base}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    Path(f"{base}.md").write_text(text, encoding="utf-8")


def page(title: str, *parts: str) -> str:
    """Return a page in Markdown: a title and its parts; empty parts are left out."""
    return "\n\n".join([f"# {title}", *filter(None, parts)]) + "\n"


def section(title: str, *parts: str) -> str:
    """Return a section in Markdown: a title and its parts; "" if all parts are empty."""
    nonempty_parts = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *nonempty_parts]) if nonempty_parts else ""


def bullet_list(lines: Mapping[str, str]) -> str:
    """Return a Markdown list of names and texts; empty texts are left out."""
    return "\n".join(f"- {name}: {text}" for name, text in lines.items() if text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is left-aligned, the others are right-aligned."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def facts(document: Mapping[str, Any], more: Mapping[str, str] | None = None) -> str:
    """Return a Markdown list that describes the corpus, the machine, the versions, and `more`."""
    machine, corpus = document["machine"], document.get("corpus")
    lines = {}
    if corpus is not None:
        size = f"{corpus['bytes'] / 1e6:.1f} MB"
        words = f", {corpus['words']:,} words" if "words" in corpus else ""
        lines["corpus"] = f"{corpus['name']}, {size}{words}"
    lines["machine"] = (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, "
        f"{machine['system']}, load {machine['load_average'][0]:.1f} at the start"
    )
    if "kernels" in machine:
        lines["kernels"] = f"{machine['isa']}, {machine['kernels']}, commit {machine['commit']}"
    lines["versions"] = ", ".join(f"{k} {v}" for k, v in machine["versions"].items() if v)
    return bullet_list({**lines, **(more or {}), "date": document["date"]})


def notice(document: Mapping[str, Any]) -> str:
    """Return a sentence that the kernels have changed since the results were measured.

    The result is empty if the kernels in the sources are those that were measured.
    """
    machine = document.get("machine", {})
    if machine.get("kernels") == kernels_hash():
        return ""
    when = [f"on {document['date']}"] if "date" in document else []
    when += [f"with commit {machine['commit']}"] if "commit" in machine else []
    return f"Measured {' '.join(when) or 'earlier'}; the kernels have changed since."


def unique(values: Iterable[str]) -> list[str]:
    """Return the distinct values in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def paired_ratios(
    runs: Sequence[Any], reference: Sequence[Any], measure: Callable[[Any], float]
) -> list[float]:
    """Return `measure` of each run divided by that of the reference's run in the same round."""
    base = {run.round: measure(run) for run in reference}
    return [measure(run) / base[run.round] for run in runs if run.round in base]


def spread(values: Sequence[float]) -> str:
    """Format the median of values, followed by their range if there are several."""
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def quality_cell(values: Sequence[float], base: Sequence[float]) -> str:
    """Format the mean ± half the range of `values`, then its difference from the mean of `base`.

    `base` contains the values of the reference; empty for the reference itself.
    """
    if not values:
        return "–"
    cell = f"{fmean(values):.3f}"
    if len(values) > 1:
        cell += f" ± {(max(values) - min(values)) / 2:.3f}"
    return f"{cell} ({fmean(values) - fmean(base):+.3f})" if base else cell


def quality_table(groups: Mapping[str, Sequence[Any]], heading: str = "engine") -> str:
    """Return a table of quality, a row per engine; empty if nothing was evaluated."""
    names = unique(name for runs in groups.values() for run in runs for name in run.quality)

    def scores(engine: str, name: str) -> list[float]:
        scores = [run.quality.get(name) for run in groups.get(engine, [])]
        return [score for score in scores if score is not None]

    rows = []
    for engine in groups:
        base = None if engine == REFERENCE else REFERENCE
        cells = (quality_cell(scores(engine, n), scores(base, n) if base else []) for n in names)
        rows.append([engine, *cells])
    return table([heading, *names], rows) if names else ""
