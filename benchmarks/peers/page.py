"""Page with the results of several tools."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.failures import first_and_last
from benchmarks.peers.evaluate import ALL_QUESTIONS
from benchmarks.peers.records import PeerRun
from benchmarks.peers.time_to_quality import DEFINITION, goal, time_to_goal
from benchmarks.records import REFERENCE
from benchmarks.report import (
    MEGABYTE,
    bullet_list,
    facts,
    page,
    paired_ratios,
    quality_table,
    section,
    spread,
    table,
    unique,
)

NOTES = f"""\
Every training is a command that reads the text and writes a file of vectors. The commands ran
sequentially, in an order that changed from round to round. All figures are measured from
outside, and include all processes that the command starts. Total times, CPU times and memory
are medians. A ratio ("× gensim", larger is better) compares two runs of the same round, the
second one with {REFERENCE}; the table shows its median and its range over the rounds.
"words/s" is raw words of the text times epochs, divided by the total time, which includes
start, imports, counting and writing the vectors. "in training" divides by the training time
that the tool itself reports, if it does; each tool has its own definition of that time.

Quality is measured on the file of vectors, by the same functions for all tools, with the words
sorted by their counts in the corpus: mean ± half the range over the seeds, then the difference
from {REFERENCE}'s mean. It is the Spearman correlation for word pairs, and the accuracy for
analogies: on questions with known words among the 30,000 most frequent ones ("analogies"), and
on all questions among all words ("{ALL_QUESTIONS}")."""


def _successful_runs(runs: Sequence[PeerRun], peer: str, epochs: int) -> list[PeerRun]:
    peer_runs = [
        run for run in runs if run.peer == peer and run.epochs == epochs and run.error is None
    ]
    return sorted(peer_runs, key=lambda run: run.round)


def speed_table(peers: Sequence[str], runs: Sequence[PeerRun], epochs: int) -> str:
    """Return a table of each tool's speed, times and memory, in its trainings with all epochs."""
    base = _successful_runs(runs, REFERENCE, epochs)
    rows = []
    for peer in peers:
        if not (peer_runs := _successful_runs(runs, peer, epochs)):
            if any(run.peer == peer and run.error for run in runs):
                rows.append([peer, "failed", *["–"] * 7])
            continue
        train_speeds = [run.train_words_per_second for run in peer_runs]
        known_speeds = [speed for speed in train_speeds if speed is not None]
        rows.append(
            [
                peer,
                f"{median(run.wall_seconds for run in peer_runs):.1f}",
                spread(paired_ratios(peer_runs, base, lambda run: 1 / run.wall_seconds)),
                f"{median(run.words_per_second for run in peer_runs) / 1e6:.3f} M",
                f"{median(known_speeds) / 1e6:.3f} M" if known_speeds else "–",
                f"{median(run.cpu_seconds for run in peer_runs):.1f}",
                spread(paired_ratios(peer_runs, base, lambda run: 1 / run.cpu_seconds)),
                f"{median(run.peak_bytes for run in peer_runs) / MEGABYTE:.0f}",
                f"{median(run.vocabulary for run in peer_runs):,.0f}",
            ]
        )
    head = ["tool", "total time, s", "× gensim", "words/s", "in training", "CPU s", "× gensim"]
    return table([*head, "peak memory, MiB", "vectors"], rows)


def time_table(peers: Sequence[str], runs: Sequence[PeerRun]) -> str:
    """Return a table of the time to gensim's quality; "" if no run of gensim succeeded."""
    aim = goal(runs)
    if aim is None:
        return ""
    rows = []
    for peer in peers:
        peer_runs = [run for run in runs if run.peer == peer and run.error is None]
        if not peer_runs:
            continue
        best = time_to_goal(runs, peer, aim)
        if best is None:
            full = [aim.quality(run) for run in peer_runs if run.epochs == aim.epochs]
            rows.append([peer, "not reached", f"{fmean(full):.4f}" if full else "–", "–", "–"])
            continue
        cells = [str(best.epochs), f"{best.quality:.4f}", f"{best.seconds:.1f}"]
        rows.append([peer, *cells, spread(best.ratios)])
    text = DEFINITION.format(
        reference=REFERENCE,
        epochs=aim.epochs,
        target=aim.target,
        mean=aim.mean,
        tolerance=aim.tolerance,
    )
    head = ["tool", "epochs", "quality", "total time, s", "÷ gensim's with all epochs"]
    measures = f"The measures are {', '.join(aim.measures)}."
    return "\n\n".join([f"{text} {measures}", table(head, rows)])


def markdown(document: Mapping[str, Any], runs: Sequence[PeerRun]) -> str:
    """Return the page for a document and its runs, which may be in any order."""
    settings, peers = document["settings"], list(document["peers"])
    epochs = settings["epochs"]
    options = ", ".join(f"{name}={value}" for name, value in settings.items())
    seeds = ", ".join(str(seed) for seed in sorted({run.seed for run in runs}))
    groups = {
        peer: peer_runs for peer in peers if (peer_runs := _successful_runs(runs, peer, epochs))
    }
    times = time_table(peers, runs) if document["time_to_quality"] else ""
    failed = unique(f"- {run.peer}: {first_and_last(run.error)}" for run in runs if run.error)
    return page(
        f"word2vec tools: {document['corpus']['name']}",
        facts(document),
        NOTES,
        section(
            "Speed, time and memory",
            f"{options}; seeds {seeds}",
            speed_table(peers, runs, epochs),
        ),
        section("Quality", quality_table(groups, "tool")),
        section("Time to gensim's quality", times),
        section(
            "Differences between the tools",
            bullet_list({n: p["note"] for n, p in document["peers"].items()}),
        ),
        section("Left out", bullet_list(document["left_out"])),
        section("Failed", "\n".join(failed)),
    )
