"""Pages from results: tables of medians, ratios paired by round, means and ranges of quality."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeVar

from benchmarks.machine import describe, kernels_hash
from benchmarks.records import REFERENCE

Value = TypeVar("Value")

#: Bytes per MiB.
MEGABYTE = 2**20

#: Names of sets of word pairs on pages, by their names in the results.
PAIR_SETS = {
    "SimLex999": "SimLex-999",
    "men3000": "MEN",
    "mturk771": "MTurk-771",
    "rw2034": "RW",
    "wordsim353": "WS353",
}


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


def page(title: str, question: str, method: str, answer: Sequence[str], *parts: str) -> str:
    """Return a page in Markdown: question, method, the answer's sentences, and non-empty parts.

    The overview of all pages shows the question, up to its question mark, and the first line of
    the answer, which `question_and_answer` finds.
    """
    result = "**Result:** " + "\n".join(filter(None, answer))
    return "\n\n".join([f"# {title}", question, method, result, *filter(None, parts)]) + "\n"


def question_and_answer(text: str) -> tuple[str, str]:
    """Return the question of a page, and the first line of its answer."""
    question = text.split("\n\n")[1].partition("?")[0] + "?"
    answer = text.split("**Result:** ")[1].splitlines()[0]
    return " ".join(question.split()), answer


def section(title: str, *parts: str) -> str:
    """Return a section in Markdown: a title and its parts; "" if all parts are empty."""
    nonempty_parts = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *nonempty_parts]) if nonempty_parts else ""


def bullet_list(lines: Mapping[str, str]) -> str:
    """Return a Markdown list of names and texts; empty texts are left out."""
    return "\n".join(f"- {name}: {text}" for name, text in lines.items() if text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int | None = 1) -> str:
    """Return a Markdown table.

    The first `left` columns are left-aligned, all if None; the others are right-aligned.
    """
    left = len(head) if left is None else left
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [list(head), rule, *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def facts(document: Mapping[str, Any], more: Mapping[str, str] | None = None) -> str:
    """Return a section that describes the corpus, the machine, the versions, and `more`."""
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
    lines = {**lines, **(more or {}), "date": document["date"]}
    return section("Machine and versions", bullet_list(lines))


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


def unique(values: Iterable[Value]) -> list[Value]:
    """Return the distinct values in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def paired_ratios(
    runs: Sequence[Any], reference: Sequence[Any], measure: Callable[[Any], float]
) -> list[float]:
    """Return `measure` of each run divided by that of the reference's run in the same round."""
    base = {run.round: measure(run) for run in reference}
    return [measure(run) / base[run.round] for run in runs if run.round in base]


def ratio_text(ratio: float) -> str:
    """Format a ratio for running text: 18.9, and with two decimals below 2."""
    return f"{ratio:.{1 if ratio >= 2 else 2}f}"


def ratio_range(ratios: Mapping[str, float]) -> str:
    """Format the smallest and the largest of ratios with their names: 1.99 (CBOW) to 18.9 (...)."""
    extremes = unique(pick(ratios, key=ratios.__getitem__) for pick in (min, max))
    names = {name: f" ({name})" if len(ratios) > 1 else "" for name in extremes}
    return " to ".join(f"{ratio_text(ratios[name])}{names[name]}" for name in extremes)


def score(value: float, form: str = ".3f") -> str:
    """Format a correlation or another score of at most 1, without the zero before the point."""
    text = f"{round(value, int(form[-2])) + 0.0:{form}}"  # the sum has no negative zero
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def measure_name(name: str) -> str:
    """Return the name of a measure as pages show it."""
    pairs, _, kind = name.partition(", ")
    return PAIR_SETS.get(pairs, pairs) + (f" ({kind})" if kind else "")


def setting_names(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Describe the options of each setting by objective and, if sizes differ, by the size."""
    sizes = {options["vector_size"] for options in settings.values()}
    names = {}
    for setting, options in settings.items():
        if "dm" in options:
            words = ["DM" if options["dm"] else "DBOW"]
        else:
            words = ["skip-gram" if options["sg"] else "CBOW"]
        words += ["hs=1"] if options.get("hs") else []
        words += [f"{options['vector_size']} dimensions"] if len(sizes) > 1 else []
        names[setting] = ", ".join(words)
    return names


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
    cell = score(fmean(values))
    if len(values) > 1:
        cell += f" ± {score((max(values) - min(values)) / 2)}"
    return f"{cell} ({score(fmean(values) - fmean(base), '+.3f')})" if base else cell


def scores_of(runs: Sequence[Any], name: str) -> list[float]:
    """Return the scores of runs in a measure, without those that are undefined."""
    values = [run.quality.get(name) for run in runs]
    return [value for value in values if value is not None]


def quality_table(
    groups: Mapping[str, Sequence[Any]], heading: str, names: Sequence[str] | None = None
) -> str:
    """Return a table of quality, a row per engine; empty if nothing was evaluated.

    Its columns are the measures `names`, by default all.
    """
    if names is None:
        names = unique(name for runs in groups.values() for run in runs for name in run.quality)
    rows = []
    for engine, runs in groups.items():
        base = [] if engine == REFERENCE else groups.get(REFERENCE, [])
        cells = (quality_cell(scores_of(runs, n), scores_of(base, n)) for n in names)
        rows.append([engine, *cells])
    return table([heading, *map(measure_name, names)], rows) if names else ""


def mean_score(runs: Sequence[Any], names: Sequence[str]) -> float:
    """Return the mean over the measures `names` of the mean scores over the runs."""
    return fmean(fmean(scores_of(runs, name)) for name in names)
