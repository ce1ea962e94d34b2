"""Page with the results of the grid."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.options.cells import AXES, Cell
from benchmarks.options.judge import (
    MAX_LOSS_DIFFERENCE,
    MAX_LOST_NEIGHBOURS,
    MAX_NORM_RATIO,
    Verdict,
)
from benchmarks.options.run import PLACES
from benchmarks.report import bullet_list, facts, page, ratio_text, score, section, table

#: Number of cells in the table of the slowest ones, and in that of the fastest.
N_EXTREMES = 5

QUESTIONS = {
    "machine": "Are the vectors like gensim's also with options far from the defaults, such as a "
    "window of 500 or a learning rate of 0.2, and on texts that are small or unlike language?",
    "cluster": "Are the vectors like gensim's also if a cluster trains with options far from the "
    "defaults? The cells are the first ones of [the grid for one machine](options.md).",
    "graph": "Are the vectors like gensim's also if TensorFlow trains, where no compiled kernels "
    "are available? The cells are the first ones of [the grid for one machine](options.md).",
}

METHOD = """\
A cell of the grid is a combination of a text, an objective and options. There are {n} cells: some
that failed in the past, and others drawn at random. Each was trained by gensim with one thread and,
with other seeds, by this package with {place}, from files (hierarchical softmax from an iterable).
The texts are gensim's Lee corpus (lee), 1.2 and 17 million words of English (words, text), baskets
of 1,200 items, walks on a graph of 500 nodes, and ten words. A cell isn't judged if gensim's result
isn't usable, because its loss is above that of zero vectors."""

#: Rules by the names of the faults.
RULES = {
    "norm": f"the longest vector is at most {MAX_NORM_RATIO} times as long as gensim's, and "
    f"gensim's at most {MAX_NORM_RATIO} times as long as it",
    "loss": f"the mean loss per prediction, on the first words of the text, is within "
    f"{MAX_LOSS_DIFFERENCE:.0%} of gensim's. A lower loss is better, but also counts as a "
    "difference",
    "neighbours": "the fraction of a word's nearest neighbours that are also gensim's is at most "
    f"{score(MAX_LOST_NEIGHBOURS, '.2f')} below the fraction that gensim's own seeds share",
}

#: Known cause of failures, by place.
FAILURES = {
    "graph": "The fallback [delays updates](../how-it-works.md) to the end of a step, so vectors "
    "can be much shorter than gensim's, and then have different neighbours."
}

SPEED = """\
Speed is gensim's time divided by this package's, for the whole call. It is a rough figure: the time
includes the start, which on a cluster takes seconds, and other work ran concurrently."""


def summary(verdicts: Sequence[Verdict | None]) -> list[str]:
    """Return sentences on the number of cells that pass and fail, and on the medians."""
    valid = [verdict for verdict in verdicts if verdict is not None]
    wrong = [verdict for verdict in valid if verdict.faults]
    trained = [verdict for verdict in valid if verdict.error is None]
    sentences = [
        f"{len(valid) - len(wrong)} of {len(valid)} combinations of a text, an objective and "
        f"options give vectors like gensim's by all three rules; {len(wrong)} "
        f"{'does' if len(wrong) == 1 else 'do'} not."
    ]
    if len(valid) < len(verdicts):
        sentences.append(
            f"Of all {len(verdicts)} combinations, gensim's result is usable in {len(valid)}."
        )
    if trained:
        passing = (f"{sum(rule not in v.faults for v in trained)} in {rule}" for rule in RULES)
        sentences += [
            f"Cells that pass by rule: {', '.join(passing)}.",
            f"Medians, as multiples of gensim's: {median(v.largest for v in trained):.2f} for the "
            f"longest vector, {median(v.mean for v in trained):.2f} for the mean length, and "
            f"{median(v.loss for v in trained):.3f} for the loss.",
            "The median fraction of neighbours shared with gensim is "
            f"{score(median(v.shared for v in trained))}; gensim's own seeds share "
            f"{score(median(v.own for v in trained))}.",
            f"The median speed is {ratio_text(median(v.speed for v in trained))} times gensim's.",
        ]
    return sentences


