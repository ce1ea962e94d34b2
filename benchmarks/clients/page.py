"""Runs of clients to a page."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.clients.client import SECONDS
from benchmarks.report import facts, listed, page, section, table

#: The two classes.
REFERENCE, OURS = "gensim", "TFWord2Vec"

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


def rows(client: str, scores: Scores) -> list[list[str]]:
    """A row a score."""
    made = []
    for name in next(iter(scores[REFERENCE].values())):
        if name.endswith(SECONDS):
            continue
        first, second = (
            [of_seed[name] for of_seed in scores[engine].values() if name in of_seed]
            for engine in (REFERENCE, OURS)
        )
        if first and second:
            difference = f"{fmean(second) - fmean(first):+.3f}"
            cells = [cell(first), cell(second), difference, verdict(first, second)]
            made.append([client, name, *cells])
    return made


def times(client: str, scores: Scores) -> list[list[str]]:
    """A row a time: median, and that of the ratios of each seed's two runs."""
    made = []
    for name in next(iter(scores[REFERENCE].values())):
        if name.endswith(SECONDS):
            pairs = [
                (of_seed[name], scores[OURS][seed][name])
                for seed, of_seed in scores[REFERENCE].items()
            ]
            first, second = (median(values) for values in zip(*pairs, strict=True))
            ratio = median(theirs / ours for theirs, ours in pairs)
            what = name.removesuffix(f": {SECONDS}")
            made.append([client, what, f"{first:.2f}", f"{second:.2f}", f"{ratio:.2f}"])
    return made


def markdown(document: Mapping[str, Any]) -> str:
    """The page of a document."""
    clients = document["clients"].items()
    measured = [row for name, one in clients for row in rows(name, one["scores"])]
    timed = [row for name, one in clients for row in times(name, one["scores"])]
    head = ["program", "measure", REFERENCE, OURS, "difference", "of the spread"]
    time_head = ["program", "task", f"{REFERENCE}, s", f"{OURS}, s", "× gensim"]
    return page(
        "Other programs with TFWord2Vec",
        facts(document, {"seeds": ", ".join(map(str, document["seeds"]))}),
        NOTES,
        table(head, measured),
        section("Time", TIMES, table(time_head, timed)),
        section("Tasks", listed({name: f"{one['about']}." for name, one in clients})),
        section("Not installed", listed(document["skipped"])),
        section("Failed", listed(document["failed"])),
    )
