"""Page with the results of the grid."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.options.judge import (
    MAX_LOSS_DIFFERENCE,
    MAX_LOST_NEIGHBOURS,
    MAX_NORM_RATIO,
    Verdict,
)
from benchmarks.options.run import PLACES
from benchmarks.report import facts, page, section, table

HEAD = ["corpus", "objective", "window", "negative", "alpha", "D", "sample", "norm", "mean norm"]
HEAD += ["loss", "shared", "gensim's own", "speed", ""]


def summary(verdicts: Sequence[Verdict | None]) -> str:
    """Return the numbers of cells that pass and fail, and a table of those that fail."""
    finite = [verdict for verdict in verdicts if verdict is not None]
    wrong = [verdict for verdict in finite if verdict.faults]
    head = (
        f"{len(verdicts)} cells; gensim's result is usable in {len(finite)}. Of these, "
        f"{len(finite) - len(wrong)} pass and {len(wrong)} fail."
    )
    return f"{head}\n\n{cells_table(wrong)}"


def cells_table(verdicts: Sequence[Verdict]) -> str:
    """Return a table with a row per cell."""
    rows = []
    for v in sorted(verdicts, key=lambda v: v.cell.name):
        c = v.cell
        row = [c.corpus, c.objective, f"{c.window}", f"{c.negative}", f"{c.alpha:g}"]
        row += [f"{c.vector_size}", f"{c.sample:g}"]
        if v.error is not None:
            row += [*[""] * 6, v.error[:60]]
        else:
            row += [f"{v.largest:.2f}", f"{v.mean:.2f}", f"{v.loss:.3f}", f"{v.shared:.3f}"]
            row += [f"{v.own:.3f}", f"{v.speed:.1f}", ", ".join(v.faults)]
        rows.append(row)
    return table(HEAD, rows)


def as_document(verdicts: Sequence[Verdict | None], place: str) -> dict[str, Any]:
    """Return the results as JSON; a cell for which gensim's results are not usable is None."""
    cells = [None if verdict is None else asdict(verdict) for verdict in verdicts]
    return {"place": place, "cells": cells}


def markdown(document: Mapping[str, Any], verdicts: Sequence[Verdict | None]) -> str:
    """Return the page of the whole grid; cells that fail come first."""
    place = document["place"]
    title = option = ""
    if place != "machine":
        title, option = f", {place}", f" --place {place} --first {len(verdicts)}"
    valid_verdicts = [verdict for verdict in verdicts if verdict is not None and not verdict.faults]
    return page(
        f"A grid of options{title}",
        facts(document),
        "Each cell is trained by gensim with one thread and, with different seeds, by this package "
        f"with {PLACES[place].about}, from files (hierarchical softmax from an iterable): on "
        "gensim's Lee corpus (lee), 1.2 and 17 million words of English (words, text), baskets of "
        "1,200 items, walks on a graph of 500 nodes, and ten words. The command is `python -m "
        f"benchmarks.options TEXT --records FOLDER --out FOLDER{option}`. gensim's result is not "
        "usable where its loss is above that of zero vectors.",
        f"A cell passes if the largest norm of its vectors is within {MAX_NORM_RATIO} times "
        f"gensim's, the mean loss per prediction is within {MAX_LOSS_DIFFERENCE:.0%}, and the "
        f"fraction of neighbours shared with gensim is at most {MAX_LOST_NEIGHBOURS} below the "
        "fraction shared by two gensim seeds. Norms and losses are multiples of gensim's. Speed is "
        "that of the whole call, relative to gensim; it is a rough figure, because other work ran "
        "concurrently.",
        summary(verdicts),
        section("All cells", cells_table(valid_verdicts)),
    )
