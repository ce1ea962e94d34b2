"""Training on graphs: run a tool's command, then evaluate the vectors that it wrote."""

import argparse
import functools
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.failures import hide_paths
from benchmarks.graphs.records import GraphRun, Settings, Task
from benchmarks.graphs.tools import Tool
from benchmarks.process import CommandError, CommandTimeout, Measured, call, run
from gensim_tfw2v.processes.threads import usable_cores

#: Environment variables by which libraries are limited to a number of threads.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


class Job(NamedTuple):
    """Planned training run. The runs of a round on a graph follow each other directly."""

    tool: Tool
    task: Task
    round: int
    seed: int


def walk_seconds(output: str) -> float | None:
    """Return the seconds of walking that a command prints; None if it prints none."""
    try:
        return float(json.loads(output.splitlines()[-1])["walk_seconds"])
    except (IndexError, KeyError, TypeError, ValueError):  # the tool does not print this time
        return None


def carry_out(job: Job, weighted: bool, settings: Settings, args: argparse.Namespace) -> GraphRun:
    """Train, and evaluate the vectors. After a failure, the result has the field `error`."""
    record = functools.partial(GraphRun, job.tool.name, job.task.name, job.round, job.seed)
    with tempfile.TemporaryDirectory(prefix="graphs-") as folder:
        vectors = Path(folder, "vectors")
        values = asdict(settings) | {
            "edges": job.task.edges.resolve(),
            "vectors": vectors,
            "weighted": int(weighted),
            "p": job.task.p,
            "q": job.task.q,
            "seed": job.seed,
        }
        try:
            measured = _train(job.tool, values, settings.threads, args)
            if not vectors.is_file():
                raise CommandError(f"{job.tool.name}\nwrote no vectors")
            arguments = {"vectors": str(vectors), "labels": str(job.task.labels.resolve())}
            scores, _ = call("benchmarks.graphs.evaluate:evaluate_file", arguments)
        except CommandError as error:
            print(f"{job.tool.name} failed: {error}", file=sys.stderr, flush=True)
            names_by_path = {
                str(job.task.edges.resolve()): "EDGES",
                str(job.task.labels.resolve()): "LABELS",
                folder: "TEMPORARY",
            }
            limit_seconds = args.limit * 60 if isinstance(error, CommandTimeout) else None
            text = hide_paths(error, names_by_path)
            return record(error=text, limit_seconds=limit_seconds)
    return record(
        wall_seconds=measured.wall_seconds,
        cpu_seconds=measured.cpu_seconds,
        walk_seconds=walk_seconds(measured.output),
        peak_bytes=measured.peak_bytes,
        **scores,
    )


def _train(
    tool: Tool, values: Mapping[str, Any], n_threads: int, args: argparse.Namespace
) -> Measured:
    command = [sys.executable, *tool.fill_in(values)]
    return run(
        command,
        environment=dict.fromkeys(THREAD_VARIABLES, str(n_threads)),
        cores=usable_cores()[:n_threads] if args.pin else None,
        limit=args.limit * 60,
    )
