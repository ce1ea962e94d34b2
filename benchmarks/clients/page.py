"""Page with the results of clients."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.clients.client import SECONDS
from benchmarks.report import (
    bullet_list,
    facts,
    page,
    ratio_range,
    ratio_text,
    score,
    section,
    table,
)

#: Names of gensim's class and of ours in tables and documents.
REFERENCE, OURS = "gensim", "TFWord2Vec"

QUESTION = """\
Do programs that use gensim's `Word2Vec` work as well with `TFWord2Vec` in its place, and are they
faster?"""

METHOD = """\
Each program was run unchanged, with gensim's class and with `TFWord2Vec`, with the same options and
the seeds {seeds}. Data are generated or come with the packages. The task is the same for all runs:
the seed changes the program's walks and the vectors."""

SCORES = """\
A cell is the mean ± standard deviation over the seeds. “of the spread” compares the difference of
the two means with the larger of the two deviations: “within” if it is at most as large, otherwise
“above” or “below”. By chance alone, about one measure of ten is outside.

If no score of the vectors themselves is known, they are compared with gensim's: the score is the
fraction of a word's nearest neighbours that are the same as in gensim's models with the other
seeds. For gensim's class, this is the agreement between its own seeds."""

TIMES = """\
From the program's start to the vectors, including walks. Medians over the seeds; “× gensim” is
gensim's time divided by `TFWord2Vec`'s, the median over pairs of consecutive runs: above 1,
`TFWord2Vec` is faster."""

#: Scores: {class: {seed: {name of the score: value}}}. Seeds are strings if they were read from
#: JSON.
Scores = Mapping[str, Mapping[Any, Mapping[str, float]]]


def cell(values: Sequence[float]) -> str:
    """Format the mean ± standard deviation of values over the seeds."""
    if len(values) < 2:
        return score(fmean(values))
    return f"{score(fmean(values))} ± {score(stdev(values))}"


def verdict(reference: Sequence[float], scores: Sequence[float]) -> str:
    """Compare the difference of two means with the spread over the seeds.

    Returns "within" if the difference is at most the larger standard deviation. Otherwise, it is
    "above" or "below": the position of `scores` relative to `reference`.
    """
    if min(len(reference), len(scores)) < 2:
        return "–"
    difference = fmean(scores) - fmean(reference)
    if abs(difference) <= max(stdev(reference), stdev(scores)):
        return "within"
    return "above" if difference > 0 else "below"


def rows(client: str, scores: Scores) -> list[list[str]]:
    """Return a table row per score of a client, except times."""
    table_rows = []
    for name in next(iter(scores[REFERENCE].values())):
        if name.endswith(SECONDS):
            continue
        first, second = (
            [seed_scores[name] for seed_scores in scores[engine].values() if name in seed_scores]
            for engine in (REFERENCE, OURS)
        )
        if first and second:
            difference = score(fmean(second) - fmean(first), "+.3f")
            cells = [cell(first), cell(second), difference, verdict(first, second)]
            table_rows.append([client, name, *cells])
    return table_rows


def times(client: str, scores: Scores) -> list[list[str]]:
    """Return a table row per time: the medians of both classes, and the median ratio by seed."""
    table_rows = []
    for name in next(iter(scores[REFERENCE].values())):
        if name.endswith(SECONDS):
            pairs = [
                (seed_scores[name], scores[OURS][seed][name])
                for seed, seed_scores in scores[REFERENCE].items()
            ]
            first, second = (median(values) for values in zip(*pairs, strict=True))
            ratio = median(theirs / ours for theirs, ours in pairs)
            task = name.removesuffix(f": {SECONDS}")
            table_rows.append([client, task, f"{first:.2f}", f"{second:.2f}", f"{ratio:.2f}"])
    return table_rows


def answer(score_rows: Sequence[Sequence[str]], time_rows: Sequence[Sequence[str]]) -> list[str]:
    """Return sentences on the rows of both tables."""
    outside = [f"{name}, {measure} ({side})" for name, measure, *_, side in score_rows
               if side in ("above", "below")]  # fmt: skip
    sentences = [
        f"Of {len(score_rows)} scores, {len(score_rows) - len(outside)} differ by no more than the "
        f"spread over the seeds; {len(outside)} by more{': ' if outside else ''}"
        f"{'; '.join(outside)}."
    ]
    if time_rows:
        ratios = {f"{name}, {task}": float(ratio) for name, task, _, _, ratio in time_rows}
        sentences.append(
            f"Programs with `TFWord2Vec` are {ratio_range(ratios)} times as fast; the median is "
            f"{ratio_text(median(ratios.values()))}."
        )
    return sentences


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document."""
    clients = document["clients"].items()
    score_rows = [row for name, results in clients for row in rows(name, results["scores"])]
    time_rows = [row for name, results in clients for row in times(name, results["scores"])]
    head = ["program", "measure", REFERENCE, OURS, "difference", "of the spread"]
    time_head = ["program", "task", f"{REFERENCE}, s", f"{OURS}, s", "× gensim"]
    return page(
        "Other programs with TFWord2Vec",
        QUESTION,
        METHOD.format(seeds=", ".join(map(str, document["seeds"]))),
        answer(score_rows, time_rows),
        section("Scores", table(head, score_rows, left=2), SCORES),
        section("Time", table(time_head, time_rows, left=2), TIMES),
        section("Tasks", bullet_list({name: f"{results['about']}." for name, results in clients})),
        section("Not installed", bullet_list(document["skipped"])),
        section("Failed", bullet_list(document["failed"])),
        facts(document),
    )
