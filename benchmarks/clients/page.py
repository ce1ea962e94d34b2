"""Runs of clients to a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.clients.client import SECONDS
from benchmarks.report import table

NOTES = """\
Programs that use gensim's `Word2Vec`, run unchanged with gensim's class and with `TFWord2Vec` in
its place, with the same options and the same seeds. Data are generated or come with the packages,
and the task is the same for all runs: the seed changes the program's walks and the vectors. Given
are the mean ± standard deviation over the seeds. "Within" says that the means differ by no more
than the greater of the two deviations; chance alone puts about one measure of ten outside.

Where nothing is known to score vectors by, they are compared with gensim's: the share of a word's
nearest neighbours that are the same as in gensim's models of the other seeds. For gensim's class
this is how far two of its own seeds agree."""

TIMES = """\
From the program's start to the vectors, walks included; medians over the seeds, and that of the
ratios of two runs one after the other (larger is better)."""

#: By class, seed (text, where they were read from JSON) and name.
Scores = Mapping[str, Mapping[Any, Mapping[str, float]]]


def cell(values: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    if len(values) < 2:
        return f"{fmean(values):.3f}"
    return f"{fmean(values):.3f} ± {stdev(values):.3f}"


def verdict(reference: Sequence[float], own: Sequence[float]) -> str:
    """Whether the difference of the means lies within the spread of the seeds."""
    if min(len(reference), len(own)) < 2:
        return "–"
    difference = fmean(own) - fmean(reference)
    if abs(difference) <= max(stdev(reference), stdev(own)):
        return "within"
    return "above" if difference > 0 else "below"


def rows(client: str, scores: Scores, reference: str, own: str) -> list[list[str]]:
    """A row a score."""
    made = []
    for name in next(iter(scores[reference].values())):
        if name.endswith(SECONDS):
            continue
        first, second = (
            [of_seed[name] for of_seed in scores[engine].values() if name in of_seed]
            for engine in (reference, own)
        )
        if first and second:
            difference = f"{fmean(second) - fmean(first):+.3f}"
            made.append(
                [client, name, cell(first), cell(second), difference, verdict(first, second)]
            )
    return made


def times(client: str, scores: Scores, reference: str, own: str) -> list[list[str]]:
    """A row a time: median, and that of the ratios of each seed's two runs."""
    made = []
    for name in next(iter(scores[reference].values())):
        if name.endswith(SECONDS):
            pairs = [
                (of_seed[name], scores[own][seed][name])
                for seed, of_seed in scores[reference].items()
            ]
            first, second = (median(values) for values in zip(*pairs, strict=True))
            ratio = median(theirs / ours for theirs, ours in pairs)
            what = name.removesuffix(f": {SECONDS}")
            made.append([client, what, f"{first:.2f}", f"{second:.2f}", f"{ratio:.2f}"])
    return made


def markdown(document: Mapping[str, Any], reference: str, own: str) -> str:
    """The whole page.

    Parameters
    ----------
    document : mapping
        What `benchmarks.clients` writes as JSON.
    reference, own : str
        Names of the two classes.

    Returns
    -------
    str
        Markdown, ending with a line feed.
    """
    machine = document["machine"]
    versions = ", ".join(f"{name} {at}" for name, at in machine["versions"].items() if at)
    seeds = ", ".join(map(str, document["seeds"]))
    facts = [
        f"- machine: {machine['cpu']}, {machine['cores']} cores, {machine['system']}",
        f"- versions: {versions}",
        f"- seeds: {seeds}",
        f"- date: {document['date']}",
    ]
    measured = [
        row
        for name, client in document["clients"].items()
        for row in rows(name, client["scores"], reference, own)
    ]
    head = ["program", "measure", reference, own, "difference", "of the spread"]
    parts = ["# Other programs with TFWord2Vec", "\n".join(facts), NOTES, table(head, measured)]
    timed = [
        row
        for name, client in document["clients"].items()
        for row in times(name, client["scores"], reference, own)
    ]
    head = ["program", "task", f"{reference}, s", f"{own}, s", "× gensim"]
    parts += ["## Time", TIMES, table(head, timed)]
    tasks = [f"- {name}: {client['about']}." for name, client in document["clients"].items()]
    parts += ["## Tasks", "\n".join(tasks)]
    for title, left in (("Not installed", "skipped"), ("Failed", "failed")):
        if document[left]:
            lines = [f"- {name}: {why}" for name, why in document[left].items()]
            parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
