"""Comparison of node2vec tools: ``python -m benchmarks.graphs --graphs EDGES LABELS P Q ...``.

Each tool is a command, defined in `tools.py`. Tools that are not installed are left out. After a
failure, a tool does not run again on the same graph with the same p and q. This process imports
none of the tools. On Linux, a child's peak memory starts at its parent's size, so a tool's figure
would include the parent's imports.
"""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from benchmarks.command import at_least, shared_parser
from benchmarks.graphs.bench import Job, carry_out
from benchmarks.graphs.option import GRAPHS_OPTION
from benchmarks.graphs.page import markdown
from benchmarks.graphs.records import GraphRun, Settings, Task
from benchmarks.graphs.tools import REFERENCE, TOOLS, Tool
from benchmarks.report import begin, write


def jobs(
    tools: Sequence[Tool], tasks: Sequence[Task], rounds: int, first_seed: int
) -> Iterator[Job]:
    """Yield all training runs in order; each round on a graph starts with the next tool."""
    for task in tasks:
        for round_number in range(rounds):
            start = round_number % max(len(tools), 1)
            for tool in [*tools[start:], *tools[:start]]:
                yield Job(tool, task, round_number, first_seed + round_number)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shared = ("--out", "--name", "--seeds", "--first-seed", "--epochs", "--threads")
    argument_parser = shared_parser("benchmarks.graphs", __doc__, *shared, "--vector-size", "--pin")
    default = Settings()
    argument_parser.set_defaults(
        name="graphs",
        epochs=default.epochs,
        threads=default.threads,
        vector_size=default.vector_size,
    )
    add = argument_parser.add_argument
    add("--graphs", **GRAPHS_OPTION)
    add("--only", nargs="+", metavar="TOOL", help="tools to compare (all that are installed)")
    add("--limit", type=float, default=10, help="time limit of a training run, in minutes (10)")
    for name in ("num_walks", "walk_length", "window"):
        value = getattr(default, name)
        add(f"--{name.replace('_', '-')}", type=at_least(1), default=value, help=f"({value})")
    return argument_parser


def choose_tools(names: Sequence[str] | None) -> tuple[list[Tool], dict[str, str]]:
    """Return the selected tools that are installed, and by name the reasons to leave out others."""
    known_names = [tool.name for tool in TOOLS]
    if unknown := [name for name in names or () if name not in known_names]:
        raise SystemExit(f"--only {unknown[0]}: no such tool (known: {', '.join(known_names)})")
    tools = [tool for tool in TOOLS if names is None or tool.name in names]
    left_out = {tool.name: reason for tool in tools if (reason := tool.describe_absence())}
    return [tool for tool in tools if tool.name not in left_out], left_out


def repeat_command(args: argparse.Namespace) -> str:
    """Return the command that repeats the study, with names of files in place of paths."""
    words = ["python", "-m", "benchmarks.graphs", "--graphs"]
    for task in args.graphs:
        words += [task.edges.name, task.labels.name, f"{task.p:g}", f"{task.q:g}"]
    words += ["--seeds", str(args.seeds), "--limit", f"{args.limit:g}"]
    return shlex.join([*words, "--only", *args.only] if args.only else words)


def line(run: GraphRun) -> str:
    """Describe a run on one line."""
    where = f"{run.task}, round {run.round + 1}, {run.tool}"
    if run.error is not None:
        return f"{where}: failed"
    scores = ", ".join(f"{name} {score:.4f}" for name, score in run.quality.items())
    return f"{where}: {run.wall_seconds:.1f} s, {run.cpu_seconds:.1f} s of CPU, {scores}"


def main(argv: list[str] | None = None) -> None:
    """Make all training runs; after each, write the results so far."""
    args = parser().parse_args(argv)
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    tools, left_out = choose_tools(args.only)
    for name, reason in left_out.items():
        print(f"{name} is left out: {reason}", flush=True)
    if not tools or not args.graphs:
        raise SystemExit("nothing to compare: install a tool, and pass --graphs")
    if REFERENCE not in [tool.name for tool in tools]:
        print(f"no ratios are computed without {REFERENCE}", flush=True)
    graphs = {task.name: task.describe() for task in args.graphs}
    if len(graphs) < len(args.graphs):
        raise SystemExit("two graphs have the same name, p and q: rename a file")
    document = begin(packages=[package for tool in tools for package in tool.packages]) | {
        "command": repeat_command(args),
        "pinned": args.pin,
        "settings": asdict(settings),
        "limit_minutes": args.limit,
        "graphs": graphs,
        "tools": {tool.name: tool.note for tool in tools},
        "left_out": left_out,
    }
    base = args.out / args.name
    runs: list[GraphRun] = []
    for job in jobs(tools, args.graphs, args.seeds, args.first_seed):
        failed = {(run.tool, run.task) for run in runs if run.error is not None}
        if (job.tool.name, job.task.name) in failed:
            continue
        runs.append(carry_out(job, graphs[job.task.name]["weighted"], settings, args))
        print(line(runs[-1]), flush=True)
        document["runs"] = [run.to_json() for run in runs]
        write(base, document, markdown(document))
    print(f"\n{markdown(document)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
