"""Option of the command line that selects graphs: ``--graphs EDGES LABELS P Q ...``."""

import argparse
from collections.abc import Sequence
from typing import Any

from benchmarks.command import existing_file
from benchmarks.graphs.records import Task


def parse_task(words: Sequence[str]) -> Task:
    """Return the task of two files and two numbers; raise if one of them is invalid."""
    if len(words) != 4:
        raise argparse.ArgumentTypeError(f"{' '.join(words)}: not EDGES LABELS P Q")
    edges, labels = (existing_file(word) for word in words[:2])
    try:
        p, q = (float(word) for word in words[2:])
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"p or q is not a number: {error}") from error
    if not (p > 0 and q > 0):
        raise argparse.ArgumentTypeError(f"p and q must be positive, not {p:g} and {q:g}")
    return Task(edges, labels, p, q)


class TasksAction(argparse.Action):
    """Action that stores the tasks of an option with four values per task."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store a list of tasks, or exit with a message about the first invalid one."""
        try:
            tasks = [parse_task(values[start : start + 4]) for start in range(0, len(values), 4)]
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        setattr(namespace, self.dest, tasks)


#: Arguments of the option, for `add_argument`.
GRAPHS_OPTION: dict[str, Any] = {
    "action": TasksAction,
    "nargs": "+",
    "default": [],
    "metavar": ("EDGES LABELS P Q", "EDGES LABELS P Q"),
    "help": "graphs with labelled nodes, each with p and q of its walks",
}
