"""The grid as a page."""

from __future__ import annotations

from benchmarks.options.judge import LOSS, LOST, NORM, Verdict


def summary(verdicts: list[Verdict | None]) -> str:
    """Counts, and a row for each cell that does not hold."""
    finite = [verdict for verdict in verdicts if verdict is not None]
    wrong = [verdict for verdict in finite if verdict.faults]
    head = (
        f"{len(verdicts)} cells, of which gensim is sane in {len(finite)}: "
        f"{len(finite) - len(wrong)} hold, {len(wrong)} do not.\n"
    )
    return "\n".join([head, *table(sorted(wrong, key=lambda v: v.cell.name))])


def table(verdicts: list[Verdict]) -> list[str]:
    """A row for each cell."""
    rows = [
        "| corpus | objective | window | negative | alpha | D | sample | norm | mean norm | loss "
        "| shared | gensim's own | speed | |",
        "|---|---|" + "---:|" * 11 + "---|",
    ]
    for v in verdicts:
        c = v.cell
        start = (
            f"| {c.corpus} | {c.objective} | {c.window} | {c.negative} | {c.alpha:g} "
            f"| {c.vector_size} | {c.sample:g} "
        )
        if v.error is not None:
            rows.append(f"{start}| | | | | | | {v.error[:60]} |")
            continue
        rows.append(
            f"{start}| {v.largest:.2f} | {v.mean:.2f} | {v.loss:.3f} | {v.shared:.3f} "
            f"| {v.own:.3f} | {v.speed:.1f} | {', '.join(v.faults)} |"
        )
    return rows


#: Where this package trains, by the names of `PLACES`.
WHERE = {
    "machine": "one thread",
    "cluster": "a local cluster of 2 ps and 4 workers",
    "graph": "one thread with TensorFlow's graph, without compiled kernels",
}


def page(verdicts: list[Verdict | None], place: str) -> str:
    """The whole grid, what does not hold first."""
    title = {"machine": ""}.get(place, f", {place}")
    option = {"machine": ""}.get(place, f" --place {place} --first {len(verdicts)}")
    finite = [verdict for verdict in verdicts if verdict is not None]
    return "\n".join(
        [
            f"# A grid of options{title}\n",
            "Each cell is trained by one thread of gensim and, from other seeds, by this package "
            f"with {WHERE[place]}, from files (hierarchical softmax from an iterable): on gensim's "
            "Lee corpus (lee), 1.2 and 17 million words of English (words, text), baskets of 1,200 "
            "items, walks on a graph of 500 nodes, and ten words. The command is `python -m "
            f"benchmarks.options TEXT --records FOLDER --page FILE{option}`. Gensim is not sane "
            "where its loss is above that of vectors of zeros.\n",
            f"A cell holds if the largest norm of its vectors is within {NORM} times gensim's, the "
            f"mean loss per prediction within {LOSS:.0%}, and the share of neighbours in common "
            f"with gensim at most {LOST} below what two seeds of gensim have in common. Norms and "
            "losses are given as multiples of gensim's, speed as that of the whole call, which "
            "is a rough figure: other work ran beside.\n",
            summary(verdicts),
            "\n## All cells\n",
            *table(sorted((v for v in finite if not v.faults), key=lambda v: v.cell.name)),
            "",
        ]
    )
