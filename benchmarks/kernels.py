"""CPU time of the kernels: ``python -m benchmarks.kernels CORPUS``.

Each objective trains one epoch on one thread, with each kernel that this processor can run. The
result is the CPU time per token after subsampling: the time to draw its window and negatives, and
the time to train it. Reading the text and looking up words are not measured.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command import at_least, shared_parser
from benchmarks.process import call
from benchmarks.report import begin, facts, page, ratio_range, table, unique, write

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

QUESTION = """\
How much time does a processor core need per word in the compiled kernels, and how much depends on
its instruction set? The kernels are the C++ code that draws the windows and the negatives of each
word and trains its vectors. Reading the text and looking up words are not part of these times."""

METHOD = """\
Each objective trained one epoch in one thread, with gensim's default options (D is the number of
dimensions) and with each kernel that the processor can run. The CPU time inside the kernels was
divided by the number of tokens, which are the words after subsampling. Of several rounds, the
fastest counts."""

CELLS = """\
A cell is the time for drawing + the time for training, in nanoseconds of one core per token.
“avx512bf16” is AVX-512 with matrix products in bfloat16, “avx512” and “avx2” are the
instruction sets of these names, and “portable” is compiled for any processor."""


def nanoseconds(objective: str, corpus: str) -> dict[str, Any]:
    """Train in this process; return the name of the kernel, and its ns per token.

    The time per token is divided into "draw", for windows and negatives, and "train".
    """
    from gensim_tfw2v import TFFastText, TFWord2Vec
    from gensim_tfw2v.kernel.native import by_ctypes

    times = {"draw": 0, "train": 0}
    n_inputs = 0

    def time_calls(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed_call(*args: Any, **kwargs: Any) -> Any:
            nonlocal n_inputs
            start = time.thread_time_ns()
            result = function(*args, **kwargs)
            times[name] += time.thread_time_ns() - start
            n_inputs += len(result.inputs) if name == "draw" else 0
            return result

        return timed_call

    by_ctypes.draw = time_calls("draw", by_ctypes.draw)
    by_ctypes.KernelTables.train = time_calls("train", by_ctypes.KernelTables.train)  # type: ignore[method-assign]
    model = TFFastText if objective.startswith("FastText") else TFWord2Vec
    model(corpus_file=corpus, workers=1, epochs=1, **OBJECTIVES[objective])
    return {"kernel": by_ctypes.variant(), **{name: ns / n_inputs for name, ns in times.items()}}


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document: a table of the fastest rounds."""
    kernels = unique(kernel for cells in document["fastest"].values() for kernel in cells)
    rows = []
    for objective, cells in document["fastest"].items():
        figures = [
            f"{cells[kernel]['draw']:.0f} + {cells[kernel]['train']:.0f}" for kernel in kernels
        ]
        rows.append([objective, *figures])
    head = ["ns per token: drawing + training", *kernels]
    return page(
        f"CPU time of the kernels: {document['machine']['cpu'].split()[0].removesuffix('(R)')}",
        QUESTION,
        METHOD,
        answer(document["fastest"], kernels),
        table(head, rows),
        CELLS,
        facts(document),
    )


def answer(fastest: Mapping[str, Any], kernels: Sequence[str]) -> list[str]:
    """Return sentences on the kernels in order, the best first, relative to the best."""
    best = kernels[0]
    times = {objective: sum(cells[best].values()) for objective, cells in fastest.items()}
    low, high = (pick(times, key=times.__getitem__) for pick in (min, max))
    sentences = [
        f"With {best}, a token takes {times[low]:.0f} ns ({low}) to {times[high]:.0f} ns ({high})."
    ]
    for kernel in kernels[1:]:
        ratios = {
            name: sum(cells[kernel].values()) / times[name] for name, cells in fastest.items()
        }
        sentences.append(f"{kernel} takes {ratio_range(ratios)} times as long.")
    return sentences


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser("benchmarks.kernels", __doc__, "corpus", "--name")
    argument_parser.set_defaults(name="kernels")
    add = argument_parser.add_argument
    add("--rounds", type=at_least(1), default=3, help="number of rounds; the fastest counts (3)")
    add("--objectives", nargs="+", default=[*OBJECTIVES], choices=OBJECTIVES, metavar="NAME")
    add("--kernels", nargs="+", metavar="NAME", help="all that this processor can run")
    add("--out", type=Path, help="folder for NAME.json and NAME.md")
    return argument_parser


def main() -> None:
    """Measure, and print the table after each round."""
    args = parser().parse_args()
    names = call("gensim_tfw2v.kernel.native.by_ctypes:kernel_names", {})[0]
    kernels = args.kernels or names
    if wrong := set(kernels) - set(names):
        raise SystemExit(f"--kernels must be of {', '.join(names)}, not {', '.join(sorted(wrong))}")
    fastest: dict[str, dict[str, dict[str, float]]] = {}
    document = begin() | {"fastest": fastest}
    for _ in range(args.rounds):
        for objective in args.objectives:
            for kernel in kernels:
                times, _ = call(
                    "benchmarks.kernels:nanoseconds",
                    {"objective": objective, "corpus": str(args.corpus.resolve())},
                    environment={"TFW2V_ISA": kernel},
                )
                if times.pop("kernel") != kernel:
                    raise RuntimeError(f"{objective} was not trained by the kernel {kernel}")
                cells = fastest.setdefault(objective, {})
                cell = cells.setdefault(kernel, times)
                cells[kernel] = {name: min(cell[name], times[name]) for name in cell}
        text = markdown(document)
        print(text, flush=True)
        if args.out:
            write(args.out / args.name, document, text)


if __name__ == "__main__":
    main()
