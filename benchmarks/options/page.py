"""The grid as a page."""

from benchmarks.options.judge import LOSS, LOST, NORM, Verdict
from benchmarks.options.run import PLACES
from benchmarks.report import page, section, table

HEAD = ["corpus", "objective", "window", "negative", "alpha", "D", "sample", "norm", "mean norm"]
HEAD += ["loss", "shared", "gensim's own", "speed", ""]


def summary(verdicts: list[Verdict | None]) -> str:
    """Counts, and a row for each cell that does not hold."""
    finite = [verdict for verdict in verdicts if verdict is not None]
    wrong = [verdict for verdict in finite if verdict.faults]
    head = (
        f"{len(verdicts)} cells, of which gensim is sane in {len(finite)}: "
        f"{len(finite) - len(wrong)} hold, {len(wrong)} do not."
    )
    return f"{head}\n\n{cells_table(wrong)}"


def cells_table(verdicts: list[Verdict]) -> str:
    """A row for each cell."""
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


def markdown(verdicts: list[Verdict | None], place: str) -> str:
    """The whole grid, what does not hold first."""
    title = option = ""
    if place != "machine":
        title, option = f", {place}", f" --place {place} --first {len(verdicts)}"
    held = [verdict for verdict in verdicts if verdict is not None and not verdict.faults]
    return page(
        f"A grid of options{title}",
        "Each cell is trained by one thread of gensim and, from other seeds, by this package "
        f"with {PLACES[place].about}, from files (hierarchical softmax from an iterable): on "
        "gensim's Lee corpus (lee), 1.2 and 17 million words of English (words, text), baskets of "
        "1,200 items, walks on a graph of 500 nodes, and ten words. The command is `python -m "
        f"benchmarks.options TEXT --records FOLDER --page FILE{option}`. Gensim is not sane "
        "where its loss is above that of vectors of zeros.",
        f"A cell holds if the largest norm of its vectors is within {NORM} times gensim's, the "
        f"mean loss per prediction within {LOSS:.0%}, and the share of neighbours in common "
        f"with gensim at most {LOST} below what two seeds of gensim have in common. Norms and "
        "losses are given as multiples of gensim's, speed as that of the whole call, which "
        "is a rough figure: other work ran beside.",
        summary(verdicts),
        section("All cells", cells_table(held)),
    )
