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
    head = ["workers", *(f"{row['workers']}" for row in simulated[0]["rows"])]
    lines = []
    for machines in simulated:
        speeds = (row["words_per_second"] / 1e6 for row in machines["rows"])
        lines.append([machines_of(machines), *(f"{x:.{1 if x < 10 else 0}f}" for x in speeds)])
    return table(head, lines)


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document."""
    corpus = document["corpus"]
    options = ", ".join(f"{name}={value}" for name, value in document["options"].items())
    parts = [
        facts(document, {"options": f"{options}; workers of {document['threads']} threads"}),
        NOTES,
        section("Really run", _measured_table(document["real"])),
    ]
    if "simulated" in document:
        simulated = document["simulated"]
        text = (
            f"{document['simulated_words'] or corpus['words']:,} words, "
            f"{simulated[0]['latency'] * 1e3:g} ms round trip. Million words/s:"
        )
        first = f"The first row, {machines_of(simulated[0])}:"
        tables = overview(simulated), first, _simulated_table(simulated[0]["rows"])
        parts.append(section("Simulated", text, *tables))
        costs = _costs_list(document["calibration"], document.get("roofline"))
        parts.append(section("Costs", costs))
    return page(f"Scaling: {corpus['name']}", *parts)


def _measured_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for workers in sorted({row["measured"]["workers"] for row in rows}):
        runs = [row for row in rows if row["measured"]["workers"] == workers]
        measured = [run["measured"] for run in runs]
        predicted = [run["predicted"] for run in runs]
        errors = [
            p["words_per_second"] / m["words_per_second"] - 1
            for m, p in zip(measured, predicted, strict=True)
        ]

        def median_of(name: str, results: Sequence[Mapping[str, Any]] = measured) -> float:
            return median(result[name] for result in results)

        tokens = median_of("tokens")
        cpu_names = ("worker_cores", "ps_cores", "coordinator_cores")
        lines.append(
            [
                f"{workers}",
                f"{measured[0]['ps']}",
                f"{median_of('words_per_second') / 1e6:.3f} M",
                f"{median_of('words_per_second', predicted) / 1e6:.3f} M",
                "–"
                if workers == 1
                else f"{median(errors):+.0%} ({min(errors):+.0%} to {max(errors):+.0%})",
                *(f"{median_of(name) / tokens * 1e9:,.0f}" for name in cpu_names),
                f"{median_of('bytes_per_token'):.0f}",
                f"{measured[0]['peak_bytes'] / MEGABYTE:,.0f}",
            ]
        )
    head = ["workers", "ps", "words/s", "predicted", "error", "CPU ns per token: workers", "ps"]
    return table([*head, "coordinator", "bytes per token", "memory of all tasks, MiB"], lines)


def _simulated_table(rows: Sequence[Mapping[str, Any]]) -> str:
    base = rows[0]["words_per_second"] / rows[0]["workers"]
    lines = []
    for row in rows:
        speed_up = row["words_per_second"] / base
        lines.append(
            [
                f"{row['workers']}",
                f"{row['ps']}",
                f"{row['words_per_second'] / 1e6:.2f} M",
                f"{speed_up:.1f}",
                f"{speed_up / row['workers']:.0%}",
                row["bound"],
                *(f"{share:.0%}" for share in row["busy"].values()),
                f"{row['bytes_per_token']:.0f}",
                f"{row['staleness']:.1f}",
            ]
        )
    head = ["workers", "ps", "words/s", "speed-up", "efficiency", "limited by"]
    busy = [f"{name} busy" for name in rows[0]["busy"]]
    return table([*head, *busy, "bytes per token", "staleness, units"], lines)


def _costs_list(calibration: Mapping[str, float], roof: Mapping[str, float] | None) -> str:
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
