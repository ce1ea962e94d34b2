"""Page for a study's document."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.report import MEGABYTE, bullet_list, facts, page, section, table
from benchmarks.scaling.study import MIN_UTILIZATION

QUESTION = """\
How many workers make training faster, and what limits a larger cluster? Clusters of a few workers
were run on one machine; larger ones, with a machine per task, were simulated."""

METHOD = """\
Each worker has {threads} threads, and there are half as many ps as workers. All clusters trained
with {options}. The first epoch, which includes setup, isn't counted. **Measured** clusters had all
their tasks on the machine described below, so their workers shared its cores. **Simulated**
clusters have one machine per task, a thread per core in workers, and cores as fast as this
machine's. The simulation uses the costs of a worker, a ps and the coordinator, which were measured
in the same rounds: with threads without a cluster, and with several workers on parts of the text.
It is calibrated so that one worker is as fast as measured, and predicts the measured clusters, too,
which shows how far to trust it. Workers with more threads than this machine has cores are assumed
to be faster in proportion."""

PICTURE = """\
![Words/s by number of workers, simulated and measured, and how busy each kind of resource
is.](scaling-speed.svg)"""

MEASURED = {
    "words/s": "raw words of the text per second, median over the rounds",
    "predicted": "words/s by the simulation, which is calibrated to one worker",
    "relative to threads": "words/s, divided by those of training without a cluster in the same "
    "round, with a thread on each core; in parentheses the range over the rounds",
    "error": "of the prediction; in parentheses the range over the rounds",
    "CPU ns, workers, ps and coordinator": "CPU time of these tasks per word after subsampling",
    "bytes per token": "network traffic per word after subsampling",
}

SIMULATED = {
    "speed-up": "speed relative to one worker",
    "efficiency": "speed-up divided by the number of workers",
    "limited by": f"what is busy {MIN_UTILIZATION:.0%} of the time or more; “waiting” if nothing "
    "is, so tasks mostly wait for each other",
    "busy": "share of the time in which tasks compute, or in which their network transfers",
    "staleness": "mean number of work units that other workers push between a worker's fetch and "
    "push",
}


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


def answer(document: Mapping[str, Any]) -> list[str]:
    """Return sentences on the best simulated number of workers, and on the predictions' errors."""
    sentences = []
    for machines in document.get("simulated", [])[:1]:
        rows = machines["rows"]
        best = max(rows, key=lambda row: row["words_per_second"])
        half = [row for row in rows if _efficiency(row, rows) >= 0.5][-1]
        sentences.append(
            f"With {machines_of(machines)}, speed grows up to {best['workers']} workers "
            f"(simulated: {best['words_per_second'] / 1e6:.0f} M words/s, "
            f"{_speed_up(best, rows):.0f} times one worker's), and {half['workers']} workers "
            f"still have an efficiency of {_efficiency(half, rows):.0%}."
        )
    groups = _by_workers(document["real"])
    errors = {n: median(map(_error, runs)) for n, runs in groups.items() if n > 1}
    if errors:
        found = ", ".join(f"{error:+.0%} with {n} workers" for n, error in errors.items())
        sentences.append(
            f"For the measured clusters, all on one machine, the simulation's error is {found}."
        )
    return sentences or ["Only one worker was measured."]


def _by_workers(real: Sequence[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    """Return the measured clusters by their number of workers, in ascending order."""
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for run in sorted(real, key=lambda run: run["measured"]["workers"]):
        groups.setdefault(run["measured"]["workers"], []).append(run)
    return groups


def _error(run: Mapping[str, Any]) -> float:
    return float(run["predicted"]["words_per_second"] / run["measured"]["words_per_second"] - 1)


def _speed_up(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> float:
    return float(row["words_per_second"] / rows[0]["words_per_second"] * rows[0]["workers"])


def _efficiency(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> float:
    return _speed_up(row, rows) / float(row["workers"])


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document."""
    corpus = document["corpus"]
    options = ", ".join(f"`{name}={value}`" for name, value in document["options"].items())
    parts = [
        section(
            "Measured",
            _measured_table(document["real"]),
            _threads_sentence(document["real"]),
            bullet_list(MEASURED),
        ),
    ]
    if "simulated" in document:
        simulated = document["simulated"]
        text = (
            f"A text of {document['simulated_words'] or corpus['words']:,} words, and "
            f"{simulated[0]['latency'] * 1e3:g} ms round-trip time. Million words/s:"
        )
        first = f"Details of the first row, {machines_of(simulated[0])}:"
        table_of_first = _simulated_table(simulated[0]["rows"])
        tables = PICTURE, overview(simulated), first, table_of_first, bullet_list(SIMULATED)
        parts.append(section("Simulated", text, *tables))
        costs = _costs_list(document["calibration"], document.get("roofline"))
        parts.append(section("Costs", costs))
    return page(
        "Speed by number of workers",
        QUESTION,
        METHOD.format(threads=document["threads"], options=options),
        answer(document),
        *parts,
        facts(document),
    )


def _measured_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for workers, runs in _by_workers(rows).items():
        measured = [run["measured"] for run in runs]
        predicted = [run["predicted"] for run in runs]
        errors = [_error(run) for run in runs]
        shares = [
            run["measured"]["words_per_second"] / run["threads_words_per_second"] for run in runs
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
                f"{median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})",
                f"{median_of('words_per_second', predicted) / 1e6:.3f} M",
                "–"
                if workers == 1
                else f"{median(errors):+.0%} ({min(errors):+.0%} to {max(errors):+.0%})",
                *(f"{median_of(name) / tokens * 1e9:,.0f}" for name in cpu_names),
                f"{median_of('bytes_per_token'):.0f}",
                f"{measured[0]['peak_bytes'] / MEGABYTE:,.0f}",
            ]
        )
    head = ["workers", "ps", "words/s", "relative to threads", "predicted", "error"]
    head += ["CPU ns, workers", "CPU ns, ps", "CPU ns, coordinator"]
    head += ["bytes per token", "memory of all tasks, MiB"]
    return table(head, lines)


def _threads_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    speed = median(run["threads_words_per_second"] for run in rows)
    return (
        f"Without a cluster, with a thread on each core, the median speed was {speed / 1e6:.2f} M "
        "words/s."
    )


def _simulated_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        [
            f"{row['workers']}",
            f"{row['ps']}",
            f"{row['words_per_second'] / 1e6:.2f} M",
            f"{_speed_up(row, rows):.1f}",
            f"{_efficiency(row, rows):.0%}",
            row["bound"],
            *(f"{share:.0%}" for share in row["busy"].values()),
            f"{row['bytes_per_token']:.0f}",
            f"{row['staleness']:.1f}",
        ]
        for row in rows
    ]
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
