"""Page for a study's document."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.report import MEGABYTE, facts, page, section, table

NOTES = """\
"words/s" is raw words of the text, without the first epoch, which includes setup. **Really run**:
all tasks share the machine described above; figures are medians over the rounds. Predictions are
computed by the simulation of the next tables. Its costs are measured in the same round, with
threads without a cluster and with several workers on parts of the corpus. It is calibrated so that
one worker is as fast as measured. **Simulated**: one machine per task, with the cores and the
network stated below, a thread per core in workers, each core as fast as this machine's, and with
median costs over the rounds. Workers with more threads than this machine has cores are assumed to
be faster in proportion. Nothing in these tables was run. Speed-up is relative to the smallest
number of workers."""


def machines_of(simulated: Mapping[str, Any]) -> str:
    """Return the description of a simulated cluster's machines."""
    text = ", text on a shared file system" if simulated["shared_text"] else ""
    return f"{simulated['cores']} cores, {simulated['net'] * 8 / 1e9:g} Gbit/s{text}"


def overview(simulated: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of million words/s, with a row for each simulated kind of machines."""
    head = ["workers", *(f"{one['workers']}" for one in simulated[0]["rows"])]
    lines = []
    for each in simulated:
        speeds = (one["words_per_second"] / 1e6 for one in each["rows"])
        lines.append([machines_of(each), *(f"{x:.{1 if x < 10 else 0}f}" for x in speeds)])
    return table(head, lines)


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document."""
    corpus = document["corpus"]
    options = ", ".join(f"{name}={value}" for name, value in document["options"].items())
    parts = [
        facts(document, {"options": f"{options}; workers of {document['threads']} threads"}),
        NOTES,
        section("Really run", _real(document["real"])),
    ]
    if "simulated" in document:
        simulated = document["simulated"]
        text = (
            f"{document['simulated_words'] or corpus['words']:,} words, "
            f"{simulated[0]['latency'] * 1e3:g} ms round trip. Million words/s:"
        )
        first = f"The first row, {machines_of(simulated[0])}:"
        tables = overview(simulated), first, _simulated(simulated[0]["rows"])
        parts.append(section("Simulated", text, *tables))
        costs = _costs(document["calibration"], document.get("roofline"))
        parts.append(section("Costs", costs))
    return page(f"Scaling: {corpus['name']}", *parts)


def _real(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for workers in sorted({one["measured"]["workers"] for one in rows}):
        of_workers = [one for one in rows if one["measured"]["workers"] == workers]
        measured = [one["measured"] for one in of_workers]
        predicted = [one["predicted"] for one in of_workers]
        found = [
            p["words_per_second"] / m["words_per_second"] - 1
            for m, p in zip(measured, predicted, strict=True)
        ]

        def middle(name: str, rows: Sequence[Mapping[str, Any]] = measured) -> float:
            return median(one[name] for one in rows)

        tokens = middle("tokens")
        kinds = ("worker_cores", "ps_cores", "coordinator_cores")
        lines.append(
            [
                f"{workers}",
                f"{measured[0]['ps']}",
                f"{middle('words_per_second') / 1e6:.3f} M",
                f"{middle('words_per_second', predicted) / 1e6:.3f} M",
                "–"
                if workers == 1
                else f"{median(found):+.0%} ({min(found):+.0%} to {max(found):+.0%})",
                *(f"{middle(kind) / tokens * 1e9:,.0f}" for kind in kinds),
                f"{middle('bytes_per_token'):.0f}",
                f"{measured[0]['peak_bytes'] / MEGABYTE:,.0f}",
            ]
        )
    head = ["workers", "ps", "words/s", "predicted", "error", "CPU ns per token: workers", "ps"]
    return table([*head, "coordinator", "bytes per token", "memory of all tasks, MiB"], lines)


def _simulated(rows: Sequence[Mapping[str, Any]]) -> str:
    base = rows[0]["words_per_second"] / rows[0]["workers"]
    lines = []
    for one in rows:
        speed_up = one["words_per_second"] / base
        lines.append(
            [
                f"{one['workers']}",
                f"{one['ps']}",
                f"{one['words_per_second'] / 1e6:.2f} M",
                f"{speed_up:.1f}",
                f"{speed_up / one['workers']:.0%}",
                one["bound"],
                *(f"{share:.0%}" for share in one["busy"].values()),
                f"{one['bytes_per_token']:.0f}",
                f"{one['staleness']:.1f}",
            ]
        )
    head = ["workers", "ps", "words/s", "speed-up", "efficiency", "limited by"]
    busy = [f"{name} busy" for name in rows[0]["busy"]]
    return table([*head, *busy, "bytes per token", "staleness, units"], lines)


def _costs(calibration: Mapping[str, float], roof: Mapping[str, float] | None) -> str:
    lines = (
        f"- worker: {calibration['token'] * 1e9:.0f} ns of a core per token, "
        f"{calibration['row'] * 1e9:.0f} ns per row that it fetches and pushes, "
        f"{calibration['job'] * 1e3:.1f} ms per job; "
        f"{calibration['threads']:.2f} times as fast if it has a machine of its own\n"
        f"- ps: {calibration['ps_row'] * 1e9:.0f} ns per row\n"
        f"- coordinator: {calibration['ticket'] * 1e3:.1f} ms per job, "
        f"{calibration['epoch'] * 1e3:.0f} ms per epoch"
    )
    if roof is None:
        return lines
    return lines + (
        f"\n- kernel: {roof['flops_per_token'] / 1e3:.1f} thousand operations in matrix "
        f"products and {roof['bytes_per_token'] / 1e3:.1f} kB moved per token; "
        f"{roof['products_per_second'] / 1e9:.1f} G operations/s per thread, which is "
        f"{roof['fraction']:.0%} of the {roof['machine'] / 1e9:.1f} G operations/s of one large "
        "product in the same precision"
    )
