"""Page with the results of several tools."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.failures import first_and_last
from benchmarks.peers.evaluate import ALL_QUESTIONS
from benchmarks.peers.records import PeerRun
from benchmarks.peers.time_to_quality import DEFINITION, goal, time_to_goal
from benchmarks.records import REFERENCE, read_runs
from benchmarks.report import (
    MEGABYTE,
    bullet_list,
    facts,
    mean_score,
    measure_name,
    page,
    paired_ratios,
    quality_table,
    ratio_text,
    score,
    scores_of,
    section,
    spread,
    table,
    unique,
)

QUESTION = """\
How does `TFWord2Vec` compare with other word2vec programs as a whole command, which reads a text
and writes a file of vectors?"""

CBOW_QUESTION = """\
How does `TFWord2Vec` compare with gensim in CBOW, as a whole command, which reads a text and writes
a file of vectors? {other} has the tools that train skip-gram."""

TIME_QUESTION = """\
How long does `TFWord2Vec` need until its vectors are as good as gensim's? It may need more epochs,
or fewer, so the number of epochs is varied."""

METHOD = """\
Every run was a command that reads the text and writes a file of vectors, with {options}, and
with the seeds {seeds}, one per round. The commands ran sequentially, in an order that changed from
round to round. All figures were measured from outside, and include all processes that a command
started. Times and memory are medians over the rounds."""

COLUMNS = {
    "total time, s": "time of the whole command: start, imports, counting, training and writing",
    "× gensim": f"{REFERENCE}'s total time or CPU time divided by the tool's in the same round: "
    "above 1, the tool is faster. The range over the rounds is in parentheses",
    "words/s": "raw words of the text times epochs, divided by the total time",
    "words/s in training": "the same, divided by the training time that the tool itself reports; "
    "each tool has its own definition of that time",
    "vectors": "number of words that have a vector",
}

SCORES = f"""\
Quality is measured on the file of vectors, by the same functions for all tools, with the words
sorted by their counts in the text. A cell is the mean ± half the range over the seeds and, in
parentheses, the difference from {REFERENCE}'s mean. Scores are Spearman correlations with human
ratings of word pairs, and accuracy on gensim's analogies: on questions with known words among the
30,000 most frequent ones (analogies), and on all questions ({measure_name(ALL_QUESTIONS)})."""


def _successful_runs(runs: Sequence[PeerRun], peer: str, epochs: int) -> list[PeerRun]:
    peer_runs = [
        run for run in runs if run.peer == peer and run.epochs == epochs and run.error is None
    ]
    return sorted(peer_runs, key=lambda run: run.round)


def speed_table(peers: Sequence[str], runs: Sequence[PeerRun], epochs: int) -> str:
    """Return a table of each tool's speed, times and memory, in its runs with all epochs."""
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
    head = ["tool", "total time, s", "× gensim, total time", "words/s", "words/s in training"]
    head += ["CPU s", "× gensim, CPU time"]
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
            rows.append(
                [peer, "not reached", f"{score(fmean(full), '.4f')}" if full else "–", "–", "–"]
            )
            continue
        cells = [str(best.epochs), score(best.quality, ".4f"), f"{best.seconds:.1f}"]
        rows.append([peer, *cells, spread(best.ratios)])
    text = DEFINITION.format(
        reference=REFERENCE,
        epochs=aim.epochs,
        target=score(aim.target, ".4f"),
        mean=score(aim.mean, ".4f"),
        tolerance=score(aim.tolerance, ".4f"),
    )
    head = ["tool", "epochs", "quality", "total time, s", "share of gensim's time"]
    measures = f"The measures are {', '.join(map(measure_name, aim.measures))}."
    return "\n\n".join([f"{text} {measures}", table(head, rows)])


def answer(groups: Mapping[str, Sequence[PeerRun]]) -> list[str]:
    """Return sentences on the tools' total times and quality, relative to gensim."""
    base = groups.get(REFERENCE, [])
    ratios = {
        peer: median(found)
        for peer, runs in groups.items()
        if (found := paired_ratios(runs, base, lambda run: 1 / run.wall_seconds))
        and peer != REFERENCE
    }
    if not ratios:
        return ["No tool has been compared with gensim yet."]
    order = sorted(ratios, key=lambda peer: -ratios[peer])
    speeds = (f"{ratio_text(ratios[peer])} with {peer}" for peer in order)
    sentences = [
        f"The speed of the whole command, relative to {REFERENCE}, is {'; '.join(speeds)}."
    ]
    names = [
        name
        for name in unique(name for run in base for name in run.quality)
        if all(scores_of(runs, name) for runs in groups.values())
    ]
    if names:
        means = (f"{score(mean_score(groups[peer], names))} with {peer}" for peer in groups)
        sentences.append(f"The mean score over all measures is {'; '.join(means)}.")
    return sentences


def time_answer(peers: Sequence[str], runs: Sequence[PeerRun]) -> list[str]:
    """Return a sentence on each tool's time to gensim's quality; [] without a goal."""
    if (aim := goal(runs)) is None:
        return []
    sentences = []
    for peer in peers:
        if peer != REFERENCE and (best := time_to_goal(runs, peer, aim)):
            sentences.append(
                f"{peer} reached gensim's quality after {best.seconds:.1f} s and {best.epochs} "
                f"epochs, {median(best.ratios):.0%} of gensim's time."
            )
    return sentences


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document; its runs may be in any order."""
    runs = read_runs(PeerRun, document)
    settings, peers = document["settings"], list(document["peers"])
    epochs = settings["epochs"]
    groups = {
        peer: peer_runs for peer in peers if (peer_runs := _successful_runs(runs, peer, epochs))
    }
    is_timed = bool(document["time_to_quality"])
    times = time_table(peers, runs) if is_timed else ""
    failed = unique(f"- {run.peer}: {first_and_last(run.error)}" for run in runs if run.error)
    title, question = "Word2vec programs", QUESTION
    if is_timed:
        title, question = "Time to gensim's quality", TIME_QUESTION
    elif not settings["sg"]:
        title = "Word2vec programs: CBOW"
        question = CBOW_QUESTION.format(other="[Another page](peers.md)")
    return page(
        title,
        question,
        METHOD.format(
            options=", ".join(f"`{name}={value}`" for name, value in settings.items()),
            seeds=", ".join(str(seed) for seed in sorted({run.seed for run in runs})),
        ),
        [*(time_answer(peers, runs) if is_timed else []), *answer(groups)],
        section("Time to gensim's quality", times),
        section("Speed, time and memory", speed_table(peers, runs, epochs), bullet_list(COLUMNS)),
        section("Quality", quality_table(groups, "tool"), SCORES),
        section(
            "Differences between the tools",
            bullet_list({n: p["note"] for n, p in document["peers"].items()}),
        ),
        section("Left out", bullet_list(document["left_out"])),
        section("Failed", "\n".join(failed)),
        facts(document),
    )
