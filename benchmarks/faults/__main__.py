"""Trainings that meet faults: ``python -m benchmarks.faults CORPUS``, or ``--random 100``.

With a corpus, a training whose tasks are killed is compared with one left alone. With ``--random``,
faults of all kinds are drawn, and what has to hold after each is checked; exit status 1 if
something does not.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from benchmarks.faults.compared import compare
from benchmarks.faults.drawn import run_drawn


def main(argv: list[str] | None = None) -> int:
    """Do what the arguments ask for; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, nargs="?", help="text, one sentence a line (--random makes its own)")
    add("--cluster", default="local:ps=2,worker=2", help="(local:ps=2,worker=2)")
    add("--random", type=int, metavar="N", help="draw N faults of all kinds")
    add("--seed", type=int, default=1, help="that faults are drawn by (1)")
    add(
        "--only", nargs="+", metavar="FAULT", help="draw from these alone (what is printed of each)"
    )
    add("--limit", type=float, default=600.0, help="seconds of a random training, at most (600)")
    add("--workers-killed", type=int, default=5, help="(5)")
    add("--ps-killed", type=int, default=1, help="(1)")
    add("--coordinators-killed", type=int, default=1, help="(1)")
    add("--epochs", type=int, default=5, help="passes over the corpus (5)")
    add("--minutes", type=float, default=0.2, help="between checkpoints (0.2)")
    add("--seeds", type=int, default=1, help="(1)")
    add("--first-seed", type=int, default=1, help="(1)")
    add("--vector-size", type=int, default=100, help="(100)")
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    given = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    if given.random is not None:
        return run_drawn(given)
    if given.corpus is None:
        parser.error("give a corpus, or --random N")
    compare(given)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
