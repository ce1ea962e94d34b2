"""Kernels alone: ``python -m benchmarks.kernels CORPUS``.

Each objective trains one epoch in one thread, by each kernel that this processor runs. Measured is
the processor's time that a kept token takes, one that subsampling leaves: to draw it, its window
and its negatives, and to train it. Reading text and looking words up are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_model
from benchmarks.process import ROOT

#: The variants of the kernels, the narrowest last.
KERNELS = ("avx512bf16", "avx512", "avx2", "portable")

#: Constructor arguments of each objective.
OBJECTIVES: dict[str, dict[str, Any]] = {
    "CBOW": {},
    "CBOW, D=300": {"vector_size": 300},
    "CBOW, hs": {"hs": 1, "negative": 0},
    "skip-gram": {"sg": 1},
    "skip-gram, D=300": {"sg": 1, "vector_size": 300},
    "skip-gram, hs": {"sg": 1, "hs": 1, "negative": 0},
    "FastText, CBOW": {},
    "FastText, skip-gram": {"sg": 1},
}


ABOUT = """\
Nanoseconds of one core for each token that subsampling keeps: to draw its window and negatives, and
to train it. gensim's defaults; "avx512bf16" is AVX-512 with products in bfloat16. Written by
`python -m benchmarks.kernels`."""


def nanoseconds(objective: str, corpus: str) -> dict[str, Any]:
    """Train in this process: the kernel, and nanoseconds a kept token of draws and training."""
    from gensim_tfw2v import TFFastText, TFWord2Vec
    from gensim_tfw2v.kernel.native import by_ctypes

    spent = {"draw": 0, "train": 0}
    kept = 0

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal kept
            begin = time.thread_time_ns()
            made = function(*args, **kwargs)
            spent[name] += time.thread_time_ns() - begin
            kept += len(made.inputs) if name == "draw" else 0
            return made

        return call

    by_ctypes.draw = timed("draw", by_ctypes.draw)
    by_ctypes.Tables.train = timed("train", by_ctypes.Tables.train)  # type: ignore[method-assign]
    model = TFFastText if objective.startswith("FastText") else TFWord2Vec
    model(corpus_file=corpus, workers=1, epochs=1, **OBJECTIVES[objective])
    return {"kernel": by_ctypes.variant(), **{name: ns / kept for name, ns in spent.items()}}


def measure(objective: str, kernel: str, corpus: Path) -> dict[str, Any]:
    """Train in a process of its own, where the kernel is chosen."""
    command = [sys.executable, "-m", "benchmarks.kernels", str(corpus.resolve())]
    done = subprocess.run(
        [*command, "--objectives", objective, "--here"],
        cwd=ROOT,
        env=os.environ | {"TFW2V_ISA": kernel},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(least: dict[tuple[str, str], dict[str, float]]) -> str:
    """A table of Markdown, with a row for each objective and a column for each kernel."""
    objectives, kernels = (list(dict.fromkeys(names)) for names in zip(*least, strict=True))
    lines = [f"| ns a kept token: draws + training | {' | '.join(kernels)} |"]
    lines.append("|---" * (1 + len(kernels)) + "|")
    for objective in objectives:
        cells = (least[objective, kernel] for kernel in kernels)
        text = (f"{cell['draw']:.0f} + {cell['train']:.0f}" for cell in cells)
        lines.append(f"| {objective} | {' | '.join(text)} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Measure, and print the table after each round."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("corpus", type=Path, help="text, one sentence a line")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest of which counts (3)")
    parser.add_argument(
        "--objectives", nargs="+", default=[*OBJECTIVES], choices=OBJECTIVES, metavar="NAME"
    )
    parser.add_argument("--kernels", nargs="+", default=[*KERNELS], choices=KERNELS)
    parser.add_argument("--out", type=Path, help="file to which the table goes, too")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.here:
        print(json.dumps(nanoseconds(arguments.objectives[0], str(arguments.corpus))))
        return
    least: dict[tuple[str, str], dict[str, float]] = {}
    for _ in range(arguments.rounds):
        for objective in arguments.objectives:
            for kernel in arguments.kernels:
                found = measure(objective, kernel, arguments.corpus)
                if found.pop("kernel") != kernel:  # this processor cannot
                    continue
                cell = least.setdefault((objective, kernel), found)
                least[objective, kernel] = {name: min(cell[name], found[name]) for name in cell}
        text = f"# Kernels alone\n\n{ABOUT}\n\nProcessor: {cpu_model()}.\n\n{table(least)}"
        print(text, flush=True)
        if arguments.out:
            arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