def options_of(cell: Cell) -> str:
    """Return the options of a cell that are not gensim's defaults."""
    options = {name: getattr(cell, name) for name, values in AXES.items()
               if getattr(cell, name) != values[0]}  # fmt: skip
    return ", ".join(f"{name}={value:g}" for name, value in options.items()) or "defaults"


def reason(verdict: Verdict) -> str:
    """Describe the rules that a cell fails, with its figures."""
    reasons = {
        "norm": f"longest vector {verdict.largest:.2f} times gensim's",
        "loss": f"loss {abs(verdict.loss - 1):.2%} {'above' if verdict.loss > 1 else 'below'} "
        "gensim's",
        "neighbours": f"shares {score(verdict.shared)} of the neighbours with gensim, whose seeds "
        f"share {score(verdict.own)}",
    }
    return "; ".join(reasons.get(fault, fault[:60]) for fault in verdict.faults)


def failures_table(verdicts: Sequence[Verdict]) -> str:
    """Return a table of the cells that fail; "" if none does."""
    wrong = sorted((v for v in verdicts if v.faults), key=lambda v: v.cell.name)
    rows = [[v.cell.corpus, v.cell.objective, options_of(v.cell), reason(v)] for v in wrong]
    return table(["text", "objective", "options", "reason"], rows, left=None) if rows else ""


def speed_table(verdicts: Sequence[Verdict]) -> str:
    """Return a table of cells with their speed, in this order."""
    rows = [
        [v.cell.corpus, v.cell.objective, options_of(v.cell), f"{v.speed:.2f}"] for v in verdicts
    ]
    return table(["text", "objective", "options", "speed, × gensim"], rows, left=3)


def as_document(verdicts: Sequence[Verdict | None], place: str) -> dict[str, Any]:
    """Return the results as JSON; a cell for which gensim's results are not usable is None."""
    cells = [None if verdict is None else asdict(verdict) for verdict in verdicts]
    return {"place": place, "cells": cells}


def verdicts_of(document: Mapping[str, Any]) -> list[Verdict | None]:
    """Return the results of a document as `as_document` received them."""
    return [
        None if cell is None else Verdict(**{**cell, "cell": Cell(**cell["cell"])})
        for cell in document["cells"]
    ]


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of the whole grid: a summary, the failures, and the extremes of speed."""
    place, verdicts = document["place"], verdicts_of(document)
    on = {"machine": "", "cluster": " on a cluster", "graph": " with the TensorFlow fallback"}[
        place
    ]
    option = "" if place == "machine" else f" --place {place} --first {len(verdicts)}"
    valid = [verdict for verdict in verdicts if verdict is not None]
    by_speed = sorted((v for v in valid if v.error is None), key=lambda v: v.speed)
    return page(
        f"A grid of options{on}",
        QUESTIONS[place],
        METHOD.format(n=len(verdicts), place=PLACES[place].about),
        summary(verdicts),
        section("Rules", "A cell passes if all of these hold:", bullet_list(RULES)),
        section("Failures", FAILURES.get(place, ""), failures_table(valid)),
        section("Slowest and fastest cells", SPEED, "The slowest cells:",
                speed_table(by_speed[:N_EXTREMES]), "The fastest cells:",
                speed_table(by_speed[: -N_EXTREMES - 1 : -1])),
        section(
            "All cells",
            f"All cells are in `docs/benchmarks/{document.get('name', 'options')}.json`: norms "
            "(`largest`, `mean`) and `loss` as multiples of gensim's, the fractions of neighbours "
            "shared with gensim (`shared`) and among gensim's seeds (`own`), and `speed`. The "
            "command is `python -m benchmarks.options TEXT --records FOLDER --out "
            f"FOLDER{option}`.",
        ),
        facts(document),
    )  # fmt: skip
