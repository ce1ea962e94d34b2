"""Page with the results of node2vec tools."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.failures import first_and_last
from benchmarks.graphs.evaluate import N_SPLITS, TRAIN_SHARE
from benchmarks.graphs.records import GraphRun
from benchmarks.graphs.tools import REFERENCE
from benchmarks.report import (
    MEGABYTE,
    bullet_list,
    facts,
    page,
    paired_ratios,
    quality_cell,
    section,
    spread,
    table,
    unique,
)

NOTES = f"""\
Every training is a command that reads a list of undirected edges and writes a file of vectors,
limited to the given number of threads and bound to as many cores. The commands ran sequentially,
in an order that changed from round to round. All figures are measured from outside, and include
all processes that the command starts. Times and memory are medians. "walks" is the part of the
total time that the command spends walking, if it can be measured separately. A ratio
("× {REFERENCE}", larger is better) compares two runs of the same round; the table shows
its median and its range over the rounds. A command is stopped after {{minutes:g}} minutes, and
then not run again on the same graph.

Quality is measured as in the node2vec paper, by `gensim_tfw2v.evaluation.evaluate_labels`:
one-vs-rest logistic regression is fitted to the vectors of {TRAIN_SHARE * 100:.0f} % of the
labelled nodes, and a remaining node with k labels gets the k most probable ones. An F1 score of a
file of vectors is the mean over {N_SPLITS} random splits, which are the same for all files. The
table shows the mean ± half the range over the seeds, then the difference from {REFERENCE}'s mean.

The values of `--graphs` are, for each graph, a file of edges, a file of labels, p and q:

    {{command}}"""

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


def markdown(document: Mapping[str, Any], runs: Sequence[GraphRun]) -> str:
    """Return the page for a document and its runs."""
    tools = document["tools"]
    settings = ", ".join(f"{name}={value}" for name, value in document["settings"].items())
    seeds = ", ".join(str(seed) for seed in sorted({run.seed for run in runs}))
    failed = unique(
        f"- {run.tool} on {run.task}: {first_and_last(run.error)}" for run in runs if run.error
    )
    return page(
        "node2vec tools",
        facts(document, {"settings": settings, "seeds": seeds}),
        NOTES.format(command=document["command"], minutes=document["limit_minutes"]),
        *(
            section(name, describe_task(task), task_table(name, list(tools), runs))
            for name, task in document["graphs"].items()
        ),
        section("Differences between the tools", bullet_list(tools)),
        section("Left out", bullet_list(document["left_out"])),
        section("Failed", "\n".join(failed)),
    )
