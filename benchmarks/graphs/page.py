"""Page with the results of node2vec tools."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.failures import first_and_last
from benchmarks.graphs.evaluate import N_SPLITS, TRAIN_SHARE
from benchmarks.graphs.records import GraphRun
from benchmarks.graphs.tools import REFERENCE
from benchmarks.records import read_runs
from benchmarks.report import (
    MEGABYTE,
    bullet_list,
    facts,
    page,
    paired_ratios,
    quality_cell,
    ratio_range,
    score,
    section,
    spread,
    table,
    unique,
)

QUESTION = f"""\
How does `tfw2v train --walks` compare with other node2vec programs, from a list of edges to vectors
of nodes? {REFERENCE}, which walks with one package and trains with another, is the reference."""

METHOD = f"""\
Every run was a command that reads a list of undirected edges and writes a file of vectors,
with {{options}}, and with the seeds {{seeds}}, one per round. It was limited to the given number of
threads and bound to as many cores. The commands ran sequentially, in an order that changed from
round to round, and a command was stopped after {{minutes:g}} minutes. All figures were measured
from outside, and include all processes that a command started. Quality was measured as in the
node2vec paper, by `gensim_tfw2v.evaluation.evaluate_labels`: one-vs-rest logistic regression was
fitted to the vectors of {TRAIN_SHARE:.0%} of the labelled nodes, and predicted the labels
of the others; a node with k labels got the k most probable ones."""

COLUMNS = {
    "total time, s": "time of the whole command, median over the rounds",
    f"× {REFERENCE}": f"{REFERENCE}'s total time divided by the tool's in the same round: above 1, "
    "the tool is faster. The range over the rounds is in parentheses",
    "walks, s": "part of the total time spent walking, if it can be measured separately",
    "peak memory, MiB": "of all processes that the command started",
    "micro-F1, macro-F1": f"F1 score over all labels, and mean of the labels' F1 scores, over "
    f"{N_SPLITS} random splits that are the same for all tools: mean ± half the range over the "
    f"seeds and, in parentheses, the difference from {REFERENCE}'s mean",
}

HEAD = ["tool", "total time, s", f"× {REFERENCE}", "walks, s", "CPU s", "peak memory, MiB"]


def _successful_runs(runs: Sequence[GraphRun], task: str, tool: str) -> list[GraphRun]:
    return [run for run in runs if run.task == task and run.tool == tool and run.error is None]


def _scores(runs: Sequence[GraphRun], name: str) -> list[float]:
    return [run.quality[name] for run in runs if name in run.quality]


def task_table(task: str, tools: Sequence[str], runs: Sequence[GraphRun]) -> str:
    """Return a table of the time, memory and quality of each tool on a graph."""
    base = _successful_runs(runs, task, REFERENCE)
    names = unique(name for run in runs for name in run.quality)
    rows = []
    for tool in tools:
        if not (tool_runs := _successful_runs(runs, task, tool)):
            failures = [run for run in runs if run.task == task and run.tool == tool]
            if failures:
                limit = failures[0].limit_seconds
                time = "failed" if limit is None else f"> {limit:.0f}"
                rows.append([tool, time, *["–"] * (len(HEAD) + len(names) - 2)])
            continue
        walks = [run.walk_seconds for run in tool_runs if run.walk_seconds is not None]
        reference_runs = [] if tool == REFERENCE else base
        rows.append(
            [
                tool,
                f"{median(run.wall_seconds for run in tool_runs):.1f}",
                spread(paired_ratios(tool_runs, base, lambda run: 1 / run.wall_seconds)),
                f"{median(walks):.1f}" if walks else "–",
                f"{median(run.cpu_seconds for run in tool_runs):.1f}",
                f"{median(run.peak_bytes for run in tool_runs) / MEGABYTE:.0f}",
                *(quality_cell(_scores(tool_runs, n), _scores(reference_runs, n)) for n in names),
            ]
        )
    return table([*HEAD, *names], rows)


def describe_task(facts_of_task: Mapping[str, Any]) -> str:
    """Return a sentence with the size of a graph."""
    kind = "weighted" if facts_of_task["weighted"] else "unweighted"
    return f"{facts_of_task['nodes']:,} nodes, {facts_of_task['edges']:,} {kind} edges."


def answer(document: Mapping[str, Any], runs: Sequence[GraphRun]) -> list[str]:
    """Return a sentence per tool: its speed and its scores, relative to the reference."""
    sentences = []
    for tool in document["tools"]:
        ratios: dict[str, float] = {}
        differences: list[float] = []
        for task in document["graphs"]:
            own, base = (_successful_runs(runs, task, name) for name in (tool, REFERENCE))
            if not own or not base or tool == REFERENCE:
                continue
            ratios[task.partition(",")[0]] = median(
                paired_ratios(own, base, lambda run: 1 / run.wall_seconds)
            )
            differences.append(fmean(_scores(own, "micro-F1")) - fmean(_scores(base, "micro-F1")))
        if ratios:
            low, high = min(differences), max(differences)
            sentences.append(
                f"{tool} is {ratio_range(ratios)} times as fast as {REFERENCE}, and its micro-F1 "
                f"differs by {score(low, '+.3f')} to {score(high, '+.3f')}."
            )
    ours_first = sorted(sentences, key=lambda sentence: not sentence.startswith("TFWord2Vec is"))
    return ours_first or [f"No tool has been compared with {REFERENCE} yet."]


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document."""
    runs = read_runs(GraphRun, document)
    tools = document["tools"]
    failed = unique(
        f"- {run.tool} on {run.task}: {first_and_last(run.error)}" for run in runs if run.error
    )
    return page(
        "Node2vec programs",
        QUESTION,
        METHOD.format(
            options=", ".join(f"`{name}={value}`" for name, value in document["settings"].items()),
            seeds=", ".join(str(seed) for seed in sorted({run.seed for run in runs})),
            minutes=document["limit_minutes"],
        ),
        answer(document, runs),
        section("Columns of the tables", bullet_list(COLUMNS)),
        *(
            section(name, describe_task(task), task_table(name, list(tools), runs))
            for name, task in document["graphs"].items()
        ),
        section("Differences between the tools", bullet_list(tools)),
        section("Left out", bullet_list(document["left_out"])),
        section("Failed", "\n".join(failed)),
        section(
            "Run it",
            "The values of `--graphs` are, for each graph, a file of edges, a file of labels, p "
            "and q:",
            f"    {document['command']}",
        ),
        facts(document),
    )
